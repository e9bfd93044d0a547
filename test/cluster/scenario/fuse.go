package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
)

func init() {
	alone = append(alone, scenario{"fuse", fuse})
}

// Changes of three workloads are taken back where two are too many: a fourth is not lowered, also by whoever starts anew
// with another database, until a person resets it.
func fuse(t *T) {
	h := t.own("--fuse-guards", "2")
	t.Namespace()
	t.Profile(watched("InPlace", "10m"))
	cpu, memory := targets(usedCPU, usedMemory)
	bad := []string{"web-0", "web-1", "web-2"}
	for _, name := range bad {
		t.Apply(t.deployment(name, 1, app(usedCPU, usedMemory)))
	}
	for _, name := range bad {
		t.resized(name, 1, cpu, memory)
		t.applies("deployment-"+name, "True", "UpToDate", "")
	}
	for _, name := range bad {
		t.restarted(t.Pods(name)[0].Name(), 2)
	}
	for _, name := range bad {
		t.guarded("deployment-"+name, "Restarts", "restarted 2 times")
		t.resized(name, 1, "2", "1Gi") // what is put back passes
	}
	lease := "/apis/coordination.k8s.io/v1/namespaces/" + ownNamespace + "/leases/halflife"
	t.Eventually("the Lease says so", soon, func() error {
		l, err := t.Get(lease)
		t.Check(err)
		if said := l.Annotation("halflife.dev/fuse"); !strings.Contains(said, "3 guards within an hour: "+t.NS+"/Deployment/web-") {
			return fmt.Errorf("it says '%s'", said)
		}
		return nil
	})
	t.Eventually("the profile says so", soon, func() error {
		p, err := t.Get("/apis/halflife.dev/v1alpha1/clusterprofiles/e2e-" + t.Name)
		t.Check(err)
		if got := p.Condition("Degraded").Text("reason"); got != "Fuse" {
			return fmt.Errorf("condition Degraded is %s", p.Condition("Degraded"))
		}
		return nil
	})
	page, err := h.Page("/metrics")
	t.Check(err)
	if !strings.Contains(page, "halflife_fuse_blown 1") {
		t.Fatalf("the metric does not tell of it")
	}

	h.Stop()
	next, err := t.StartHalflife(t.Name+"-next", "--fuse-guards", "2")
	t.Check(err)
	t.halflife = next
	t.Apply(t.deployment("late", 1, app(usedCPU, usedMemory)))
	t.RecWhen("deployment-late", "reason Fuse", soon, func(r kube.Object) error {
		if got := r.Named("app", "status", "containers").Text("cpu", "reason"); got != "Fuse" {
			return fmt.Errorf("reason is %s: %s", got, r.Object("status"))
		}
		return condition(r, "Applied", "False", "halflife resume --fuse")
	})
	t.Check(t.podsAsk("late", "app", "cpu", "2", 1))
	t.says(t.command(0, "resume", "--fuse", "-n", ownNamespace), "the fuse is reset")
	t.resized("late", 1, cpu, memory)
}
