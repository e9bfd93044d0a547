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
)

// e2e runs the scenarios of those names, or all.
func e2e(names []string) error {
	if scenario.NeedArgo(names) { // now, not while others wait for their minutes
		if _, err := buildAll(); err != nil {
			return err
		}
	}
	return withPlanes(func(begin func(string) (*scenario.World, error)) error {
		failed, err := scenario.Run(names, begin, os.Stdout)
		if err == nil && failed > 0 {
			err = fmt.Errorf("%d scenarios failed", failed)
		}
		return err
	})
}

// ender is what a run started and has to end.
type ender interface{ Stop() }

// withPlanes lends work the means to begin control planes whose nodes are played.
func withPlanes(work func(begin func(string) (*scenario.World, error)) error) error {
	return withRun(func(r *run) error {
		set, err := programs.Build(module(), programs.ControlPlane, os.Stderr)
		if err != nil {
			return err
		}
		return work(func(name string) (*scenario.World, error) {
			began := time.Now()
			pl, err := startIn(filepath.Join(r.dir, name), set, false)
			r.ends(pl)
			if err != nil {
				return nil, err
			}
			w, err := scenario.NewWorld(r.ctx, pl, root())
			if err == nil {
				err = pl.WaitForMetrics()
			}
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

// ends notes what is to be ended with the run.
func (r *run) ends(e ender) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, e)
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
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
	go endAfter(ctx, r.stopAll)
	err = work(r)
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return err
}

// endAfter ends what a signal did not: a scenario that computes rather than waits.
func endAfter(ctx context.Context, stopAll func()) {
	<-ctx.Done()
	time.Sleep(10 * time.Second)
	stopAll()
	fail(1, "interrupted")
}
