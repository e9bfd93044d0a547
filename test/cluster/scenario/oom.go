package scenario

import (
	"fmt"
	"math"
	"sync"
	"syscall"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// 200 containers in pods that still exist are killed for lack of memory, and in the middle of it halflife is, with SIGKILL. Each kill
// is counted once: those that it stored, those that it had seen and not stored, and those that came while it was down. One of the pods
// is evicted then, and deleted at once.
func oomKills(t *stage.T) {
	const workloads, pods, before, during = 4, 50, 80, 160
	t.Namespace()
	profile := stage.QuickProfile("Recommend")
	t.Profile(profile)
	h := t.StartOwn("--checkpoint-interval", "10s")
	var all []kube.Object
	for i := range workloads {
		t.Apply(t.NewDeployment(fmt.Sprintf("web-%d", i), pods, stage.Container{Name: "app", Requests: M{"cpu": "100m", "memory": "1Gi"},
			CPU: stage.UsedCPU, Memory: stage.UsedMemory}))
	}
	for i := range workloads {
		name := fmt.Sprintf("web-%d", i)
		t.Eventually("pods of "+name, stage.Soon, func() error { return t.PodsAsk(name, "app", "memory", "1Gi", pods) })
		t.RecIn("deployment-"+name, "Ready", stage.Soon)
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
					if err := t.ReportOOMKill(all[i], i%2 == 0); err != nil {
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
	t.Eventually("each is counted", stage.Soon, count(workloads*pods))
	for i := range workloads {
		t.CheckGeneration("deployments", fmt.Sprintf("web-%d", i), 1)
	}
	rec := t.RecIn("deployment-web-0", "Ready", stage.Soon)
	t.Check(stage.CheckCondition(rec, "OutOfMemory", "True", "container 'app' was killed or evicted for lack of memory"))
	h.Kill()
	t.StartAgain(h)
	t.Check(count(workloads * pods)())
	victim := t.Pods("web-0")[0]
	for _, p := range t.Pods("web-0") {
		if p.Named("app", "status", "containerStatuses").Int("restartCount") == 1 { // its present process lives
			victim = p
		}
	}
	_, err = t.Patch(t.Path("pods", victim.Name())+"/status", L{M{"op": "add", "path": "/status/reason", "value": "Evicted"},
		M{"op": "add", "path": "/status/message", "value": "The node was low on resource: memory. Container app was using " +
			"1200Mi, request is 1Gi, has larger consumption of memory. "}})
	t.Check(err)
	t.Ctl("-n", t.NS, "delete", "pod", victim.Name(), "--wait=false")
	t.Eventually("the eviction is counted as one more", stage.Soon, count(workloads*pods+1))
}

// An OOM kill raises the memory model beside the histogram, once.
func oom(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Recommend"))
	t.Apply(t.NewDeployment("web", 1, stage.Container{Name: "app", Requests: M{"cpu": "2", "memory": "4Gi"},
		Limits: M{"memory": "6Gi"}, CPU: stage.UsedCPU, Memory: 300 * stage.Mi}))
	memory := func(want int64) func(kube.Object) error {
		return func(r kube.Object) error {
			got := r.Named("app", "status", "containers").Text("memory", "model")
			if got != model.Memory.Text(want) {
				return fmt.Errorf("the memory model is '%s', not %s", got, model.Memory.Text(want))
			}
			return nil
		}
	}
	t.RecWhen("deployment-web", "memory before the kill", stage.Soon, memory(model.Memory.Model(300*stage.Mi)))
	pod := t.Pods("web")[0]
	t.UseMemory(pod.Name(), 5*1024*stage.Mi)
	t.RecWhen("deployment-web", "its usage near the limit", stage.Soon, func(r kube.Object) error {
		got := r.Named("app", "status", "containers").Text("memory", "model")
		if got == model.Memory.Text(model.Memory.Model(300*stage.Mi)) {
			return fmt.Errorf("the memory model is still %s", got)
		}
		return nil
	})
	now := time.Now().UTC().Format(time.RFC3339)
	_, err := t.Patch(t.Path("pods", pod.Name())+"/status", L{
		M{"op": "replace", "path": "/status/containerStatuses/0/restartCount", "value": 1},
		M{"op": "add", "path": "/status/containerStatuses/0/lastState", "value": M{"terminated": M{
			"exitCode": 137, "reason": "OOMKilled", "startedAt": pod.Text("status", "startTime"), "finishedAt": now}}},
	})
	t.Check(err)
	// Its last sample was near the limit, so that is what killed it: max(6Gi x 1.2, 6Gi + 100Mi), up to a whole Mi.
	killed := int64(6*1024*stage.Mi) * 12 / 10
	killed = (killed + stage.Mi - 1) / stage.Mi * stage.Mi
	rec := t.RecWhen("deployment-web", "memory after the kill", stage.Soon, memory(killed))
	if got := rec.Named("app", "status", "containers").Text("memory", "target"); got != "4Gi" {
		t.Fatalf("the target is %s, above the original of 4Gi", got)
	}
	t.Cycles(t.Learner, 2)
	rec = t.RecWhen("deployment-web", "the kill counts once", stage.Soon, memory(killed))
	t.Check(stage.CheckCondition(rec, "OutOfMemory", "True", "the limit is too low: raise it by hand"))
	advised := rec.Named("app", "status", "containers")
	for field, want := range map[string]string{"reason": "KilledAtLimit", "current": "6Gi", "needed": model.Memory.Text(killed),
		"advised": model.Memory.Text(model.MemoryDefault.Target(killed, math.MaxInt64))} {
		if got := advised.Text("limits", "memory", field); got != want {
			t.Fatalf("limits.memory.%s is '%s', not %s", field, got, want)
		}
	}
	t.CheckGeneration("deployments", "web", 1) // nothing wrote the limit
	_, err = t.Patch(t.Path("deployments", "web"), L{M{"op": "replace", "path": "/spec/template/spec/containers/0/resources/limits/memory",
		"value": "9Gi"}})
	t.Check(err)
	t.RecWhen("deployment-web", "no limit is advised", stage.Soon, func(r kube.Object) error {
		if got := r.Named("app", "status", "containers").Text("limits", "memory", "advised"); got != "" {
			return fmt.Errorf("a limit of %s is advised still", got)
		}
		return nil
	})
	if got := rec.Int("status", "oomKills"); got != 1 {
		t.Fatalf("%d kills are told, not 1", got)
	}
}
