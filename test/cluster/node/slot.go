// Package node makes of this machine a node of a control plane: containerd and a kubelet of its own, whose containers really
// run, are measured, killed, evicted and resized. Several stand side by side, each in a slot that names all it has of the
// machine; whoever takes a slot first removes what a killed one left there.
package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const (
	slots   = 16
	lockDir = "/run/halflife-nodes" // one for the machine, as bridges and cgroups are; but see Slot.hold
)

// Slot is a number, which this process and the keeper hold by a lock, and the names that follow from it.
type Slot struct {
	Number int
	lock   *os.File
	first  *os.File // the first of its cgroups, locked by whoever makes or removes what the slot has of the machine
}

var errTaken = errors.New("taken")

// Reserve takes the first slot that nobody holds.
func Reserve() (*Slot, error) {
	if err := os.MkdirAll(lockDir, 0o755); err != nil {
		return nil, err
	}
	for n := range slots {
		s, err := take(n)
		if err != nil || s != nil {
			return s, err
		}
	}
	return nil, fmt.Errorf("all %d slots of nodes are %w (%s)", slots, errTaken, lockDir)
}

// take gives nil where somebody else holds the slot.
func take(n int) (*Slot, error) {
	lock, err := os.OpenFile(filepath.Join(lockDir, fmt.Sprint(n)), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	s := &Slot{Number: n, lock: lock}
	if err = flock(lock); err == nil {
		err = undisturbed(func() error {
			if err := s.hold(); err != nil {
				return err
			}
			return s.clean()
		})
	}
	if err != nil {
		lock.Close()
		if errors.Is(err, errTaken) {
			return nil, nil
		}
		return nil, err
	}
	return s, nil
}

func flock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errTaken
	}
	return err
}

// hold locks the first of the slot's cgroups, and makes it if need be. Containers with a /run each may share the machine's
// cgroups: to them this lock is the one that counts. Who removes the folder holds it, so after locking it must still be there.
func (s *Slot) hold() error {
	trees := hierarchies()
	if len(trees) == 0 {
		return fmt.Errorf("no cgroups in %s", cgroups)
	}
	dir := filepath.Join(trees[0], s.cgroup())
	for {
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			return err
		}
		f, err := os.Open(dir)
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return err
		}
		if err := flock(f); err != nil {
			f.Close()
			return fmt.Errorf("%s: %w", dir, err)
		}
		ours, _ := f.Stat()
		if there, err := os.Stat(dir); err == nil && os.SameFile(ours, there) {
			s.first = f
			return nil
		}
		f.Close()
	}
}

// undisturbed lets no signal that asks end this program while do has something of the machine in hand: it comes after.
func undisturbed(do func() error) error {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := do()
	signal.Stop(asked)
	select {
	case sig := <-asked:
		_ = syscall.Kill(os.Getpid(), sig.(syscall.Signal))
	default:
	}
	return err
}

// Release lets go of the slot: the keeper, if one was started, still holds it until all is removed.
func (s *Slot) Release() { s.lock.Close() }

// Name of the node.
func (s *Slot) Name() string     { return fmt.Sprintf("real-%d", s.Number) }
func (s *Slot) cgroup() string   { return fmt.Sprintf("halflife-%d", s.Number) }
func (s *Slot) bridge() string   { return fmt.Sprintf("hlnode%d", s.Number) }
func (s *Slot) pods() string     { return fmt.Sprintf("10.251.%d.0/24", s.Number) }
func (s *Slot) firstPod() string { return fmt.Sprintf("10.251.%d.10", s.Number) }

// Address is the node's: that of its bridge, for a kubelet takes none of loopback.
func (s *Slot) Address() string { return fmt.Sprintf("10.251.%d.1", s.Number) }

// Services is the range of the Services' addresses, of which the first is the API server's.
func (s *Slot) Services() string { return fmt.Sprintf("10.252.%d.0/24", s.Number) }

// APIAddress is where pods find the API server, as Kubernetes tells them.
func (s *Slot) APIAddress() net.IP { return net.IPv4(10, 252, byte(s.Number), 1) }

// make makes what a node has of the machine before its processes.
func (s *Slot) make() error {
	if err := s.hold(); err != nil {
		return err
	}
	if err := s.makeCgroups(); err != nil {
		return err
	}
	return s.makeBridge()
}

// clean removes from the machine what a node in this slot has: processes by their cgroup, then interfaces, then cgroups.
// Mounts are gone with the last process of their namespace. Without a hold on it nothing is removed: it may be another's.
func (s *Slot) clean() error {
	if s.first == nil {
		return nil
	}
	defer func() {
		s.first.Close()
		s.first = nil
	}()
	deadline := time.Now().Add(30 * time.Second)
	for {
		left := s.kill()
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v of cgroup %s do not end", left, s.cgroup())
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := s.removeBridge(); err != nil {
		return err
	}
	return s.removeCgroups(deadline) // of which the last is the one that is locked
}

// makeBridge makes the one interface of the node. No route leads on from it: pods reach each other, the node, and the API
// server by the address of its Service.
func (s *Slot) makeBridge() error {
	for _, args := range [][]string{
		{"link", "add", s.bridge(), "type", "bridge"},
		{"addr", "add", s.Address() + "/24", "dev", s.bridge()},
		{"addr", "add", s.APIAddress().String() + "/32", "dev", s.bridge()},
		{"link", "set", s.bridge(), "up"},
	} {
		if err := ip(args...); err != nil {
			return err
		}
	}
	return nil
}

func (s *Slot) removeBridge() error {
	class := filepath.Join("/sys/class/net", s.bridge())
	if _, err := os.Stat(class); os.IsNotExist(err) {
		return nil
	}
	ports, _ := os.ReadDir(filepath.Join(class, "brif"))
	for _, port := range ports {
		_ = ip("link", "del", port.Name()) // or the kernel was faster, with the pod's namespace
	}
	return ip("link", "del", s.bridge())
}

func ip(args ...string) error {
	cmd := exec.Command("ip", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the terminal's is not for it
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %v: %w: %s", args, err, out)
	}
	return nil
}
