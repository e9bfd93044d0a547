package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/node"
)

func init() {
	onNode = append(onNode, scenario{"node-resize", nodeResize}, scenario{"node-rollout", nodeRollout},
		scenario{"node-restore", nodeRestore})
	ownNode = append(ownNode, scenario{"node-deferred", nodeDeferred}, scenario{"node-replaced", nodeReplaced})
	nodeOf["node-deferred"] = node.Settings{Room: 1024, Evict: 100, Cores: 600}
	nodeOf["node-replaced"] = nodeOf["node-deferred"]
}

// idler uses little of what its owner asks for.
var idler = burner{requests: M{"cpu": "250m", "memory": "300Mi"}, limits: M{"cpu": "1", "memory": "500Mi"},
	steps: []string{"cpu=0.05,mem=100Mi"}}

// limitsOf are what the kernel holds a container to: memory in bytes, and the quota of processor time.
func (t *T) limitsOf(pod kube.Object) [2]string {
	files := [2][2]string{{"memory", "memory.limit_in_bytes"}, {"cpu", "cpu.cfs_quota_us"}}
	if node.Unified() {
		files = [2][2]string{{"memory", "memory.max"}, {"cpu", "cpu.max"}}
	}
	var limits [2]string
	for i, f := range files {
		var err error
		limits[i], err = t.Node.Slot().Cgroup(f[0], containerOf(pod).Text("containerID"), f[1])
		t.Check(err)
	}
	return limits
}

// A running program is given less, down to its cgroup; its limits stay, and it does not notice.
func nodeResize(t *T) {
	t.Namespace()
	profile := quick("Recommend")
	t.Profile(profile)
	t.Apply(t.burning("Deployment", "web", 1, idler))
	before := t.oneRuns("web")
	t.Check(t.hasShares("web", "250m"))
	limits := t.limitsOf(before)
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	cpu, memory := t.lowered("web", "250m", 1)
	t.goesOn("web", before)
	if now := t.limitsOf(before); now != limits {
		t.Fatalf("its limits in the cgroup were %v and are %v", limits, now)
	}
	shares, err := t.shares(before)
	t.Check(err)
	t.stands("deployment-web")
	t.Notef("250m and 300Mi became %s and %s, shares %d became %d", cpu, memory, sharesOf("250m"), shares)
}

// The template is patched: successors come with the target, start, and the old ones are gone.
func nodeRollout(t *T) {
	t.Namespace()
	profile := quick("Recommend")
	t.Profile(profile)
	t.Apply(t.burning("Deployment", "web", 2, burner{requests: M{"cpu": "150m", "memory": "200Mi"}, limits: idler.limits,
		steps: []string{"cpu=0.02,mem=60Mi"}}))
	t.Eventually("both run", soon, func() error { return t.podsAsk("web", "app", "cpu", "150m", 2) })
	t.RecIn("deployment-web", "Ready", soon)
	before := t.uids("web")
	profile["apply"].(M)["mode"] = "Rollout"
	t.Profile(profile)
	t.lowered("web", "150m", 2)
	for name := range t.uids("web") {
		if before[name] != "" {
			t.Fatalf("pod %s was there before", name)
		}
	}
	t.Eventually("the rollout is complete", soon, func() error {
		s := t.Workload("deployments", "web").Object("status")
		if s.Int("updatedReplicas") != 2 || s.Int("readyReplicas") != 2 || s.Int("replicas") != 2 {
			return fmt.Errorf("%s", s)
		}
		return nil
	})
	t.stands("deployment-web")
}

// restore gives a running program what its owner asks for, down to its cgroup.
func nodeRestore(t *T) {
	t.Namespace()
	t.Profile(quick("InPlace"))
	t.Apply(t.burning("Deployment", "web", 1, idler))
	before := t.oneRuns("web")
	t.lowered("web", "250m", 1)
	said := t.command(0, "restore", "-n", t.NS, "--timeout", "5m")
	t.Eventually("it has its owner's again", soon, func() error {
		if err := t.podsAsk("web", "app", "memory", "300Mi", 1); err != nil {
			return fmt.Errorf("%w; restore said: %s", err, said)
		}
		return t.actual("web", "250m", "300Mi")
	})
	t.goesOn("web", before)
	if pod := t.Pods("web")[0]; strings.Contains(pod.Object("metadata", "annotations").String(), "halflife.dev/") {
		t.Fatalf("pod %s still carries %s", pod.Name(), pod.Object("metadata", "annotations"))
	}
}

// Usage climbs past what was lowered, but others have taken the room since: that is told, whatever the target waits for, and
// done when there is room.
func nodeDeferred(t *T) {
	t.Namespace()
	t.own()
	profile := quick("InPlace")
	profile["selector"] = M{"matchLabels": M{"app": "web"}}
	profile["apply"].(M)["raise"] = M{"after": "1m", "most": "100"}
	profile["apply"].(M)["cooldown"] = "1h" // one change, and no other that might come meanwhile
	t.Profile(profile)
	t.Apply(t.burning("Deployment", "web", 1, burner{requests: M{"cpu": "300m", "memory": "100Mi"},
		steps: []string{"cpu=0.05,mem=20Mi,for=100", "cpu=0.25,mem=20Mi"}}))
	before := t.oneRuns("web")
	low, _ := t.lowered("web", "300m", 1)
	t.Apply(t.burning("ReplicaSet", "filler", 1, burner{requests: M{"cpu": "450m"}, steps: []string{"mem=10Mi"}}))
	t.oneRuns("filler")
	rec := t.applies("deployment-web", "False", "Deferred", "")
	t.Notef("%s", rec.Condition("Applied").Text("message"))
	t.Check(t.hasShares("web", low))
	t.Check(t.Delete(t.path("replicasets", "filler")))
	t.Eventually("it is given what it waits for", soon, func() error {
		got := containerOf(t.oneRuns("web")).Text("resources", "requests", "cpu")
		if amount(got) < 0.15 {
			return fmt.Errorf("it has %s", got)
		}
		return t.hasShares("web", got)
	})
	t.goesOn("web", before)
}

// A pod is lowered and others take the room; its replacement, which no admission lowers, does not fit, and that is told.
func nodeReplaced(t *T) {
	t.Namespace()
	t.own()
	profile := quick("InPlace")
	profile["selector"] = M{"matchLabels": M{"app": "web"}}
	t.Profile(profile)
	t.Apply(t.burning("Deployment", "web", 1, burner{requests: M{"cpu": "300m", "memory": "100Mi"},
		steps: []string{"cpu=0.03,mem=20Mi"}}))
	before := t.oneRuns("web")
	t.lowered("web", "300m", 1)
	t.Apply(t.burning("ReplicaSet", "filler", 1, burner{requests: M{"cpu": "450m"}, steps: []string{"mem=10Mi"}}))
	t.oneRuns("filler")
	t.Check(t.Delete(t.path("pods", before.Name())))
	rec := t.applies("deployment-web", "False", "Unschedulable", "1 new pods came with the original")
	t.Notef("%s", rec.Condition("Applied").Text("message"))
	t.Check(t.Delete(t.path("replicasets", "filler")))
	t.lowered("web", "300m", 1)
	t.stands("deployment-web")
}
