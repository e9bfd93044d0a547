package scenario

import (
	"errors"
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
)

func init() {
	doored = append(doored, scenario{"admission-kinds", kinds}, scenario{"admission-kinds-pods", kindsOfPods})
}

// custom is a kind of others that has a pod template; there is nobody here who makes its pods.
type custom struct{ group, version, kind, plural string }

var (
	cloneSet = custom{"apps.kruise.io", "v1beta1", "CloneSet", "clonesets"}
	rollouts = custom{"argoproj.io", "v1alpha1", "Rollout", "rollouts"}
	farm     = custom{"example.com", "v1", "Farm", "farms"} // nobody knows it but the profile that names it
)

func (c custom) apiVersion() string { return c.group + "/" + c.version }

func (c custom) resource() string { return c.plural + "." + c.group }

// install makes its CustomResourceDefinition, which stays: other scenarios do not mind, or make it at the same time.
func (c custom) install(t *T) {
	crd := kube.Object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": M{"name": c.resource()},
		"spec": M{"group": c.group, "scope": "Namespaced",
			"names": M{"kind": c.kind, "plural": c.plural, "singular": strings.ToLower(c.kind)},
			"versions": L{M{"name": c.version, "served": true, "storage": true, "subresources": M{"status": M{}},
				"schema": M{"openAPIV3Schema": M{"type": "object", "properties": M{
					"spec":   M{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
					"status": M{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}}}
	t.Eventually(c.resource()+" is installed", soon, func() error {
		_, err := t.ctl.Run(crd.String(), "apply", "-f", "-")
		return err
	})
	t.established(c.resource())
}

// established waits until definitions are served; just made, kubectl would not wait for them.
func (t *T) established(crds ...string) {
	for _, name := range crds {
		t.Eventually(name+" is served", soon, func() error {
			crd, err := t.Get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name)
			if err == nil && crd.Condition("Established").Text("status") != "True" {
				err = errors.New("it is not established")
			}
			return err
		})
	}
}

func (c custom) object(t *T, name string) M {
	o := t.deployment(name, 2, app(usedCPU, usedMemory))
	o["apiVersion"], o["kind"] = c.apiVersion(), c.kind
	return o
}

func cron(t *T, name string) M {
	return M{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": t.meta(name), "spec": M{
		"schedule": "0 0 30 2 *", "jobTemplate": M{"spec": job(name, "10m", 1, app(usedCPU, usedMemory))}}}
}

// At Workload, the template of each kind is set as it is written: of CronJobs, of kinds of others, of one that a profile
// names. The same manifest, and what does not concern the template, change nothing.
func kinds(t *T) {
	for _, c := range []custom{cloneSet, rollouts, farm} {
		c.install(t)
	}
	const role = "halflife-controller-farms"
	defer func() { _, _ = t.ctl.Run("", "delete", "clusterrole", role, "--ignore-not-found") }()
	t.Apply(M{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": M{"name": role, "labels": M{"halflife.dev/aggregate-to-controller": "true"}},
		"rules":    L{M{"apiGroups": L{farm.group}, "resources": L{farm.plural}, "verbs": L{"get", "list", "watch"}}}})
	_, err := t.Patch(hooks, L{M{"op": "add", "path": "/webhooks/1/rules/-", "value": M{"apiGroups": L{farm.group},
		"apiVersions": L{"*"}, "resources": L{farm.plural}, "operations": L{"CREATE", "UPDATE"}, "scope": "Namespaced"}}})
	t.Check(err)
	t.Halved("Workload")
	named := halves("Workload")
	named["targets"], named["priority"] = L{target(farm.apiVersion(), farm.kind)}, 10
	t.ProfileNamed("e2e-admission-kinds-farm", named)
	for _, row := range []struct {
		resource string
		manifest M
		template []string
	}{
		{"cronjobs.batch", cron(t, "web"), []string{"spec", "jobTemplate", "spec", "template"}},
		{cloneSet.resource(), cloneSet.object(t, "web"), []string{"spec", "template"}},
		{rollouts.resource(), rollouts.object(t, "web"), []string{"spec", "template"}},
		{farm.resource(), farm.object(t, "web"), []string{"spec", "template"}},
	} {
		k := &kindUnder{T: t, resource: row.resource, manifest: row.manifest, template: row.template}
		t.Eventually("webhook and profile know "+row.resource, soon, func() error {
			dry := kube.Parse(t.CtlIn(k.text(), "apply", "--dry-run=server", "-o", "json", "-f", "-"))
			return k.asks(dry, "1")
		})
		k.play()
	}
}

// kindUnder is one object of a kind under its owner's hands.
type kindUnder struct {
	*T
	resource string
	manifest M
	template []string
}

func (k *kindUnder) text() string { return kube.Object(k.manifest).String() }

func (k *kindUnder) asks(o kube.Object, cpu string) error {
	template := o.Object(k.template...)
	got := podRequest(template, "app", "cpu")
	record := kube.Parse(template.Object("metadata", "annotations").Text(applied)).Text("app", "requests", "cpu")
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
			container(kube.Object(k.manifest).Object(k.template...).Object("spec"), "app")["image"] = "registry.invalid/app:2"
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
func kindsOfPods(t *T) {
	for _, c := range []custom{cloneSet, rollouts} {
		c.install(t)
	}
	t.Halved("Pod")
	made := map[string]kube.Object{}
	for _, c := range []custom{cloneSet, rollouts} {
		o, err := t.Post("/apis/"+c.apiVersion()+"/namespaces/"+t.NS+"/"+c.plural, c.object(t, strings.ToLower(c.kind)))
		t.Check(err)
		made[c.kind] = o
	}
	set := func(name string, owner kube.Object) {
		o := t.workload("ReplicaSet", name, 2, app(usedCPU, usedMemory))
		if owner != nil {
			o["metadata"].(M)["ownerReferences"] = L{M{"apiVersion": owner.Text("apiVersion"), "kind": owner.Text("kind"),
				"name": owner.Name(), "uid": owner.UID(), "controller": true}}
		}
		t.Create("replicasets", o)
	}
	quarter := halves("Pod")
	quarter["static"], quarter["priority"] = M{"cpu": "0.25", "memory": "0.25"}, 10
	quarter["targets"], quarter["selector"] = L{target("apps/v1", "Deployment")}, M{"matchLabels": M{"app": "referred"}}
	t.ProfileNamed("e2e-admission-kinds-referred", quarter)
	t.Create("deployments", t.deployment("referred", 0, app(usedCPU, usedMemory)))
	referring, err := t.Post(t.path("rollouts", ""), M{"apiVersion": rollouts.apiVersion(), "kind": rollouts.kind, "metadata": t.meta("referring"),
		"spec": M{"replicas": 2, "workloadRef": M{"apiVersion": "apps/v1", "kind": "Deployment", "name": "referred"}}})
	t.Check(err)
	set("ran", referring)
	set("alone", nil)
	set("rolled", made["Rollout"])
	t.Eventually("a CloneSet's pod", soon, func() error {
		got, err := t.podOf(made["CloneSet"])
		if err == nil && got != "1" {
			err = fmt.Errorf("it asks for %s", got)
		}
		return err
	})
	for name, cpu := range map[string]string{"alone": "1", "rolled": "1", "ran": "500m"} {
		t.Eventually(name+": its pods ask for "+cpu, soon, func() error {
			err := t.podsAsk(name, "app", "cpu", cpu, 2)
			if err != nil && strings.Contains(err.Error(), "asks for cpu") { // made before kind and profile were known
				t.Ctl("-n", t.NS, "delete", "pods", "-l", "app="+name)
			}
			return err
		})
	}
}
