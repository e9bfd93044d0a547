package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// deployEvents are those of halflife on Deployments, with that reason.
func deployEvents(t *stage.T, reason string) []kube.Object {
	list, err := t.Get("/apis/events.k8s.io/v1/namespaces/" + t.NS + "/events")
	t.Check(err)
	var ours []kube.Object
	for _, e := range list.List("items") {
		if e.Text("reportingController") == "halflife.dev/controller" && e.Text("reason") == reason &&
			e.Text("regarding", "kind") == "Deployment" {
			ours = append(ours, e)
		}
	}
	return ours
}

// eventTold waits until there are so many Events of that reason, one of which says this, and says it once.
func eventTold(t *stage.T, reason, note string, count int) {
	t.Eventually("Event "+reason, stage.Soon, func() error {
		list := deployEvents(t, reason)
		if len(list) != count {
			return fmt.Errorf("%d Events, not %d: %v", len(list), count, list)
		}
		for _, e := range list {
			if e.Text("note") == note && e.Object("series") == nil {
				return nil
			}
		}
		return fmt.Errorf("none says '%s' once: %v", note, list)
	})
}

// What was admitted is seen: in annotations, by one Event for each value, in the metric.
func admitted(t *stage.T) {
	t.HalvedNamespace("Pod")
	workload := stage.HalvingProfile("Workload")
	workload["selector"], workload["priority"] = M{"matchLabels": M{"at": "workload"}}, 10
	t.ProfileNamed("e2e-admitted-workload", workload)
	before := t.Admissions("patched")
	t.Apply(t.NewDeployment("pods", 2, stage.App()))
	t.WaitAdmitted("its pods run with half", "pods", "1", 2)
	for _, p := range t.Pods("pods") {
		notes := p.Object("metadata", "annotations")
		if kube.Parse(notes.Text(stage.OriginalsAnnotation)).Text("app", "requests", "cpu") != "2" ||
			kube.Parse(notes.Text(stage.AppliedAnnotation)).Text("app", "requests", "cpu") != "1" {
			t.Fatalf("the annotations of pod %s are %s", p.Name(), notes)
		}
	}
	eventTold(t, "Admitted", "deployed with app cpu 2 -> 1, app memory 1Gi -> 512Mi", 1)
	t.Ctl("-n", t.NS, "scale", "deployment/pods", "--replicas=5")
	t.WaitAdmitted("more pods run with half", "pods", "1", 5)
	templated := t.NewDeployment("templated", 2, stage.App())
	templated["metadata"].(M)["labels"].(M)["at"] = "workload"
	t.Apply(templated)
	eventTold(t, "Deployed", "deployed with app cpu 2 -> 1, app memory 1Gi -> 512Mi", 1)
	t.CheckLimits("deployments", "templated")
	t.Cycles(t.Learner, 2)
	eventTold(t, "Admitted", "deployed with app cpu 2 -> 1, app memory 1Gi -> 512Mi", 1)
	eventTold(t, "Deployed", "deployed with app cpu 2 -> 1, app memory 1Gi -> 512Mi", 1)
	t.Eventually("the metric counts them", stage.Soon, func() error {
		if more := t.Admissions("patched") - before; more < 6 {
			return fmt.Errorf("%.0f patched", more)
		}
		return nil
	})
}

// hold is a way to say: leave it alone. Of some the Recommendation tells, by a condition: by it a replica hears of the end.
type hold struct {
	what, condition string
	on, off         func(t *stage.T)
}

func annotate(args ...string) func(*stage.T) {
	return func(t *stage.T) { t.Ctl(append([]string{"-n", t.NS, "annotate", "--overwrite"}, args...)...) }
}

func reprofile(at string, change func(M)) func(*stage.T) {
	return func(t *stage.T) {
		p := stage.HalvingProfile(at)
		change(p)
		t.Profile(p)
	}
}

// asItIs: nothing is changed, not even a record of what is no longer so.
const asItIs = "only recommended"

// A person's hold, the opt-out of a workload or a namespace, a profile that is paused or only recommends: each counts at
// the next deploy, and so does its end.
func admissionHolds(t *stage.T, at string) {
	t.HalvedNamespace(at)
	same := reprofile(at, func(M) {})
	holds := []hold{
		{"held by a person", "Held", annotate("rec/deployment-web", "halflife.dev/hold=incident 7"), annotate("rec/deployment-web", "halflife.dev/hold-")},
		{"the workload opted out", "OptedOut", annotate("deploy/web", "halflife.dev/apply=Never"), annotate("deploy/web", "halflife.dev/apply-")},
		{"the namespace opted out", "", func(t *stage.T) { t.Ctl("annotate", "ns", t.NS, "halflife.dev/apply=Never") },
			func(t *stage.T) { t.Ctl("annotate", "ns", t.NS, "halflife.dev/apply-") }},
		{"paused", "", reprofile(at, func(p M) { p["paused"] = true }), same},
		{asItIs, "", reprofile(at, func(p M) { p["apply"].(M)["mode"] = "Recommend" }), same},
	}
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.WaitAdmitted("it runs with half", "web", "1", 2)
	t.RecIn("deployment-web", "Learning", stage.Soon)
	token := t.WatcherToken()
	for _, h := range holds {
		h.on(t)
		deploysWith(t, token, h.what, "2")
		conditionTold(t, h.condition, true)
		h.off(t)
		conditionTold(t, h.condition, false)
		deploysWith(t, token, "no longer "+h.what, "1")
	}
}

// conditionTold waits until the Recommendation tells of that condition ("": there is none to tell), or no longer does.
func conditionTold(t *stage.T, condition string, so bool) {
	if condition == "" {
		return
	}
	t.RecWhen("deployment-web", fmt.Sprintf("%s %v", condition, so), stage.Soon, func(r kube.Object) error {
		told := r.Condition(condition).Text("status") == "True" || r.Text("status", "state") == condition
		if told != so {
			return fmt.Errorf("state %s, conditions %v", r.Text("status", "state"), r.At("status", "conditions"))
		}
		return nil
	})
}

// deploysWith deploys its owner's manifest again, of a new version, once whoever admits knows what was just written.
func deploysWith(t *stage.T, token, what, cpu string) {
	t.Eventually(what+" is known", stage.Soon, func() error {
		told, err := t.AskDeploy(t.Replica, token, "deploy/web", "", "app", "cpu")
		if err == nil && told.Request != cpu {
			err = fmt.Errorf("the replica tells %+v", told)
		}
		return err
	})
	o := t.NewDeployment("web", 2, stage.App())
	kube.Object(o).Object("spec", "template", "metadata", "labels")["version"] = strings.ReplaceAll(what, " ", "-")
	t.Apply(o)
	t.Ctl("-n", t.NS, "rollout", "status", "--timeout=300s", "deployment/web")
	t.WaitAdmitted(what+": its pods ask for "+cpu, "web", cpu, 2)
	for _, p := range t.Pods("web") {
		if ours := p.Annotation(stage.AppliedAnnotation) != ""; ours != (cpu != "2") && what != asItIs {
			t.Fatalf("%s: the annotations of pod %s are %s", what, p.Name(), p.Object("metadata", "annotations"))
		}
	}
}

// A dry run tells what would be, and leaves nothing behind.
func dryRun(t *stage.T) {
	t.HalvedNamespace("Workload")
	manifest := kube.Object(t.NewDeployment("web", 2, stage.App()))
	for _, verb := range []string{"create", "apply"} {
		said := kube.Parse(t.CtlIn(manifest.String(), verb, "--dry-run=server", "-o", "json", "-f", "-"))
		notes := said.Object("spec", "template", "metadata", "annotations")
		if got := stage.Requested(said, "app", "cpu"); got != "1" || notes.Text(stage.AppliedAnnotation) == "" {
			t.Fatalf("%s: the dry run says %s", verb, said)
		}
	}
	t.CtlIn(manifest.String(), "apply", "-f", "-")
	eventTold(t, "Deployed", "deployed with app cpu 2 -> 1, app memory 1Gi -> 512Mi", 1)
	stage.FindContainer(manifest.Object("spec", "template", "spec"), "app")["resources"].(M)["requests"].(M)["cpu"] = "3"
	said := kube.Parse(t.CtlIn(manifest.String(), "apply", "--dry-run=server", "-o", "json", "-f", "-"))
	if got := stage.Requested(said, "app", "cpu"); got != "1500m" {
		t.Fatalf("of 3 cores the dry run says %s", got)
	}
	t.CheckGeneration("deployments", "web", 1)
	if got := stage.Requested(t.Workload("deployments", "web"), "app", "cpu"); got != "1" {
		t.Fatalf("a dry run changed the request to %s", got)
	}
	t.Cycles(t.Learner, 2)
	if list := deployEvents(t, "Deployed"); len(list) != 1 {
		t.Fatalf("a dry run was told of: %v", list)
	}
}

// A CronJob's pods are its Jobs' pods; those of a Job without owner only where Jobs are named; a bare pod never.
func jobs(t *stage.T) {
	t.HalvedNamespace("Pod")
	t.Apply(M{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": t.Meta("nightly"), "spec": M{
		"schedule": "0 0 30 2 *", "jobTemplate": M{"spec": stage.JobSpec("nightly", "10m", 1, stage.App())}}})
	t.Ctl("-n", t.NS, "create", "job", "now", "--from=cronjob/nightly")
	t.WaitAdmitted("the CronJob's pod asks for half", "nightly", "1", 1)
	single := func(name string) {
		t.Apply(M{"apiVersion": "batch/v1", "kind": "Job", "metadata": t.Meta(name),
			"spec": stage.JobSpec(name, "10m", 1, stage.App())})
	}
	single("single")
	t.Eventually("the Job's pod asks for all", stage.Soon, func() error { return t.PodsAsk("single", "app", "cpu", "2", 1) })
	_, err := t.Post(t.Path("pods", ""), stage.BarePod(t.Meta("bare")))
	t.Check(err)
	pod, err := t.Get(t.Path("pods", "bare"))
	t.Check(err)
	t.CheckUnchanged("a bare pod", pod.Object("spec"), pod)

	named := stage.HalvingProfile("Pod")
	named["targets"] = L{M{"apiVersion": "batch/v1", "kind": "Job"}}
	t.Profile(named)
	t.WaitSelected("jobs/none", "", "e2e-"+t.Name)
	single("named")
	t.WaitAdmitted("a Job that is named", "named", "1", 1)
}

// What another controller owns is never template-patched; its pods are admitted like any others.
func managedPods(t *stage.T) {
	t.HalvedNamespace("Pod")
	boss := t.Create("configmaps", M{"apiVersion": "v1", "kind": "ConfigMap", "metadata": t.Meta("boss")})
	owned := func(name, at string) {
		o := t.NewDeployment(name, 2, stage.App())
		meta := o["metadata"].(M)
		meta["labels"].(M)["at"] = at
		meta["ownerReferences"] = L{M{"apiVersion": "v1", "kind": "ConfigMap", "name": "boss", "uid": boss.UID(), "controller": true}}
		t.Create("deployments", o)
	}
	workload := stage.HalvingProfile("Workload")
	workload["selector"], workload["priority"] = M{"matchLabels": M{"at": "workload"}}, 10
	t.ProfileNamed("e2e-admission-managed-workload", workload)
	t.WaitSelected("deploy/none", "at=workload", "e2e-admission-managed-workload")
	owned("pods", "pod")
	owned("templates", "workload")
	t.WaitAdmitted("its pods ask for half", "pods", "1", 2)
	t.Eventually("at Workload nothing is changed", stage.Soon, func() error { return t.PodsAsk("templates", "app", "cpu", "2", 2) })
	for _, name := range []string{"pods", "templates"} {
		t.CheckGeneration("deployments", name, 1)
		if got := stage.Requested(t.Workload("deployments", name), "app", "cpu"); got != "2" {
			t.Fatalf("the template of %s asks for %s", name, got)
		}
	}
}

// The system's namespaces and halflife's own are never asked about, whatever a profile says.
func exempt(t *stage.T) {
	t.HalvedNamespace("Pod")
	all := L{"kube-system", "kube-public", "kube-node-lease", stage.OwnNamespace}
	for i, at := range []string{"Pod", "Workload"} {
		p := stage.HalvingProfile(at)
		p["namespaceSelector"] = M{"matchExpressions": L{M{"key": "kubernetes.io/metadata.name", "operator": "In", "values": all}}}
		p["selector"], p["priority"] = M{"matchLabels": M{"e2e": t.Name}}, 100*i
		t.ProfileNamed("e2e-admission-exempt-"+strings.ToLower(at), p)
	}
	last := stage.HalvingProfile("Pod") // made after them, it is known after them
	last["selector"], last["priority"] = M{"matchLabels": M{"last": "yes"}}, 200
	t.ProfileNamed("e2e-admission-exempt-last", last)
	t.WaitSelected("deploy/none", "last=yes", "e2e-admission-exempt-last")
	home := t.NS
	defer func() { t.NS = home }()
	for _, ns := range all {
		t.NS = ns.(string)
		o := t.NewDeployment("exempt", 1, stage.App())
		o["metadata"].(M)["labels"].(M)["e2e"] = t.Name
		restrict(kube.Object(o).Object("spec", "template", "spec"))
		t.Create("deployments", o)
		defer func() { _ = t.Delete("/apis/apps/v1/namespaces/" + ns.(string) + "/deployments/exempt") }()
	}
	for _, ns := range all {
		t.NS = ns.(string)
		t.Eventually("a pod in "+t.NS, stage.Soon, func() error { return t.PodsAsk("exempt", "app", "cpu", "2", 1) })
		o := t.Workload("deployments", "exempt")
		t.CheckUnchanged("the template in "+t.NS, o.Object("spec", "template", "spec"), o.Object("spec", "template"))
		t.RecIn("deployment-exempt", "Learning", stage.Soon)
	}
}

// restrict makes a pod one that halflife's own namespace lets in.
func restrict(podSpec kube.Object) {
	podSpec["securityContext"] = M{"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": M{"type": "RuntimeDefault"}}
	stage.FindContainer(podSpec, "app")["securityContext"] = M{"allowPrivilegeEscalation": false, "capabilities": M{"drop": L{"ALL"}}}
}
