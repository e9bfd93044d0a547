package scenario

import (
	"fmt"
	"time"

	"halflife.dev/cluster/stage"
)

// The kubelet is away, and its node unready: programs go on, and halflife changes nothing of them, neither meanwhile nor
// when the kubelet is back.
func nodeKubeletDown(t *stage.T) {
	t.Namespace()
	h := t.StartOwn()
	profile := stage.QuickProfile("InPlace")
	profile["apply"].(M)["guard"] = M{"watch": "2m"} // pods that are not ready for half a minute are harm
	profile["apply"].(M)["cooldown"] = "1h"          // one change, and no other that might come meanwhile
	t.Profile(profile)
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.IdleBurner))
	before := t.WaitOnePod("web")
	cpu, memory := t.WaitLowered("web", "250m", 1)
	t.WaitInForce("deployment-web")
	t.Node.Kubelet.Kill()
	ready := func(want string) {
		t.Eventually("the node's condition Ready is "+want, stage.Soon, func() error {
			n, err := t.Get("/api/v1/nodes/" + t.Node.Slot().Name())
			if err != nil {
				return err
			}
			if got := n.Condition("Ready").Text("status"); got != want {
				return fmt.Errorf("it is %s", got)
			}
			return nil
		})
	}
	ready("Unknown")
	used, went := t.CPUSeconds(before), time.Now()
	t.Eventually("half a minute and more has passed", stage.Soon, func() error {
		if passed := time.Since(went); passed < 40*time.Second {
			return fmt.Errorf("%s so far", passed)
		}
		return nil
	})
	if t.CPUSeconds(before) <= used {
		t.Fatalf("the program stands still")
	}
	t.CheckUnguarded("deployment-web")
	t.Check(t.PodsAsk("web", "app", "cpu", cpu, 1))
	t.Check(t.Node.StartKubelet())
	ready("True")
	t.CheckGoesOn("web", before)
	t.Cycles(h, 3)
	t.CheckUnguarded("deployment-web")
	t.Check(t.PodsAsk("web", "app", "cpu", cpu, 1))
	t.Check(t.PodsAsk("web", "app", "memory", memory, 1))
	if kills := t.RecIn("deployment-web", "Ready", stage.Soon).Int("status", "oomKills"); kills != 0 {
		t.Fatalf("%d kills are counted, and there was none", kills)
	}
}
