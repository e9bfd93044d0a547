package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/scenario"
	"halflife.dev/cluster/stage"
)

// e2e runs the scenarios of those names, or all. After --again, one that fails is run once more, alone, on a control plane
// of its own: what passes then is told as flaky, with why it failed at first, and is no failure.
func e2e(names []string) error {
	again := len(names) > 0 && names[0] == "--again"
	if again {
		if names = names[1:]; len(names) == 0 {
			return errors.New("--again goes before names of scenarios")
		}
	}
	if err := leaveOutPassed(); err != nil {
		return err
	}
	if scenario.All.NeedArgo(names) { // now, not while others wait for their minutes
		if _, err := buildAll(); err != nil {
			return err
		}
	}
	if err := buildOlder(names); err != nil { // likewise
		return err
	}
	failed, err := onPlanes(names)
	if !again || err != nil {
		return errors.Join(err, countFailed(len(failed)))
	}
	red := 0
	for _, first := range failed {
		fmt.Printf("\n%s once more, alone:\n", first.Name)
		second, err := onPlanes([]string{first.Name})
		if err != nil {
			return err
		}
		if len(second) > 0 {
			red++
		} else {
			fmt.Printf("flaky: %s: passed alone, and failed at first: %s\n%s", first.Name, first.Why, first.Said)
		}
	}
	fmt.Printf("%d passed, %d failed\n", len(names)-red, red)
	return countFailed(red)
}

// leaveOutPassed leaves out the scenarios that E2E_PASSED names, a file to which those that pass are added.
func leaveOutPassed() (err error) {
	scenario.All.Passed, err = stage.ReadPassed(os.Getenv("E2E_PASSED"))
	return err
}

// buildOlder builds the older versions of Kubernetes that scenarios of those names run on.
func buildOlder(names []string) error {
	list := scenario.All.Kubernetes(names)
	if len(list) == 0 {
		return nil
	}
	set, err := programs.Build(module(), programs.ControlPlane, os.Stderr)
	for _, minor := range list {
		if err == nil {
			_, err = set.WithKubernetes(minor, os.Stderr)
		}
	}
	return err
}

func countFailed(count int) error {
	if count == 0 {
		return nil
	}
	return fmt.Errorf("%d scenarios failed", count)
}

// onPlanes runs the scenarios of those names, or all, on control planes that end with it, and returns those that failed.
// The logs are kept if there are any.
func onPlanes(names []string) (failed []stage.Failure, err error) {
	err = withPlanes(func(begin func(name, kubernetes string) (*stage.World, error)) error {
		var err error
		if failed, err = scenario.All.Run(names, begin, os.Stdout); err == nil && len(failed) > 0 {
			err = errFailed
		}
		return err
	})
	if errors.Is(err, errFailed) {
		err = nil
	}
	return failed, err
}

var errFailed = errors.New("scenarios failed")

// ender is what a run starts and has to end. Stop ends it also while it starts, which fails then, and returns when it is
// gone, whoever else ends it too.
type ender interface{ Stop() }

var errInterrupted = errors.New("interrupted")

// starting starts e, or ends what there is of it: on an error, and as soon as ctx is done.
func starting(ctx context.Context, e ender, start func() error) error {
	leave := context.AfterFunc(ctx, e.Stop)
	err := start()
	if !leave() {
		err = errInterrupted
	}
	if err != nil {
		e.Stop()
	}
	return err
}

// untilSignal starts what outlives this program. A signal that comes before it is whole ends what there is of it.
func untilSignal(e ender, start func() error) error {
	ctx, stop := onSignal()
	defer stop()
	return starting(ctx, e, start)
}

// onSignal is a context that ends when this program is asked to.
func onSignal() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
}

// withPlanes lends work the means to begin control planes whose nodes are played.
func withPlanes(work func(begin func(name, kubernetes string) (*stage.World, error)) error) error {
	return withRun(func(r *run) error {
		set, err := programs.Build(module(), programs.ControlPlane, os.Stderr)
		if err != nil {
			return err
		}
		return work(func(name, kubernetes string) (*stage.World, error) {
			began, set := time.Now(), set
			if kubernetes != "" {
				var err error
				if set, err = set.WithKubernetes(kubernetes, os.Stderr); err != nil {
					return nil, err
				}
			}
			pl, start, err := planeIn(filepath.Join(r.dir, name), set, false)
			if err == nil {
				err = r.starts(pl, start)
			}
			if err != nil {
				return nil, err
			}
			w, err := stage.NewWorld(r.ctx, pl, root())
			fmt.Printf("control plane %s ready after %.0f s\n", name, time.Since(began).Seconds())
			return w, err
		})
	})
}

// run is what a run of scenarios has: a folder, a context that a signal ends, and what it started.
type run struct {
	ctx context.Context
	dir string

	mu   sync.Mutex
	list []ender
}

// starts starts what ends with the run. It is noted first: whoever ends the run ends this too, however far it is.
func (r *run) starts(e ender, start func() error) error {
	r.mu.Lock()
	r.list = append(r.list, e)
	r.mu.Unlock()
	return starting(r.ctx, e, start)
}

func (r *run) stopAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.list {
		e.Stop()
	}
}

// withRun lends work a new temporary folder, and ends everything that was started however it goes: at the end, by a signal,
// on a panic. The logs stay only when something failed.
func withRun(work func(*run) error) (err error) {
	ctx, stop := onSignal()
	defer stop()
	dir, err := os.MkdirTemp("", "halflife-e2e-")
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(dir)
		} else {
			data, _ := filepath.Glob(filepath.Join(dir, "*", "etcd"))
			for _, d := range data {
				_ = os.RemoveAll(d)
			}
			fmt.Fprintln(os.Stderr, "the logs are in", dir)
		}
	}()
	r := &run{ctx: ctx, dir: dir}
	defer r.stopAll()
	worked := make(chan struct{})
	go r.endAfter(worked)
	err = work(r)
	close(worked)
	if ctx.Err() != nil {
		err = errInterrupted
	}
	return err
}

// endAfter ends what a signal did not: a scenario that computes rather than waits.
func (r *run) endAfter(worked <-chan struct{}) {
	<-r.ctx.Done()
	select {
	case <-worked:
	case <-time.After(10 * time.Second):
		r.stopAll()
		fail(1, errInterrupted.Error())
	}
}
