package scenario

import (
	"fmt"

	"halflife.dev/cluster/stage"
)

// A node short of memory evicts who uses more than he asks for. How the program ends then is its own matter, and so is the
// pod's phase; it counts as a kill for lack of memory in any case.
func nodeEvict(t *stage.T, code int, phase string) {
	t.Namespace()
	t.StartOwn()
	t.Profile(stage.QuickProfile("Recommend"))
	t.Apply(t.NewBurnerWorkload("Deployment", "hog", 1, stage.Burner{Requests: M{"cpu": "20m", "memory": "60Mi"},
		Steps: []string{fmt.Sprintf("cpu=0.01,mem=60Mi,for=20,term=%d", code), "cpu=0.01,mem=690Mi,grow=80"}}))
	t.WaitOnePod("hog")
	t.Eventually("it is evicted", stage.Soon, func() error {
		var ends []string
		for _, pod := range t.Pods("hog") { // one that had no time to end by itself was killed: its successor's turn
			if pod.Condition("DisruptionTarget").Text("reason") != "TerminationByKubelet" {
				continue
			}
			ends = append(ends, pod.Text("status", "phase"))
			if pod.Text("status", "phase") == phase {
				t.Notef("phase %s, reason '%s'", phase, pod.Text("status", "reason"))
				return nil
			}
		}
		return fmt.Errorf("evicted were %d: %v", len(ends), ends)
	})
	t.Eventually("the eviction is counted", stage.Soon, func() error {
		r, err := t.Rec("deployment-hog")
		if err != nil {
			return err
		}
		if r.Int("status", "oomKills") == 0 {
			return fmt.Errorf("none is: %s", r.Object("status"))
		}
		return saidOf(t, "eviction")
	})
	rec, err := t.Rec("deployment-hog")
	t.Check(err)
	if got := rec.Condition("OutOfMemory").Text("reason"); got == "LimitTooLow" || got == "" {
		t.Fatalf("condition OutOfMemory has reason '%s'", got)
	}
}
