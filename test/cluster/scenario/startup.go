package scenario

import (
	"fmt"
	"syscall"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// startupProfile makes a quick profile whose pods start with their originals.
func startupProfile(mode, after string) M {
	p := stage.QuickProfile(mode)
	p["apply"].(M)["startup"] = M{"request": "Original", "after": after, "most": "24h"}
	return p
}

// reportStart writes the status of a pod whose container has restarted, as its kubelet would.
func reportStart(t *stage.T, pod string, ready bool) {
	p, err := t.Get(t.Path("pods", pod))
	t.Check(err)
	now := time.Now().UTC().Format(time.RFC3339)
	is := map[bool]string{true: "True", false: "False"}[ready]
	change := L{}
	for i, c := range p.List("status", "conditions") {
		if c.Text("type") == "Ready" {
			change = append(change, M{"op": "replace", "path": fmt.Sprintf("/status/conditions/%d/status", i), "value": is},
				M{"op": "replace", "path": fmt.Sprintf("/status/conditions/%d/lastTransitionTime", i), "value": now})
		}
	}
	if !ready {
		change = append(change, M{"op": "replace", "path": "/status/containerStatuses/0/restartCount", "value": 1},
			M{"op": "replace", "path": "/status/containerStatuses/0/state", "value": M{"running": M{"startedAt": now}}})
	}
	_, err = t.Patch(t.Path("pods", pod)+"/status", change)
	t.Check(err)
}

// readySince returns since when a pod is Ready.
func readySince(p kube.Object) (time.Time, error) {
	c := p.Condition("Ready")
	if c.Text("status") != "True" {
		return time.Time{}, fmt.Errorf("pod %s is not Ready: %s", p.Name(), c)
	}
	return time.Parse(time.RFC3339, c.Text("lastTransitionTime"))
}

// askFor waits until a pod asks for that CPU.
func askFor(t *stage.T, pod, cpu string) {
	t.Eventually(pod+" asks for "+cpu, stage.Soon, func() error {
		p, err := t.Get(t.Path("pods", pod))
		if err != nil {
			return err
		}
		if got := stage.PodRequested(p, "app", "cpu"); got != cpu {
			return fmt.Errorf("it asks for %s", got)
		}
		return nil
	})
}

// waitStarting waits until a workload's pods have their originals while they start.
func waitStarting(t *stage.T, rec string) {
	t.RecWhen(rec, "pods start", stage.Soon, func(r kube.Object) error {
		if got := r.Condition("Startup").Text("reason"); got != "Starting" {
			return fmt.Errorf("condition Startup: %s", r.Condition("Startup"))
		}
		return nil
	})
}

// checkBorn ends the scenario unless a pod has its originals, and the record of them alone.
func checkBorn(t *stage.T, p kube.Object) {
	if got := stage.PodRequested(p, "app", "cpu"); got != "2" {
		t.Fatalf("pod %s was admitted with %s", p.Name(), got)
	}
	recorded := kube.Parse(p.Annotation(stage.OriginalsAnnotation)).Text("app", "requests", "cpu")
	if recorded != "2" && !t.BlameUnknown() || p.Annotation(stage.AppliedAnnotation) != "" {
		t.Fatalf("the annotations of pod %s are %s", p.Name(), p.Object("metadata", "annotations"))
	}
}

// servedFor returns how long the API server took for the resizes since mark, of which halflife has 16 under way at once. On a
// busy machine that is longer than an interval.
func servedFor(t *stage.T, mark int64) time.Duration {
	var all time.Duration
	for _, w := range t.Audit.Since(mark, stage.LearnerUser) {
		if w.Object.Subresource == "resize" {
			all += w.Reached.Sub(w.Received)
		}
	}
	return all / 16
}

// A pod starts with its originals and goes down once it has been Ready for long enough. A container that restarts gets them
// again while it starts. Of 200 pods that start at once, each is at its target within two intervals of that.
func startupInPlace(t *stage.T) {
	const many, after = 200, 20 * time.Second
	within := stage.Scaled(2*stage.Interval + 5*time.Second) // two intervals, and the time to look at all of them
	t.Namespace()
	t.Profile(startupProfile("InPlace", "1h"))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	waitStarting(t, "deployment-web")
	t.Cycles(t.Learner, 2)
	t.Check(t.PodsAsk("web", "app", "cpu", "2", 2))
	before := t.UIDs("web")
	t.Ctl("-n", t.NS, "scale", "deployment/web", "--replicas=3")
	t.Eventually("a third runs", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", "2", 3) })
	for _, p := range t.Pods("web") {
		if before[p.Name()] == "" {
			checkBorn(t, p)
		}
	}
	t.Profile(startupProfile("InPlace", after.String()))
	cpu, memory := stage.Targets()
	t.WaitResized("web", 3, cpu, memory)
	pod := t.Pods("web")[0].Name()
	reportStart(t, pod, false)
	askFor(t, pod, "2")
	t.Cycles(t.Learner, 2)
	askFor(t, pod, "2")
	reportStart(t, pod, true)
	askFor(t, pod, cpu)

	before = t.UIDs("web")
	mark := t.Audit.Mark()
	t.Ctl("-n", t.NS, "scale", "deployment/web", fmt.Sprintf("--replicas=%d", many+3))
	low := map[string]bool{}
	var latest time.Duration
	t.Eventually("all are at their target", 2*stage.Soon, func() error {
		for _, p := range t.Pods("web") {
			if before[p.Name()] != "" || low[p.Name()] || stage.PodRequested(p, "app", "cpu") != cpu {
				continue
			}
			since, err := readySince(p)
			t.Check(err)
			took := time.Since(since) - after
			if took < 0 {
				t.Fatalf("pod %s was lowered %s before its time", p.Name(), -took)
			}
			low[p.Name()] = true
			latest = max(latest, took)
		}
		if len(low) < many {
			return fmt.Errorf("%d of %d", len(low), many)
		}
		return nil
	})
	within += servedFor(t, mark)
	if latest > within {
		t.Fatalf("the last of %d pods was at its target %s after its time, and not within %s", many, latest, within)
	}
	t.Notef("the last of %d pods was at its target %.1f s after its time", many, latest.Seconds())
}

// halflife is killed while pods go down from their starts. One pod is not Ready, one waits for room on its node, and one can
// never have it. The next process lowers all but the one that is not Ready, and that one once it is.
func startupKilled(t *stage.T) {
	const pods = 60
	t.Namespace()
	t.Profile(startupProfile("InPlace", "1h"))
	h := t.StartOwn("--api-rate=20")
	t.Apply(t.NewDeployment("web", pods, stage.App()))
	waitStarting(t, "deployment-web")
	t.Eventually("they run", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", "2", pods) })
	before := t.UIDs("web")
	list := t.Pods("web")
	late := list[0].Name()
	reportStart(t, late, false)
	reportResize(t, list[1].Name(), "PodResizePending", "Deferred", "later")
	reportResize(t, list[2].Name(), "PodResizePending", "Infeasible", "never")
	t.Profile(startupProfile("InPlace", "5s"))
	cpu, memory := stage.Targets()
	low := func(least int) func() error {
		return func() error {
			if n := t.CountByCPU("web")[cpu]; n < least {
				return fmt.Errorf("%d of %d", n, least)
			}
			return nil
		}
	}
	t.Eventually("some are lowered", stage.Soon, low(1))
	h.Signal(syscall.SIGKILL)
	_, err := h.Wait(30 * time.Second)
	t.Check(err)
	killed := t.CountByCPU("web")[cpu]
	if killed >= pods-1 {
		t.Fatalf("%d were lowered before it was killed", killed)
	}
	t.Check(h.Start())
	t.Eventually("all that are Ready are lowered", stage.Soon, low(pods-1))
	t.Cycles(h, 2)
	askFor(t, late, "2")
	reportStart(t, late, true)
	t.WaitResized("web", pods, cpu, memory)
	t.CheckSamePods("web", before)
	t.Notef("killed with %d of %d pods lowered", killed, pods)
}

// Under OnDeploy only the pods that a deploy made go down; those before it stay.
func startupOnDeploy(t *stage.T) {
	t.Namespace()
	t.Profile(startupProfile("OnDeploy", "1h"))
	t.Apply(t.NewWorkload("StatefulSet", "db", 2, stage.App()))
	t.RecIn("statefulset-db", "Ready", stage.Soon)
	t.Cycles(t.Learner, 2)
	old := t.UIDs("db")
	t.Check(t.Delete(t.Path("pods", "db-1")))
	t.Eventually("its successor starts", stage.Soon, func() error {
		p, err := t.Get(t.Path("pods", "db-1"))
		if err != nil {
			return err
		}
		if p.UID() == old["db-1"] || p.Text("status", "phase") != "Running" {
			return fmt.Errorf("it is %s", p.Text("status", "phase"))
		}
		checkBorn(t, p)
		return nil
	})
	cpu, _ := stage.Targets()
	t.Profile(startupProfile("OnDeploy", "0s"))
	askFor(t, "db-1", cpu)
	t.Cycles(t.Learner, 2)
	askFor(t, "db-0", "2")
}
