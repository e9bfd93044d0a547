package scenario

import (
	"fmt"

	"halflife.dev/cluster/stage"
)

// Where the template asks for CPU for the pod as a whole, its containers' CPU is left alone, and why is said; their memory is lowered
// as ever, and what the API server makes of it is a pod that runs. What the pod asks for is what its status tells.
func podLevel(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Rollout"))
	web := t.NewDeployment("web", 2, stage.App())
	spec := web["spec"].(M)["template"].(M)["spec"].(M)
	spec["resources"] = M{"requests": M{"cpu": "3"}, "limits": M{"cpu": "5"}}
	t.Apply(web)
	_, memory := stage.Targets()
	t.Eventually("memory alone is lowered", stage.Soon, func() error {
		if err := t.PodsAsk("web", "app", "memory", memory, 2); err != nil {
			return err
		}
		return t.PodsAsk("web", "app", "cpu", "2", 2)
	})
	rec := t.RecIn("deployment-web", "Ready", stage.Soon)
	if got := rec.Named("app", "status", "containers").Text("cpu", "reason"); got != "Immutable" {
		t.Fatalf("reason of CPU is '%s', not Immutable", got)
	}
	t.Check(stage.CheckCondition(rec, "PodLevel", "True", "asks for cpu for the pod as a whole (spec.resources)"))
	for _, row := range []struct{ resource, field, want string }{
		{"cpu", "original", "3"}, {"cpu", "target", "3"}, {"memory", "original", "1Gi"}, {"memory", "target", memory},
	} {
		if got := rec.Text("status", "pod", row.resource, row.field); got != row.want {
			t.Check(fmt.Errorf("status.pod.%s.%s is '%s', not '%s'", row.resource, row.field, got, row.want))
		}
	}
}
