package stage

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"halflife.dev/cluster/plane"
)

// Soon limits the wait for what takes two scrapes and a cycle, by what metrics-server and halflife promise, six times over:
// a limit costs time only where something is wrong, and a machine may have much else to do.
const Soon = 6 * (2*plane.Scrape + Interval)

// T is one run of one scenario: its world, its namespace, its verdict.
type T struct {
	*World
	Name string
	NS   string // its namespace, made by Namespace

	Learner       *Halflife // nil: none
	Replica       *Halflife // the one that the API server calls; nil: none
	webhooks      bool      // the scenario has routed them itself
	unknownBefore float64   // pods of unknown owner before the scenario began
	unknown       float64   // those since then that have explained something
	notes         []string
}

type failure struct{ text string }

// Fatalf ends the scenario with a message.
func (t *T) Fatalf(format string, args ...any) { panic(failure{fmt.Sprintf(format, args...)}) }

// Check ends the scenario if there is an error.
func (t *T) Check(err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Notef adds a line under the verdict: a number worth reading.
func (t *T) Notef(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// Eventually asks until there is no error, for limit at most, scaled to this machine. It asks less often what takes long.
func (t *T) Eventually(what string, limit time.Duration, ask func() error) {
	limit = Scaled(limit)
	began := time.Now()
	deadline := began.Add(limit)
	for {
		asked := time.Now()
		err := ask()
		if err == nil {
			longestWait.note(t.Name+": "+what, asked.Sub(began), limit)
			return
		}
		took := time.Since(asked)
		if t.stopped() {
			t.Fatalf("interrupted")
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		time.Sleep(max(500*time.Millisecond, 3*took))
	}
}

// longestWait is the wait, of all scenarios, that came nearest to its limit.
var longestWait nearest

type nearest struct {
	mu          sync.Mutex
	what        string
	took, limit time.Duration
}

func (n *nearest) note(what string, took, limit time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.limit == 0 || took.Seconds()/limit.Seconds() > n.took.Seconds()/n.limit.Seconds() {
		n.what, n.took, n.limit = what, took, limit
	}
}

// Play runs a story that is no scenario of a suite.
func Play(w *World, name string, run func(*T)) error {
	t := &T{World: w, Name: name}
	return t.play(run)
}

func (t *T) play(run func(*T)) (err error) {
	given, rotated := t.Halflives(), t.Rotate != nil
	defer func() {
		if t.webhooks {
			t.removeWebhooks()
		}
		if !rotated {
			t.StopRotate()
		}
		for _, h := range t.Halflives() {
			if !slices.Contains(given, h) {
				h.Stop()
			}
		}
		t.cleanUp()
	}()
	defer func() {
		switch v := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("%s", v.text)
		default:
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	if err := t.alive(); err != nil {
		return err
	}
	t.unknownBefore = t.countUnknown()
	run(t)
	return t.alive()
}

func (t *T) alive() error {
	for _, h := range t.Halflives() {
		if err := h.Alive(); err != nil {
			return err
		}
	}
	return nil
}

// Halflives returns the programs under test that the scenario has.
func (t *T) Halflives() []*Halflife {
	var list []*Halflife
	for _, h := range []*Halflife{t.Learner, t.Replica} {
		if h != nil {
			list = append(list, h)
		}
	}
	return list
}
