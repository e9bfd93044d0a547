package stage

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"halflife.dev/cluster/node"
)

// nodeSpans is how many nodes those that want one to themselves have, beside the one in common, which is followed by others.
const nodeSpans = 2

// BeginNode starts a control plane with a real node, and returns what ends both.
type BeginNode func(name string, set node.Settings) (*World, func(), error)

// RunOnNodes is Run for the scenarios that need a real node.
func (s Suite) RunOnNodes(names []string, begin BeginNode, out io.Writer) (failed []Failure, err error) {
	if err := s.known(names, OnNode, OwnNode); err != nil {
		return nil, err
	}
	Slowness()
	r := &runner{suite: s, out: out, names: names, queue: s.pick(OwnNode, names), began: time.Now()}
	tracks := []func() error{}
	if len(s.pick(OnNode, names)) > 0 {
		tracks = append(tracks, func() error { return errors.Join(r.onNode(begin), r.ownNodes(begin)) })
	}
	for range min(nodeSpans, len(r.queue)) {
		tracks = append(tracks, func() error { return r.ownNodes(begin) })
	}
	var wait sync.WaitGroup
	errs := make([]error, len(tracks))
	for i, track := range tracks {
		wait.Add(1)
		go func() {
			defer wait.Done()
			errs[i] = track()
		}()
	}
	wait.Wait()
	r.sum()
	return r.failed, errors.Join(errs...)
}

func (r *runner) onNode(begin BeginNode) error {
	w, end, err := begin("together", node.Usual)
	if err != nil {
		return err
	}
	defer end()
	h, err := w.StartHalflife("shared")
	if err != nil {
		return err
	}
	defer h.Stop()
	r.all(r.suite.pick(OnNode, r.names), atOnce, T{World: w, Learner: h})
	return nil
}

// ownNodes gives each that is left a node of its own.
func (r *runner) ownNodes(begin BeginNode) error {
	for {
		r.mu.Lock()
		if len(r.queue) == 0 {
			r.mu.Unlock()
			return nil
		}
		next := r.queue[:1]
		r.queue = r.queue[1:]
		r.mu.Unlock()
		set := next[0].Node
		if set == (node.Settings{}) {
			set = node.Usual
		}
		w, end, err := begin(next[0].Name, set)
		if err != nil {
			return fmt.Errorf("%s: %w", next[0].Name, err)
		}
		r.all(next, 1, T{World: w})
		end()
		if w.stopped() {
			return nil
		}
	}
}
