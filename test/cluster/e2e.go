package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"halflife.dev/cluster/plane"
	"halflife.dev/cluster/scenario"
)

// e2e runs the scenarios on a control plane of their own, in a new temporary folder, and ends everything that it
// started however it goes: at the end, by a signal, on a panic. The logs stay only when something failed.
func e2e(names []string) (err error) {
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
			_ = os.RemoveAll(filepath.Join(dir, "etcd"))
			fmt.Fprintln(os.Stderr, "the logs are in", dir)
		}
	}()
	began := time.Now()
	pl, err := start(dir, false)
	if err != nil {
		return err
	}
	defer pl.Stop()
	go endAfter(ctx, pl)
	w, err := scenario.NewWorld(ctx, pl, root())
	if err != nil {
		return err
	}
	if err := pl.WaitForMetrics(90 * time.Second); err != nil {
		return err
	}
	fmt.Printf("control plane ready after %.0f s\n", time.Since(began).Seconds())
	_, failed, err := scenario.Run(w, names, os.Stdout)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d scenarios failed", failed)
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return err
}

// endAfter ends what a signal did not: a scenario that computes rather than waits.
func endAfter(ctx context.Context, pl *plane.Plane) {
	<-ctx.Done()
	time.Sleep(10 * time.Second)
	pl.Stop()
	fail(1, "interrupted")
}
