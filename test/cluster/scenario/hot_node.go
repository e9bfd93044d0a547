package scenario

import (
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// hotScenario is what the scenario hot-node made.
type hotScenario struct {
	*nodeServer
	token             string
	cpu, memory, edge *stage.PlayedNode
	began             time.Time
	last              map[string]heat // by node, when it was last looked at
}

// heat is what is said of one node.
type heat struct {
	samples, above int64
	hot            bool
}

// A node becomes hot with the twelfth of its samples above 80 %, and is so until fewer than eight are, also through a restart:
// condition, metric, and one Event on the Node for each resource, which names no workload. Workloads on it are lowered as
// anywhere: halflife promises nothing else. The clocks of these nodes are fast, so that their minutes are eleven seconds.
func hotNode(t *stage.T) {
	t.Namespace()
	s := &hotScenario{nodeServer: startNodesLearner(t), last: map[string]heat{}}
	t.Account("all")
	s.token = t.Token("all", "--duration=2h")
	defer t.ClusterRole("all", M{"apiGroups": L{""}, "resources": L{"nodes"}, "verbs": L{"list"}}, stage.ReadRule("list"))()
	s.begin()
	s.heats()
	s.told()
	s.lowers()
	s.cools()
}

func (s *hotScenario) begin() {
	const gi = 1024 * stage.Mi
	t := s.t
	t.KeepCycles()
	t.Cycles(t.Learner, 2)
	s.began = time.Now()
	of := func(name string, cpu, memory int64) *stage.PlayedNode {
		n := &stage.PlayedNode{Name: name, Pool: "hot", CPU: 4000, Memory: 16 * gi, UsedCPU: cpu, UsedMemory: memory,
			Slow: 12 * time.Minute, Rate: 5.5}
		t.StartNode(n)
		return n
	}
	s.cpu, s.memory = of("hot-node-cpu", 3600, 4*gi), of("hot-node-memory", 400, 14*gi)
	s.edge = of("hot-node-edge", 3200, 4*gi) // 80 %, and not above
	t.Profile(stage.QuickProfile("Rollout"))
	greedy := stage.Container{Name: "app", Requests: M{"cpu": "100m", "memory": "64Mi"}, CPU: 1480, Memory: 700 * stage.Mi}
	t.Apply(stage.PinnedTo(t.NewDeployment("greedy", 1, greedy), s.cpu.Name))
}

// look reads what is said of the nodes, and ends the scenario where it contradicts itself. Samples come every ten seconds and
// the condition is judged every five: it may be one sample late.
func (s *hotScenario) look() (map[string]kube.Object, error) {
	list, err := s.list(s.token, "?labelSelector=pool%3Dhot")
	if err != nil {
		return nil, err
	}
	all := map[string]kube.Object{}
	for _, item := range list.List("items") {
		name := item.Text("name")
		now := heat{item.Int("samples"), max(item.Int("cpu", "hotSamples"), item.Int("memory", "hotSamples")), hotCondition(item) != nil}
		was := s.last[name]
		if !now.hot && !was.hot && min(now.above, was.above) > 12 || !now.hot && was.hot && now.above >= 8 ||
			now.hot && !was.hot && now.above < 12 || now.hot && was.hot && max(now.above, was.above) < 7 {
			s.t.Fatalf("node %s was %+v and is %+v: %s", name, was, now, item)
		}
		s.last[name] = now
		all[name] = item
	}
	if s.last[s.edge.Name].above > 0 || s.last[s.edge.Name].hot {
		s.t.Fatalf("a node at 80 %% is %s", all[s.edge.Name])
	}
	return all, nil
}

func hotCondition(item kube.Object) kube.Object {
	for _, c := range item.List("conditions") {
		if c.Text("type") == "HotNode" {
			return c
		}
	}
	return nil
}

// events returns the Events HotNode of a node.
func (s *hotScenario) events(node string) []kube.Object {
	list, err := s.t.Get("/apis/events.k8s.io/v1/events?limit=5000")
	s.t.Check(err)
	var all []kube.Object
	for _, e := range list.List("items") {
		if e.Text("reason") == "HotNode" && e.Text("regarding", "kind") == "Node" && e.Text("regarding", "name") == node {
			all = append(all, e)
		}
	}
	return all
}

// heats: two nodes become hot, with twelve samples and no sooner.
func (s *hotScenario) heats() {
	t := s.t
	seen := false
	var all map[string]kube.Object
	t.Eventually("two nodes are hot", 2*stage.Soon, func() (err error) {
		if all, err = s.look(); err != nil {
			return err
		}
		seen = seen || s.last[s.cpu.Name].above == 11 && !s.last[s.cpu.Name].hot
		if !s.last[s.cpu.Name].hot || !s.last[s.memory.Name].hot {
			return fmt.Errorf("they are %+v", s.last)
		}
		return nil
	})
	t.Notef("hot after %.0f s; with 11 samples above it was not: %v", time.Since(s.began).Seconds(), seen)
	for node, reason := range map[string]string{s.cpu.Name: "CPU", s.memory.Name: "Memory"} {
		c, of := hotCondition(all[node]), strings.ToLower(reason)
		want := fmt.Sprintf("%d of the last %d samples of %s are above 80 %%", all[node].Int(of, "hotSamples"), all[node].Int("samples"), of)
		since, err := time.Parse(time.RFC3339, c.Text("lastTransitionTime"))
		if c.Text("status") != "True" || c.Text("reason") != reason || c.Text("message") != want || err != nil ||
			since.Before(s.began) || since.After(time.Now()) {
			t.Fatalf("the condition of %s is %s, not '%s'", node, c, want)
		}
	}
	t.Eventually("the metric counts two", stage.Soon, func() error { return s.counts(2) })
	row := s.row(s.cpu.Name)
	if row[1] != "90%" || row[2] != "90%" || !strings.HasSuffix(row[4], " cpu") || row[7] != t.NS+"/Deployment/greedy +1380m" {
		t.Fatalf("its row is %q", row)
	}
}

func (s *hotScenario) row(node string) []string {
	text := s.t.MustSucceed(s.command(s.token))
	for _, row := range cellsOf(text) {
		if row[0] == node {
			return row
		}
	}
	s.t.Fatalf("no row of node %s:\n%s", node, text)
	return nil
}

func (s *hotScenario) counts(want float64) error {
	if got := s.t.Learner.Counter("halflife_nodes_hot"); got != want {
		return fmt.Errorf("halflife_nodes_hot is %g, not %g", got, want)
	}
	return nil
}

// told: one Event on each, with the counts, which kubectl describe node shows; none on the other.
func (s *hotScenario) told() {
	t := s.t
	for node, says := range map[string]string{
		s.cpu.Name:    " one-minute samples of cpu are above 80 % of the node's 4 (mean 90 %)",
		s.memory.Name: " one-minute samples of memory are above 80 % of the node's 16Gi (mean 87 %)",
	} {
		var events []kube.Object
		t.Eventually("an Event on "+node, stage.Soon, func() error {
			if events = s.events(node); len(events) == 0 {
				return fmt.Errorf("there is none")
			}
			return nil
		})
		e := events[0]
		if len(events) != 1 || e.Text("type") != "Warning" || !strings.HasPrefix(e.Text("note"), "12 of the last ") ||
			!strings.Contains(e.Text("note"), says) || e.Text("metadata", "namespace") != "default" {
			t.Fatalf("%d Events: %s", len(events), e)
		}
		_, told, _ := strings.Cut(t.Ctl("describe", "node", node), "Events:")
		if strings.Count(told, "HotNode") != 1 || !strings.Contains(told, says) {
			t.Fatalf("kubectl describe node says:\n%s", told)
		}
		if said := e.String() + told; strings.Contains(said, "greedy") || strings.Contains(said, t.NS) {
			t.Fatalf("it names a workload: %s", said)
		}
	}
	if none := s.events(s.edge.Name); len(none) > 0 {
		t.Fatalf("an Event on a node at 80 %%: %s", none)
	}
}

// lowers: a workload that comes to a hot node gets its numbers as on any.
func (s *hotScenario) lowers() {
	t := s.t
	t.NodeUses(s.cpu, 400, 4*1024*stage.Mi)
	t.NodeUses(s.memory, 400, 2*1024*stage.Mi)
	app := stage.App()
	app.Requests = M{"cpu": "1", "memory": "1Gi"}
	t.Apply(stage.PinnedTo(t.NewDeployment("calm", 1, app), s.cpu.Name))
	cpu, memory := stage.Targets()
	t.Eventually("it is lowered", stage.Soon, func() error {
		if _, err := s.look(); err != nil {
			return err
		}
		if err := t.PodsAsk("calm", "app", "cpu", cpu, 1); err != nil {
			return err
		}
		return t.PodsAsk("calm", "app", "memory", memory, 1)
	})
	if !s.last[s.cpu.Name].hot {
		t.Fatalf("the node is no longer hot: %+v", s.last)
	}
}

// cools: fewer than eight samples above, and it is over, without another Event; a restart before that changes nothing.
func (s *hotScenario) cools() {
	t := s.t
	var before map[string]kube.Object
	t.Eventually("fewer than twelve samples are above", stage.Soon, func() (err error) {
		if before, err = s.look(); err == nil && s.last[s.cpu.Name].above >= 12 {
			err = fmt.Errorf("it is %+v", s.last)
		}
		return err
	})
	if h := s.last[s.cpu.Name]; !h.hot || h.above < 8 {
		t.Fatalf("after 12 samples above it is %+v", s.last)
	}
	if code, _, err := t.Learner.Terminate(); code != 0 || err != nil {
		t.Fatalf("SIGTERM: exit code %d (%v)", code, err)
	}
	t.Check(t.Learner.Start())
	var after map[string]kube.Object
	t.Eventually("it answers again", stage.Soon, func() (err error) {
		after, err = s.look()
		return err
	})
	h := s.last[s.cpu.Name]
	if was, is := hotCondition(before[s.cpu.Name]), hotCondition(after[s.cpu.Name]); h.hot && is.Text("lastTransitionTime") != was.Text("lastTransitionTime") || !h.hot && h.above >= 8 {
		t.Fatalf("the condition was %s, and is %s: %+v", was, is, h)
	}
	t.Notef("started again with %d of %d samples above, hot: %v", h.above, h.samples, h.hot)
	t.Eventually("no node is hot", 2*stage.Soon, func() error {
		all, err := s.look()
		if err == nil && (s.last[s.cpu.Name].hot || s.last[s.memory.Name].hot) {
			err = fmt.Errorf("they are %s", all)
		}
		return err
	})
	if h := s.last[s.cpu.Name]; h.above >= 8 {
		t.Fatalf("it is %+v", h)
	}
	t.Eventually("the metric counts none", stage.Soon, func() error { return s.counts(0) })
	t.Cycles(t.Learner, 2)
	for _, node := range []string{s.cpu.Name, s.memory.Name} {
		if events := s.events(node); len(events) != 1 || events[0].Int("series", "count") > 1 {
			t.Fatalf("%d Events on %s: %s", len(events), node, events)
		}
	}
	t.Notef("cool after %.0f s, %+v", time.Since(s.began).Seconds(), s.last)
}
