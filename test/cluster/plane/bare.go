package plane

import (
	"fmt"
	"net"
	"os"
	"time"
)

// Bare is what a control plane for real nodes has to know of them.
type Bare struct {
	Services  string        // the range of the addresses of Services
	Addresses []net.IP      // where pods find the API server
	Grace     time.Duration // after which a node that says nothing is unready
	Nodes     int           // how many will join
}

// StartBare brings a control plane up that has no node: real ones join it, and metrics-server is started then.
func (pl *Plane) StartBare(bare Bare) error {
	pl.nodes, pl.bare = bare.Nodes, bare
	err := pl.startControl()
	if err != nil {
		pl.Stop()
	}
	return err
}

// Measure starts metrics-server, once the nodes have joined.
func (pl *Plane) Measure() error { return pl.startMetrics() }

// Admit issues the certificate of a node and gives the kubeconfig by which its kubelet joins.
func (pl *Plane) Admit(node string) (string, error) {
	if err := pl.authority.issue(node, "system:node:"+node, "system:nodes"); err != nil {
		return "", err
	}
	ca, err := os.ReadFile(pl.CA())
	if err != nil {
		return "", err
	}
	path := pl.path(node + ".kubeconfig")
	return path, WriteKubeconfig(path, pl.Server, ca, map[string]any{
		"client-certificate": pl.path(node + ".crt"), "client-key": pl.path(node + ".key")})
}

// CA is the file of the certificate by which clients are known.
func (pl *Plane) CA() string { return pl.path("ca.crt") }

// WaitForNode waits until a node is ready; p is its kubelet.
func (pl *Plane) WaitForNode(name string, p *Process, limit time.Duration) error {
	c, err := pl.Client()
	if err != nil {
		return err
	}
	return ready(p, limit, func() error {
		node, err := c.Get("/api/v1/nodes/" + name)
		if err != nil {
			return err
		}
		if c := node.Condition("Ready"); c.Text("status") != "True" {
			return fmt.Errorf("node %s: %s", name, c.Text("message"))
		}
		return nil
	})
}
