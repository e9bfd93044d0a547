package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// KeepVerb is the verb of this program that keeps a node.
const KeepVerb = "node-keep"

// The keeper's files, after the three that everybody has.
const (
	lockFD = 3
	lifeFD = 4
)

// kept is what the keeper, and who ends the node later, know of it.
type kept struct {
	Slot   int
	Dir    string
	Server string // the API server's address
	Keeper int    // process id
}

// staying is what the keeper is told by whoever started the node and leaves it.
const staying = "stay"

// folder of the node of a control plane that lies in dir.
func folder(dir string) string { return filepath.Join(dir, "node") }

func stateFile(dir string) string { return filepath.Join(dir, "node.json") }

// startKeeper starts the process that holds the slot, leads pods to the API server, and removes the node: when it is asked
// to, or when the pipe to whoever started the node breaks without a word, be he killed.
func (n *Node) startKeeper(self, server string) error {
	state := kept{Slot: n.slot.Number, Dir: n.dir, Server: server}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	log, err := os.Create(filepath.Join(n.dir, "keeper.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	cmd := exec.Command(self, KeepVerb, string(data))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{n.slot.lock, read}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.keeper, n.life = cmd, write
	state.Keeper = cmd.Process.Pid
	if data, err = json.Marshal(state); err != nil {
		return err
	}
	if err := os.WriteFile(stateFile(n.dir), data, 0o600); err != nil {
		return err
	}
	return n.waitForDoor()
}

func door(s *Slot) string { return net.JoinHostPort(s.APIAddress().String(), "443") }

func (n *Node) waitForDoor() error {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", door(n.slot), time.Second)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(n.dir, "keeper.log"))
			return fmt.Errorf("the keeper of node %s does not listen: %w\n%s", n.slot.Name(), err, log)
		}
	}
}

// Keep is the keeper's life.
func Keep(text string) error {
	var state kept
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	s := &Slot{state.Slot, os.NewFile(lockFD, "lock")}
	defer s.Release()
	listener, err := net.Listen("tcp", door(s))
	if err == nil {
		go forward(listener, state.Server)
		waitForEnd(ctx)
	}
	if bad := s.clean(); err == nil {
		err = bad
	}
	for _, name := range []string{"containerd", "kubelet", "ipam"} { // large, and told by no log
		_ = os.RemoveAll(filepath.Join(state.Dir, name))
	}
	return err
}

// waitForEnd returns when the keeper is asked to end, or when who holds the other end of its pipe is gone and has not said
// that the node stays.
func waitForEnd(ctx context.Context) {
	broken := make(chan struct{})
	go func() {
		said, _ := io.ReadAll(os.NewFile(lifeFD, "life"))
		if string(said) != staying {
			close(broken)
		}
	}()
	select {
	case <-ctx.Done():
	case <-broken:
	}
}

// forward leads whoever comes to the API server, which listens on loopback alone.
func forward(listener net.Listener, server string) {
	to, err := url.Parse(server)
	if err != nil {
		return
	}
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", to.Host)
			if err != nil {
				return
			}
			defer out.Close()
			go func() {
				_, _ = io.Copy(out, in)
				_ = out.(*net.TCPConn).CloseWrite()
			}()
			_, _ = io.Copy(in, out)
		}()
	}
}

// StopSaved ends the node that another run of this program left beside the control plane in dir; none is fine.
func StopSaved(dir string) (bool, error) {
	dir = folder(dir)
	data, err := os.ReadFile(stateFile(dir))
	if os.IsNotExist(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	var state kept
	if err := json.Unmarshal(data, &state); err != nil {
		return false, fmt.Errorf("state of the node in '%s': %w", dir, err)
	}
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		s, err := take(state.Slot) // which cleans it, where the keeper is gone
		if err != nil {
			return false, err
		}
		if s != nil {
			s.Release()
			return true, os.Remove(stateFile(dir))
		}
		if !keeps(state) { // another run's by now
			return true, os.Remove(stateFile(dir))
		}
		_ = syscall.Kill(state.Keeper, syscall.SIGTERM)
		if time.Now().After(deadline) {
			return false, fmt.Errorf("the keeper %d of the node in '%s' does not end", state.Keeper, dir)
		}
	}
}

// keeps says whether the process of that id is still the keeper of that node.
func keeps(state kept) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", state.Keeper))
	state.Keeper = 0
	data, _ := json.Marshal(state)
	return err == nil && bytes.Contains(line, []byte(KeepVerb+"\x00"+string(data)))
}
