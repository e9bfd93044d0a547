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
)

func init() {
	alone = append(alone, scenario{"restart", restart})
}

// own gives the scenario a halflife of its own, and ends it with the scenario.
func (t *T) own(settings ...string) *Halflife {
	h, err := t.StartHalflife(t.Name, settings...)
	t.halflife = h
	t.Check(err)
	return h
}

// samples counts what metrics-server tells of a namespace: each time stamp of each container once.
type samples struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (t *T) countSamples(ctx context.Context) *samples {
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

func (t *T) keepSteady(ctx context.Context, want map[string]string) *steady {
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
		_ = t.Watch(ctx, t.path("recommendations", ""), func(e kube.Event) error {
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
func restart(t *T) {
	t.Namespace()
	h := t.own("--checkpoint-interval", "10s")
	profile := quick("Rollout")
	profile["apply"].(M)["minHistory"] = "40s"
	t.Profile(profile)
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	told := t.countSamples(ctx)
	usages := map[string]int64{"a": 137, "b": 410, "c": 612}
	for name, cpu := range usages {
		t.Apply(t.deployment(name, 2, app(cpu, usedMemory)))
	}
	was := map[string]string{}
	for name, cpu := range usages {
		want := model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(cpu), 2000))
		t.Eventually(name+" is lowered", soon, func() error { return t.podsAsk(name, "app", "cpu", want, 2) })
		was["deployment-"+name] = numbersOf(t.RecIn("deployment-"+name, "Ready", soon))
	}
	t.Cycles(h, 2) // a checkpoint at the least
	same := t.keepSteady(ctx, was)

	code, took, err := h.Terminate()
	t.Check(err)
	if code != 0 || took > 5*time.Second {
		t.Fatalf("SIGTERM: exit code %d after %s", code, took)
	}
	t.Notef("SIGTERM: exit 0 after %.1f s", took.Seconds())
	t.again(h)
	h.Kill()
	t.again(h)
	t.killInCycle(h)
	t.again(h)

	for name := range usages {
		t.generation("deployments", name, 2)
	}
	same.mu.Lock()
	wrong := same.wrong
	same.mu.Unlock()
	if wrong != "" {
		t.Fatalf("%s", wrong)
	}
	t.moreUsage("a")
	all := t.RecWhen("deployment-a", "a status with its counters", soon, func(r kube.Object) error {
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

// again starts it again and lets it work: it must first wait for the Lease of the one before.
func (t *T) again(h *Halflife) {
	t.Check(h.Start())
	t.Cycles(h, 4)
}

// killInCycle ends it just when it has asked for the usage of pods.
func (t *T) killInCycle(h *Halflife) {
	mark := t.Audit.Mark()
	deadline := time.Now().Add(soon)
	for t.Audit.CyclesSince(mark) == 0 {
		if time.Now().After(deadline) {
			t.Fatalf("no cycle within %s", soon)
		}
		time.Sleep(time.Millisecond)
	}
	h.Signal(syscall.SIGKILL)
	_, err := h.Wait(30 * time.Second)
	t.Check(err)
}

// moreUsage raises the usage of an app's pods, so that its target moves and its status is written.
func (t *T) moreUsage(app string) {
	for _, p := range t.Pods(app) {
		_, err := t.Merge(t.path("pods", p.Name()),
			M{"metadata": M{"annotations": M{"usage.halflife.dev/cpu.app": "1480m"}}})
		t.Check(err)
	}
}
