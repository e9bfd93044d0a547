package scenario

import (
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
)

func init() {
	doored = append(doored, scenario{"deploys-late", deploysLate}, scenario{"deploys-moved", deploysMoved})
	for _, at := range []string{"Pod", "Workload"} {
		doored = append(doored, scenario{"deploys-again-" + strings.ToLower(at), func(t *T) { deploysAgain(t, at) }})
	}
}

// A workload that was there before its profile: nothing is changed before its owner deploys, an undo to a revision from
// before is a deploy, and when the profile goes and comes back, records of what is no longer so mislead nobody.
func deploysLate(t *T) {
	t.Namespace()
	d := &deploying{T: t, kind: "Deployment", manifest: t.deployment("web", 2, app(usedCPU, usedMemory))}
	steps := func(list ...lateStep) {
		for _, s := range list {
			before := d.revision()
			s.do(d)
			if got := request(d.live(), "app", "cpu"); got != s.cpu {
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
	t.Profile(halves("Workload"))
	t.known("1")
	steps(lateStep{"a label", label("a"), "2", false},
		lateStep{"the same manifest", (*deploying).apply, "2", false},
		lateStep{"an undo", func(d *deploying) { d.ctl("rollout", "undo", d.target()) }, "1", true},
		lateStep{"the same manifest after it", (*deploying).apply, "1", true},
		lateStep{"the same again", (*deploying).apply, "1", false})
	t.Ctl("delete", "clusterprofile", "e2e-"+t.Name)
	t.known("2")
	steps(lateStep{"a label without a profile", label("b"), "1", false},
		lateStep{"the manifest without a profile", (*deploying).apply, "2", true},
		lateStep{"the same without a profile", (*deploying).apply, "2", false})
	t.Profile(halves("Workload"))
	t.known("1")
	steps(lateStep{"a label with a profile again", label("c"), "2", false},
		lateStep{"a new image", image("3"), "1", true},
		lateStep{"the same of it", (*deploying).apply, "1", false})
	if got := kube.Parse(d.live().Object("spec", "template", "metadata", "annotations").Text(originals)).Text("app", "requests", "cpu"); got != "2" {
		t.Fatalf("the original is %s", got)
	}
}

type lateStep struct {
	what string
	do   func(d *deploying)
	cpu  string // that the template asks for then
	roll bool
}

// known waits until whoever admits sets the template of a new Deployment to that.
func (t *T) known(cpu string) {
	t.Eventually("new templates ask for "+cpu, soon, func() error {
		got, err := t.dryDeployment()
		if err == nil && got != cpu {
			err = fmt.Errorf("it is %s", got)
		}
		return err
	})
}

// A profile that moves from Workload to Pod and back, with another factor meanwhile: pods of a template that still carries
// ours are sized from what its owner asked for, never from ours.
func deploysMoved(t *T) {
	t.Halved("Workload")
	d := &deploying{T: t, kind: "Deployment", manifest: t.deployment("web", 2, app(usedCPU, usedMemory))}
	expect := func(what, template, pods string) {
		if got := request(d.live(), "app", "cpu"); got != template {
			t.Fatalf("%s: the template asks for %s, not %s", what, got, template)
		}
		d.ctl("rollout", "status", "--timeout=300s", d.target())
		t.comeWith(what+": its pods ask for "+pods, "web", pods, 2)
		for _, p := range t.Pods("web") {
			if got := kube.Parse(p.Annotation(originals)).Text("app", "requests", "cpu"); got != "2" {
				t.Fatalf("%s: pod %s remembers %s", what, p.Name(), got)
			}
		}
	}
	quarter := func(at string) {
		p := halves(at)
		p["static"] = M{"cpu": "0.25", "memory": "0.25"}
		t.Profile(p)
	}
	restart := func() { d.ctl("rollout", "restart", d.target()) }
	d.apply()
	expect("at Workload", "1", "1")
	quarter("Pod")
	t.known("2")
	restart()
	expect("moved to Pod", "1", "500m")
	d.apply()
	expect("the manifest, at Pod", "2", "500m")
	quarter("Workload")
	t.known("500m")
	d.ctl("label", d.target(), "team=shop")
	expect("moved back", "2", "500m")
	d.image("2")
	d.apply()
	expect("a new image", "500m", "500m")
}

// Deleted and deployed again, a workload is sized at once by what was learned.
func deploysAgain(t *T, at string) {
	d := t.deploying("Deployment", at, 2)
	d.apply()
	t.RecIn("deployment-web", "Ready", soon)
	d.ctl("delete", "--cascade=foreground", d.target())
	d.matched("/clusterprofiles/e2e-"+d.Name, 0) // it is known to be gone
	d.apply()
	began := time.Now()
	t.comeWith("its new pods run with what was learned", "web", d.cpu, 2)
	t.Notef("%.1f s after it was deployed again", time.Since(began).Seconds())
	t.generation("deployments", "web", 1)
	d.noted("deployed again")
}
