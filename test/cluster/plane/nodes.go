package plane

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"halflife.dev/cluster/programs"
)

//go:embed stages.yaml
var ownStages []byte

// moduleStages are the stages that kwok's own module brings and that serve as they are.
var moduleStages = []string{
	"stage/node/fast/node-initialize.yaml",
	"stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	"stage/pod/fast/pod-ready.yaml",
	"stage/pod/fast/pod-delete.yaml",
}

// startNodes makes the nodes and starts what plays them: kwok (leases, pods that become ready) and the usage server.
func (pl *Plane) startNodes(self string, kwokPort, usagePort int) error {
	config, err := pl.kwokConfig()
	if err != nil {
		return err
	}
	pl.has(&pl.Usage, pl.process("usage", self, "usage", pl.Dir, pl.Server, fmt.Sprint(usagePort)))
	if err := pl.start(pl.Usage); err != nil {
		return err
	}
	if err := ready(pl.Usage, patience, func() error { return listening(usagePort) }); err != nil {
		return err
	}
	pl.has(&pl.Kwok, pl.process("kwok", pl.Set.Path("kwok"),
		"--kubeconfig="+pl.Kubeconfig, "--manage-all-nodes", "--config="+config, "--node-ip=127.0.0.1",
		fmt.Sprintf("--node-port=%d", usagePort), fmt.Sprintf("--server-address=127.0.0.1:%d", kwokPort),
		"--node-lease-duration-seconds=40", "--tls-cert-file="+pl.path("serving.crt"),
		"--tls-private-key-file="+pl.path("serving.key")))
	if err := pl.start(pl.Kwok, "HOME="+pl.Dir); err != nil {
		return err
	}
	return pl.createNodes()
}

func (pl *Plane) kwokConfig() (string, error) {
	source, err := programs.ModuleDir(pl.module, "sigs.k8s.io/kwok")
	if err != nil {
		return "", err
	}
	var all []byte
	for _, name := range moduleStages {
		stage, err := os.ReadFile(filepath.Join(source, "kustomize", name))
		if err != nil {
			return "", err
		}
		// The API server resizes no running pod whose status does not tell its resources, as old kubelets' do not.
		stage = bytes.ReplaceAll(stage, []byte("restartCount: 0\n"), []byte("restartCount: 0\n        resources: {}\n"))
		all = append(append(all, stage...), "\n---\n"...)
	}
	path := pl.path("kwok.yaml")
	return path, os.WriteFile(path, append(all, ownStages...), 0o644)
}

func (pl *Plane) createNodes() error {
	c, err := pl.Client()
	if err != nil {
		return err
	}
	for i := range Nodes {
		name := fmt.Sprintf("node-%d", i)
		room := map[string]any{"cpu": "4k", "memory": "64Ti", "ephemeral-storage": "64Ti", "pods": "10k"}
		node := map[string]any{
			"apiVersion": "v1", "kind": "Node",
			"metadata": map[string]any{
				"name":   name,
				"labels": map[string]any{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
				"annotations": map[string]any{
					"kwok.x-k8s.io/node":                   "fake",
					"metrics.k8s.io/resource-metrics-path": "/metrics/nodes/" + name + "/metrics/resource",
				},
			},
			"status": map[string]any{"capacity": room, "allocatable": room},
		}
		if _, err := c.Post("/api/v1/nodes", node); err != nil {
			return err
		}
	}
	return ready(pl.Kwok, patience, func() error {
		list, err := c.Get("/api/v1/nodes")
		if err != nil {
			return err
		}
		for _, node := range list.List("items") {
			if node.Condition("Ready").Text("status") != "True" || len(node.List("spec", "taints")) > 0 {
				return fmt.Errorf("node %s is not ready", node.Name())
			}
		}
		return nil
	})
}
