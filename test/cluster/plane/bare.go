package plane

import (
	"fmt"
	"net"
	"os"
	"time"

	"halflife.dev/cluster/programs"
)

// Bare is what a control plane for real nodes has to know of them.
type Bare struct {
	Services  string        // the range of the addresses of Services
	Addresses []net.IP      // where pods find the API server
	Grace     time.Duration // after which a node that says nothing is unready
	Nodes     int           // how many will join
}

// StartBare brings a control plane up that has no node: real ones join it, and metrics-server is started then.
func StartBare(dir string, set programs.Set, detach bool, bare Bare) (pl *Plane, err error) {
	pl = &Plane{Dir: dir, Set: set, detach: detach, nodes: bare.Nodes, bare: bare}
	defer func() {
		if err != nil {
			pl.Stop()
		}
	}()
	if err := pl.startControl(); err != nil {
		return pl, err
	}
	return pl, pl.save()
}

// Measure starts metrics-server, once the nodes have joined.
func (pl *Plane) Measure() error {
	if err := pl.startMetrics(); err != nil {
		return err
	}
	return pl.save()
}

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
