package scenario

import (
	"fmt"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// A Deployment that is scaled to 0 keeps what was learned of it and is not stale; what is judged is its template, also one that no pod
// ever had. It is patched when it runs again.
func scaledToZero(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Recommend")
	t.Profile(profile)
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	before := t.RecIn("deployment-web", "Ready", stage.Soon)
	t.Ctl("-n", t.NS, "scale", "deployment", "web", "--replicas=0")
	t.SetImage("deployments", "web", "registry.invalid/app:2", "1500m")
	cpu, memory := stage.Targets()
	asleep := func(r kube.Object) error {
		got := r.Named("app", "status", "containers").Object("cpu")
		if r.Text("status", "state") != "Ready" || got.Text("original") != "1500m" || got.Text("current") != "1500m" || got.Text("target") != cpu {
			return fmt.Errorf("%s: %s", r.Text("status", "state"), got)
		}
		return nil
	}
	t.RecWhen("deployment-web", "judged by its template", stage.Soon, asleep)
	profile = stage.QuickProfile("Rollout")
	t.Profile(profile)
	t.WaitRolloutBlocked("deployment-web", "it has 0 replicas, minReplicas is 1")
	t.Cycles(t.Learner, 2)
	r, err := t.Rec("deployment-web")
	t.Check(err)
	t.Check(asleep(r))
	if r.Text("status", "firstSample") != before.Text("status", "firstSample") {
		t.Fatalf("its history began anew")
	}
	t.Ctl("-n", t.NS, "scale", "deployment", "web", "--replicas=2")
	t.Eventually("it runs with its target", stage.Soon, func() error {
		if err := t.PodsAsk("web", "app", "cpu", cpu, 2); err != nil {
			return err
		}
		return t.PodsAsk("web", "app", "memory", memory, 2)
	})
}
