package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

const leasePath = "/apis/coordination.k8s.io/v1/namespaces/" + stage.OwnNamespace + "/leases/halflife"

// resizeAndRestart makes Deployments, waits until they run with their targets, and reports restarts of their pods.
func resizeAndRestart(t *stage.T, names ...string) {
	cpu, memory := stage.Targets()
	for _, name := range names {
		t.Apply(t.NewDeployment(name, 1, stage.App()))
	}
	for _, name := range names {
		t.WaitResized(name, 1, cpu, memory)
		t.WaitApplied("deployment-"+name, "True", "UpToDate", "")
	}
	for _, name := range names {
		t.ReportRestarts(t.Pods(name)[0].Name(), 2)
	}
	for _, name := range names {
		t.WaitGuarded("deployment-"+name, "Restarts", "restarted 2 times")
		t.WaitResized(name, 1, "2", "1Gi") // what is put back passes
	}
}

// waitHeld waits until a recommendation has this reason, and its condition Applied these words.
func waitHeld(t *stage.T, rec, reason, words string) {
	t.RecWhen(rec, "reason "+reason, stage.Soon, func(r kube.Object) error {
		if got := r.Named("app", "status", "containers").Text("cpu", "reason"); got != reason {
			return fmt.Errorf("reason is %s: %s", got, r.Object("status"))
		}
		return stage.CheckCondition(r, "Applied", "False", words)
	})
}

// waitDegraded waits until a profile is Degraded for this reason, and returns the message.
func waitDegraded(t *stage.T, path, reason string) (message string) {
	t.Eventually("the profile says so", stage.Soon, func() error {
		p, err := t.Get(stage.APIPath + path)
		t.Check(err)
		message = p.Condition("Degraded").Text("message")
		if got := p.Condition("Degraded").Text("reason"); got != reason {
			return fmt.Errorf("condition Degraded is %s", p.Condition("Degraded"))
		}
		return nil
	})
	return message
}

// Changes of two namespaces with profiles of their own are taken back, three where two are too many: a fourth is not lowered,
// also by whoever starts anew with another database, until a person resets it. No team is told names of the other.
func fuse(t *stage.T) {
	h := t.StartOwn("--fuse-guards", "2")
	t.Namespace()
	other := t.In("other")
	for _, in := range []*stage.T{t, other} {
		in.Apply(M{"apiVersion": "halflife.dev/v1alpha1", "kind": "Profile", "metadata": M{"name": "team", "namespace": in.NS},
			"spec": stage.GuardedProfile("InPlace", "10m")})
	}
	resizeAndRestart(t, "web-0", "web-1")
	resizeAndRestart(other, "web-2")
	t.Eventually("the Lease says so", stage.Soon, func() error {
		l, err := t.Get(leasePath)
		t.Check(err)
		if said := l.Annotation("halflife.dev/fuse"); !strings.Contains(said, "3 guards within an hour: "+other.NS+"/Deployment/web-2, "+t.NS) {
			return fmt.Errorf("it says '%s'", said)
		}
		return nil
	})
	if said := waitDegraded(t, "/namespaces/"+t.NS+"/profiles/team", "Fuse"); strings.Contains(said, "Deployment") {
		t.Fatalf("the team is told of workloads: %s", said)
	}
	page, err := h.Page("/metrics")
	t.Check(err)
	if !strings.Contains(page, "halflife_fuse_blown 1") {
		t.Fatalf("the metric does not tell of it")
	}

	h.Stop()
	next, err := t.StartHalflife(t.Name+"-next", "--fuse-guards", "2")
	t.Check(err)
	t.Learner = next
	t.Apply(t.NewDeployment("late", 1, stage.App()))
	waitHeld(t, "deployment-late", "Fuse", "halflife resume --fuse")
	t.Check(t.PodsAsk("late", "app", "cpu", "2", 1))
	t.CheckSays(t.Command(0, "resume", "--fuse", "-n", stage.OwnNamespace), "the fuse is reset")
	cpu, memory := stage.Targets()
	t.WaitResized("late", 1, cpu, memory)
}

// A tenant's changes are taken back, three where two are too many: only that namespace of the shared profile is held, also
// by whoever starts anew with another database. Another tenant goes on, and the cluster's fuse is whole.
func tenantFuse(t *stage.T) {
	h := t.StartOwn("--fuse-guards", "2")
	t.Namespace()
	other := t.In("other")
	t.Profile(stage.GuardedProfile("InPlace", "10m"))
	profile := "/clusterprofiles/e2e-" + t.Name
	cpu, memory := stage.Targets()
	resizeAndRestart(t, "web-0", "web-1", "web-2")
	if said := waitDegraded(t, profile, "ProfileFuse"); !strings.Contains(said, "in namespace "+t.NS+" nothing is lowered") {
		t.Fatalf("the profile says: %s", said)
	}
	t.Apply(t.NewDeployment("late", 1, stage.App()))
	waitHeld(t, "deployment-late", "ProfileFuse", "halflife resume --fuse")
	other.Apply(other.NewDeployment("web", 1, stage.App()))
	other.WaitResized("web", 1, cpu, memory)
	lease, err := t.Get(leasePath)
	t.Check(err)
	if said := lease.Annotation("halflife.dev/fuse"); strings.Contains(said, "guards") {
		t.Fatalf("the Lease says '%s'", said)
	}

	h.Stop()
	next, err := t.StartHalflife(t.Name+"-next", "--fuse-guards", "2")
	t.Check(err)
	t.Learner, other.Learner = next, next
	t.Apply(t.NewDeployment("later", 1, stage.App()))
	waitHeld(t, "deployment-later", "ProfileFuse", "halflife resume --fuse")
	other.Apply(other.NewDeployment("api", 1, stage.App()))
	other.WaitResized("api", 1, cpu, memory)
	t.Check(t.PodsAsk("late", "app", "cpu", "2", 1))
	t.CheckSays(t.Command(0, "resume", "--fuse", "-n", stage.OwnNamespace), "blown fuses of profiles are reset")
	t.WaitResized("late", 1, cpu, memory)
	t.WaitResized("later", 1, cpu, memory)
}
