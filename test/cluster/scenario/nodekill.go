package scenario

import (
	"fmt"

	"halflife.dev/cluster/kube"
)

func init() {
	onNode = append(onNode, scenario{"node-oom-limit", nodeOOMLimit})
}

// deaths of a container that its kubelet tells of now.
func deaths(pod kube.Object) (all []kube.Object) {
	for _, place := range []string{"state", "lastState"} {
		if dead := containerOf(pod).Object(place, "terminated"); dead != nil {
			all = append(all, dead)
		}
	}
	return all
}

// killedAgain waits until the kernel has killed a pod's container, and counts how often that was.
func (t *T) killedAgain(app string) int64 {
	var kills int64
	t.Eventually("the kernel kills it", soon, func() error {
		pods := t.Pods(app)
		if len(pods) != 1 || len(deaths(pods[0])) == 0 {
			return fmt.Errorf("%d pods, and none was killed", len(pods))
		}
		for _, dead := range deaths(pods[0]) {
			if dead.Text("reason") != "OOMKilled" || dead.Int("exitCode") != 137 {
				t.Fatalf("it ended otherwise: %s", dead)
			}
		}
		kills = containerOf(pods[0]).Int("restartCount")
		state := containerOf(pods[0])
		if state.Object("state", "terminated") != nil || state.Text("state", "waiting", "reason") != "" {
			kills++ // restartCount rises only once the next process is made
		}
		return nil
	})
	return kills
}

// Usage that climbs into its limit ends there. Each kill is counted, and that the limit is too low is told: a request that
// is raised would change nothing.
func nodeOOMLimit(t *T) {
	t.Namespace()
	t.Profile(quick("Recommend"))
	t.Apply(t.burning("Deployment", "leak", 1, burner{requests: M{"cpu": "20m", "memory": "60Mi"},
		limits: M{"memory": "100Mi"}, steps: []string{"cpu=0.01,mem=20Mi,for=15", "cpu=0.01,mem=200Mi,grow=90"}}))
	t.killedAgain("leak")
	t.Eventually("each kill is counted", soon, func() error {
		rec, err := t.Rec("deployment-leak")
		if err != nil {
			return err
		}
		if got, want := rec.Int("status", "oomKills"), t.killedAgain("leak"); got != want {
			return fmt.Errorf("%d kills are counted, and there were %d", got, want)
		}
		return nil
	})
	rec := t.RecWhen("deployment-leak", "the limit is too low", soon, func(r kube.Object) error {
		if got := r.Condition("OutOfMemory").Text("reason"); got != "LimitTooLow" {
			return fmt.Errorf("condition OutOfMemory has reason '%s': %s", got, r.Condition("OutOfMemory"))
		}
		return condition(r, "OutOfMemory", "True", "container 'app' was killed at its memory limit")
	})
	t.Notef("%d kills: %s", rec.Int("status", "oomKills"), rec.Condition("OutOfMemory").Text("message"))
}
