package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// farm is a kind that nobody knows but the profile that names it.
var farm = stage.CustomKind{Group: "example.com", Version: "v1", Kind: "Farm", Plural: "farms"}

// At Workload, the template of each kind is set as it is written: of CronJobs, of kinds of others, of one that a profile
// names. The same manifest, and what does not concern the template, change nothing.
func kinds(t *stage.T) {
	for _, c := range []stage.CustomKind{stage.CloneSet, stage.ArgoRollout, farm} {
		c.Install(t)
	}
	const role = "halflife-controller-farms"
	defer func() { _, _ = t.Kubectl.Run("", "delete", "clusterrole", role, "--ignore-not-found") }()
	t.Apply(M{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": M{"name": role, "labels": M{"halflife.dev/aggregate-to-controller": "true"}},
		"rules":    L{M{"apiGroups": L{farm.Group}, "resources": L{farm.Plural}, "verbs": L{"get", "list", "watch"}}}})
	_, err := t.Patch(stage.WebhooksPath, L{M{"op": "add", "path": "/webhooks/1/rules/-", "value": M{"apiGroups": L{farm.Group},
		"apiVersions": L{"*"}, "resources": L{farm.Plural}, "operations": L{"CREATE", "UPDATE"}, "scope": "Namespaced"}}})
	t.Check(err)
	t.HalvedNamespace("Workload")
	named := stage.HalvingProfile("Workload")
	named["targets"], named["priority"] = L{stage.TargetKind(farm.APIVersion(), farm.Kind)}, 10
	t.ProfileNamed("e2e-admission-kinds-farm", named)
	for _, row := range []struct {
		resource string
		manifest M
		template []string
	}{
		{"cronjobs.batch", t.NewCronJob("web"), []string{"spec", "jobTemplate", "spec", "template"}},
		{stage.CloneSet.Resource(), stage.CloneSet.NewObject(t, "web"), []string{"spec", "template"}},
		{stage.ArgoRollout.Resource(), stage.ArgoRollout.NewObject(t, "web"), []string{"spec", "template"}},
		{farm.Resource(), farm.NewObject(t, "web"), []string{"spec", "template"}},
	} {
		k := &kindUnder{T: t, resource: row.resource, manifest: row.manifest, template: row.template}
		t.Eventually("webhook and profile know "+row.resource, stage.Soon, func() error {
			dry := kube.Parse(t.CtlIn(k.text(), "apply", "--dry-run=server", "-o", "json", "-f", "-"))
			return k.asks(dry, "1")
		})
		k.play()
	}
}

// kindUnder is one object of a kind under its owner's hands.
type kindUnder struct {
	*stage.T
	resource string
	manifest M
	template []string
}

func (k *kindUnder) text() string { return kube.Object(k.manifest).String() }

func (k *kindUnder) asks(o kube.Object, cpu string) error {
	template := o.Object(k.template...)
	got := stage.PodRequested(template, "app", "cpu")
	record := kube.Parse(template.Object("metadata", "annotations").Text(stage.AppliedAnnotation)).Text("app", "requests", "cpu")
	if got != cpu || record != cpu {
		return fmt.Errorf("the template of %s asks for %s, and records %s", k.resource, got, record)
	}
	return nil
}

func (k *kindUnder) play() {
	apply := func() { k.CtlIn(k.text(), "apply", "-f", "-") }
	for _, step := range []struct {
		what       string
		do         func()
		generation int64
	}{
		{"the first deploy", apply, 1},
		{"the same manifest", apply, 1},
		{"kubectl diff", func() { k.CtlIn(k.text(), "diff", "-f", "-") }, 1},
		{"a label", func() { k.Ctl("-n", k.NS, "label", k.resource, "web", "team=shop") }, 1},
		{"a new image", func() {
			stage.FindContainer(kube.Object(k.manifest).Object(k.template...).Object("spec"), "app")["image"] = "registry.invalid/app:2"
			apply()
		}, 2},
		{"the same after it", apply, 2},
	} {
		step.do()
		o := kube.Parse(k.Ctl("-n", k.NS, "get", k.resource, "web", "-o", "json"))
		if o.Generation() != step.generation {
			k.Fatalf("%s of %s: generation %d, not %d: %s", step.what, k.resource, o.Generation(), step.generation, o)
		}
		if err := k.asks(o, "1"); err != nil {
			k.Fatalf("%s: %v", step.what, err)
		}
	}
}

// At Pod, a pod is its highest owner's: of an Argo Rollout through its ReplicaSet, of a CloneSet directly, of the Deployment whose
// template a Rollout runs; a ReplicaSet without an owner is one itself.
func kindsOfPods(t *stage.T) {
	for _, c := range []stage.CustomKind{stage.CloneSet, stage.ArgoRollout} {
		c.Install(t)
	}
	t.HalvedNamespace("Pod")
	made := map[string]kube.Object{}
	for _, c := range []stage.CustomKind{stage.CloneSet, stage.ArgoRollout} {
		o, err := t.Post("/apis/"+c.APIVersion()+"/namespaces/"+t.NS+"/"+c.Plural, c.NewObject(t, strings.ToLower(c.Kind)))
		t.Check(err)
		made[c.Kind] = o
	}
	set := func(name string, owner kube.Object) {
		o := t.NewWorkload("ReplicaSet", name, 2, stage.App())
		if owner != nil {
			o["metadata"].(M)["ownerReferences"] = L{M{"apiVersion": owner.Text("apiVersion"), "kind": owner.Text("kind"),
				"name": owner.Name(), "uid": owner.UID(), "controller": true}}
		}
		t.Create("replicasets", o)
	}
	quarter := stage.HalvingProfile("Pod")
	quarter["static"], quarter["priority"] = M{"cpu": "0.25", "memory": "0.25"}, 10
	quarter["targets"], quarter["selector"] = L{stage.TargetKind("apps/v1", "Deployment")}, M{"matchLabels": M{"app": "referred"}}
	t.ProfileNamed("e2e-admission-kinds-referred", quarter)
	t.Create("deployments", t.NewDeployment("referred", 0, stage.App()))
	referring, err := t.Post(t.Path("rollouts", ""), M{"apiVersion": stage.ArgoRollout.APIVersion(),
		"kind": stage.ArgoRollout.Kind, "metadata": t.Meta("referring"),
		"spec": M{"replicas": 2, "workloadRef": M{"apiVersion": "apps/v1", "kind": "Deployment", "name": "referred"}}})
	t.Check(err)
	set("ran", referring)
	set("alone", nil)
	set("rolled", made["Rollout"])
	t.Eventually("a CloneSet's pod", stage.Soon, func() error {
		got, err := t.DryPodOf(made["CloneSet"])
		if err == nil && got != "1" {
			err = fmt.Errorf("it asks for %s", got)
		}
		return err
	})
	for name, cpu := range map[string]string{"alone": "1", "rolled": "1", "ran": "500m"} {
		t.Eventually(name+": its pods ask for "+cpu, stage.Soon, func() error {
			err := t.PodsAsk(name, "app", "cpu", cpu, 2)
			if err != nil && strings.Contains(err.Error(), "asks for cpu") { // made before kind and profile were known
				t.Ctl("-n", t.NS, "delete", "pods", "-l", "app="+name)
			}
			return err
		})
	}
}
