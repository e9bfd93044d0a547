package scenario

import (
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/node"
)

func init() {
	onNode = append(onNode, scenario{"node-raise", nodeRaise}, scenario{"node-guard", nodeGuard},
		scenario{"node-oom-jump", nodeOOMJump})
	ownNode = append(ownNode, scenario{"node-evict", func(t *T) { nodeEvict(t, 143, "Failed") }},
		scenario{"node-evict-exit0", func(t *T) { nodeEvict(t, 0, "Succeeded") }},
		scenario{"node-kubelet-down", nodeKubeletDown}, scenario{"node-oom-room", nodeOOMRoom},
		scenario{"node-oom-marked", nodeOOMMarked}, scenario{"node-oom-marked-resize", nodeOOMMarkedResize},
		scenario{"node-guard-deferred", nodeGuardDeferred})
	small := node.Settings{Room: 512, Evict: 200} // together more than the hog takes: it is not killed before it is evicted
	nodeOf["node-evict"], nodeOf["node-evict-exit0"] = small, small
	tight := node.Settings{Room: 512, Evict: 10}
	nodeOf["node-oom-room"], nodeOf["node-oom-marked"], nodeOf["node-guard-deferred"] = tight, tight, tight
	nodeOf["node-oom-marked-resize"] = tight
	nodeOf["node-kubelet-down"] = node.Settings{Room: 2048, Evict: 100, Grace: 20 * time.Second}
}

// Memory that climbs past what was lowered is asked for while the program runs, here up to its owner's request; and it
// stands for as long as the program uses it, though nothing of the pod is halflife's any more.
func nodeRaise(t *T) {
	t.Namespace()
	profile := quick("InPlace")
	profile["resources"].(M)["cpu"] = M{"enabled": false}
	profile["apply"].(M)["raise"] = M{"after": "1m", "most": "100"}
	t.Profile(profile)
	t.Apply(t.burning("Deployment", "web", 1, burner{requests: M{"cpu": "100m", "memory": "300Mi"},
		steps: []string{"cpu=0.02,mem=60Mi,for=60", "cpu=0.02,mem=350Mi,grow=5"}}))
	before := t.oneRuns("web")
	asks := func(what string, want func(bytes float64) bool) kube.Object {
		var pod kube.Object
		t.Eventually(what, soon, func() error {
			pod = t.oneRuns("web")
			got := containerOf(pod).Text("resources", "requests", "memory")
			if !want(amount(got)) {
				return fmt.Errorf("it has %s", got)
			}
			return nil
		})
		return pod
	}
	asks("it is lowered", func(bytes float64) bool { return bytes < 200*mi })
	all := func(bytes float64) bool { return bytes == 300*mi }
	asks("it is given all that its owner asks for", all)
	t.Cycles(t.halflife, 3)
	pod := asks("it has that still", all)
	if pod.Annotation("halflife.dev/raised") == "" || pod.Annotation(applied) != "" {
		t.Fatalf("it does not tell that it was raised to its original: %s", pod.Object("metadata", "annotations"))
	}
	if said := t.halflife.Said(t.NS, 100); strings.Count(said, "pod raised") != 1 {
		t.Fatalf("it was not raised once:\n%s", said)
	}
	t.goesOn("web", before)
}

// A program that ends by itself after it was lowered is given what its owner asks for, and left alone.
func nodeGuard(t *T) {
	t.Namespace()
	profile := quick("InPlace")
	profile["apply"].(M)["guard"] = M{"watch": "10m", "restarts": 1}
	t.Profile(profile)
	t.Apply(t.burning("Deployment", "web", 1, burner{requests: M{"cpu": "100m", "memory": "200Mi"},
		steps: []string{"cpu=0.02,mem=60Mi,for=50,exit=1"}}))
	t.lowered("web", "100m", 1)
	t.guarded("deployment-web", "Restarts", "")
	t.Eventually("it has its owner's again", soon, func() error { return t.actual("web", "100m", "200Mi") })
	if kills := t.RecIn("deployment-web", "Held", soon).Int("status", "oomKills"); kills != 0 {
		t.Fatalf("%d kills are counted of a program that ended by itself", kills)
	}
}

// Usage that jumps over its limit between two samples is its limit's matter, whatever the last sample was.
func nodeOOMJump(t *T) {
	t.Namespace()
	profile := quick("InPlace")
	profile["apply"].(M)["guard"] = M{"watch": "10m", "restarts": 1}
	t.Profile(profile)
	t.Apply(t.burning("Deployment", "web", 1, burner{requests: M{"cpu": "60m", "memory": "100Mi"}, limits: M{"memory": "120Mi"},
		steps: []string{"cpu=0.01,mem=20Mi,for=60", "cpu=0.01,mem=300Mi"}}))
	t.lowered("web", "60m", 1)
	t.killedAgain("web")
	t.RecWhen("deployment-web", "the limit is too low", soon, func(r kube.Object) error {
		if got := r.Condition("OutOfMemory").Text("reason"); got != "LimitTooLow" {
			return fmt.Errorf("condition OutOfMemory has reason '%s': %s", got, r.Condition("OutOfMemory"))
		}
		return nil
	})
	t.Cycles(t.halflife, 2)
	t.unguarded("deployment-web")
}

// saidOf is what halflife logged of a kill, by cause.
func (t *T) saidOf(cause string) error {
	if said := t.halflife.Said(t.NS, 100); !strings.Contains(said, "cause="+cause) {
		return fmt.Errorf("its log names no cause %s:\n%s", cause, said)
	}
	return nil
}

// A node short of memory evicts who uses more than he asks for. How the program ends then is its own matter, and so is the
// pod's phase; it counts as a kill for lack of memory in any case.
func nodeEvict(t *T, code int, phase string) {
	t.Namespace()
	t.own()
	t.Profile(quick("Recommend"))
	t.Apply(t.burning("Deployment", "hog", 1, burner{requests: M{"cpu": "20m", "memory": "60Mi"},
		steps: []string{fmt.Sprintf("cpu=0.01,mem=60Mi,for=20,term=%d", code), "cpu=0.01,mem=690Mi,grow=80"}}))
	t.oneRuns("hog")
	t.Eventually("it is evicted", soon, func() error {
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
	t.Eventually("the eviction is counted", soon, func() error {
		r, err := t.Rec("deployment-hog")
		if err != nil {
			return err
		}
		if r.Int("status", "oomKills") == 0 {
			return fmt.Errorf("none is: %s", r.Object("status"))
		}
		return t.saidOf("eviction")
	})
	rec, err := t.Rec("deployment-hog")
	t.Check(err)
	if got := rec.Condition("OutOfMemory").Text("reason"); got == "LimitTooLow" || got == "" {
		t.Fatalf("condition OutOfMemory has reason '%s'", got)
	}
}

// All pods together are more than the node has for them, and one is killed far below its limit: the limit is not to blame.
func nodeOOMRoom(t *T) {
	t.Namespace()
	t.own()
	t.Profile(quick("Recommend"))
	t.Apply(t.burning("Deployment", "hog", 1, burner{requests: M{"cpu": "20m", "memory": "60Mi"}, limits: M{"memory": "2Gi"},
		steps: []string{"cpu=0.01,mem=60Mi,for=40", "cpu=0.01,mem=900Mi,grow=3"}}))
	t.oneRuns("hog")
	t.killedAgain("hog")
	rec := t.RecWhen("deployment-hog", "the kill is counted", soon, func(r kube.Object) error {
		if r.Int("status", "oomKills") == 0 || r.Condition("OutOfMemory") == nil {
			return fmt.Errorf("it is not: %s", r.Object("status"))
		}
		return nil
	})
	if c := rec.Condition("OutOfMemory"); c.Text("reason") == "LimitTooLow" {
		t.Fatalf("a limit of 2Gi is blamed for a kill at 512Mi: %s", c)
	}
}

// The kubelet is away, and its node unready: programs go on, and halflife changes nothing of them, neither meanwhile nor
// when the kubelet is back.
func nodeKubeletDown(t *T) {
	t.Namespace()
	h := t.own()
	profile := quick("InPlace")
	profile["apply"].(M)["guard"] = M{"watch": "2m"} // pods that are not ready for half a minute are harm
	profile["apply"].(M)["cooldown"] = "1h"          // one change, and no other that might come meanwhile
	t.Profile(profile)
	t.Apply(t.burning("Deployment", "web", 1, idler))
	before := t.oneRuns("web")
	cpu, memory := t.lowered("web", "250m", 1)
	t.stands("deployment-web")
	t.Node.Kubelet.Kill()
	ready := func(want string) {
		t.Eventually("the node's condition Ready is "+want, soon, func() error {
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
	used, went := t.worked(before), time.Now()
	t.Eventually("half a minute and more has passed", soon, func() error {
		if passed := time.Since(went); passed < 40*time.Second {
			return fmt.Errorf("%s so far", passed)
		}
		return nil
	})
	if t.worked(before) <= used {
		t.Fatalf("the program stands still")
	}
	t.unguarded("deployment-web")
	t.Check(t.podsAsk("web", "app", "cpu", cpu, 1))
	t.Check(t.Node.StartKubelet())
	ready("True")
	t.goesOn("web", before)
	t.Cycles(h, 3)
	t.unguarded("deployment-web")
	t.Check(t.podsAsk("web", "app", "cpu", cpu, 1))
	t.Check(t.podsAsk("web", "app", "memory", memory, 1))
	if kills := t.RecIn("deployment-web", "Ready", soon).Int("status", "oomKills"); kills != 0 {
		t.Fatalf("%d kills are counted, and there was none", kills)
	}
}

// On cgroup v1 a kill for lack of room marks every container of the node, and whatever ends there later is reported as
// OOMKilled: with 0 in a rollout, with 1 by itself. Neither is a kill, and neither is taken back.
func nodeOOMMarked(t *T) {
	t.Namespace()
	h := t.own()
	profile := quick("InPlace")
	profile["selector"] = M{"matchExpressions": L{M{"key": "app", "operator": "NotIn", "values": L{"hog"}}}}
	profile["apply"].(M)["guard"] = M{"watch": "10m", "restarts": 9}
	t.Profile(profile)
	quiet := burner{requests: M{"cpu": "60m", "memory": "100Mi"}, limits: M{"memory": "200Mi"}, steps: []string{"cpu=0.01,mem=40Mi"}}
	ends := quiet
	ends.steps = []string{"cpu=0.01,mem=40Mi,for=100,exit=1"}
	t.Apply(t.burning("Deployment", "calm", 1, quiet))
	t.Apply(t.burning("Deployment", "ends", 1, ends))
	old := t.oneRuns("calm")
	t.lowered("calm", "60m", 1)
	t.lowered("ends", "60m", 1)
	t.Apply(t.burning("Deployment", "hog", 1, burner{requests: M{"cpu": "20m", "memory": "60Mi"}, limits: M{"memory": "2Gi"},
		steps: []string{"cpu=0.01,mem=900Mi,grow=3"}}))
	t.oneRuns("hog")
	t.killedAgain("hog")
	t.Check(t.Delete(t.path("deployments", "hog")))
	t.Ctl("-n", t.NS, "rollout", "restart", "deployment/calm")
	t.Eventually("it is replaced", soon, func() error {
		if pod := t.oneRuns("calm"); pod.UID() == old.UID() {
			return fmt.Errorf("pod %s is still there", pod.Name())
		}
		return nil
	})
	var dead kube.Object
	t.Eventually("the other ends by itself", soon, func() error {
		if list := deaths(t.Pods("ends")[0]); len(list) > 0 {
			dead = list[0]
			return nil
		}
		return fmt.Errorf("it runs")
	})
	t.Notef("ended with %d, reason %s", dead.Int("exitCode"), dead.Text("reason"))
	t.Cycles(h, 3)
	for _, name := range []string{"calm", "ends"} {
		rec, err := t.Rec("deployment-" + name)
		t.Check(err)
		if rec.Int("status", "oomKills") != 0 || rec.Condition("Guarded").Text("status") != "" {
			t.Fatalf("%s was not killed, and its status is %s", name, rec.Object("status"))
		}
	}
	if dead.Text("reason") == "OOMKilled" && h.counted("halflife_oom_kills_not_believed_total") == 0 {
		t.Fatalf("what was not believed is not counted")
	}
}

// An owner's resize restarts a container that ignores SIGTERM, so that the kubelet kills it. On cgroup v1 it was marked by a kill
// elsewhere on the node, and is reported as OOMKilled with 137: that is no kill for lack of memory, and nothing is taken back.
func nodeOOMMarkedResize(t *T) {
	t.Namespace()
	h := t.own()
	profile := quick("InPlace")
	profile["selector"] = M{"matchLabels": M{"app": "web"}}
	profile["apply"].(M)["guard"] = M{"watch": "10m", "restarts": 9}
	t.Profile(profile)
	web := t.burning("Deployment", "web", 1, burner{requests: M{"cpu": "60m", "memory": "100Mi"}, limits: M{"memory": "200Mi"},
		steps: []string{"cpu=0.01,mem=40Mi,deaf=1"}})
	pod := web["spec"].(M)["template"].(M)["spec"].(M)
	pod["containers"].(L)[0].(M)["resizePolicy"] = L{M{"resourceName": "memory", "restartPolicy": "RestartContainer"}}
	t.Apply(web)
	name := t.oneRuns("web").Name()
	t.Eventually("its CPU is lowered", soon, func() error {
		if got := containerOf(t.oneRuns("web")).Text("resources", "requests", "cpu"); amount(got) >= 0.06 {
			return fmt.Errorf("it has %s", got)
		}
		return nil
	})
	t.Apply(t.burning("Deployment", "hog", 1, burner{requests: M{"cpu": "20m", "memory": "60Mi"}, limits: M{"memory": "2Gi"},
		steps: []string{"cpu=0.01,mem=900Mi,grow=3"}}))
	t.killedAgain("hog")
	t.Check(t.Delete(t.path("deployments", "hog")))
	t.Ctl("-n", t.NS, "patch", "pod", name, "--subresource", "resize", "-p",
		`{"spec":{"containers":[{"name":"app","resources":{"requests":{"memory":"90Mi"}}}]}}`)
	var dead kube.Object
	t.Eventually("the resize restarts it", soon, func() error {
		if list := deaths(t.Pods("web")[0]); len(list) > 0 {
			dead = list[0]
			return nil
		}
		return fmt.Errorf("it runs")
	})
	t.Notef("ended with %d, reason %s", dead.Int("exitCode"), dead.Text("reason"))
	if dead.Int("exitCode") != 137 || (!node.Unified() && dead.Text("reason") != "OOMKilled") {
		t.Fatalf("it was to be killed, and to be marked: %s", dead)
	}
	t.Cycles(h, 3)
	t.unguarded("deployment-web")
	rec, err := t.Rec("deployment-web")
	t.Check(err)
	if kills := rec.Int("status", "oomKills"); kills != 0 {
		t.Fatalf("%d kills are counted of a container that its kubelet restarted for a resize", kills)
	}
	if dead.Text("reason") == "OOMKilled" && h.counted("halflife_oom_kills_not_believed_total") == 0 {
		t.Fatalf("what was not believed is not counted")
	}
}

// What did harm is taken back, and the node has no room to give it back: that is said until it has.
func nodeGuardDeferred(t *T) {
	t.Namespace()
	t.own()
	profile := quick("InPlace")
	profile["selector"] = M{"matchLabels": M{"app": "web"}}
	profile["apply"].(M)["guard"] = M{"watch": "10m", "restarts": 1}
	t.Profile(profile)
	t.Apply(t.burning("Deployment", "web", 1, burner{requests: M{"cpu": "60m", "memory": "300Mi"},
		steps: []string{"cpu=0.01,mem=40Mi,for=90,exit=1"}}))
	t.oneRuns("web")
	t.lowered("web", "60m", 1)
	t.Apply(t.burning("ReplicaSet", "filler", 1, burner{requests: M{"memory": "350Mi"}, steps: []string{"mem=10Mi"}}))
	t.oneRuns("filler")
	t.guarded("deployment-web", "Restarts", "given back to 0 of 1 pods, 1 wait for room on their nodes")
	rec := t.applies("deployment-web", "False", "Deferred", "1 of 1 pods wait for room")
	t.Notef("%s", rec.Condition("Guarded").Text("message"))
	t.Check(t.Delete(t.path("replicasets", "filler")))
	t.Eventually("it has its owner's again", soon, func() error { return t.actual("web", "60m", "300Mi") })
	t.RecWhen("deployment-web", "nothing waits any more", soon, func(r kube.Object) error {
		if said := r.Condition("Guarded").Text("message"); strings.Contains(said, "given back") {
			return fmt.Errorf("%s", said)
		}
		return nil
	})
}
