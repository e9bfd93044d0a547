package stage

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"halflife.dev/cluster/plane"
)

// Interval is how often the halflife of the scenarios reads usage. The metrics-server is not faster.
const Interval = 10 * time.Second

// Halflife is a running program under test. Its database lies in the folder of the run.
type Halflife struct {
	*plane.Process
	Dir        string
	Kubeconfig string
	world      *World
	binary     string
	Command    string // "run", "serve", "rotate"
	settings   []string
}

var count atomic.Int64

// StartHalflife starts the release build under halflife's service account; settings are flags, which win over the usual
// ones in the environment. The name decides its folder: a second start with the same name finds the same database.
func (w *World) StartHalflife(name string, settings ...string) (*Halflife, error) {
	return w.StartVersion(w.Binary(), "run", name, settings...)
}

// StartServe starts a replica that only serves, under its own service account.
func (w *World) StartServe(name string, settings ...string) (*Halflife, error) {
	return w.StartVersion(w.Binary(), "serve", name, settings...)
}

// StartRotate has halflife rotate keep the certificate of this world, under its own service account, unless it does already.
func (w *World) StartRotate() error { return w.StartRotateOf(w.Binary()) }

// StartRotateOf is StartRotate with the halflife at a path.
func (w *World) StartRotateOf(binary string) error {
	w.rotating.Lock()
	defer w.rotating.Unlock()
	if w.Rotate != nil {
		return nil
	}
	h, err := w.StartVersion(binary, "rotate", "rotate", "--webhook-certificate=self")
	w.Rotate = h
	return err
}

// StopRotate ends what StartRotate started.
func (w *World) StopRotate() {
	w.rotating.Lock()
	defer w.rotating.Unlock()
	if w.Rotate != nil {
		w.Rotate.Stop()
		w.Rotate = nil
	}
}

// StartVersion starts a command ("run", "serve" or "rotate") of the halflife at a path, else as StartHalflife and StartServe do.
func (w *World) StartVersion(binary, command, name string, settings ...string) (*Halflife, error) {
	account := map[string]string{"run": "halflife", "serve": "halflife-serve", "rotate": "halflife-rotate"}[command]
	h := &Halflife{Dir: filepath.Join(w.Dir, "halflife-"+name), world: w, binary: binary, Command: command, settings: settings}
	if err := os.MkdirAll(h.Dir, 0o755); err != nil {
		return nil, err
	}
	h.Kubeconfig = filepath.Join(h.Dir, "kubeconfig")
	token, err := w.Kubectl.Run("", "-n", OwnNamespace, "create", "token", account, "--duration=2h")
	if err != nil {
		return nil, err
	}
	if err := w.Plane.KubeconfigFor(h.Kubeconfig, strings.TrimSpace(token)); err != nil {
		return nil, err
	}
	return h, h.Start()
}

// Binary returns the path of the program under test.
func (w *World) Binary() string { return filepath.Join(w.Root, "build", "release", "halflife") }

// Start starts the program, also after it has ended, and waits until its caches are synced.
func (h *Halflife) Start() error {
	listen := filepath.Join(h.Dir, "listen")
	if err := os.Remove(listen); err != nil && !os.IsNotExist(err) {
		return err
	}
	h.Process = &plane.Process{
		Name: "halflife", Path: h.binary,
		Log:  filepath.Join(h.Dir, fmt.Sprintf("log-%d", count.Add(1))),
		Args: append([]string{h.Command}, h.settings...),
	}
	usual := []string{
		"HALFLIFE_KUBECONFIG=" + h.Kubeconfig, "HALFLIFE_DATABASE=" + filepath.Join(h.Dir, "halflife.db"),
		"HALFLIFE_LISTEN=127.0.0.1:0", "HALFLIFE_LISTEN_FILE=" + listen, "HALFLIFE_INTERVAL=" + Interval.String(),
		"HALFLIFE_STATUS_INTERVAL=10s", "HALFLIFE_CHECKPOINT_INTERVAL=30s",
		"HALFLIFE_LEADER_ELECT=true", "HALFLIFE_NAMESPACE=" + OwnNamespace,
		"HALFLIFE_FUSE_GUARDS=0", // scenarios side by side do harm on purpose
	}
	if err := h.Process.Start(false, usual...); err != nil {
		return err
	}
	deadline := time.Now().Add(Soon)
	for {
		_, err := h.Page("/readyz")
		if err == nil {
			return nil
		}
		if alive := h.Alive(); alive != nil {
			return alive
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("halflife is not ready after %s: %w\n%s", Soon, err, h.Tail(3000))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Alive returns an error if the process has ended.
func (h *Halflife) Alive() error {
	if h.Running() {
		return nil
	}
	code, err := h.Wait(time.Second)
	return fmt.Errorf("halflife ended with code %d (%v):\n%s", code, err, h.Tail(3000))
}

// Address returns the address of its own pages, such as /metrics.
func (h *Halflife) Address() (string, error) { return h.address(0) }

// RESTAddress returns the address of the REST API and of the webhooks.
func (h *Halflife) RESTAddress() (string, error) { return h.address(1) }

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

// Page reads one of the program's own pages, such as /metrics.
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

// Terminate sends SIGTERM, and returns the exit code and how long the end took.
func (h *Halflife) Terminate() (int, time.Duration, error) {
	start := time.Now()
	h.Signal(syscall.SIGTERM)
	code, err := h.Wait(30 * time.Second)
	return code, time.Since(start), err
}

// Said returns the last lines of the log that name a namespace, or warn of anything.
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

// Says returns an error unless that many lines of the log contain both texts.
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

// Number returns the number behind key in the first line of its log that has both texts, or -1.
func (h *Halflife) Number(about, key string) int {
	data, _ := os.ReadFile(h.Log)
	for _, line := range strings.Split(string(data), "\n") {
		if _, rest, ok := strings.Cut(line, key); ok && strings.Contains(line, about) {
			digits, _, _ := strings.Cut(rest, " ")
			if n, err := strconv.Atoi(digits); err == nil {
				return n
			}
		}
	}
	return -1
}

// Counter returns the value of a metric, or 0 while the page does not have it.
func (h *Halflife) Counter(name string) float64 {
	page, _ := h.Page("/metrics")
	for _, line := range strings.Split(page, "\n") {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ := strconv.ParseFloat(value, 64)
			return n
		}
	}
	return 0
}

// StartOwn starts the scenario's own learner, which ends with the scenario.
func (t *T) StartOwn(settings ...string) *Halflife {
	h, err := t.StartHalflife(t.Name, settings...)
	t.Learner = h
	t.Check(err)
	return h
}

// StartAgain starts h again and waits for four cycles: h must first wait for the Lease of the process before it.
func (t *T) StartAgain(h *Halflife) {
	t.Check(h.Start())
	t.Cycles(h, 4)
}

// Cycles waits until halflife has read usage n times more: its next n cycles have begun, and the one before the last is
// over.
func (t *T) Cycles(h *Halflife, n int) {
	mark := t.Audit.Mark()
	t.Eventually(fmt.Sprintf("%d cycles of halflife", n), Soon+time.Duration(n)*Interval, func() error {
		if err := h.Alive(); err != nil {
			t.Fatalf("%v", err)
		}
		if got := t.Audit.CyclesSince(mark); got < n {
			return fmt.Errorf("only %d", got)
		}
		return nil
	})
}

// FreePort returns a port that nothing listens on, for a halflife that keeps its address when it is started again.
func (t *T) FreePort() int {
	port, err := plane.FreePorts(1)
	t.Check(err)
	return port[0]
}
