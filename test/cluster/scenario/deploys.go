package scenario

import (
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// deed is what an owner does to a workload, and whether that starts a rollout where there is no halflife.
type deed struct {
	what string
	do   func(d *deploying)
	roll bool
}

// deploying is one workload under its owner's hands: at is where requests are set: Pod, Workload, or Rollout (the template
// as well, and by halflife itself).
type deploying struct {
	*stage.T
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
	stage.FindContainer(kube.Object(d.manifest).Object("spec", "template", "spec"), "app")["image"] = "registry.invalid/app:" + tag
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

func (d *deploying) live() kube.Object { return d.Workload(stage.Plural(d.kind), "web") }

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
	d.Eventually("the controller has seen it", stage.Soon, func() error {
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

// newDeploying is the usual workload under a profile that sets requests there; it is not applied yet.
func newDeploying(t *stage.T, kind, at string, pods int) *deploying {
	t.Namespace()
	profile := stage.OnDeployProfile(at)
	if at == "Rollout" {
		profile = stage.QuickProfile("Rollout")
	}
	t.Profile(profile)
	cpu, memory := stage.Targets()
	d := &deploying{T: t, kind: kind, at: at, pods: pods, cpu: cpu, memory: memory, original: "2",
		manifest: t.NewWorkload(kind, "web", pods, stage.App())}
	if at == "Pod" {
		d.template = "2"
	} else {
		d.template = cpu
	}
	return d
}

// Whatever an owner does, a rollout starts only where he starts one; new pods ask for what is recommended, and the
// template is as he wrote it (at Pod) or carries that (elsewhere); kubectl sees no difference to his manifest.
func deploys(t *stage.T, kind, at string) {
	d := newDeploying(t, kind, at, 3)
	own := t.Admissions("own")
	d.apply()
	t.RecIn(strings.ToLower(kind)+"-web", "Ready", stage.Soon)
	if at == "Rollout" {
		t.Eventually("halflife's own patch", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", d.cpu, d.pods) })
		if t.Admissions("own") != own {
			t.Fatalf("the API server asked the replica about halflife's own patch")
		}
		t.CheckGeneration(stage.Plural(kind), "web", 2)
	} else {
		t.CheckGeneration(stage.Plural(kind), "web", 1)
		d.image("0")
		t.WaitAtAdmission("learned", d.manifest, strings.ToLower(at), d.cpu)
		d.apply()
	}
	d.all(deeds)
}

// A manager that applies on the server meets no conflict. Where halflife would patch itself (Rollout), that manager's
// request is left alone.
func argo(t *stage.T, at string) {
	d := newDeploying(t, "Deployment", at, 1)
	delete(d.manifest["spec"].(M), "replicas")
	d.sync()
	d.image("0")
	if at == "Rollout" {
		t.WaitHeld("deployment-web", "Contested", "")
		d.cpu, d.memory, d.template = "2", "1Gi", "2"
	} else {
		t.RecIn("deployment-web", "Ready", stage.Soon)
		t.WaitAtAdmission("learned", d.manifest, strings.ToLower(at), d.cpu)
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
	d.Cycles(d.Learner, 2)
	if got := d.revision(); got != want {
		d.Fatalf("left alone, revision %d became %d: %s", want, got, d.live().Object("spec", "template"))
	}
}

func (d *deploying) play(deed deed) {
	before := d.revision()
	deed.do(d)
	if got := stage.Requested(d.live(), "app", "cpu"); got != d.template {
		d.Fatalf("%s: the template asks for %s, not %s: %s", deed.what, got, d.template, d.live())
	}
	after := d.revision()
	if deed.roll != (after > before) || after > before+1 {
		d.Fatalf("%s: revision %d became %d: %s", deed.what, before, after, d.live().Object("spec", "template"))
	}
	d.ctl("rollout", "status", "--timeout=300s", d.target())
	d.WaitAdmitted(deed.what+": its pods run with the target", "web", d.cpu, d.pods, func() error {
		return d.PodsAsk("web", "app", "memory", d.memory, d.pods)
	})
	d.noted(deed.what)
}

// noted checks the limits, and that our annotations are where our requests are, and only there.
func (d *deploying) noted(what string) {
	if d.cpu == "2" {
		return // nothing is ours
	}
	template := d.live().Object("spec", "template")
	limits := stage.FindContainer(template.Object("spec"), "app").Object("resources", "limits")
	if limits.Text("cpu") != "4" || limits.Text("memory") != "2Gi" || len(limits) != 2 {
		d.Fatalf("%s: the limits are %s", what, limits)
	}
	remembers := func(where, notes kube.Object) {
		if kube.Parse(notes.Text(stage.OriginalsAnnotation)).Text("app", "requests", "cpu") != d.original ||
			kube.Parse(notes.Text(stage.AppliedAnnotation)).Text("app", "requests", "cpu") != d.cpu {
			d.Fatalf("%s: the annotations of %s are %s", what, where.Name(), notes)
		}
	}
	if notes := template.Object("metadata", "annotations"); d.at != "Pod" {
		remembers(d.live(), notes)
	} else if notes.Text(stage.OriginalsAnnotation) != "" || notes.Text(stage.AppliedAnnotation) != "" {
		d.Fatalf("%s: the template at Pod has annotations of ours: %s", what, notes)
	}
	for _, p := range d.Pods("web") {
		remembers(p, p.Object("metadata", "annotations"))
	}
}

// A workload that was there before its profile: nothing is changed before its owner deploys, an undo to a revision from
// before is a deploy, and when the profile goes and comes back, records of what is no longer so mislead nobody.
func deploysLate(t *stage.T) {
	t.Namespace()
	d := &deploying{T: t, kind: "Deployment", manifest: t.NewDeployment("web", 2, stage.App())}
	steps := func(list ...lateStep) {
		for _, s := range list {
			before := d.revision()
			s.do(d)
			if got := stage.Requested(d.live(), "app", "cpu"); got != s.cpu {
				t.Fatalf("%s: the template asks for %s, not %s", s.what, got, s.cpu)
			}
			if after := d.revision(); (after > before) != s.roll {
				t.Fatalf("%s: revision %d became %d", s.what, before, after)
			}
		}
	}
	label := func(value string) func(*deploying) {
		return func(d *deploying) { d.ctl("label", "--overwrite", d.target(), "team="+value) }
	}
	image := func(tag string) func(*deploying) {
		return func(d *deploying) {
			d.image(tag)
			d.apply()
		}
	}
	image("1")(d)
	image("2")(d)
	t.Profile(stage.HalvingProfile("Workload"))
	templatesAsk(t, "1")
	steps(lateStep{"a label", label("a"), "2", false},
		lateStep{"the same manifest", (*deploying).apply, "2", false},
		lateStep{"an undo", func(d *deploying) { d.ctl("rollout", "undo", d.target()) }, "1", true},
		lateStep{"the same manifest after it", (*deploying).apply, "1", true},
		lateStep{"the same again", (*deploying).apply, "1", false})
	t.Ctl("delete", "clusterprofile", "e2e-"+t.Name)
	templatesAsk(t, "2")
	steps(lateStep{"a label without a profile", label("b"), "1", false},
		lateStep{"the manifest without a profile", (*deploying).apply, "2", true},
		lateStep{"the same without a profile", (*deploying).apply, "2", false})
	t.Profile(stage.HalvingProfile("Workload"))
	templatesAsk(t, "1")
	steps(lateStep{"a label with a profile again", label("c"), "2", false},
		lateStep{"a new image", image("3"), "1", true},
		lateStep{"the same of it", (*deploying).apply, "1", false})
	notes := d.live().Object("spec", "template", "metadata", "annotations")
	if got := kube.Parse(notes.Text(stage.OriginalsAnnotation)).Text("app", "requests", "cpu"); got != "2" {
		t.Fatalf("the original is %s", got)
	}
}

type lateStep struct {
	what string
	do   func(d *deploying)
	cpu  string // that the template asks for then
	roll bool
}

// templatesAsk waits until whoever admits sets the template of a new Deployment to that.
func templatesAsk(t *stage.T, cpu string) {
	t.Eventually("new templates ask for "+cpu, stage.Soon, func() error {
		got, err := t.DryDeployment()
		if err == nil && got != cpu {
			err = fmt.Errorf("it is %s", got)
		}
		return err
	})
}

// A profile that moves from Workload to Pod and back, with another factor meanwhile: pods of a template that still carries
// ours are sized from what its owner asked for, never from ours.
func deploysMoved(t *stage.T) {
	t.HalvedNamespace("Workload")
	d := &deploying{T: t, kind: "Deployment", manifest: t.NewDeployment("web", 2, stage.App())}
	expect := func(what, template, pods string) {
		if got := stage.Requested(d.live(), "app", "cpu"); got != template {
			t.Fatalf("%s: the template asks for %s, not %s", what, got, template)
		}
		d.ctl("rollout", "status", "--timeout=300s", d.target())
		t.WaitAdmitted(what+": its pods ask for "+pods, "web", pods, 2)
		for _, p := range t.Pods("web") {
			if got := kube.Parse(p.Annotation(stage.OriginalsAnnotation)).Text("app", "requests", "cpu"); got != "2" {
				t.Fatalf("%s: pod %s remembers %s", what, p.Name(), got)
			}
		}
	}
	quarter := func(at string) {
		p := stage.HalvingProfile(at)
		p["static"] = M{"cpu": "0.25", "memory": "0.25"}
		t.Profile(p)
	}
	restart := func() { d.ctl("rollout", "restart", d.target()) }
	d.apply()
	expect("at Workload", "1", "1")
	quarter("Pod")
	templatesAsk(t, "2")
	restart()
	expect("moved to Pod", "1", "500m")
	d.apply()
	expect("the manifest, at Pod", "2", "500m")
	quarter("Workload")
	templatesAsk(t, "500m")
	d.ctl("label", d.target(), "team=shop")
	expect("moved back", "2", "500m")
	d.image("2")
	d.apply()
	expect("a new image", "500m", "500m")
}

// Deleted and deployed again, a workload is sized at once by what was learned.
func deploysAgain(t *stage.T, at string) {
	d := newDeploying(t, "Deployment", at, 2)
	d.apply()
	t.RecIn("deployment-web", "Ready", stage.Soon)
	d.ctl("delete", "--cascade=foreground", d.target())
	d.WaitMatched("/clusterprofiles/e2e-"+d.Name, 0) // it is known to be gone
	d.apply()
	began := time.Now()
	t.WaitAdmitted("its new pods run with what was learned", "web", d.cpu, 2)
	t.Notef("%.1f s after it was deployed again", time.Since(began).Seconds())
	t.CheckGeneration("deployments", "web", 1)
	d.noted("deployed again")
}
