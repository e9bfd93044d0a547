package scenario

import (
	"fmt"
	"time"

	"halflife.dev/cluster/stage"
)

// An HPA on CPU utilization holds CPU, not memory. Removed, it releases; come back on a lowered resource, it brings the
// original back.
func hpaHolds(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Rollout"))
	utilization := M{"type": "Utilization", "averageUtilization": 60}
	t.Apply(t.NewHPA("web", utilization))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	cpu, memory := stage.Targets()
	ask := func(what, wantCPU, wantMemory string, limit time.Duration) {
		t.Eventually(what, limit, func() error {
			if err := t.PodsAsk("web", "app", "cpu", wantCPU, 2); err != nil {
				return err
			}
			return t.PodsAsk("web", "app", "memory", wantMemory, 2)
		})
	}
	ask("memory alone is lowered", "2", memory, stage.Soon)
	t.Cycles(t.Learner, 2)
	ask("CPU stays", "2", memory, stage.Soon)
	rec := t.RecIn("deployment-web", "Ready", stage.Soon)
	if got := rec.Named("app", "status", "containers").Text("cpu", "reason"); got != "HPAHold" {
		t.Fatalf("reason of CPU is '%s', not HPAHold", got)
	}
	t.Ctl("-n", t.NS, "delete", "hpa", "web")
	ask("released, CPU is lowered", cpu, memory, stage.Soon)
	t.Apply(t.NewHPA("web", utilization))
	ask("a new HPA brings the original CPU back", "2", memory, stage.Soon)
	t.Cycles(t.Learner, 2)
	ask("and it stays", "2", memory, stage.Soon)
}

// AverageValue does not depend on requests and holds nothing.
func hpaAverage(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Rollout"))
	t.Apply(t.NewHPA("web", M{"type": "AverageValue", "averageValue": "500m"}))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	cpu, _ := stage.Targets()
	t.Eventually("CPU is lowered", stage.Soon, func() error {
		if err := t.PodsAsk("web", "app", "cpu", cpu, 2); err != nil {
			return fmt.Errorf("beside an AverageValue: %w", err)
		}
		return nil
	})
}
