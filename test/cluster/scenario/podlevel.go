package scenario

import "fmt"

func init() {
	shared = append(shared, scenario{"pod-level", podLevel})
}

// Where the template asks for CPU for the pod as a whole, its containers' CPU is left alone, and why is said; their memory is lowered
// as ever, and what the API server makes of it is a pod that runs. What the pod asks for is what its status tells.
func podLevel(t *T) {
	t.Namespace()
	t.Profile(quick("Rollout"))
	web := t.deployment("web", 2, app(usedCPU, usedMemory))
	spec := web["spec"].(M)["template"].(M)["spec"].(M)
	spec["resources"] = M{"requests": M{"cpu": "3"}, "limits": M{"cpu": "5"}}
	t.Apply(web)
	_, memory := targets(usedCPU, usedMemory)
	t.Eventually("memory alone is lowered", soon, func() error {
		if err := t.podsAsk("web", "app", "memory", memory, 2); err != nil {
			return err
		}
		return t.podsAsk("web", "app", "cpu", "2", 2)
	})
	rec := t.RecIn("deployment-web", "Ready", soon)
	if got := rec.Named("app", "status", "containers").Text("cpu", "reason"); got != "Immutable" {
		t.Fatalf("reason of CPU is '%s', not Immutable", got)
	}
	t.Check(condition(rec, "PodLevel", "True", "asks for cpu for the pod as a whole (spec.resources)"))
	for _, row := range []struct{ resource, field, want string }{
		{"cpu", "original", "3"}, {"cpu", "target", "3"}, {"memory", "original", "1Gi"}, {"memory", "target", memory},
	} {
		if got := rec.Text("status", "pod", row.resource, row.field); got != row.want {
			t.Check(fmt.Errorf("status.pod.%s.%s is '%s', not '%s'", row.resource, row.field, got, row.want))
		}
	}
}
