package scenario

import (
	"fmt"
	"sync"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

const (
	fleetSize = 1000 // Deployments
	fleetPods = 5    // of each
)

// fleetUsage is what deployment i uses: a few values, so that neighbours differ.
func fleetUsage(i int) (cpu, memory int64) {
	cpus := []int64{25, 77, 137, 230, 410, 612, 1480}
	memories := []int64{40 * stage.Mi, 90 * stage.Mi, 150 * stage.Mi, 210 * stage.Mi, 300 * stage.Mi, 333 * stage.Mi, 700 * stage.Mi}
	return cpus[i%len(cpus)], memories[i/len(cpus)%len(memories)]
}

// createFleet makes the deployments, several at once, and waits until all their pods run.
func createFleet(t *stage.T) {
	work, errs := make(chan int), make(chan error, fleetSize)
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range work {
				cpu, memory := fleetUsage(i)
				_, err := t.Post(t.Path("deployments", ""), t.NewDeployment(fmt.Sprintf("fleet-%d", i), fleetPods, stage.AppUsing(cpu, memory)))
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
	t.Eventually("all pods of the fleet run", 3*stage.Soon, func() error {
		list, err := t.Get(t.Path("deployments", ""))
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
func fleetRight(t *stage.T) error {
	list, err := t.Get(t.Path("recommendations", ""))
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
		err := stage.Expect(model.CPU, model.CPUDefault, cpu, 2000).Compare(c.Object("cpu"))
		if err == nil {
			err = stage.Expect(model.Memory, model.MemoryDefault, memory, 1024*stage.Mi).Compare(c.Object("memory"))
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
// single write, by the API server's own record. At the end it is scanned as by somebody who has nothing installed.
func fleet(t *stage.T) {
	t.Namespace()
	h := t.StartOwn()
	t.Profile(stage.QuickProfile("Recommend"))
	createFleet(t)
	start := time.Now()
	t.Eventually("every recommendation is right", stage.Soon, func() error { return fleetRight(t) })
	t.Notef("%d recommendations right %.0f s after the last pod ran", fleetSize, time.Since(start).Seconds())
	t.Cycles(h, 3)

	mark := t.Audit.Mark()
	cpuBefore, _, err := h.Usage()
	t.Check(err)
	const cycles = 10
	t.Cycles(h, cycles)
	cpuAfter, resident, err := h.Usage()
	t.Check(err)
	asked := t.Audit.Since(mark, stage.LearnerUser)
	t.Notef("memory %.1f MiB, CPU %.3f s a cycle, %.1f API requests a cycle (%s)", float64(resident)/stage.Mi,
		(cpuAfter-cpuBefore)/cycles, float64(len(asked))/cycles, stage.Summary(asked))
	if writes := stage.Writes(asked); len(writes) > 0 {
		t.Fatalf("%d writes in %d quiet cycles: %s, the first %s", len(writes), cycles, stage.Summary(writes), writes[0].URI)
	}
	t.Notef("0 writes in %d quiet cycles", cycles)
	t.Check(fleetRight(t))
	scanFleet(t)
}
