package usage

import (
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"halflife.dev/cluster/kube"
)

// What a node uses as a whole is told by its own annotations, where it has any of them:
//
//	usage.halflife.dev/cpu: 3600m                                  one core without it
//	usage.halflife.dev/memory: 12Gi                                1Gi without it
//	usage.halflife.dev/clock: "2026-11-28T10:00:00Z -12m 5.5"      at that time its clock was 12 min slow, and since then it
//	                                                               goes 5.5 times as fast, until it is ahead
//	usage.halflife.dev/silent: "true"                              the node's kubelet answers nothing, for its pods neither
const (
	nodeCPU    = ofOne + "cpu"
	nodeMemory = ofOne + "memory"
	nodeClock  = ofOne + "clock"
)

// ahead is how far a fast clock goes: further ahead halflife would believe nothing.
const ahead = 4*time.Minute + 30*time.Second

// clock is that of a node; the zero value is right.
type clock struct {
	from, at time.Time // at from it showed at
	rate     float64
}

func readClock(text string) clock {
	var from, slow string
	var c clock
	if n, _ := fmt.Sscan(text, &from, &slow, &c.rate); n != 3 {
		return clock{}
	}
	off, err := time.ParseDuration(slow)
	if err == nil {
		c.from, err = time.Parse(time.RFC3339, from)
	}
	if err != nil {
		return clock{}
	}
	c.at = c.from.Add(off)
	return c
}

// shows is the time by the clock.
func (c clock) shows(now time.Time) time.Time {
	if c.rate > 0 {
		fast := c.at.Add(time.Duration(float64(now.Sub(c.from)) * c.rate))
		if most := now.Add(ahead); fast.After(most) {
			fast = most
		}
		now = fast
	}
	return now.Truncate(time.Millisecond)
}

// node is one that has annotations. Its counter goes by its own clock, so that a constant usage reads as one.
type node struct {
	container
	clock  clock
	silent bool
}

type nodeJSON struct {
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
}

func (s *Server) seeNode(e kube.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, before := time.Now(), s.nodes
	return take(e, func() { s.nodes = map[string]*node{} },
		func(n *nodeJSON) { s.putNode(n, before, now) },
		func(n *nodeJSON) { delete(s.nodes, n.Metadata.Name) })
}

func (s *Server) putNode(in *nodeJSON, before map[string]*node, now time.Time) {
	notes, name := in.Metadata.Annotations, in.Metadata.Name
	told := false
	for _, key := range []string{nodeCPU, nodeMemory, nodeClock, silent} {
		_, has := notes[key]
		told = told || has
	}
	if !told {
		delete(s.nodes, name)
		return
	}
	n := &node{}
	if was := before[name]; was != nil {
		was.advance(was.clock.shows(now))
		n.container = was.container
	} else {
		n.at = readClock(notes[nodeClock]).shows(now)
	}
	n.clock, n.silent = readClock(notes[nodeClock]), notes[silent] == "true"
	n.nanocores = quantity(notes, nodeCPU, nodeCPU, "1", resource.Nano)
	n.bytes = quantity(notes, nodeMemory, nodeMemory, "1Gi", 0)
	s.nodes[name] = n
}

func (n *node) write(out io.Writer, now time.Time) {
	at := n.clock.shows(now)
	n.advance(at)
	ms := at.UnixMilli()
	fmt.Fprintf(out, "node_cpu_usage_seconds_total %d.%09d %d\nnode_memory_working_set_bytes %d %d\n",
		n.nanosecond/1e9, n.nanosecond%1e9, ms, n.bytes, ms)
}
