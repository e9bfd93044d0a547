package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"halflife.dev/cluster/node"
	"halflife.dev/cluster/plane"
	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/scenario"
	"halflife.dev/cluster/stage"
)

func nodeDir() string { return filepath.Join(root(), "build", "cluster", "node") }

// nodePrograms is what a control plane and its one node are made of.
type nodePrograms struct {
	set     programs.Set
	runtime programs.Runtime
	image   string // archive of what containers run
	self    string
}

// buildKubelet is for the verb build: what a node needs beside the control plane.
func buildKubelet() error {
	_, err := programs.Build(module(), programs.Kubelet, os.Stderr)
	return err
}

func buildNode(dir string) (nodePrograms, error) {
	var p nodePrograms
	list := append(append(programs.ControlPlane[:0:0], programs.ControlPlane...), programs.Kubelet...)
	var err error
	if p.set, err = programs.Build(module(), list, os.Stderr); err != nil {
		return p, err
	}
	if p.runtime, err = programs.NewRuntime(os.Stderr); err != nil {
		return p, err
	}
	if p.self, err = os.Executable(); err != nil {
		return p, err
	}
	p.image = filepath.Join(dir, "burn.tar")
	return p, node.BurnImages(p.image, filepath.Join(root(), "build", "release", "burn"))
}

// pair is a control plane and its node.
type pair struct {
	plane *plane.Plane
	node  *node.Node
}

// Stop ends the node first, for the control plane would mind.
func (p *pair) Stop() {
	p.node.Stop()
	p.plane.Stop()
}

// pair is a control plane that will lie in dir and its node, of which nothing runs yet.
func (p nodePrograms) pair(dir string, set node.Settings, stays bool) (*pair, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	slot, err := node.Reserve()
	if err != nil {
		return nil, err
	}
	return &pair{plane.New(dir, p.set, stays), node.New(dir, slot, p.runtime, p.self, set, stays)}, nil
}

// start brings the control plane up, then the node, until its usage is measured. On an error the caller stops the pair.
func (p *pair) start(image string) error {
	slot, grace := p.node.Slot(), p.node.Grace
	if grace == 0 {
		grace = time.Hour // a slow machine's late lease must not make the node unready
	}
	if err := p.plane.StartBare(plane.Bare{
		Services: slot.Services(), Addresses: []net.IP{slot.APIAddress()}, Grace: grace, Nodes: 1}); err != nil {
		return err
	}
	began := time.Now()
	if err := p.node.Start(p.plane, []string{image}); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "node %s ready after %.0f s\n", slot.Name(), time.Since(began).Seconds())
	if err := p.plane.Measure(); err != nil {
		return err
	}
	return p.plane.WaitForMetrics()
}

func nodeUp() error {
	if missing := node.Missing(); missing != "" {
		return fmt.Errorf("no node can be made here: it lacks %s", missing)
	}
	if err := nodeDown(); err != nil {
		return err
	}
	if err := os.RemoveAll(nodeDir()); err != nil {
		return err
	}
	if err := os.MkdirAll(nodeDir(), 0o700); err != nil {
		return err
	}
	p, err := buildNode(nodeDir())
	if err != nil {
		return err
	}
	both, err := p.pair(nodeDir(), node.Usual, true)
	if err != nil {
		return err
	}
	err = untilSignal(both, func() error {
		if err := both.start(p.image); err != nil {
			return err
		}
		return both.node.Leave()
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "an image is %s (imagePullPolicy: Never)\n", node.Burn)
	printAccess(both.plane)
	return nil
}

func nodeDown() error {
	was, err := node.StopSaved(nodeDir())
	if err != nil {
		return err
	}
	count, err := plane.StopSaved(nodeDir())
	switch {
	case err != nil:
	case count > 0:
		fmt.Fprintf(os.Stderr, "the node and %d processes of its control plane ended\n", count)
	case was:
		fmt.Fprintln(os.Stderr, "what an interrupted start had left of a node is gone")
	}
	return err
}

// e2eNode runs the scenarios of a real node of those names, or all.
func e2eNode(names []string) error {
	if missing := node.Missing(); missing != "" {
		fmt.Printf("SKIPPED: no scenario of a real node was run: this machine lacks %s\n", missing)
		return nil
	}
	if err := leaveOutPassed(); err != nil {
		return err
	}
	return withRun(func(r *run) error {
		p, err := buildNode(r.dir)
		if err != nil {
			return err
		}
		begin := func(name string, set node.Settings) (*stage.World, func(), error) {
			began := time.Now()
			both, err := p.pair(filepath.Join(r.dir, name), set, false)
			if err != nil {
				return nil, nil, err
			}
			if err := r.starts(both, func() error { return both.start(p.image) }); err != nil {
				return nil, nil, err
			}
			w, err := stage.NewWorld(r.ctx, both.plane, root())
			fmt.Printf("control plane and node %s ready after %.0f s\n", name, time.Since(began).Seconds())
			if err != nil {
				return nil, nil, err
			}
			w.Node = both.node
			return w, both.Stop, nil
		}
		failed, err := scenario.All.RunOnNodes(names, begin, os.Stdout)
		return errors.Join(err, countFailed(len(failed)))
	})
}
