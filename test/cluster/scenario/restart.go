package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"syscall"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// samples counts what metrics-server tells of a namespace: each time stamp of each container once.
type samples struct {
	mu   sync.Mutex
	seen map[string]bool
}

func countSamples(t *stage.T, ctx context.Context) *samples {
	s := &samples{seen: map[string]bool{}}
	path := "/apis/metrics.k8s.io/v1beta1/namespaces/" + t.NS + "/pods"
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ctx.Err() == nil {
			if list, err := t.Get(path); err == nil {
				s.add(list)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	return s
}

func (s *samples) add(list kube.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pod := range list.List("items") {
		for _, c := range pod.List("containers") {
			s.seen[pod.Name()+"/"+c.Text("name")+"@"+pod.Text("timestamp")] = true
		}
	}
}

// steady watches recommendations and keeps the first status that differs in state or numbers from what they were.
type steady struct {
	mu    sync.Mutex
	wrong string
}

func keepSteady(t *stage.T, ctx context.Context, want map[string]string) *steady {
	s := &steady{}
	check := func(r kube.Object) {
		if got := numbersOf(r); want[r.Name()] != "" && got != want[r.Name()] {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.wrong == "" {
				s.wrong = fmt.Sprintf("%s became %s, was %s", r.Name(), got, want[r.Name()])
			}
		}
	}
	go func() {
		_ = t.Watch(ctx, t.Path("recommendations", ""), func(e kube.Event) error {
			var o kube.Object
			if json.Unmarshal(e.Object, &o) != nil {
				return nil
			}
			if e.Type == "LIST" {
				for _, r := range o.List("items") {
					check(r)
				}
			} else {
				check(o)
			}
			return nil
		})
	}()
	return s
}

// numbersOf is what a restart must not change.
func numbersOf(r kube.Object) string {
	c := r.Named("app", "status", "containers")
	return fmt.Sprintf("%s cpu %s/%s memory %s/%s", r.Text("status", "state"), c.Text("cpu", "model"), c.Text("cpu", "target"),
		c.Text("memory", "model"), c.Text("memory", "target"))
}

// Ended in whatever way and started again, halflife tells the same numbers without learning anew, counts no sample twice
// and starts no second rollout.
func restart(t *stage.T) {
	t.Namespace()
	h := t.StartOwn("--checkpoint-interval", "10s")
	profile := stage.QuickProfile("Rollout")
	profile["apply"].(M)["minHistory"] = "40s"
	t.Profile(profile)
	ctx, cancel := context.WithCancel(t.Context)
	defer cancel()
	told := countSamples(t, ctx)
	usages := map[string]int64{"a": 137, "b": 410, "c": 612}
	for name, cpu := range usages {
		t.Apply(t.NewDeployment(name, 2, stage.AppUsing(cpu, stage.UsedMemory)))
	}
	was := map[string]string{}
	for name, cpu := range usages {
		want := model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(cpu), 2000))
		t.Eventually(name+" is lowered", stage.Soon, func() error { return t.PodsAsk(name, "app", "cpu", want, 2) })
		was["deployment-"+name] = numbersOf(t.RecIn("deployment-"+name, "Ready", stage.Soon))
	}
	t.Cycles(h, 2) // a checkpoint at the least
	same := keepSteady(t, ctx, was)

	code, took, err := h.Terminate()
	t.Check(err)
	if code != 0 || took > 5*time.Second {
		t.Fatalf("SIGTERM: exit code %d after %s", code, took)
	}
	t.Notef("SIGTERM: exit 0 after %.1f s", took.Seconds())
	t.StartAgain(h)
	h.Kill()
	t.StartAgain(h)
	killInCycle(t, h)
	t.StartAgain(h)

	for name := range usages {
		t.CheckGeneration("deployments", name, 2)
	}
	same.mu.Lock()
	wrong := same.wrong
	same.mu.Unlock()
	if wrong != "" {
		t.Fatalf("%s", wrong)
	}
	moreUsage(t, "a")
	all := t.RecWhen("deployment-a", "a status with its counters", stage.Soon, func(r kube.Object) error {
		if got := numbersOf(r); got == was[r.Name()] {
			return fmt.Errorf("nothing new: %s", got)
		}
		return nil
	})
	count, most := all.Int("status", "samples"), told.of("a")
	if count > most || count < most/2 {
		t.Fatalf("%d samples counted, metrics-server told %d", count, most)
	}
	t.Notef("%d samples counted of %d told, over three restarts", count, most)
}

func (s *samples) of(app string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(0)
	for key := range s.seen {
		if len(key) > len(app) && key[:len(app)+1] == app+"-" {
			n++
		}
	}
	return n
}

// killInCycle ends it just when it has asked for the usage of pods.
func killInCycle(t *stage.T, h *stage.Halflife) {
	mark := t.Audit.Mark()
	deadline := time.Now().Add(stage.Soon)
	for t.Audit.CyclesSince(mark) == 0 {
		if time.Now().After(deadline) {
			t.Fatalf("no cycle within %s", stage.Soon)
		}
		time.Sleep(time.Millisecond)
	}
	h.Signal(syscall.SIGKILL)
	_, err := h.Wait(30 * time.Second)
	t.Check(err)
}

// moreUsage raises the usage of an app's pods, so that its target moves and its status is written.
func moreUsage(t *stage.T, app string) {
	for _, p := range t.Pods(app) {
		_, err := t.Merge(t.Path("pods", p.Name()),
			M{"metadata": M{"annotations": M{"usage.halflife.dev/cpu.app": "1480m"}}})
		t.Check(err)
	}
}
