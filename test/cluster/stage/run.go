package stage

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	atOnce   = 12 // scenarios side by side: more only take each other's time
	atREST   = 8  // those with REST: their kubectls must not keep the API server from asking, and being asked, in time
	onTheirs = 2  // control planes for those that want one to themselves, beside what the other two are when they are done
)

// Run runs the scenarios of those names (none: all but those of older versions) and returns those that failed. It prints a
// line for each as it ends, then the sum. Each world comes from a control plane of its own, which begins only when it is
// needed; kubernetes is its version where that is an older one.
func (s Suite) Run(names []string, begin func(plane, kubernetes string) (*World, error), out io.Writer) (failed []Failure, err error) {
	if err := s.known(names, NoHalflife, Learner, REST, Alone, Older); err != nil {
		return nil, err
	}
	Slowness()
	r := &runner{suite: s, out: out, names: names, queue: s.pick(Alone, names), began: time.Now()}
	type play struct {
		plane string
		first func(*World) error
	}
	var planes []play
	if len(s.pick(NoHalflife, names))+len(s.pick(Learner, names)) > 0 {
		planes = append(planes, play{"together", r.together})
	}
	if len(s.pick(REST, names)) > 0 {
		planes = append(planes, play{"doors", r.withREST})
	}
	for i := range min(onTheirs, len(r.queue)) {
		planes = append(planes, play{fmt.Sprintf("alone-%d", i), func(*World) error { return nil }})
	}
	var wait sync.WaitGroup
	if list := s.older(names); len(list) > 0 {
		wait.Go(func() { r.onOlder(list, begin) })
	}
	errs := make([]error, len(planes))
	for i, p := range planes {
		wait.Add(1)
		go func() {
			defer wait.Done()
			w, err := begin(p.plane, "")
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
	r.all(r.suite.pick(NoHalflife, r.names), atOnce, T{World: w})
	list := r.suite.pick(Learner, r.names)
	if len(list) == 0 {
		return nil
	}
	h, err := w.StartHalflife("shared")
	if err != nil {
		return err
	}
	defer h.Stop()
	r.all(list, atOnce, T{World: w, Learner: h})
	return nil
}

// withREST runs the scenarios that need REST, as the overlay admission has it: the API server calls the replica.
func (r *runner) withREST(w *World) error {
	if err := w.InstallWebhooks(); err != nil {
		return err
	}
	defer w.removeWebhooks()
	learner, err := w.StartHalflife("doors", RESTSettings...)
	if err != nil {
		return err
	}
	defer learner.Stop()
	replica, err := w.StartServe("doors-serve", RESTSettings...)
	if err != nil {
		return err
	}
	defer replica.Stop()
	if err := w.RouteWebhooks(replica); err != nil {
		return err
	}
	r.all(r.suite.pick(REST, r.names), atREST, T{World: w, Learner: learner, Replica: replica})
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

// onOlder runs those that need an older Kubernetes one after the other. The control plane of each begins and ends with it,
// and where it does not begin, that scenario has failed.
func (r *runner) onOlder(list []Scenario, begin func(plane, kubernetes string) (*World, error)) {
	for i, s := range list {
		start := time.Now()
		w, err := begin(s.Name, s.Kubernetes)
		if err != nil {
			r.tell(&T{Name: s.Name}, err, time.Since(start))
			continue
		}
		r.all(list[i:i+1], 1, T{World: w})
		w.Plane.Stop()
		if w.stopped() {
			return
		}
	}
}

type runner struct {
	suite Suite
	out   io.Writer
	names []string
	began time.Time

	mu     sync.Mutex
	queue  []Scenario // of alone
	passed int
	failed []Failure
	took   []duration
}

// Failure is a scenario that failed: why, and what halflife said of it.
type Failure struct{ Name, Why, Said string }

type duration struct {
	name string
	time.Duration
}

// all runs a list side by side, so many at once, each with what is given to all, and waits for its end.
func (r *runner) all(list []Scenario, atOnce int, given T) {
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
			t.Name = s.Name
			err := t.play(s.Run)
			r.tell(&t, err, time.Since(start))
		}()
	}
	wait.Wait()
}

func (r *runner) tell(t *T, err error, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took = append(r.took, duration{t.Name, took})
	verdict := "passed"
	if err != nil {
		verdict = "FAILED"
		r.failed = append(r.failed, Failure{t.Name, indented(err.Error(), "    "), said(t)})
	} else {
		r.passed++
		if err := r.suite.Passed.add(t.Name); err != nil {
			t.notes = append(t.notes, "it will be played again: "+err.Error())
		}
	}
	fmt.Fprintf(r.out, "%-24s %s %6.1f s\n", t.Name, verdict, took.Seconds())
	for _, note := range t.notes {
		fmt.Fprintf(r.out, "    %s\n", note)
	}
	if err != nil {
		f := r.failed[len(r.failed)-1]
		fmt.Fprintf(r.out, "    %s\n%s", f.Why, f.Said)
	}
}

// said returns the last that each halflife of a scenario logged of its namespace.
func said(t *T) string {
	var all strings.Builder
	for _, h := range t.Halflives() {
		fmt.Fprintf(&all, "    halflife %s said of it:\n      %s\n", h.Command, indented(h.Said(t.NS, 15), "      "))
	}
	return all.String()
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
	fmt.Fprintf(r.out, "\nthe wait nearest to its limit: %.0f s of %.0f s, %s\n", longestWait.took.Seconds(), longestWait.limit.Seconds(), longestWait.what)
	for _, f := range r.failed {
		fmt.Fprintf(r.out, "FAILED: %s: %s\n", f.Name, f.Why)
	}
	if n := r.suite.Passed.count(); n > 0 {
		fmt.Fprintf(r.out, "%d were not played again: they passed before\n", n)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed\n", r.passed, len(r.failed))
}
