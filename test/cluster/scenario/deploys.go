package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
)

func init() {
	for _, at := range []string{"Pod", "Workload", "Rollout"} {
		for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
			name := strings.ToLower(at + "-" + kind)
			doored = append(doored, scenario{"deploys-" + name, func(t *T) { deploys(t, kind, at) }})
		}
		doored = append(doored, scenario{"argo-" + strings.ToLower(at), func(t *T) { argo(t, at) }})
	}
}

// deed is what an owner does to a workload, and whether that starts a rollout where there is no halflife.
type deed struct {
	what string
	do   func(d *deploying)
	roll bool
}

// deploying is one workload under its owner's hands: at is where requests are set: Pod, Workload, or Rollout (the template
// as well, and by halflife itself).
type deploying struct {
	*T
	kind, at    string
	manifest    M
	pods        int
	cpu, memory string // what the pods ask for
	template    string // what the template asks for, of CPU
	original    string // what its owner asks for, of CPU
}

func (d *deploying) target() string { return strings.ToLower(d.kind) + "/web" }

func (d *deploying) text() string { return kube.Object(d.manifest).String() }

func (d *deploying) image(tag string) {
	container(kube.Object(d.manifest).Object("spec", "template", "spec"), "app")["image"] = "registry.invalid/app:" + tag
}

func (d *deploying) apply() { d.CtlIn(d.text(), "apply", "-f", "-") }

func (d *deploying) podLabel(value string) {
	kube.Object(d.manifest).Object("spec", "template", "metadata", "labels")["e2e"] = value
}

func (d *deploying) asksForOne() {
	d.ctl("set", "resources", d.target(), "-c", "app", "--requests=cpu=1,memory=1Gi")
	d.asks("1")
}

func (d *deploying) asksForTwo() {
	d.apply()
	d.asks("2")
}

// asks: the owner asks for that from now on.
func (d *deploying) asks(cpu string) {
	d.original = cpu
	if d.at == "Pod" {
		d.template = cpu
	}
}

// sync applies as Argo does on the server.
func (d *deploying) sync() {
	d.CtlIn(d.text(), "apply", "--server-side", "--field-manager=argocd-controller", "-f", "-")
}

// diff exits 0: kubectl sees nothing to change.
func (d *deploying) diff() { d.CtlIn(d.text(), "diff", "-f", "-") }

func (d *deploying) diffServerSide() {
	d.CtlIn(d.text(), "diff", "--server-side", "--field-manager=argocd-controller", "-f", "-")
}

func (d *deploying) ctl(args ...string) { d.Ctl(append([]string{"-n", d.NS}, args...)...) }

func (d *deploying) live() kube.Object { return d.Workload(plural(d.kind), "web") }

var deeds = []deed{
	{"the same manifest", (*deploying).apply, false},
	{"kubectl diff", (*deploying).diff, false},
	{"a label", func(d *deploying) { d.ctl("label", d.target(), "team=shop") }, false},
	{"an annotation", func(d *deploying) { d.ctl("annotate", d.target(), "note=hello") }, false},
	{"the same manifest over them", (*deploying).apply, false},
	{"more replicas", func(d *deploying) { d.scale(4) }, false},
	{"a pod deleted", func(d *deploying) { d.ctl("delete", "pod", d.Pods("web")[0].Name()) }, false},
	{"rollout restart", func(d *deploying) { d.ctl("rollout", "restart", d.target()) }, true},
	{"set image", func(d *deploying) { d.ctl("set", "image", d.target(), "app=registry.invalid/app:2") }, true},
	{"rollout undo", func(d *deploying) { d.ctl("rollout", "undo", d.target()) }, true},
	{"a manifest with a new image", func(d *deploying) { d.image("3"); d.apply() }, true},
	{"the same manifest after it", (*deploying).apply, false},
	{"kubectl diff after it", (*deploying).diff, false},
	{"replace", func(d *deploying) { d.image("4"); d.CtlIn(d.text(), "replace", "-f", "-") }, true},
	{"the same replaced", func(d *deploying) { d.CtlIn(d.text(), "replace", "-f", "-") }, false},
	{"set resources", (*deploying).asksForOne, true},
	{"the manifest over it", (*deploying).asksForTwo, true},
	{"fewer replicas", func(d *deploying) { d.scale(3) }, false},
}

// Argo's are those of a manager that applies on the server, never forces, and leaves the replicas to others.
var argosDeeds = []deed{
	{"the same sync", (*deploying).sync, false},
	{"server-side diff", (*deploying).diffServerSide, false},
	{"somebody's label", func(d *deploying) { d.ctl("label", d.target(), "team=shop") }, false},
	{"a sync over it", (*deploying).sync, false},
	{"somebody's replicas", func(d *deploying) { d.scale(2) }, false},
	{"a sync over them", (*deploying).sync, false},
	{"somebody's rollout restart", func(d *deploying) { d.ctl("rollout", "restart", d.target()) }, true},
	{"a sync over that", (*deploying).sync, false},
	{"a sync of a new image", func(d *deploying) { d.image("2"); d.sync() }, true},
	{"server-side diff after it", (*deploying).diffServerSide, false},
	{"a sync of the old image", func(d *deploying) { d.image("0"); d.sync() }, true},
	{"a sync of a new label of the pods", func(d *deploying) { d.podLabel("a"); d.sync() }, true},
	{"the same of that", (*deploying).sync, false},
}

func (d *deploying) scale(pods int) {
	if d.kind == "DaemonSet" {
		return
	}
	d.ctl("scale", d.target(), fmt.Sprintf("--replicas=%d", pods))
	d.pods = pods
	if _, his := d.manifest["spec"].(M)["replicas"]; his {
		d.manifest["spec"].(M)["replicas"] = pods
	}
}

// revision is the number of a workload's newest revision, once its controller has seen its newest generation.
func (d *deploying) revision() int64 {
	var revision int64
	d.Eventually("the controller has seen it", soon, func() error {
		w := d.live()
		if seen := w.Int("status", "observedGeneration"); seen != w.Generation() {
			return fmt.Errorf("it has seen generation %d of %d", seen, w.Generation())
		}
		if d.kind == "Deployment" {
			_, err := fmt.Sscan(w.Annotation("deployment.kubernetes.io/revision"), &revision)
			return err
		}
		list, err := d.Get("/apis/apps/v1/namespaces/" + d.NS + "/controllerrevisions?labelSelector=app%3Dweb")
		for _, r := range list.List("items") {
			revision = max(revision, r.Int("revision"))
		}
		return err
	})
	return revision
}

// deploying is the usual workload under a profile that sets requests there; it is not applied yet.
func (t *T) deploying(kind, at string, pods int) *deploying {
	t.Namespace()
	profile := onDeploy(at)
	if at == "Rollout" {
		profile = quick("Rollout")
	}
	t.Profile(profile)
	cpu, memory := targets(usedCPU, usedMemory)
	d := &deploying{T: t, kind: kind, at: at, pods: pods, cpu: cpu, memory: memory, original: "2",
		manifest: t.workload(kind, "web", pods, app(usedCPU, usedMemory))}
	if at == "Pod" {
		d.template = "2"
	} else {
		d.template = cpu
	}
	return d
}

// Whatever an owner does, a rollout starts only where he starts one; new pods ask for what is recommended, and the
// template is as he wrote it (at Pod) or carries that (elsewhere); kubectl sees no difference to his manifest.
func deploys(t *T, kind, at string) {
	d := t.deploying(kind, at, 3)
	own := t.admissions("own")
	d.apply()
	t.RecIn(strings.ToLower(kind)+"-web", "Ready", soon)
	if at == "Rollout" {
		t.Eventually("halflife's own patch", soon, func() error { return t.podsAsk("web", "app", "cpu", d.cpu, d.pods) })
		t.Eventually("it passed the doors as its own", soon, func() error {
			if t.admissions("own") == own {
				return fmt.Errorf("the metric tells of no more")
			}
			return nil
		})
		t.generation(plural(kind), "web", 2)
	} else {
		t.generation(plural(kind), "web", 1)
		d.image("0")
		t.onceToldAtAdmission("learned", d.manifest, lower(at), d.cpu)
		d.apply()
	}
	d.all(deeds)
}

// A manager that applies on the server meets no conflict. Where halflife would patch itself (Rollout), that manager's
// request is left alone.
func argo(t *T, at string) {
	d := t.deploying("Deployment", at, 1)
	delete(d.manifest["spec"].(M), "replicas")
	d.sync()
	d.image("0")
	if at == "Rollout" {
		t.held("deployment-web", "Contested", "")
		d.cpu, d.memory, d.template = "2", "1Gi", "2"
	} else {
		t.RecIn("deployment-web", "Ready", soon)
		t.onceToldAtAdmission("learned", d.manifest, lower(at), d.cpu)
	}
	d.sync()
	d.all(argosDeeds)
}

// all plays deeds one after the other, and leaves the workload alone for a while.
func (d *deploying) all(deeds []deed) {
	want := d.revision()
	for _, deed := range deeds {
		if d.play(deed); deed.roll {
			want++
		}
	}
	d.Cycles(d.halflife, 2)
	if got := d.revision(); got != want {
		d.Fatalf("left alone, revision %d became %d: %s", want, got, d.live().Object("spec", "template"))
	}
}

func (d *deploying) play(deed deed) {
	before := d.revision()
	deed.do(d)
	if got := request(d.live(), "app", "cpu"); got != d.template {
		d.Fatalf("%s: the template asks for %s, not %s: %s", deed.what, got, d.template, d.live())
	}
	after := d.revision()
	if deed.roll != (after > before) || after > before+1 {
		d.Fatalf("%s: revision %d became %d: %s", deed.what, before, after, d.live().Object("spec", "template"))
	}
	d.ctl("rollout", "status", "--timeout=300s", d.target())
	d.comeWith(deed.what+": its pods run with the target", "web", d.cpu, d.pods, func() error {
		return d.podsAsk("web", "app", "memory", d.memory, d.pods)
	})
	d.noted(deed.what)
}

// noted checks the limits, and that our annotations are where our requests are, and only there.
func (d *deploying) noted(what string) {
	if d.cpu == "2" {
		return // nothing is ours
	}
	template := d.live().Object("spec", "template")
	limits := container(template.Object("spec"), "app").Object("resources", "limits")
	if limits.Text("cpu") != "4" || limits.Text("memory") != "2Gi" || len(limits) != 2 {
		d.Fatalf("%s: the limits are %s", what, limits)
	}
	remembers := func(where, notes kube.Object) {
		if kube.Parse(notes.Text(originals)).Text("app", "requests", "cpu") != d.original ||
			kube.Parse(notes.Text(applied)).Text("app", "requests", "cpu") != d.cpu {
			d.Fatalf("%s: the annotations of %s are %s", what, where.Name(), notes)
		}
	}
	if notes := template.Object("metadata", "annotations"); d.at != "Pod" {
		remembers(d.live(), notes)
	} else if notes.Text(originals) != "" || notes.Text(applied) != "" {
		d.Fatalf("%s: the template at Pod has annotations of ours: %s", what, notes)
	}
	for _, p := range d.Pods("web") {
		remembers(p, p.Object("metadata", "annotations"))
	}
}
