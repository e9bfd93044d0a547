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

	"halflife.dev/cluster/plane"
)

// KeepVerb is the verb of this program that keeps a node.
const KeepVerb = "node-keep"

// The keeper's files, after the three that everybody has.
const (
	lockFD = 3
	lifeFD = 4 // to read from
	madeFD = 5 // to write to
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

// made is what the keeper says when the node's part of the machine is there.
const made = "made"

// startKeeper starts the process that makes the node's cgroups and bridge, holds the slot, leads pods to the API server, and
// removes the node: when it is asked to, or when the pipe to whoever started the node breaks without a word, be he killed.
func (n *Node) startKeeper(server string) error {
	said, err := n.forkKeeper(kept{Slot: n.slot.Number, Dir: n.dir, Server: server})
	if err != nil {
		return err
	}
	defer said.Close()
	if text, _ := io.ReadAll(said); string(text) != made {
		log, _ := os.ReadFile(filepath.Join(n.dir, "keeper.log"))
		return fmt.Errorf("the keeper of node %s ended:\n%s", n.slot.Name(), log)
	}
	return nil
}

// forkKeeper gives the pipe by which the keeper tells what it has made. A node that was stopped meanwhile gets no keeper.
func (n *Node) forkKeeper(state kept) (*os.File, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended {
		return nil, fmt.Errorf("node %s was stopped before it was made", n.slot.Name())
	}
	said, say, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer say.Close()
	if err := n.execKeeper(state, say); err != nil {
		said.Close()
		return nil, err
	}
	return said, nil
}

func (n *Node) execKeeper(state kept, say *os.File) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer func() {
		if n.keeper == nil {
			write.Close()
		}
	}()
	log, err := os.Create(filepath.Join(n.dir, "keeper.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	cmd := exec.Command(n.self, KeepVerb, string(data))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{n.slot.lock, read, say}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.keeper, n.life, n.gone = cmd, write, make(chan struct{})
	go func() {
		n.kept = cmd.Wait()
		close(n.gone)
	}()
	state.Keeper = cmd.Process.Pid
	return plane.WriteState(stateFile(n.dir), state)
}

func door(s *Slot) string { return net.JoinHostPort(s.APIAddress().String(), "443") }

// Keep is the keeper's life.
func Keep(text string) error {
	var state kept
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	for _, fd := range []int{lockFD, lifeFD, madeFD} {
		syscall.CloseOnExec(fd) // what makes the bridge has no part in it
	}
	s := &Slot{Number: state.Slot, lock: os.NewFile(lockFD, "lock")}
	defer s.Release()
	err := s.make()
	if err == nil {
		err = serve(ctx, s, state.Server)
	}
	if bad := s.clean(); err == nil {
		err = bad
	}
	for _, name := range []string{"containerd", "kubelet", "ipam"} { // large, and told by no log
		_ = os.RemoveAll(filepath.Join(state.Dir, name))
	}
	return err
}

// serve leads pods to the API server until the keeper is to end.
func serve(ctx context.Context, s *Slot, server string) error {
	listener, err := net.Listen("tcp", door(s))
	if err != nil {
		return err
	}
	go forward(listener, server)
	say := os.NewFile(madeFD, "made")
	_, _ = say.WriteString(made)
	say.Close()
	waitForEnd(ctx)
	return nil
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
