package scenario

import (
	"fmt"
	"time"

	"halflife.dev/cluster/stage"
)

// A program that needs more while it starts has its owner's request until then, by the word of the kernel. It is given less
// once it has started, and goes on in the same container.
func nodeStartOriginal(t *stage.T) {
	const after = 30 * time.Second
	t.Namespace()
	profile := startupProfile("InPlace", after.String())
	profile["resources"] = M{"cpu": M{"percentile": 50}, "memory": M{"enabled": true}}
	t.Profile(profile)
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.Burner{Requests: M{"cpu": "150m", "memory": "200Mi"},
		Steps: []string{"cpu=0.4,mem=40Mi,for=25", "cpu=0.02,mem=40Mi"}}))
	first := t.WaitOnePod("web")
	t.WaitLowered("web", "150m", 1)
	t.CheckGoesOn("web", first)
	t.Check(t.Delete(t.Path("pods", first.Name())))
	t.Eventually("its successor runs", stage.Soon, func() error {
		if pods := t.Pods("web"); len(pods) != 1 || pods[0].UID() == first.UID() {
			return fmt.Errorf("%d pods", len(pods))
		}
		return nil
	})
	second := t.WaitOnePod("web")
	ready, err := readySince(second)
	t.Check(err)
	held := 0
	for time.Since(ready) < after-5*time.Second {
		t.Check(t.PodsAsk("web", "app", "cpu", "150m", 1))
		t.Check(t.HasShares("web", "150m"))
		held++
		time.Sleep(time.Second)
	}
	if held == 0 {
		t.Fatalf("its start was over before it was looked at")
	}
	cpu, _ := t.WaitLowered("web", "150m", 1)
	took := time.Since(ready)
	t.CheckGoesOn("web", second)
	if took < after {
		t.Fatalf("it was lowered %s after it was Ready", took)
	}
	t.Notef("it had 150m for its start, and %s %.0f s after it was Ready", cpu, took.Seconds())
}
