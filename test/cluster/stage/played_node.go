package stage

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
)

// PlayedNode is a node of the scenario's own. kwok plays it, and metrics-server reads from the usage server what it uses as
// a whole. It goes with the scenario.
type PlayedNode struct {
	Name, Pool          string
	CPU, Memory         int64 // capacity, in millicores and bytes; a little less is for pods
	UsedCPU, UsedMemory int64
	Slow                time.Duration // by how much its clock is slow at first
	Rate                float64       // how fast its clock goes; 0: it is right
}

// ForPods is what the node has for pods.
func (n *PlayedNode) ForPods() (cpu, memory int64) { return n.CPU - 100, n.Memory - 1024*Mi }

// NodePath is where the API server has a node.
func NodePath(name string) string { return "/api/v1/nodes/" + name }

func (n *PlayedNode) size() M {
	cpu, memory := n.ForPods()
	room := func(cpu, memory int64) M {
		return M{"cpu": model.CPU.Text(cpu), "memory": model.Memory.Text(memory), "pods": "110"}
	}
	return M{"capacity": room(n.CPU, n.Memory), "allocatable": room(cpu, memory)}
}

func (n *PlayedNode) usage() M {
	return M{"usage.halflife.dev/cpu": model.CPU.Text(n.UsedCPU), "usage.halflife.dev/memory": model.Memory.Text(n.UsedMemory)}
}

// StartNode makes a node, whose clock begins to go its own way now, and waits until it takes pods.
func (t *T) StartNode(n *PlayedNode) {
	notes := n.usage()
	notes["kwok.x-k8s.io/node"] = "fake"
	notes["metrics.k8s.io/resource-metrics-path"] = "/metrics/nodes/" + n.Name + "/metrics/resource"
	if n.Rate > 0 {
		notes["usage.halflife.dev/clock"] = fmt.Sprintf("%s -%s %g", time.Now().UTC().Format(time.RFC3339), n.Slow, n.Rate)
	}
	_, err := t.Post("/api/v1/nodes", M{"apiVersion": "v1", "kind": "Node", "status": n.size(), "metadata": M{"name": n.Name,
		"labels": M{"kubernetes.io/hostname": n.Name, "kubernetes.io/os": "linux", "pool": n.Pool, "e2e": t.Name}, "annotations": notes}})
	t.Check(err)
	t.Eventually("node "+n.Name+" takes pods", Soon, func() error {
		node, err := t.Get(NodePath(n.Name))
		if err == nil && (node.Condition("Ready").Text("status") != "True" || len(node.List("spec", "taints")) > 0) {
			err = fmt.Errorf("its taints are %s, its conditions %s", node.Text("spec", "taints"), node.Text("status", "conditions"))
		}
		return err
	})
}

// NodeUses changes what a node uses.
func (t *T) NodeUses(n *PlayedNode, cpu, memory int64) {
	n.UsedCPU, n.UsedMemory = cpu, memory
	_, err := t.Merge(NodePath(n.Name), M{"metadata": M{"annotations": n.usage()}})
	t.Check(err)
}

// ResizeNode changes the node's size, as another machine of its name has it.
func (t *T) ResizeNode(n *PlayedNode, cpu, memory int64) {
	n.CPU, n.Memory = cpu, memory
	_, err := t.Merge(NodePath(n.Name)+"/status", M{"status": n.size()})
	t.Check(err)
}

// SilenceNode has the node's kubelet answer nothing.
func (t *T) SilenceNode(n *PlayedNode) {
	_, err := t.Merge(NodePath(n.Name), M{"metadata": M{"annotations": M{"usage.halflife.dev/silent": "true"}}})
	t.Check(err)
}

// PinnedTo puts the pods of a workload, or a pod, on a node.
func PinnedTo(object M, node string) M {
	spec := object["spec"].(M)
	if template, ok := spec["template"].(M); ok {
		spec = template["spec"].(M)
	}
	spec["nodeSelector"] = M{"kubernetes.io/hostname": node}
	return object
}

// NodeSample is the usage of a node at one time, in millicores and bytes.
type NodeSample struct {
	At          time.Time
	CPU, Memory int64
}

// NodeWitness reads every sample of every node once, as metrics-server tells it.
type NodeWitness struct {
	mu  sync.Mutex
	by  map[string][]NodeSample // the oldest first
	end chan struct{}
}

// NewNodeWitness starts a witness.
func (t *T) NewNodeWitness() *NodeWitness {
	w := &NodeWitness{by: map[string][]NodeSample{}, end: make(chan struct{})}
	go func() {
		for {
			if list, err := t.Get("/apis/metrics.k8s.io/v1beta1/nodes"); err == nil {
				w.take(list)
			}
			select {
			case <-w.end:
				return
			case <-time.After(time.Second):
			}
		}
	}()
	return w
}

func (w *NodeWitness) take(list kube.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, node := range list.List("items") {
		at, err := time.Parse(time.RFC3339, node.Text("timestamp"))
		cpu, cpuErr := resource.ParseQuantity(node.Text("usage", "cpu"))
		memory, memoryErr := resource.ParseQuantity(node.Text("usage", "memory"))
		have := w.by[node.Name()]
		if err != nil || cpuErr != nil || memoryErr != nil || len(have) > 0 && !at.After(have[len(have)-1].At) {
			continue
		}
		w.by[node.Name()] = append(have, NodeSample{at, cpu.MilliValue(), memory.Value()})
	}
}

// Stop ends the witness.
func (w *NodeWitness) Stop() { close(w.end) }

// Forget drops what was seen of a node.
func (w *NodeWitness) Forget(node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.by, node)
}

// Until returns the samples of a node up to a time, the oldest first.
func (w *NodeWitness) Until(node string, last time.Time) []NodeSample {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []NodeSample
	for _, s := range w.by[node] {
		if !s.At.After(last) {
			list = append(list, s)
		}
	}
	return list
}
