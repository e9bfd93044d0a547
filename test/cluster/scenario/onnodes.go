package scenario

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"halflife.dev/cluster/node"
)

// Scenarios of a real node, whose containers run. Side by side with one halflife in common on one node: those that use a
// little of it. One after the other, each on a node as it wants it: those that use it up, or begin a halflife of their own.
var (
	onNode    []scenario
	ownNode   []scenario
	nodeOf    = map[string]node.Settings{} // of a scenario of ownNode; none: as usual
	nodeSpans = 2                          // nodes for those, beside the one in common, which is followed by others
)

// BeginNode starts a control plane with a real node, and gives what ends both.
type BeginNode func(name string, set node.Settings) (*World, func(), error)

// RunOnNodes is Run for the scenarios of real nodes.
func RunOnNodes(names []string, begin BeginNode, out io.Writer) (failed int, err error) {
	if err := known(names, onNode, ownNode); err != nil {
		return 0, err
	}
	r := &runner{out: out, names: names, queue: pick(ownNode, names), began: time.Now()}
	tracks := []func() error{}
	if len(pick(onNode, names)) > 0 {
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
	r.all(pick(onNode, r.names), atOnce, T{World: w, halflife: h})
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
		set, own := nodeOf[next[0].name]
		if !own {
			set = node.Usual
		}
		w, end, err := begin(next[0].name, set)
		if err != nil {
			return fmt.Errorf("%s: %w", next[0].name, err)
		}
		r.all(next, 1, T{World: w})
		end()
		if w.stopped() {
			return nil
		}
	}
}
