package scenario

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"halflife.dev/cluster/kube"
)

func init() {
	alone = append(alone, scenario{"oom-200", oomKills})
}

// killed makes the kubelet's report of a pod whose container was killed: of the process before, or of the present one.
func (t *T) killed(pod kube.Object, present bool) error {
	now := time.Now().UTC().Format(time.RFC3339)
	dead := M{"terminated": M{"exitCode": 137, "reason": "OOMKilled", "startedAt": pod.Text("status", "startTime"), "finishedAt": now}}
	change := L{M{"op": "replace", "path": "/status/containerStatuses/0/restartCount", "value": 1},
		M{"op": "add", "path": "/status/containerStatuses/0/lastState", "value": dead}}
	if present {
		change = L{M{"op": "add", "path": "/status/containerStatuses/0/state", "value": dead}}
	}
	_, err := t.Patch(t.path("pods", pod.Name())+"/status", change)
	return err
}

// 200 containers in pods that still exist are killed for lack of memory, and in the middle of it halflife is, with SIGKILL. Each kill
// is counted once: those that it stored, those that it had seen and not stored, and those that came while it was down. One of the pods
// is evicted then, and deleted at once.
func oomKills(t *T) {
	const workloads, pods, before, during = 4, 50, 80, 160
	t.Namespace()
	profile := quick("Recommend")
	t.Profile(profile)
	h := t.own("--checkpoint-interval", "10s")
	var all []kube.Object
	for i := range workloads {
		t.Apply(t.deployment(fmt.Sprintf("web-%d", i), pods, box{name: "app", requests: M{"cpu": "100m", "memory": "1Gi"},
			cpu: usedCPU, memory: usedMemory}))
	}
	for i := range workloads {
		name := fmt.Sprintf("web-%d", i)
		t.Eventually("pods of "+name, soon, func() error { return t.podsAsk(name, "app", "memory", "1Gi", pods) })
		t.RecIn("deployment-"+name, "Ready", soon)
		all = append(all, t.Pods(name)...)
	}
	kill := func(from, to int) {
		var wait sync.WaitGroup
		failures := make(chan error, to-from)
		for part := range 4 {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for i := from + part; i < to; i += 4 {
					if err := t.killed(all[i], i%2 == 0); err != nil {
						failures <- err
					}
				}
			}()
		}
		wait.Wait()
		if len(failures) > 0 {
			t.Check(<-failures)
		}
	}
	kill(0, before)
	h.Signal(syscall.SIGKILL) // some are on disk, of some it has just heard
	_, err := h.Wait(30 * time.Second)
	t.Check(err)
	kill(before, during)
	t.Check(h.Start())
	kill(during, len(all))
	t.Cycles(h, 1)
	count := func(want int64) func() error {
		return func() error {
			sum := int64(0)
			for i := range workloads {
				r, err := t.Rec(fmt.Sprintf("deployment-web-%d", i))
				if err != nil {
					return err
				}
				sum += r.Int("status", "oomKills")
			}
			if sum != want {
				return fmt.Errorf("%d kills counted, not %d", sum, want)
			}
			return nil
		}
	}
	t.Eventually("each is counted", soon, count(workloads*pods))
	for i := range workloads {
		t.generation("deployments", fmt.Sprintf("web-%d", i), 1)
	}
	rec := t.RecIn("deployment-web-0", "Ready", soon)
	t.Check(condition(rec, "OutOfMemory", "True", "container 'app' was killed or evicted for lack of memory"))
	h.Kill()
	t.again(h)
	t.Check(count(workloads * pods)())
	victim := t.Pods("web-0")[0]
	for _, p := range t.Pods("web-0") {
		if p.Named("app", "status", "containerStatuses").Int("restartCount") == 1 { // its present process lives
			victim = p
		}
	}
	_, err = t.Patch(t.path("pods", victim.Name())+"/status", L{M{"op": "add", "path": "/status/reason", "value": "Evicted"},
		M{"op": "add", "path": "/status/message", "value": "The node was low on resource: memory. Container app was using " +
			"1200Mi, request is 1Gi, has larger consumption of memory. "}})
	t.Check(err)
	t.Ctl("-n", t.NS, "delete", "pod", victim.Name(), "--wait=false")
	t.Eventually("the eviction is counted as one more", soon, count(workloads*pods+1))
}
