// Package scenario holds what must be true of halflife on a real control plane, one file a subject.
package scenario

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// scenario is one story with one verdict.
type scenario struct {
	name string
	run  func(t *T)
}

// The lists. Side by side on one control plane: those that no halflife may see, then those that have one in common. Side by
// side on another: those that have in common one whose doors are open to the API server. Those that want a control plane to
// themselves (they take it apart, load it, or begin a halflife of their own) go wherever one is free, one at a time.
var without, shared, doored, alone []scenario

// Those that take minutes, the longest first: they begin before others, so that none is left to be waited for at the end.
var longest = []string{"rotation", "outage", "fleet", "cronjob", "refusals", "flow", "limits", "render", "restart", "restarted",
	"hpa-limit-basis", "learner-gone", "oom-200", "backfill", "in-place-restart", "permission", "install", "dimension-pod",
	"dimension-namespace", "uninstall", "node-deferred", "node-kubelet-down", "node-oom-marked", "node-guard-deferred", "node-evict",
	"node-raise", "node-startup"}

const (
	atOnce   = 12 // scenarios side by side: more only take each other's time
	atDoors  = 8  // behind doors: their kubectls must not keep the API server from asking, and being asked, in time
	onTheirs = 2  // control planes for those that want one to themselves, beside what the other two are when they are done
)

// T is one run of one scenario: its world, its namespace, its verdict.
type T struct {
	*World
	Name string
	NS   string // its namespace, made by the first Namespace()

	halflife *Halflife // the one that learns
	replica  *Halflife // doored: the one that the API server calls
	opened   bool      // doors of its own
	strange  float64   // strangers before it began
	met      float64   // of those since
	notes    []string
}

type failure struct{ text string }

// Fatalf ends the scenario.
func (t *T) Fatalf(format string, args ...any) { panic(failure{fmt.Sprintf(format, args...)}) }

// Check ends the scenario on an error.
func (t *T) Check(err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Notef adds a line under the verdict: a number worth reading.
func (t *T) Notef(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// Eventually asks until there is no error, at most for limit; what takes long to ask is asked less often.
func (t *T) Eventually(what string, limit time.Duration, ask func() error) {
	deadline := time.Now().Add(limit)
	for {
		asked := time.Now()
		err := ask()
		if err == nil {
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

// Run runs the scenarios whose names are asked for (none: all) and prints a line for each as it ends, then the sum. Each
// world comes from a control plane of its own, started only when it is needed.
func Run(names []string, begin func(plane string) (*World, error), out io.Writer) (failed int, err error) {
	if err := known(names, without, shared, doored, alone); err != nil {
		return 0, err
	}
	r := &runner{out: out, names: names, queue: pick(alone, names), began: time.Now()}
	type play struct {
		plane string
		first func(*World) error
	}
	var planes []play
	if len(pick(without, names))+len(pick(shared, names)) > 0 {
		planes = append(planes, play{"together", r.together})
	}
	if len(pick(doored, names)) > 0 {
		planes = append(planes, play{"doors", r.behindDoors})
	}
	for i := range min(onTheirs, len(r.queue)) {
		planes = append(planes, play{fmt.Sprintf("alone-%d", i), func(*World) error { return nil }})
	}
	var wait sync.WaitGroup
	errs := make([]error, len(planes))
	for i, p := range planes {
		wait.Add(1)
		go func() {
			defer wait.Done()
			w, err := begin(p.plane)
			if err == nil {
				err = p.first(w)
			}
			if errs[i] = err; err == nil {
				r.alone(w)
			}
		}()
	}
	wait.Wait()
	r.sum()
	return r.failed, errors.Join(errs...)
}

func (r *runner) together(w *World) error {
	r.all(pick(without, r.names), atOnce, T{World: w})
	list := pick(shared, r.names)
	if len(list) == 0 {
		return nil
	}
	h, err := w.StartHalflife("shared")
	if err != nil {
		return err
	}
	defer h.Stop()
	r.all(list, atOnce, T{World: w, halflife: h})
	return nil
}

// behindDoors runs those as the overlay admission has it: one learns, another one is called by the API server.
func (r *runner) behindDoors(w *World) error {
	if err := w.InstallDoors(); err != nil {
		return err
	}
	defer w.CloseDoors()
	learner, err := w.StartHalflife("doors", Doored...)
	if err != nil {
		return err
	}
	defer learner.Stop()
	replica, err := w.StartServe("doors-serve", Doored...)
	if err != nil {
		return err
	}
	defer replica.Stop()
	if err := w.OpenDoors(replica); err != nil {
		return err
	}
	r.all(pick(doored, r.names), atDoors, T{World: w, halflife: learner, replica: replica})
	return nil
}

// alone runs what is left of those that want a control plane to themselves, one after the other, while others do the same.
func (r *runner) alone(w *World) {
	for {
		r.mu.Lock()
		if len(r.queue) == 0 || w.stopped() {
			r.mu.Unlock()
			return
		}
		next := r.queue[:1]
		r.queue = r.queue[1:]
		r.mu.Unlock()
		r.all(next, 1, T{World: w})
	}
}

// known is an error for a name that is in none of the lists.
func known(names []string, lists ...[]scenario) error {
	var all []string
	for _, list := range lists {
		for _, s := range list {
			all = append(all, s.name)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("no scenario '%s'; there are: %s", name, strings.Join(all, " "))
		}
	}
	return nil
}

// pick gives the wanted ones of a list, those that take long first; no names want all.
func pick(list []scenario, names []string) []scenario {
	var chosen []scenario
	for _, s := range list {
		wanted := len(names) == 0
		for _, n := range names {
			wanted = wanted || n == s.name
		}
		if wanted {
			chosen = append(chosen, s)
		}
	}
	place := func(s scenario) int {
		if i := slices.Index(longest, s.name); i >= 0 {
			return i
		}
		return len(longest)
	}
	slices.SortStableFunc(chosen, func(a, b scenario) int { return place(a) - place(b) })
	return chosen
}

type runner struct {
	out   io.Writer
	names []string
	began time.Time

	mu             sync.Mutex
	queue          []scenario // of alone
	passed, failed int
	took           []duration
	failures       []string // why, by name
}

type duration struct {
	name string
	time.Duration
}

// all runs a list side by side, so many at once, each with what is given to all, and waits for its end.
func (r *runner) all(list []scenario, atOnce int, given T) {
	var wait sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for _, s := range list {
		wait.Add(1)
		turn <- struct{}{}
		go func() {
			defer func() {
				<-turn
				wait.Done()
			}()
			start := time.Now()
			t := given
			t.Name = s.name
			err := t.play(s.run)
			r.tell(&t, err, time.Since(start))
		}()
	}
	wait.Wait()
}

func (t *T) play(run func(*T)) (err error) {
	given := t.mine()
	defer func() {
		if t.opened {
			t.CloseDoors()
		}
		for _, h := range t.mine() {
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
	t.strange = t.strangers()
	run(t)
	return t.alive()
}

func (t *T) alive() error {
	for _, h := range t.mine() {
		if err := h.Alive(); err != nil {
			return err
		}
	}
	return nil
}

// mine are the programs under test that the scenario has.
func (t *T) mine() []*Halflife {
	var list []*Halflife
	for _, h := range []*Halflife{t.halflife, t.replica} {
		if h != nil {
			list = append(list, h)
		}
	}
	return list
}

func (r *runner) tell(t *T, err error, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took = append(r.took, duration{t.Name, took})
	verdict := "passed"
	if err != nil {
		verdict = "FAILED"
		r.failed++
		r.failures = append(r.failures, t.Name+": "+indented(err.Error(), "    "))
	} else {
		r.passed++
	}
	fmt.Fprintf(r.out, "%-24s %s %6.1f s\n", t.Name, verdict, took.Seconds())
	for _, note := range t.notes {
		fmt.Fprintf(r.out, "    %s\n", note)
	}
	if err != nil {
		fmt.Fprintf(r.out, "    %s\n", indented(err.Error(), "    "))
		for _, h := range t.mine() {
			said := h.Said(t.NS, 15)
			fmt.Fprintf(r.out, "    halflife %s said of it:\n      %s\n", h.command, indented(said, "      "))
		}
	}
}

// indented has what follows the first line stand under it.
func indented(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }

// sum tells which scenarios took longest, says again why which failed, and closes with what CI reads.
func (r *runner) sum() {
	slices.SortFunc(r.took, func(a, b duration) int { return int(b.Duration - a.Duration) })
	fmt.Fprintf(r.out, "the longest of %.0f s:", time.Since(r.began).Seconds())
	for _, d := range r.took[:min(10, len(r.took))] {
		fmt.Fprintf(r.out, " %s %.0f", d.name, d.Seconds())
	}
	fmt.Fprintln(r.out)
	for _, why := range r.failures {
		fmt.Fprintf(r.out, "FAILED: %s\n", why)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed\n", r.passed, r.failed)
}
