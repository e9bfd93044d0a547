package node

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Without CAP_SYS_RESOURCE nobody may go below the score that he was born with: restrict_oom_score_adj. The rest keeps the
// runtime to the node's own folders.
const containerdConfig = `version = 2
root = "%[1]s/containerd"
state = "/run/containerd"
[grpc]
  address = "%[1]s/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + Pause + `"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[2]s"
    conf_dir = "%[1]s/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "%[3]s/runc"
        SystemdCgroup = false
`

func (n *Node) startContainerd() error {
	if err := n.writeNetwork(); err != nil {
		return err
	}
	config := fmt.Sprintf(containerdConfig, n.dir, n.runtime.CNI, n.runtime.Runc)
	if err := os.WriteFile(n.path("containerd.toml"), []byte(config), 0o644); err != nil {
		return err
	}
	n.containerd = n.inside("0", "containerd", filepath.Join(n.runtime.Containerd, "containerd"),
		"--config", n.path("containerd.toml"))
	if err := n.containerd.Start(n.stays, n.env()); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := n.ctr("version")
		if err == nil {
			return nil
		}
		if !n.containerd.Running() || time.Now().After(deadline) {
			return fmt.Errorf("containerd does not answer: %w\n%s", err, n.containerd.Tail(2000))
		}
	}
}

// writeNetwork has pods on the bridge, which has its addresses already, with one way out: to the Services.
func (n *Node) writeNetwork() error {
	type m = map[string]any
	data, err := json.Marshal(m{"cniVersion": "1.0.0", "name": "node", "plugins": []m{{
		"type": "bridge", "bridge": n.slot.bridge(), "isGateway": false, "ipMasq": false,
		"ipam": m{"type": "host-local", "dataDir": n.path("ipam"),
			"ranges": [][]m{{{"subnet": n.slot.pods(), "rangeStart": n.slot.firstPod(), "gateway": n.slot.Address()}}},
			"routes": []m{{"dst": n.slot.Services(), "gw": n.slot.Address()}}}}}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(n.path("cni"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(n.path("cni/10-node.conflist"), data, 0o644)
}

// Import makes the images of an archive known to the node. New content wants a new tag: the kubelet's view keeps the old.
func (n *Node) Import(archive string) error {
	return n.ctr("-n", "k8s.io", "images", "import", archive)
}

// Tag gives an image of the node one more name.
func (n *Node) Tag(image, name string) error {
	return n.ctr("-n", "k8s.io", "images", "tag", image, name)
}

func (n *Node) ctr(args ...string) error {
	cmd := exec.Command(filepath.Join(n.runtime.Containerd, "ctr"), append([]string{"-a", n.path("containerd.sock")}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %v: %w: %s", args, err, out)
	}
	return nil
}
