// Package usage tells metrics-server what the containers of the kwok nodes use, exactly as their pods' annotations say:
//
//	kwok.x-k8s.io/usage-cpu: 250m                 each container of the pod
//	kwok.x-k8s.io/usage-memory: 200Mi
//	usage.halflife.dev/cpu.sidecar: 10m           one container by its name
//	usage.halflife.dev/memory.sidecar: 20Mi
//	usage.halflife.dev/silent: "true"             the pod tells nothing
//
// It takes the place of kwok's own metrics because those know neither native sidecars nor exact counters: here a counter
// is the integral of the usage up to the time stamp that is sent with it, so that a constant usage reads as one.
package usage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"halflife.dev/cluster/kube"
)

const (
	cpuOfAll    = "kwok.x-k8s.io/usage-cpu"
	memoryOfAll = "kwok.x-k8s.io/usage-memory"
	ofOne       = "usage.halflife.dev/" // cpu.NAME, memory.NAME
	silent      = "usage.halflife.dev/silent"
)

type container struct {
	name       string
	nanocores  int64
	bytes      int64
	nanosecond int64 // CPU used up to at
	at         time.Time
}

type pod struct {
	namespace, name, node string
	started               time.Time
	silent                bool
	containers            []*container
}

type key struct{ namespace, name string }

// Server keeps what all pods use, and the nodes that tell of themselves.
type Server struct {
	mu    sync.Mutex
	pods  map[key]*pod
	nodes map[string]*node
}

// Run serves GET /metrics/nodes/NODE/metrics/resource over TLS until ctx ends.
func Run(ctx context.Context, c *kube.Client, port, cert, key_ string) error {
	s := &Server{pods: map[key]*pod{}, nodes: map[string]*node{}}
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics/nodes/{node}/metrics/resource", s.serve)
	web := &http.Server{Handler: mux}
	go func() { _ = c.Watch(ctx, "/api/v1/nodes", s.seeNode) }()
	go func() {
		_ = c.Watch(ctx, "/api/v1/pods", s.see)
		web.Close()
	}()
	if err := web.ServeTLS(l, cert, key_); err != http.ErrServerClosed {
		return err
	}
	return nil
}

type podJSON struct {
	Metadata struct {
		Namespace, Name string
		Annotations     map[string]string
	}
	Spec struct {
		NodeName   string
		Containers []struct{ Name string }
		Init       []struct{ Name, RestartPolicy string } `json:"initContainers"`
	}
	Status struct {
		Phase     string
		StartTime time.Time
	}
}

// take hands over each object of an event; those of a list replace all that were there.
func take[T any](e kube.Event, replace func(), put, drop func(*T)) error {
	if e.Type == "LIST" {
		var list struct{ Items []T }
		if err := json.Unmarshal(e.Object, &list); err != nil {
			return err
		}
		replace()
		for i := range list.Items {
			put(&list.Items[i])
		}
		return nil
	}
	var one T
	if err := json.Unmarshal(e.Object, &one); err != nil {
		return err
	}
	if e.Type == "DELETED" {
		drop(&one)
	} else {
		put(&one)
	}
	return nil
}

func (s *Server) see(e kube.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, before := time.Now(), s.pods
	return take(e, func() { s.pods = map[key]*pod{} },
		func(p *podJSON) { s.put(p, before, now) },
		func(p *podJSON) { delete(s.pods, key{p.Metadata.Namespace, p.Metadata.Name}) })
}

// put takes a pod in as it is now; the counters it had go on.
func (s *Server) put(in *podJSON, before map[key]*pod, now time.Time) {
	k := key{in.Metadata.Namespace, in.Metadata.Name}
	if in.Status.Phase != "Running" {
		delete(s.pods, k)
		return
	}
	names := make([]string, 0, len(in.Spec.Containers))
	for _, c := range in.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, c := range in.Spec.Init {
		if c.RestartPolicy == "Always" {
			names = append(names, c.Name)
		}
	}
	p := &pod{namespace: k.namespace, name: k.name, node: in.Spec.NodeName, started: in.Status.StartTime}
	p.silent = in.Metadata.Annotations[silent] == "true"
	for _, name := range names {
		c := &container{name: name, at: now, nanosecond: int64(time.Second)} // metrics-server hides a pod whose counter is 0
		if old := before[k]; old != nil && old.started.Equal(p.started) {
			for _, was := range old.containers {
				if was.name == name {
					was.advance(now)
					*c = *was
				}
			}
		}
		c.nanocores = quantity(in.Metadata.Annotations, cpuOfAll, ofOne+"cpu."+name, "1m", resource.Nano)
		c.bytes = quantity(in.Metadata.Annotations, memoryOfAll, ofOne+"memory."+name, "16Mi", 0)
		p.containers = append(p.containers, c)
	}
	s.pods[k] = p
}

func quantity(annotations map[string]string, all, one, absent string, scale resource.Scale) int64 {
	text, ok := annotations[one]
	if !ok {
		text, ok = annotations[all]
	}
	if !ok {
		text = absent
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0 // metrics-server hides such a pod: what a wrong annotation deserves
	}
	return q.ScaledValue(scale)
}

func (c *container) advance(now time.Time) {
	if passed := now.Sub(c.at); passed > 0 {
		// in two parts, as cores times nanoseconds of a day would not fit
		c.nanosecond += int64(passed/time.Second)*c.nanocores + int64(passed%time.Second)*(c.nanocores/1000)/1000000
		c.at = now
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	node := r.PathValue("node")
	now := time.Now().Truncate(time.Millisecond)
	ms := now.UnixMilli()
	var b bytes.Buffer
	s.mu.Lock()
	if n := s.nodes[node]; n == nil {
		fmt.Fprintf(&b, "node_cpu_usage_seconds_total %d %d\nnode_memory_working_set_bytes %d %d\n", ms/1000, ms, 1<<30, ms)
	} else if n.silent {
		s.mu.Unlock()
		http.Error(w, "the node tells nothing", http.StatusServiceUnavailable)
		return
	} else {
		n.write(&b, now)
	}
	for _, p := range s.pods {
		if p.node == node && !p.silent {
			p.write(&b, now)
		}
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write(b.Bytes())
}

func (p *pod) write(b *bytes.Buffer, now time.Time) {
	ms := now.UnixMilli()
	for _, c := range p.containers {
		c.advance(now)
		label := fmt.Sprintf(`{container="%s",namespace="%s",pod="%s"}`, c.name, p.namespace, p.name)
		seconds := fmt.Sprintf("%d.%09d", c.nanosecond/1e9, c.nanosecond%1e9)
		fmt.Fprintf(b, "container_start_time_seconds%s %d %d\n", label, p.started.Unix(), ms)
		fmt.Fprintf(b, "container_cpu_usage_seconds_total%s %s %d\n", label, seconds, ms)
		fmt.Fprintf(b, "container_memory_working_set_bytes%s %d %d\n", label, c.bytes, ms)
	}
}
