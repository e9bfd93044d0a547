package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"halflife.dev/cluster/plane"
	"halflife.dev/cluster/programs"
)

// Settings of a node.
type Settings struct {
	Room  int // MiB of memory that pods may have together, enforced
	Cores int // millicores that pods may ask for together; 0: all of the machine's
	Evict int // MiB of memory, beside that room, below which the kubelet evicts

	Grace time.Duration // after which a silent kubelet makes it unready; 0: as good as never
}

// Usual is a node with room for many scenarios.
var Usual = Settings{Room: 4096, Evict: 100}

// Node is one that runs.
type Node struct {
	Settings
	slot    *Slot
	dir     string
	runtime programs.Runtime

	containerd, Kubelet *plane.Process
	self                string        // the program that knows the verbs of this package
	stays               bool          // outlives this process
	life                *os.File      // the keeper ends when it is closed
	gone                chan struct{} // closed when the keeper has ended

	mu     sync.Mutex // held while the keeper is started and while it is ended
	ended  bool
	keeper *exec.Cmd
	kept   error // how the keeper ended
}

// Missing says what this machine lacks for a node, "" for nothing.
func Missing() string {
	var list []string
	if os.Geteuid() != 0 {
		return "root"
	}
	if text, err := os.ReadFile("/proc/filesystems"); err != nil || !strings.Contains(string(text), "\toverlay\n") {
		list = append(list, "overlayfs")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		list = append(list, "ip (of iproute2)")
	} else if err := probe(); err != nil {
		list = append(list, "what a node is made of ("+strings.TrimSpace(err.Error())+")")
	}
	for _, name := range []string{"apt-get", "dpkg-deb", "ldd"} {
		if _, err := exec.LookPath(name); err != nil {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// probe makes what a node has of the machine, and removes it: what it leaves when it is killed, the slot's next user removes.
func probe() error {
	s, err := Reserve()
	if errors.Is(err, errTaken) {
		return nil // whoever took them all could
	} else if err != nil {
		return err
	}
	defer s.Release()
	return undisturbed(func() error { return errors.Join(s.make(), s.clean()) })
}

// New is the node of a slot, which it takes over, beside the control plane in dir; nothing of it is there yet. self is the
// program that knows the verbs of this package. A node that stays outlives this process once Leave was called.
func New(dir string, s *Slot, r programs.Runtime, self string, set Settings, stays bool) *Node {
	return &Node{Settings: set, slot: s, dir: folder(dir), runtime: r, self: self, stays: stays}
}

// Start makes the node, joins it to the control plane and waits until it is ready. On an error nothing is left.
func (n *Node) Start(pl *plane.Plane, images []string) (err error) {
	defer func() {
		if err != nil {
			n.Stop()
		}
	}()
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	if err := n.startKeeper(pl.Server); err != nil {
		return err
	}
	if err := n.startContainerd(); err != nil {
		return err
	}
	for _, image := range images {
		if err := n.Import(image); err != nil {
			return err
		}
	}
	if err := n.startKubelet(pl); err != nil {
		return err
	}
	return pl.WaitForNode(n.slot.Name(), n.Kubelet, 90*time.Second)
}

// Slot names what the node has of the machine.
func (n *Node) Slot() *Slot { return n.slot }

// Stop removes the node, also while it starts: its keeper does, and the slot is free again when this returns.
func (n *Node) Stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended {
		return
	}
	n.ended = true
	defer n.slot.Release()
	if n.keeper == nil {
		return
	}
	n.life.Close()
	_ = n.keeper.Process.Signal(syscall.SIGTERM)
	<-n.gone
	if n.kept != nil {
		fmt.Fprintf(os.Stderr, "node: the keeper of %s: %v; see keeper.log in %s\n", n.slot.Name(), n.kept, n.dir)
	}
}

// Leave lets the node outlive this process.
func (n *Node) Leave() error {
	_, err := n.life.WriteString(staying)
	n.life.Close()
	n.slot.Release()
	return err
}

// inside is a program in the mount namespace and cgroup of the node: of pid's, "0" makes a new one.
func (n *Node) inside(pid, name, path string, args ...string) *plane.Process {
	return &plane.Process{Name: name, Path: n.self, Log: filepath.Join(n.dir, name+".log"),
		Args: append([]string{EnterVerb, n.slot.cgroup(), pid, n.dir, path}, args...)}
}

func (n *Node) path(name string) string { return filepath.Join(n.dir, name) }

// env leads the node's programs to each other.
func (n *Node) env() string {
	return fmt.Sprintf("PATH=%s:%s:%s:/usr/sbin:/sbin", n.runtime.Containerd, n.runtime.Runc, os.Getenv("PATH"))
}
