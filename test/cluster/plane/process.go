package plane

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is one program of ours that runs, with its output in Log. It is ended by its process id alone.
type Process struct {
	Name string
	Path string
	Args []string
	Log  string
	PID  int

	mu   sync.Mutex
	done chan struct{} // closed when the process has ended; nil for one that another run of this program started
	err  error
}

// Start runs the program, with its output appended to the log. A process that stays (detach) outlives this one; any
// other is killed by the kernel should this one die without a word.
func (p *Process) Start(detach bool, env ...string) error {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !detach {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	done := make(chan struct{})
	p.mu.Lock()
	p.PID, p.done = cmd.Process.Pid, done
	p.mu.Unlock()
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(done)
	}()
	return nil
}

// ID is the process's number; 0: it was never started.
func (p *Process) ID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.PID
}

// Running says whether the process is there and is still the program it was.
func (p *Process) Running() bool {
	p.mu.Lock()
	pid, done := p.PID, p.done
	p.mu.Unlock()
	if done != nil {
		select {
		case <-done:
			return false
		default:
			return true
		}
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return pid > 0 && err == nil && bytes.HasPrefix(line, []byte(p.Path+"\x00"))
}

// Signal sends a signal to the process, if it still runs.
func (p *Process) Signal(sig syscall.Signal) {
	if p.Running() {
		_ = syscall.Kill(p.ID(), sig)
	}
}

// Wait waits until the process has ended and gives its exit code; 128 and more: the signal that ended it.
func (p *Process) Wait(limit time.Duration) (int, error) {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	deadline := time.Now().Add(limit)
	if done != nil {
		select {
		case <-done:
		case <-time.After(limit):
			return 0, fmt.Errorf("%s still runs after %s", p.Name, limit)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if exit, ok := p.err.(*exec.ExitError); ok {
			if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
				return 128 + int(status.Signal()), nil
			}
			return exit.ExitCode(), nil
		}
		return 0, p.err
	}
	for p.Running() {
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("%s still runs after %s", p.Name, limit)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return 0, nil
}

// Stop ends the process: asked first, killed when it does not go.
func (p *Process) Stop() {
	p.Signal(syscall.SIGTERM)
	if _, err := p.Wait(5 * time.Second); err != nil {
		p.Kill()
	}
}

// Kill ends the process at once.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	_, _ = p.Wait(5 * time.Second)
}

// Tail is the end of the log, for a message.
func (p *Process) Tail(bytesMost int) string {
	data, _ := os.ReadFile(p.Log)
	return string(data[max(0, len(data)-bytesMost):])
}

// Usage is what the process has used: CPU seconds, and bytes resident now.
func (p *Process) Usage() (cpu float64, resident int64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.ID()))
	if err != nil {
		return 0, 0, err
	}
	field := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	user, _ := strconv.ParseFloat(string(field[11]), 64)
	system, _ := strconv.ParseFloat(string(field[12]), 64)
	pages, _ := strconv.ParseInt(string(field[21]), 10, 64)
	const ticks = 100 // USER_HZ, the same on every Linux platform that Go and Kubernetes support
	return (user + system) / ticks, pages * int64(os.Getpagesize()), nil
}

// Anonymous is the part of the resident memory that is the process' own, without pages of its program and libraries.
func (p *Process) Anonymous() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.ID()))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(status), "RssAnon:")
	var kib int64
	if _, err := fmt.Sscanf(after, "%d kB", &kib); err != nil {
		return 0, fmt.Errorf("RssAnon of process %d: %w", p.ID(), err)
	}
	return kib << 10, nil
}

// Ports are chosen below those that the kernel gives to whoever asks for any (from 32768 on): until the program that gets
// one binds it, nobody else can have it but by the same choice.
const (
	portLeast = 20000
	portMost  = 32000
)

var given struct {
	sync.Mutex
	port map[int]bool
}

// FreePorts gives n ports of loopback that nothing listens on now, none of them twice.
func FreePorts(n int) ([]int, error) {
	given.Lock()
	defer given.Unlock()
	if given.port == nil {
		given.port = map[int]bool{}
	}
	var port []int
	var last error
	for tries := 0; len(port) < n; tries++ {
		if tries == 1000 {
			return nil, fmt.Errorf("no free port between %d and %d: %w", portLeast, portMost, last)
		}
		p := portLeast + rand.IntN(portMost-portLeast)
		if given.port[p] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
		if err != nil {
			last = err
			continue
		}
		l.Close()
		given.port[p] = true
		port = append(port, p)
	}
	return port, nil
}

func (pl *Plane) process(name, path string, args ...string) *Process {
	return &Process{Name: name, Path: path, Args: args, Log: filepath.Join(pl.Dir, name+".log")}
}
