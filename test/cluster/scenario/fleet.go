package scenario

import (
	"fmt"
	"sync"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
)

func init() {
	alone = append(alone, scenario{"fleet", fleet})
}

const (
	fleetSize = 1000 // Deployments
	fleetPods = 5    // of each
)

// fleetUsage is what deployment i uses: a few values, so that neighbours differ.
func fleetUsage(i int) (cpu, memory int64) {
	cpus := []int64{25, 77, 137, 230, 410, 612, 1480}
	memories := []int64{40 * mi, 90 * mi, 150 * mi, 210 * mi, 300 * mi, 333 * mi, 700 * mi}
	return cpus[i%len(cpus)], memories[i/len(cpus)%len(memories)]
}

// createFleet makes the deployments, several at once, and waits until all their pods run.
func (t *T) createFleet() {
	work, errs := make(chan int), make(chan error, fleetSize)
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range work {
				cpu, memory := fleetUsage(i)
				_, err := t.Post(t.path("deployments", ""), t.deployment(fmt.Sprintf("fleet-%d", i), fleetPods, app(cpu, memory)))
				errs <- err
			}
		}()
	}
	for i := range fleetSize {
		work <- i
	}
	close(work)
	wait.Wait()
	for range fleetSize {
		t.Check(<-errs)
	}
	t.Eventually("all pods of the fleet run", 3*soon, func() error {
		list, err := t.Get(t.path("deployments", ""))
		if err != nil {
			return err
		}
		ready := int64(0)
		for _, d := range list.List("items") {
			ready += d.Int("status", "readyReplicas")
		}
		if ready != fleetSize*fleetPods {
			return fmt.Errorf("%d of %d", ready, fleetSize*fleetPods)
		}
		return nil
	})
}

// fleetRight is an error unless every recommendation is there and exact.
func (t *T) fleetRight() error {
	list, err := t.Get(t.path("recommendations", ""))
	if err != nil {
		return err
	}
	got := map[string]kube.Object{}
	for _, r := range list.List("items") {
		got[r.Name()] = r
	}
	right, wrong := 0, error(nil)
	for i := range fleetSize {
		name := fmt.Sprintf("deployment-fleet-%d", i)
		cpu, memory := fleetUsage(i)
		c := got[name].Named("app", "status", "containers")
		err := expect(model.CPU, model.CPUDefault, cpu, 2000).compare(c.Object("cpu"))
		if err == nil {
			err = expect(model.Memory, model.MemoryDefault, memory, 1024*mi).compare(c.Object("memory"))
		}
		if err == nil && got[name].Text("status", "state") != "Ready" {
			err = fmt.Errorf("state %s", got[name].Text("status", "state"))
		}
		if err == nil {
			right++
		} else if wrong == nil {
			wrong = fmt.Errorf("%s: %w", name, err)
		}
	}
	if wrong != nil {
		return fmt.Errorf("%d of %d are right; %w", right, fleetSize, wrong)
	}
	return nil
}

// A thousand Deployments: every recommendation right, what it costs printed; and once all is said, ten cycles without a
// single write, by the API server's own record.
func fleet(t *T) {
	t.Namespace()
	h := t.own()
	t.Profile(quick("Recommend"))
	t.createFleet()
	start := time.Now()
	t.Eventually("every recommendation is right", soon, t.fleetRight)
	t.Notef("%d recommendations right %.0f s after the last pod ran", fleetSize, time.Since(start).Seconds())
	t.Cycles(h, 3)

	mark := t.Audit.Mark()
	cpuBefore, _, err := h.Usage()
	t.Check(err)
	const cycles = 10
	t.Cycles(h, cycles)
	cpuAfter, resident, err := h.Usage()
	t.Check(err)
	asked := t.Audit.Since(mark, account)
	t.Notef("memory %.1f MiB, CPU %.3f s a cycle, %.1f API requests a cycle (%s)", float64(resident)/mi,
		(cpuAfter-cpuBefore)/cycles, float64(len(asked))/cycles, Summary(asked))
	if writes := Writes(asked); len(writes) > 0 {
		t.Fatalf("%d writes in %d quiet cycles: %s, the first %s", len(writes), cycles, Summary(writes), writes[0].URI)
	}
	t.Notef("0 writes in %d quiet cycles", cycles)
	t.Check(t.fleetRight())
}
