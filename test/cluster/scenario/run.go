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

// The lists. On one control plane: those without a halflife side by side, then those that have one in common side by side,
// then those that load it, one at a time. Beside them on another: those that have in common one whose doors are open to
// the API server, side by side, then those that take it apart, one at a time. On a third, one at a time, those that wait
// for minutes.
var without, shared, alone, doored, apart, patient []scenario

// T is one run of one scenario: its world, its namespace, its verdict.
type T struct {
	*World
	Name string
	NS   string // its namespace, made by the first Namespace()

	halflife *Halflife // the one that learns
	replica  *Halflife // doored: the one that the API server calls
	opened   bool      // doors of its own
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
	for _, name := range names {
		if !known(name) {
			return 0, fmt.Errorf("no scenario '%s'; there are: %s", name, strings.Join(Names(), " "))
		}
	}
	r := &runner{out: out}
	var wait sync.WaitGroup
	planes := []func([]string, func(string) (*World, error)) error{r.together, r.apart, r.patient}
	errs := make([]error, len(planes))
	for i, play := range planes {
		wait.Add(1)
		go func() {
			defer wait.Done()
			errs[i] = play(names, begin)
		}()
	}
	wait.Wait()
	fmt.Fprintf(out, "%d passed, %d failed\n", r.passed, r.failed)
	return r.failed, errors.Join(errs...)
}

func (r *runner) together(names []string, begin func(string) (*World, error)) error {
	if len(pick(without, names))+len(pick(shared, names))+len(pick(alone, names)) == 0 {
		return nil
	}
	w, err := begin("together")
	if err != nil {
		return err
	}
	r.all(pick(without, names), len(without), T{World: w})
	if list := pick(shared, names); len(list) > 0 {
		h, err := w.StartHalflife("shared")
		if err != nil {
			return err
		}
		r.all(list, len(list), T{World: w, halflife: h})
		h.Stop()
	}
	r.each(w, pick(alone, names))
	return nil
}

func (r *runner) apart(names []string, begin func(string) (*World, error)) error {
	behind, list := pick(doored, names), pick(apart, names)
	if len(behind)+len(list) == 0 {
		return nil
	}
	w, err := begin("apart")
	if err != nil {
		return err
	}
	if len(behind) > 0 {
		if err := r.behindDoors(w, behind); err != nil {
			return err
		}
	}
	r.each(w, list)
	return nil
}

func (r *runner) patient(names []string, begin func(string) (*World, error)) error {
	list := pick(patient, names)
	if len(list) == 0 {
		return nil
	}
	w, err := begin("patient")
	if err == nil {
		r.each(w, list)
	}
	return err
}

// behindDoors runs a list as the overlay admission has it: one learns, another one is called by the API server.
func (r *runner) behindDoors(w *World, list []scenario) error {
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
	r.all(list, atDoors, T{World: w, halflife: learner, replica: replica})
	return nil
}

func (r *runner) each(w *World, list []scenario) {
	for _, s := range list {
		r.all([]scenario{s}, 1, T{World: w})
	}
}

// Names of all scenarios, in order.
func Names() []string {
	var names []string
	for _, list := range [][]scenario{without, shared, alone, doored, apart, patient} {
		for _, s := range list {
			names = append(names, s.name)
		}
	}
	return names
}

func known(name string) bool {
	for _, n := range Names() {
		if n == name {
			return true
		}
	}
	return false
}

// pick gives the wanted ones of a list; no names want all.
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
	return chosen
}

type runner struct {
	out            io.Writer
	mu             sync.Mutex
	passed, failed int
}

// atDoors is how many scenarios behind doors run at once: their kubectls must not keep the API server from asking, and
// being asked, in time.
const atDoors = 8

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
	verdict := "passed"
	if err != nil {
		verdict = "FAILED"
		r.failed++
	} else {
		r.passed++
	}
	fmt.Fprintf(r.out, "%-24s %s %6.1f s\n", t.Name, verdict, took.Seconds())
	for _, note := range t.notes {
		fmt.Fprintf(r.out, "    %s\n", note)
	}
	if err != nil {
		fmt.Fprintf(r.out, "    %s\n", strings.ReplaceAll(err.Error(), "\n", "\n    "))
		for _, h := range t.mine() {
			said := h.Said(t.NS, 15)
			fmt.Fprintf(r.out, "    halflife %s said of it:\n      %s\n", h.command, strings.ReplaceAll(said, "\n", "\n      "))
		}
	}
}
