package main

import (
	"os"
	"path/filepath"

	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/scenario"
	"halflife.dev/cluster/stage"
)

// peer puts halflife beside the VPA recommender, on the same pods.
func peer() error {
	module := filepath.Join(module(), "peer")
	set, err := programs.Build(module, programs.Peer, os.Stderr)
	if err != nil {
		return err
	}
	source, err := programs.ModuleDir(module, "k8s.io/autoscaler/vertical-pod-autoscaler")
	if err != nil {
		return err
	}
	return withPlanes(func(begin func(name, kubernetes string) (*stage.World, error)) error {
		w, err := begin("together", "")
		if err != nil {
			return err
		}
		return scenario.ComparePeer(w, set.Path("recommender"), source, os.Stdout)
	})
}
