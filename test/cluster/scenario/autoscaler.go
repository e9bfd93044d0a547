package scenario

import (
	"fmt"
	"time"
)

func init() {
	shared = append(shared, scenario{"hpa", hpaHolds}, scenario{"hpa-average", hpaAverage})
}

func (t *T) hpa(name string, metricTarget M) M {
	return M{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": t.meta(name), "spec": M{
		"minReplicas": 2, "maxReplicas": 2,
		"scaleTargetRef": M{"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
		"metrics":        L{M{"type": "Resource", "resource": M{"name": "cpu", "target": metricTarget}}},
	}}
}

// An HPA on CPU utilization holds CPU, not memory. Removed, it releases; come back on a lowered resource, it brings the
// original back.
func hpaHolds(t *T) {
	t.Namespace()
	t.Profile(quick("Rollout"))
	utilization := M{"type": "Utilization", "averageUtilization": 60}
	t.Apply(t.hpa("web", utilization))
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	cpu, memory := targets(usedCPU, usedMemory)
	ask := func(what, wantCPU, wantMemory string, limit time.Duration) {
		t.Eventually(what, limit, func() error {
			if err := t.podsAsk("web", "app", "cpu", wantCPU, 2); err != nil {
				return err
			}
			return t.podsAsk("web", "app", "memory", wantMemory, 2)
		})
	}
	ask("memory alone is lowered", "2", memory, soon)
	t.Cycles(t.halflife, 2)
	ask("CPU stays", "2", memory, soon)
	rec := t.RecIn("deployment-web", "Ready", soon)
	if got := rec.Named("app", "status", "containers").Text("cpu", "reason"); got != "HPAHold" {
		t.Fatalf("reason of CPU is '%s', not HPAHold", got)
	}
	t.Ctl("-n", t.NS, "delete", "hpa", "web")
	ask("released, CPU is lowered", cpu, memory, soon)
	t.Apply(t.hpa("web", utilization))
	ask("a new HPA brings the original CPU back", "2", memory, soon)
	t.Cycles(t.halflife, 2)
	ask("and it stays", "2", memory, soon)
}

// AverageValue does not depend on requests and holds nothing.
func hpaAverage(t *T) {
	t.Namespace()
	t.Profile(quick("Rollout"))
	t.Apply(t.hpa("web", M{"type": "AverageValue", "averageValue": "500m"}))
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	cpu, _ := targets(usedCPU, usedMemory)
	t.Eventually("CPU is lowered", soon, func() error {
		if err := t.podsAsk("web", "app", "cpu", cpu, 2); err != nil {
			return fmt.Errorf("beside an AverageValue: %w", err)
		}
		return nil
	})
}
