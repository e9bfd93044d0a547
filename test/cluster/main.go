// The real control plane of the tests: see run beside this file for its verbs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/node"
	"halflife.dev/cluster/plane"
	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/scenario"
	"halflife.dev/cluster/usage"
)

const misuse = "usage: build [control-plane] | up | down | e2e [[--again] scenario...] | chart | release FOLDER VERSION | peer | node-up | node-down | e2e-node [scenario...]"

func main() {
	if len(os.Args) < 2 {
		fail(2, misuse)
	}
	var err error
	switch os.Args[1] {
	case "build": // what e2e runs, ahead of it
		err = build(os.Args[2:])
	case "up":
		err = up()
	case "down":
		err = down()
	case "e2e":
		err = e2e(os.Args[2:])
	case "chart":
		err = chart()
	case "release":
		if len(os.Args) != 4 {
			fail(2, misuse)
		}
		err = release(os.Args[2], os.Args[3])
	case "peer":
		err = peer()
	case "node-up":
		err = nodeUp()
	case "node-down":
		err = nodeDown()
	case "e2e-node":
		err = e2eNode(os.Args[2:])
	case node.KeepVerb: // started by what starts a node
		err = node.Keep(os.Args[2])
	case node.EnterVerb: // likewise: cgroup, process, folder, command
		err = node.Enter(os.Args[2], os.Args[3], os.Args[4], os.Args[5:])
	case "usage": // started by up and e2e: folder of certificates, API server, port
		err = tellUsage(os.Args[2], os.Args[3], os.Args[4])
	default:
		fail(2, misuse)
	}
	if err != nil {
		fail(1, err.Error())
	}
}

func fail(code int, text string) {
	fmt.Fprintln(os.Stderr, "cluster:", text)
	os.Exit(code)
}

// root is the repository: this program lies in build/cluster of it.
func root() string {
	self, err := os.Executable()
	if err != nil {
		fail(1, err.Error())
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(self)))
}

func module() string { return filepath.Join(root(), "test", "cluster") }
func upDir() string  { return filepath.Join(root(), "build", "cluster", "up") }

func up() error {
	if _, err := plane.StopSaved(upDir()); err != nil {
		return err
	}
	if err := os.RemoveAll(upDir()); err != nil {
		return err
	}
	set, err := programs.Build(module(), programs.ControlPlane, os.Stderr)
	if err != nil {
		return err
	}
	pl, start, err := planeIn(upDir(), set, true)
	if err == nil {
		err = untilSignal(pl, start)
	}
	if err != nil {
		return err
	}
	printAccess(pl)
	return nil
}

// printAccess prints the line by which a shell finds the control plane, and the kubectl of its version.
func printAccess(pl *plane.Plane) {
	fmt.Printf("export KUBECONFIG=%s PATH=%s:$PATH\n", pl.Kubeconfig, filepath.Dir(pl.Set.Path("kubectl")))
}

func down() error {
	count, err := plane.StopSaved(upDir())
	if err == nil {
		fmt.Fprintf(os.Stderr, "%d processes ended\n", count)
	}
	return err
}

// build builds what the scenarios of the gate need, or all of them.
func build(what []string) error {
	if len(what) > 0 && what[0] == "control-plane" {
		_, err := programs.Build(module(), programs.ControlPlane, os.Stderr)
		return err
	}
	if _, err := buildAll(); err != nil {
		return err
	}
	if err := scenario.BuildPeer(root()); err != nil {
		return err
	}
	if err := buildKubelet(); err != nil {
		return err
	}
	if _, err := scenario.BuildLoadScheduler(root()); err != nil {
		return err
	}
	_, err := buildHelm()
	return err
}

// buildAll builds the programs of a control plane and the controllers of others that scenarios run beside it.
func buildAll() (programs.Set, error) {
	set, err := programs.Build(module(), programs.ControlPlane, os.Stderr)
	if err == nil {
		_, err = programs.Build(module(), programs.Argo, os.Stderr)
	}
	return set, err
}

// planeIn is a control plane that will lie in dir, and what starts it and waits until usage is measured.
func planeIn(dir string, set programs.Set, detach bool) (*plane.Plane, func() error, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	pl := plane.New(dir, set, detach)
	return pl, func() error {
		if err := pl.Start(module(), self); err != nil {
			return err
		}
		return pl.WaitForMetrics()
	}, nil
}

func tellUsage(dir, server, port string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	at := func(name string) string { return filepath.Join(dir, name) }
	c, err := kube.New(server, at("ca.crt"), at("admin.crt"), at("admin.key"))
	if err != nil {
		return err
	}
	return usage.Run(ctx, c, port, at("serving.crt"), at("serving.key"))
}
