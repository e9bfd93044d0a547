package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/node"
	"halflife.dev/cluster/stage"
)

// limitsOf are what the kernel holds a container to: memory in bytes, and the quota of processor time.
func limitsOf(t *stage.T, pod kube.Object) [2]string {
	files := [2][2]string{{"memory", "memory.limit_in_bytes"}, {"cpu", "cpu.cfs_quota_us"}}
	if node.Unified() {
		files = [2][2]string{{"memory", "memory.max"}, {"cpu", "cpu.max"}}
	}
	var limits [2]string
	for i, f := range files {
		var err error
		limits[i], err = t.Node.Slot().Cgroup(f[0], stage.AppStatus(pod).Text("containerID"), f[1])
		t.Check(err)
	}
	return limits
}

// A running program is given less, down to its cgroup; its limits stay, and it does not notice.
func nodeResize(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Recommend")
	t.Profile(profile)
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.IdleBurner))
	before := t.WaitOnePod("web")
	t.Check(t.HasShares("web", "250m"))
	limits := limitsOf(t, before)
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	cpu, memory := t.WaitLowered("web", "250m", 1)
	t.CheckGoesOn("web", before)
	if now := limitsOf(t, before); now != limits {
		t.Fatalf("its limits in the cgroup were %v and are %v", limits, now)
	}
	shares, err := t.Shares(before)
	t.Check(err)
	t.WaitInForce("deployment-web")
	t.Notef("250m and 300Mi became %s and %s, shares %d became %d", cpu, memory, stage.SharesOf("250m"), shares)
}

// The template is patched: successors come with the target, start, and the old ones are gone.
func nodeRollout(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Recommend")
	t.Profile(profile)
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 2, stage.Burner{Requests: M{"cpu": "150m", "memory": "200Mi"},
		Limits: stage.IdleBurner.Limits, Steps: []string{"cpu=0.02,mem=60Mi"}}))
	t.Eventually("both run", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", "150m", 2) })
	t.RecIn("deployment-web", "Ready", stage.Soon)
	before := t.UIDs("web")
	profile["apply"].(M)["mode"] = "Rollout"
	t.Profile(profile)
	t.WaitLowered("web", "150m", 2)
	for name := range t.UIDs("web") {
		if before[name] != "" {
			t.Fatalf("pod %s was there before", name)
		}
	}
	t.Eventually("the rollout is complete", stage.Soon, func() error {
		s := t.Workload("deployments", "web").Object("status")
		if s.Int("updatedReplicas") != 2 || s.Int("readyReplicas") != 2 || s.Int("replicas") != 2 {
			return fmt.Errorf("%s", s)
		}
		return nil
	})
	t.WaitInForce("deployment-web")
}

// restore gives a running program what its owner asks for, down to its cgroup.
func nodeRestore(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("InPlace"))
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.IdleBurner))
	before := t.WaitOnePod("web")
	t.WaitLowered("web", "250m", 1)
	said := t.Command(0, "restore", "-n", t.NS, "--timeout", "5m")
	t.Eventually("it has its owner's again", stage.Soon, func() error {
		if err := t.PodsAsk("web", "app", "memory", "300Mi", 1); err != nil {
			return fmt.Errorf("%w; restore said: %s", err, said)
		}
		return t.HasRequests("web", "250m", "300Mi")
	})
	t.CheckGoesOn("web", before)
	if pod := t.Pods("web")[0]; strings.Contains(pod.Object("metadata", "annotations").String(), "halflife.dev/") {
		t.Fatalf("pod %s still carries %s", pod.Name(), pod.Object("metadata", "annotations"))
	}
}

// Usage climbs past what was lowered, but others have taken the room since: that is told, whatever the target waits for, and
// done when there is room.
func nodeDeferred(t *stage.T) {
	t.Namespace()
	t.StartOwn()
	profile := stage.QuickProfile("InPlace")
	profile["selector"] = M{"matchLabels": M{"app": "web"}}
	profile["apply"].(M)["raise"] = M{"after": "1m", "most": "100"}
	profile["apply"].(M)["cooldown"] = "1h" // one change, and no other that might come meanwhile
	t.Profile(profile)
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.Burner{Requests: M{"cpu": "300m", "memory": "100Mi"},
		Steps: []string{"cpu=0.05,mem=20Mi,for=100", "cpu=0.25,mem=20Mi"}}))
	before := t.WaitOnePod("web")
	low, _ := t.WaitLowered("web", "300m", 1)
	t.Apply(t.NewBurnerWorkload("ReplicaSet", "filler", 1, stage.Burner{Requests: M{"cpu": "450m"}, Steps: []string{"mem=10Mi"}}))
	t.WaitOnePod("filler")
	rec := t.WaitApplied("deployment-web", "False", "Deferred", "")
	t.Notef("%s", rec.Condition("Applied").Text("message"))
	t.Check(t.HasShares("web", low))
	t.Check(t.Delete(t.Path("replicasets", "filler")))
	t.Eventually("it is given what it waits for", stage.Soon, func() error {
		got := stage.AppStatus(t.WaitOnePod("web")).Text("resources", "requests", "cpu")
		if stage.Amount(got) < 0.15 {
			return fmt.Errorf("it has %s", got)
		}
		return t.HasShares("web", got)
	})
	t.CheckGoesOn("web", before)
}

// A pod is lowered and others take the room; its replacement, which no admission lowers, does not fit, and that is told.
func nodeReplaced(t *stage.T) {
	t.Namespace()
	t.StartOwn()
	profile := stage.QuickProfile("InPlace")
	profile["selector"] = M{"matchLabels": M{"app": "web"}}
	t.Profile(profile)
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.Burner{Requests: M{"cpu": "300m", "memory": "100Mi"},
		Steps: []string{"cpu=0.03,mem=20Mi"}}))
	before := t.WaitOnePod("web")
	t.WaitLowered("web", "300m", 1)
	t.Apply(t.NewBurnerWorkload("ReplicaSet", "filler", 1, stage.Burner{Requests: M{"cpu": "450m"}, Steps: []string{"mem=10Mi"}}))
	t.WaitOnePod("filler")
	t.Check(t.Delete(t.Path("pods", before.Name())))
	rec := t.WaitApplied("deployment-web", "False", "Unschedulable", "no node has room for 1 new pod with the original requests")
	t.Notef("%s", rec.Condition("Applied").Text("message"))
	t.Check(t.Delete(t.Path("replicasets", "filler")))
	t.WaitLowered("web", "300m", 1)
	t.WaitInForce("deployment-web")
}

// Memory that climbs past what was lowered is asked for while the program runs, here up to its owner's request; and it
// stands for as long as the program uses it, though nothing of the pod is halflife's any more.
func nodeRaise(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("InPlace")
	profile["resources"].(M)["cpu"] = M{"enabled": false}
	profile["apply"].(M)["raise"] = M{"after": "1m", "most": "100"}
	t.Profile(profile)
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.Burner{Requests: M{"cpu": "100m", "memory": "300Mi"},
		Steps: []string{"cpu=0.02,mem=60Mi,for=60", "cpu=0.02,mem=350Mi,grow=5"}}))
	before := t.WaitOnePod("web")
	asks := func(what string, want func(bytes float64) bool) kube.Object {
		var pod kube.Object
		t.Eventually(what, stage.Soon, func() error {
			pod = t.WaitOnePod("web")
			got := stage.AppStatus(pod).Text("resources", "requests", "memory")
			if !want(stage.Amount(got)) {
				return fmt.Errorf("it has %s", got)
			}
			return nil
		})
		return pod
	}
	asks("it is lowered", func(bytes float64) bool { return bytes < 200*stage.Mi })
	all := func(bytes float64) bool { return bytes == 300*stage.Mi }
	asks("it is given all that its owner asks for", all)
	t.Cycles(t.Learner, 3)
	pod := asks("it has that still", all)
	if pod.Annotation("halflife.dev/raised") == "" || pod.Annotation(stage.AppliedAnnotation) != "" {
		t.Fatalf("it does not tell that it was raised to its original: %s", pod.Object("metadata", "annotations"))
	}
	if said := t.Learner.Said(t.NS, 100); strings.Count(said, "pod raised") != 1 {
		t.Fatalf("it was not raised once:\n%s", said)
	}
	t.CheckGoesOn("web", before)
}
