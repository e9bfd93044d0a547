package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
)

func init() {
	doored = append(doored, scenario{"admitted", admitted}, scenario{"admission-dry-run", dryRun},
		scenario{"admission-jobs", jobs}, scenario{"admission-managed", managedPods}, scenario{"admission-exempt", exempt})
	for _, at := range []string{"Pod", "Workload"} {
		doored = append(doored, scenario{"admission-holds-" + strings.ToLower(at), func(t *T) { admissionHolds(t, at) }})
	}
}

// onDeploy is a quick profile that sets requests at that place, half of them before anything is learned.
func onDeploy(at string) M {
	p := quick("OnDeploy")
	p["overcommit"] = "StaticThenDynamic"
	p["static"] = M{"cpu": "0.5", "memory": "0.5"}
	p["apply"].(M)["at"] = at
	return p
}

// halves is a profile that gives half, of CPU and memory, as long as the scenario lasts.
func halves(at string) M {
	p := onDeploy(at)
	p["apply"].(M)["minHistory"] = "24h"
	return p
}

// Halved makes the scenario's namespace and waits until whoever admits knows that all in it get half, at that place.
func (t *T) Halved(at string) {
	t.Namespace()
	t.Profile(halves(at))
	probe := t.Create("statefulsets", t.workload("StatefulSet", "probe", 0, app(usedCPU, usedMemory)))
	t.Eventually("the profile is known", soon, func() error {
		got, err := "", error(nil)
		if at == "Pod" {
			got, err = t.podOf(probe)
		} else {
			got, err = t.dryDeployment()
		}
		if err == nil && got != "1" {
			err = fmt.Errorf("what is admitted asks for %s", got)
		}
		return err
	})
}

// podOf is what a pod of an owner would ask for.
func (t *T) podOf(owner kube.Object) (string, error) {
	meta := t.meta(owner.Name() + "-x")
	meta["ownerReferences"] = L{M{"apiVersion": owner.Text("apiVersion"), "kind": owner.Text("kind"), "name": owner.Name(),
		"uid": owner.UID(), "controller": true}}
	made, err := t.Post(t.path("pods", "")+"?dryRun=All", bare(meta))
	return podRequest(made, "app", "cpu"), err
}

// dryDeployment is what the template of a Deployment would ask for.
func (t *T) dryDeployment() (string, error) {
	made, err := t.Post(t.path("deployments", "")+"?dryRun=All", t.deployment("probe", 0, app(usedCPU, usedMemory)))
	return request(made, "app", "cpu"), err
}

// events are those of halflife on Deployments, with that reason.
func (t *T) events(reason string) []kube.Object {
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

// told waits until there are so many Events of that reason, one of which says this, and says it once.
func (t *T) told(reason, note string, count int) {
	t.Eventually("Event "+reason, soon, func() error {
		list := t.events(reason)
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

// admissions is how many objects the replica has admitted so.
func (t *T) admissions(result string) float64 {
	page, err := t.replica.Page("/metrics")
	t.Check(err)
	_, after, found := strings.Cut(page, `halflife_admissions_total{result="`+result+`"} `)
	var count float64
	if _, err := fmt.Sscan(after, &count); !found || err != nil {
		t.Fatalf("halflife_admissions_total says nothing of '%s' (%v)", result, err)
	}
	return count
}

// What was admitted is seen: in annotations, by one Event for each value, in the metric.
func admitted(t *T) {
	t.Halved("Pod")
	workload := halves("Workload")
	workload["selector"], workload["priority"] = M{"matchLabels": M{"at": "workload"}}, 10
	t.ProfileNamed("e2e-admitted-workload", workload)
	before := t.admissions("patched")
	t.Apply(t.deployment("pods", 2, app(usedCPU, usedMemory)))
	t.comeWith("its pods run with half", "pods", "1", 2)
	for _, p := range t.Pods("pods") {
		notes := p.Object("metadata", "annotations")
		if kube.Parse(notes.Text(originals)).Text("app", "requests", "cpu") != "2" ||
			kube.Parse(notes.Text(applied)).Text("app", "requests", "cpu") != "1" {
			t.Fatalf("the annotations of pod %s are %s", p.Name(), notes)
		}
	}
	t.told("Admitted", "deployed with app cpu 2 -> 1, app memory 1Gi -> 512Mi", 1)
	t.Ctl("-n", t.NS, "scale", "deployment/pods", "--replicas=5")
	t.comeWith("more pods run with half", "pods", "1", 5)
	templated := t.deployment("templated", 2, app(usedCPU, usedMemory))
	templated["metadata"].(M)["labels"].(M)["at"] = "workload"
	t.Apply(templated)
	t.told("Deployed", "deployed with app cpu 2 -> 1, app memory 1Gi -> 512Mi", 1)
	t.unlimited("deployments", "templated")
	t.Cycles(t.halflife, 2)
	t.told("Admitted", "deployed with app cpu 2 -> 1, app memory 1Gi -> 512Mi", 1)
	t.told("Deployed", "deployed with app cpu 2 -> 1, app memory 1Gi -> 512Mi", 1)
	t.Eventually("the metric counts them", soon, func() error {
		if more := t.admissions("patched") - before; more < 6 {
			return fmt.Errorf("%.0f patched", more)
		}
		return nil
	})
}

// hold is a way to say: leave it alone. Of some the Recommendation tells, by a condition: by it a replica hears of the end.
type hold struct {
	what, condition string
	on, off         func(t *T)
}

func annotate(args ...string) func(*T) {
	return func(t *T) { t.Ctl(append([]string{"-n", t.NS, "annotate", "--overwrite"}, args...)...) }
}

func reprofile(at string, change func(M)) func(*T) {
	return func(t *T) {
		p := halves(at)
		change(p)
		t.Profile(p)
	}
}

// asItIs: nothing is changed, not even a record of what is no longer so.
const asItIs = "only recommended"

// A person's hold, the opt-out of a workload or a namespace, a profile that is paused or only recommends: each counts at
// the next deploy, and so does its end.
func admissionHolds(t *T, at string) {
	t.Halved(at)
	same := reprofile(at, func(M) {})
	holds := []hold{
		{"held by a person", "Held", annotate("rec/deployment-web", "halflife.dev/hold=incident 7"), annotate("rec/deployment-web", "halflife.dev/hold-")},
		{"the workload opted out", "OptedOut", annotate("deploy/web", "halflife.dev/apply=Never"), annotate("deploy/web", "halflife.dev/apply-")},
		{"the namespace opted out", "", func(t *T) { t.Ctl("annotate", "ns", t.NS, "halflife.dev/apply=Never") },
			func(t *T) { t.Ctl("annotate", "ns", t.NS, "halflife.dev/apply-") }},
		{"paused", "", reprofile(at, func(p M) { p["paused"] = true }), same},
		{asItIs, "", reprofile(at, func(p M) { p["apply"].(M)["mode"] = "Recommend" }), same},
	}
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	t.comeWith("it runs with half", "web", "1", 2)
	t.RecIn("deployment-web", "Learning", soon)
	token := t.Watcher()
	for _, h := range holds {
		h.on(t)
		t.deploysWith(token, h.what, "2")
		t.tells(h.condition, true)
		h.off(t)
		t.tells(h.condition, false)
		t.deploysWith(token, "no longer "+h.what, "1")
	}
}

// tells waits until the Recommendation tells of that condition ("": there is none to tell), or no longer does.
func (t *T) tells(condition string, so bool) {
	if condition == "" {
		return
	}
	t.RecWhen("deployment-web", fmt.Sprintf("%s %v", condition, so), soon, func(r kube.Object) error {
		told := r.Condition(condition).Text("status") == "True" || r.Text("status", "state") == condition
		if told != so {
			return fmt.Errorf("state %s, conditions %v", r.Text("status", "state"), r.At("status", "conditions"))
		}
		return nil
	})
}

// deploysWith deploys its owner's manifest again, of a new version, once whoever admits knows what was just written.
func (t *T) deploysWith(token, what, cpu string) {
	t.Eventually(what+" is known", soon, func() error {
		told, err := t.Tell(t.replica, token, "deploy/web", "", "app", "cpu")
		if err == nil && told.Request != cpu {
			err = fmt.Errorf("the replica tells %+v", told)
		}
		return err
	})
	o := t.deployment("web", 2, app(usedCPU, usedMemory))
	kube.Object(o).Object("spec", "template", "metadata", "labels")["version"] = strings.ReplaceAll(what, " ", "-")
	t.Apply(o)
	t.Ctl("-n", t.NS, "rollout", "status", "--timeout=300s", "deployment/web")
	t.comeWith(what+": its pods ask for "+cpu, "web", cpu, 2)
	for _, p := range t.Pods("web") {
		if ours := p.Annotation(applied) != ""; ours != (cpu != "2") && what != asItIs {
			t.Fatalf("%s: the annotations of pod %s are %s", what, p.Name(), p.Object("metadata", "annotations"))
		}
	}
}

// A dry run tells what would be, and leaves nothing behind.
func dryRun(t *T) {
	t.Halved("Workload")
	manifest := kube.Object(t.deployment("web", 2, app(usedCPU, usedMemory)))
	for _, verb := range []string{"create", "apply"} {
		said := kube.Parse(t.CtlIn(manifest.String(), verb, "--dry-run=server", "-o", "json", "-f", "-"))
		if got := request(said, "app", "cpu"); got != "1" || said.Object("spec", "template", "metadata", "annotations").Text(applied) == "" {
			t.Fatalf("%s: the dry run says %s", verb, said)
		}
	}
	t.CtlIn(manifest.String(), "apply", "-f", "-")
	t.told("Deployed", "deployed with app cpu 2 -> 1, app memory 1Gi -> 512Mi", 1)
	container(manifest.Object("spec", "template", "spec"), "app")["resources"].(M)["requests"].(M)["cpu"] = "3"
	said := kube.Parse(t.CtlIn(manifest.String(), "apply", "--dry-run=server", "-o", "json", "-f", "-"))
	if got := request(said, "app", "cpu"); got != "1500m" {
		t.Fatalf("of 3 cores the dry run says %s", got)
	}
	t.generation("deployments", "web", 1)
	if got := request(t.Workload("deployments", "web"), "app", "cpu"); got != "1" {
		t.Fatalf("a dry run changed the request to %s", got)
	}
	t.Cycles(t.halflife, 2)
	if list := t.events("Deployed"); len(list) != 1 {
		t.Fatalf("a dry run was told of: %v", list)
	}
}

// A CronJob's pods are its Jobs' pods; those of a Job without owner only where Jobs are named; a bare pod never.
func jobs(t *T) {
	t.Halved("Pod")
	t.Apply(M{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": t.meta("nightly"), "spec": M{
		"schedule": "0 0 30 2 *", "jobTemplate": M{"spec": job("nightly", "10m", 1, app(usedCPU, usedMemory))}}})
	t.Ctl("-n", t.NS, "create", "job", "now", "--from=cronjob/nightly")
	t.comeWith("the CronJob's pod asks for half", "nightly", "1", 1)
	single := func(name string) {
		t.Apply(M{"apiVersion": "batch/v1", "kind": "Job", "metadata": t.meta(name), "spec": job(name, "10m", 1, app(usedCPU, usedMemory))})
	}
	single("single")
	t.Eventually("the Job's pod asks for all", soon, func() error { return t.podsAsk("single", "app", "cpu", "2", 1) })
	_, err := t.Post(t.path("pods", ""), bare(t.meta("bare")))
	t.Check(err)
	pod, err := t.Get(t.path("pods", "bare"))
	t.Check(err)
	t.unchanged("a bare pod", pod.Object("spec"), pod)

	named := halves("Pod")
	named["targets"] = L{M{"apiVersion": "batch/v1", "kind": "Job"}}
	t.Profile(named)
	t.Selected("jobs/none", "", "e2e-"+t.Name)
	single("named")
	t.comeWith("a Job that is named", "named", "1", 1)
}

// What another controller owns is never template-patched; its pods are admitted like any others.
func managedPods(t *T) {
	t.Halved("Pod")
	boss := t.Create("configmaps", M{"apiVersion": "v1", "kind": "ConfigMap", "metadata": t.meta("boss")})
	owned := func(name, at string) {
		o := t.deployment(name, 2, app(usedCPU, usedMemory))
		meta := o["metadata"].(M)
		meta["labels"].(M)["at"] = at
		meta["ownerReferences"] = L{M{"apiVersion": "v1", "kind": "ConfigMap", "name": "boss", "uid": boss.UID(), "controller": true}}
		t.Create("deployments", o)
	}
	workload := halves("Workload")
	workload["selector"], workload["priority"] = M{"matchLabels": M{"at": "workload"}}, 10
	t.ProfileNamed("e2e-admission-managed-workload", workload)
	t.Selected("deploy/none", "at=workload", "e2e-admission-managed-workload")
	owned("pods", "pod")
	owned("templates", "workload")
	t.comeWith("its pods ask for half", "pods", "1", 2)
	t.Eventually("at Workload nothing is changed", soon, func() error { return t.podsAsk("templates", "app", "cpu", "2", 2) })
	for _, name := range []string{"pods", "templates"} {
		t.generation("deployments", name, 1)
		if got := request(t.Workload("deployments", name), "app", "cpu"); got != "2" {
			t.Fatalf("the template of %s asks for %s", name, got)
		}
	}
}

// The system's namespaces and halflife's own are never asked about, whatever a profile says.
func exempt(t *T) {
	t.Halved("Pod")
	all := L{"kube-system", "kube-public", "kube-node-lease", ownNamespace}
	for i, at := range []string{"Pod", "Workload"} {
		p := halves(at)
		p["namespaceSelector"] = M{"matchExpressions": L{M{"key": "kubernetes.io/metadata.name", "operator": "In", "values": all}}}
		p["selector"], p["priority"] = M{"matchLabels": M{"e2e": t.Name}}, 100*i
		t.ProfileNamed("e2e-admission-exempt-"+strings.ToLower(at), p)
	}
	last := halves("Pod") // made after them, it is known after them
	last["selector"], last["priority"] = M{"matchLabels": M{"last": "yes"}}, 200
	t.ProfileNamed("e2e-admission-exempt-last", last)
	t.Selected("deploy/none", "last=yes", "e2e-admission-exempt-last")
	home := t.NS
	defer func() { t.NS = home }()
	for _, ns := range all {
		t.NS = ns.(string)
		o := t.deployment("exempt", 1, app(usedCPU, usedMemory))
		o["metadata"].(M)["labels"].(M)["e2e"] = t.Name
		restrict(kube.Object(o).Object("spec", "template", "spec"))
		t.Create("deployments", o)
		defer func() { _ = t.Delete("/apis/apps/v1/namespaces/" + ns.(string) + "/deployments/exempt") }()
	}
	for _, ns := range all {
		t.NS = ns.(string)
		t.Eventually("a pod in "+t.NS, soon, func() error { return t.podsAsk("exempt", "app", "cpu", "2", 1) })
		o := t.Workload("deployments", "exempt")
		t.unchanged("the template in "+t.NS, o.Object("spec", "template", "spec"), o.Object("spec", "template"))
		t.RecIn("deployment-exempt", "Learning", soon)
	}
}

// restrict makes a pod one that halflife's own namespace lets in.
func restrict(podSpec kube.Object) {
	podSpec["securityContext"] = M{"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": M{"type": "RuntimeDefault"}}
	container(podSpec, "app")["securityContext"] = M{"allowPrivilegeEscalation": false, "capabilities": M{"drop": L{"ALL"}}}
}
