package scenario

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"halflife.dev/cluster/plane"
)

// Interval is how often the halflife of the scenarios reads usage; metrics-server is not faster.
const Interval = 10 * time.Second

// Halflife is one running program under test, with a database of its own under the run's folder.
type Halflife struct {
	*plane.Process
	Dir        string
	Kubeconfig string
	world      *World
	command    string // "run", "serve"
	settings   []string
}

var count atomic.Int64

// StartHalflife starts the release build under halflife's service account; settings are flags, which win over the usual
// ones in the environment. The name tells its folder: a second start with the same name finds the same database.
func (w *World) StartHalflife(name string, settings ...string) (*Halflife, error) {
	return w.start(name, "run", "halflife", settings)
}

// StartServe starts a replica that only serves, under its own service account.
func (w *World) StartServe(name string, settings ...string) (*Halflife, error) {
	return w.start(name, "serve", "halflife-serve", settings)
}

func (w *World) start(name, command, account string, settings []string) (*Halflife, error) {
	h := &Halflife{Dir: filepath.Join(w.Dir, "halflife-"+name), world: w, command: command, settings: settings}
	if err := os.MkdirAll(h.Dir, 0o755); err != nil {
		return nil, err
	}
	h.Kubeconfig = filepath.Join(h.Dir, "kubeconfig")
	token, err := w.ctl.Run("", "-n", ownNamespace, "create", "token", account, "--duration=2h")
	if err != nil {
		return nil, err
	}
	if err := w.Plane.KubeconfigFor(h.Kubeconfig, strings.TrimSpace(token)); err != nil {
		return nil, err
	}
	return h, h.Start()
}

// Binary is the program under test.
func (w *World) Binary() string { return filepath.Join(w.Root, "build", "release", "halflife") }

// Start starts it (again) and waits until its caches are synced.
func (h *Halflife) Start() error {
	listen := filepath.Join(h.Dir, "listen")
	if err := os.Remove(listen); err != nil && !os.IsNotExist(err) {
		return err
	}
	h.Process = &plane.Process{
		Name: "halflife", Path: h.world.Binary(),
		Log:  filepath.Join(h.Dir, fmt.Sprintf("log-%d", count.Add(1))),
		Args: append([]string{h.command}, h.settings...),
	}
	usual := []string{
		"HALFLIFE_KUBECONFIG=" + h.Kubeconfig, "HALFLIFE_DATABASE=" + filepath.Join(h.Dir, "halflife.db"),
		"HALFLIFE_LISTEN=127.0.0.1:0", "HALFLIFE_LISTEN_FILE=" + listen, "HALFLIFE_INTERVAL=" + Interval.String(),
		"HALFLIFE_STATUS_INTERVAL=10s", "HALFLIFE_CHECKPOINT_INTERVAL=30s",
		"HALFLIFE_LEADER_ELECT=true", "HALFLIFE_NAMESPACE=" + ownNamespace,
		"HALFLIFE_FUSE_GUARDS=0", // scenarios side by side do harm on purpose
	}
	if err := h.Process.Start(false, usual...); err != nil {
		return err
	}
	deadline := time.Now().Add(soon)
	for {
		_, err := h.Page("/readyz")
		if err == nil {
			return nil
		}
		if alive := h.Alive(); alive != nil {
			return alive
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("halflife is not ready after %s: %w\n%s", soon, err, h.Tail(3000))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Alive is an error when the process has ended.
func (h *Halflife) Alive() error {
	if h.Running() {
		return nil
	}
	code, err := h.Wait(time.Second)
	return fmt.Errorf("halflife ended with code %d (%v):\n%s", code, err, h.Tail(3000))
}

// Door is where --serve-listen was bound.
func (h *Halflife) Door() (string, error) { return h.address(1) }

func (h *Halflife) address(line int) (string, error) {
	text, err := os.ReadFile(filepath.Join(h.Dir, "listen"))
	if err != nil {
		return "", err
	}
	lines := strings.Fields(string(text))
	if len(lines) <= line {
		return "", fmt.Errorf("no address %d in '%s'", line, text)
	}
	return lines[line], nil
}

// Page reads one of its own pages, such as /metrics.
func (h *Halflife) Page(path string) (string, error) {
	address, err := h.address(0)
	if err != nil {
		return "", err
	}
	client := http.Client{Timeout: 2 * time.Second}
	res, err := client.Get("http://" + address + path)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if res.StatusCode != 200 {
		return "", fmt.Errorf("%s: HTTP %d: %s", path, res.StatusCode, strings.TrimSpace(string(data)))
	}
	return string(data), err
}

// Terminate asks it to end and gives its exit code and how long it took.
func (h *Halflife) Terminate() (int, time.Duration, error) {
	start := time.Now()
	h.Signal(syscall.SIGTERM)
	code, err := h.Wait(30 * time.Second)
	return code, time.Since(start), err
}

// Said gives the last lines of its log that name a namespace, or warn of anything.
func (h *Halflife) Said(namespace string, most int) string {
	data, _ := os.ReadFile(h.Log)
	var about []string
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		warns := strings.Contains(line, " WARN ") || strings.Contains(line, " ERROR ")
		if warns || namespace == "" || strings.Contains(line, namespace) {
			about = append(about, line)
		}
	}
	return strings.Join(about[max(0, len(about)-most):], "\n")
}

// Says is an error unless so many lines of its log hold both texts.
func (h *Halflife) Says(about, text string, lines int) error {
	data, err := os.ReadFile(h.Log)
	got := 0
	for _, line := range strings.Split(string(data), "\n") {
		if strings.Contains(line, about) && strings.Contains(line, text) {
			got++
		}
	}
	if err == nil && got < lines {
		err = fmt.Errorf("%d lines of its log say '%s' of %s", got, text, about)
	}
	return err
}
