package node

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"

	"halflife.dev/cluster/plane"
)

func (n *Node) startKubelet(pl *plane.Plane) error {
	port, err := plane.FreePorts(1)
	if err != nil {
		return err
	}
	kubeconfig, err := pl.Admit(n.slot.Name())
	if err != nil {
		return err
	}
	config, err := n.kubeletConfig(pl.CA(), port[0])
	if err != nil {
		return err
	}
	if err := os.WriteFile(n.path("kubelet.json"), config, 0o644); err != nil {
		return err
	}
	n.Kubelet = n.inside(fmt.Sprint(n.containerd.ID()), "kubelet", pl.Set.Path("kubelet"),
		"--config="+n.path("kubelet.json"), "--kubeconfig="+kubeconfig, "--root-dir="+n.path("kubelet"),
		"--cert-dir="+n.path("kubelet-pki"), "--hostname-override="+n.slot.Name(), "--node-ip="+n.slot.Address())
	return n.StartKubelet()
}

// StartKubelet starts it (again).
func (n *Node) StartKubelet() error { return n.Kubelet.Start(n.stays, n.env()) }

// kubeletConfig keeps the kubelet to the node's cgroup and folders. What is not the pods' of the machine's memory is
// reserved, so that a node short of memory is made where the machine has plenty. Eviction names memory alone: what is not
// named is off, and a full disk evicts nobody.
func (n *Node) kubeletConfig(ca string, port int) ([]byte, error) {
	total, err := totalMemory()
	if err != nil {
		return nil, err
	}
	rest := total - n.Room - n.Evict
	if rest < 0 {
		return nil, fmt.Errorf("the machine has %d Mi of memory, and the node is to have %d", total, n.Room+n.Evict)
	}
	type m = map[string]any
	reserved := m{"memory": fmt.Sprintf("%dMi", rest)}
	if n.Cores > 0 {
		reserved["cpu"] = fmt.Sprintf("%dm", max(0, 1000*runtime.NumCPU()-n.Cores))
	}
	return json.MarshalIndent(m{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"address": n.slot.Address(), "port": port, "healthzPort": 0,
		"containerRuntimeEndpoint": "unix://" + n.path("containerd.sock"),
		"authentication":           m{"anonymous": m{"enabled": false}, "webhook": m{"enabled": true}, "x509": m{"clientCAFile": ca}},
		"authorization":            m{"mode": "Webhook"},
		"cgroupDriver":             "cgroupfs", "cgroupRoot": "/" + n.slot.cgroup(), "failCgroupV1": false, "failSwapOn": false,
		"makeIPTablesUtilChains": false, "oomScoreAdj": 0, "resolvConf": "",
		"clusterDNS":      []string{n.slot.Address()}, // nobody answers there; without it every pod has a warning
		"volumePluginDir": n.path("volume-plugins"), "podLogsDir": n.path("pod-logs"),
		"imageGCHighThresholdPercent":      100,
		"evictionHard":                     m{"memory.available": fmt.Sprintf("%dMi", n.Evict)},
		"evictionPressureTransitionPeriod": "10s",
		"enforceNodeAllocatable":           []string{"pods"}, "systemReserved": reserved,
		"nodeStatusUpdateFrequency": "5s", "maxPods": 110, "eventRecordQPS": 0,
	}, "", " ")
}

// totalMemory of the machine, in MiB.
func totalMemory() (int, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	var kib int
	if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kib); err != nil {
		return 0, fmt.Errorf("/proc/meminfo: %w", err)
	}
	return kib >> 10, nil
}
