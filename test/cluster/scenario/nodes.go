package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// nodesScenario is what the scenario nodes made: four nodes and what runs on them.
type nodesScenario struct {
	*nodeServer
	other                         *stage.T // its second namespace
	token                         string   // of who may see all
	witness                       *stage.NodeWitness
	busy, wave, plain, liar, late *stage.PlayedNode
	loads                         map[string][]*nodeLoad // by node
	mark                          int64                  // in the audit, when the nodes were made
}

// hotAbove is the scenario's node-hot-percent.
const hotAbove = 60

// Nodes, what they use, what is requested of them, and who uses more: by the command and by REST, at the learner and at a
// replica, as computed here; to each caller no more than it may see. Nodes are cordoned, tainted, resized, fall silent, lie,
// go and come back. Nothing waits for their usage.
func nodes(t *stage.T) {
	t.Namespace()
	s := &nodesScenario{nodeServer: startNodesLearner(t, fmt.Sprintf("--node-hot-percent=%d", hotAbove)), other: t.In("other")}
	s.witness = t.NewNodeWitness()
	defer s.witness.Stop()
	defer s.mayAll()()
	s.unread()
	s.begin()
	s.agrees()
	t.NodeUses(s.wave, 3000, 3*1024*stage.Mi)
	s.selected()
	s.tables()
	s.described()
	s.callers()
	t.NodeUses(s.wave, 900, 14*1024*stage.Mi)
	s.cordoned()
	s.lies()
	s.silent()
	s.follows()
	s.relayed()
	s.denied()
	s.restarted()
	s.resized()
	s.goes()
}

// mayAll makes an account that may see all, and returns what takes its rights away.
func (s *nodesScenario) mayAll() func() {
	nodes := M{"apiGroups": L{""}, "resources": L{"nodes"}, "verbs": L{"list"}}
	s.t.Account("all")
	s.token = s.t.Token("all", "--duration=2h")
	return s.t.ClusterRole("all", nodes, stage.ReadRule("list"))
}

// unread: without a workload that has a profile, no usage of nodes is read.
func (s *nodesScenario) unread() {
	const cycles = "halflife_cycles_total" // the audit shows no cycle that reads nothing
	mark, begun := s.t.Audit.Mark(), s.t.Learner.Counter(cycles)
	s.t.Eventually("six cycles", stage.Soon, func() error {
		if n := s.t.Learner.Counter(cycles) - begun; n < 6 {
			return fmt.Errorf("only %v", n)
		}
		return nil
	})
	for _, r := range s.t.Audit.Since(mark, stage.LearnerUser) {
		if r.Object.APIGroup == "metrics.k8s.io" {
			s.t.Fatalf("without a profile it reads usage: %s", r.URI)
		}
	}
	list, err := s.list(s.token, "")
	s.t.Check(err)
	if len(list.List("items")) == 0 || list.Int("hotPercent") != hotAbove {
		s.t.Fatalf("the nodes are %s", list)
	}
	for _, item := range list.List("items") {
		if item.Int("samples") != 0 || item.At("pressurePercent") != nil || item.Text("lastSample") != "" {
			s.t.Fatalf("without a profile it knows the usage of a node: %s", item)
		}
	}
}

// begin makes the nodes, once usage is read, and what runs on them.
func (s *nodesScenario) begin() {
	const gi = 1024 * stage.Mi
	t := s.t
	t.KeepCycles()
	t.Cycles(t.Learner, 2)
	fast := func(name, pool string, cpu, memory int64) *stage.PlayedNode {
		return &stage.PlayedNode{Name: name, Pool: pool, CPU: 4000, Memory: 16 * gi, UsedCPU: cpu, UsedMemory: memory,
			Slow: 12 * time.Minute, Rate: 6}
	}
	s.busy, s.wave = fast("nodes-busy", "a", 2600, 6*gi), fast("nodes-wave", "a", 500, 9*gi)
	s.plain = &stage.PlayedNode{Name: "nodes-plain", Pool: "b", CPU: 8000, Memory: 32 * gi, UsedCPU: 1234, UsedMemory: 5 * gi}
	s.liar = &stage.PlayedNode{Name: "nodes-liar", Pool: "b", CPU: 4000, Memory: 16 * gi, UsedCPU: 9000, UsedMemory: gi}
	s.late = &stage.PlayedNode{Name: "nodes-late", Pool: "c", CPU: 4000, Memory: 16 * gi, UsedCPU: 3900, UsedMemory: gi,
		Slow: 4 * time.Minute, Rate: 1}
	s.mark = t.Audit.Mark()
	for _, n := range []*stage.PlayedNode{s.busy, s.wave, s.plain, s.liar} {
		t.StartNode(n)
	}
	t.Profile(stage.QuickProfile("Rollout"))
	s.loads = map[string][]*nodeLoad{}
	s.runs(s.busy, t, &nodeLoad{kind: "Deployment", name: "web", pods: 2, original: amounts{500, 256 * stage.Mi}, used: amounts{612, 333 * stage.Mi}})
	s.runs(s.busy, t, &nodeLoad{kind: "Deployment", name: "calm", pods: 1, original: amounts{1000, 1024 * stage.Mi}, used: amounts{137, 150 * stage.Mi}})
	s.runs(s.busy, s.other, &nodeLoad{kind: "StatefulSet", name: "db", pods: 1, original: amounts{100, 64 * stage.Mi}, used: amounts{410, 300 * stage.Mi}})
	s.runs(s.busy, s.other, &nodeLoad{kind: "Pod", name: "lone", pods: 1, used: amounts{77, 90 * stage.Mi}})
	s.runs(s.busy, s.other, &nodeLoad{kind: "Deployment", name: "tiny", pods: 1, original: amounts{10, 16 * stage.Mi}, used: amounts{25, 40 * stage.Mi}})
	s.runs(s.plain, t, &nodeLoad{kind: "Deployment", name: "whole", pods: 1, original: amounts{2000, 1024 * stage.Mi}, used: amounts{137, 150 * stage.Mi}, asWhole: true})
	s.runs(s.plain, s.other, &nodeLoad{kind: "Deployment", name: "init", pods: 1, original: amounts{300, 256 * stage.Mi}, used: amounts{77, 90 * stage.Mi}, withInit: true})
	s.runs(s.plain, s.other, &nodeLoad{kind: "Job", name: "done", pods: 1, original: amounts{1000, 512 * stage.Mi}, used: amounts{410, 300 * stage.Mi}, ended: true})
}

// runs makes a load on a node; what its owner asks for becomes what is requested, once it is lowered.
func (s *nodesScenario) runs(n *stage.PlayedNode, in *stage.T, l *nodeLoad) {
	app := stage.Container{Name: "app", CPU: l.used[0], Memory: l.used[1]}
	asks := M{}
	for i, name := range resourceNames {
		if l.original[i] > 0 {
			asks[name] = []string{fmt.Sprintf("%dm", l.original[0]), fmt.Sprint(l.original[1])}[i]
		}
	}
	if len(asks) > 0 {
		app.Requests = asks
	}
	l.ns, l.requested = in.NS, l.original
	cpu, memory := stage.LoweredOf(l.used[0], l.used[1])
	if !l.ended && len(asks) > 0 {
		l.requested = amounts{min(cpu, l.original[0]), min(memory, l.original[1])}
	}
	switch {
	case l.kind == "Pod":
		template := stage.PodTemplate(l.name, app)
		meta := in.Meta(l.name)
		meta["annotations"] = template["metadata"].(M)["annotations"]
		in.Create("pods", stage.PinnedTo(M{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}, n.Name))
	case l.kind == "Job":
		in.Create("jobs", stage.PinnedTo(M{"apiVersion": "batch/v1", "kind": "Job", "metadata": in.Meta(l.name),
			"spec": stage.JobSpec(l.name, "1s", int(l.pods), app)}, n.Name))
	case l.asWhole: // CPU by the pod's own request, memory by its container's
		object := stage.PinnedTo(in.NewWorkload(l.kind, l.name, int(l.pods), app), n.Name)
		object["spec"].(M)["template"].(M)["spec"].(M)["resources"] = M{"requests": M{"cpu": "3"}}
		in.Apply(object)
		l.original[0], l.requested[0] = 3000, 3000
	case l.withInit: // which asks for more CPU and less memory than what comes after it
		setup := stage.Container{Name: "setup", Init: true, Requests: M{"cpu": "700m", "memory": "16Mi"}, CPU: 25, Memory: 40 * stage.Mi}
		in.Apply(stage.PinnedTo(in.NewWorkload(l.kind, l.name, int(l.pods), setup, app), n.Name))
		l.original[0], l.requested[0] = 700, 700
	default:
		in.Apply(stage.PinnedTo(in.NewWorkload(l.kind, l.name, int(l.pods), app), n.Name))
	}
	s.loads[n.Name] = append(s.loads[n.Name], l)
}

// agree returns an error unless the answer has each node as computed, and the nodes by pressure.
func (s *nodesScenario) agree(list kube.Object, some ...*stage.PlayedNode) error {
	for _, n := range some {
		item := itemOf(list, n.Name)
		last, err := time.Parse(time.RFC3339, item.Text("lastSample"))
		if err != nil {
			return fmt.Errorf("node %s has no sample: %s", n.Name, item)
		}
		if err := compareNodeWithout(s.missed(), item, n, s.witness.Until(n.Name, last), hotAbove, s.loads[n.Name]); err != nil {
			return err
		}
		if item.Text("ready") != "true" {
			return fmt.Errorf("node %s is not ready", n.Name)
		}
	}
	items := list.List("items")
	if !slices.IsSortedFunc(items, func(a, b kube.Object) int {
		x, y := thousandthsAt(a, "pressurePercent"), thousandthsAt(b, "pressurePercent")
		if x != y {
			return int(y - x)
		}
		return strings.Compare(a.Text("name"), b.Text("name"))
	}) {
		return fmt.Errorf("the nodes do not come by pressure: %s", list)
	}
	return nil
}

// missed is how often the learner read no usage of nodes for so long that a sample may have come and gone: never, where the
// machine keeps up.
func (s *nodesScenario) missed() int {
	var count int
	var last time.Time
	for _, r := range s.t.Audit.Since(s.mark, stage.LearnerUser) {
		if r.Object.APIGroup != "metrics.k8s.io" || r.Object.Resource != "nodes" || r.Response.Code != 200 {
			continue
		}
		if !last.IsZero() && r.Received.Sub(last) > stage.Interval-2*time.Second {
			count++
		}
		last = r.Received
	}
	return count
}

func itemOf(list kube.Object, name string) kube.Object { return list.Named(name, "items") }

// agrees waits until the answer is as computed, and the nodes whose clocks are fast have a quarter of an hour behind them.
func (s *nodesScenario) agrees() {
	var list kube.Object
	s.t.Eventually("the numbers", 2*stage.Soon, func() (err error) {
		if list, err = s.list(s.token, ""); err != nil {
			return err
		}
		if n := itemOf(list, s.busy.Name).Int("samples"); n < 12 {
			return fmt.Errorf("node %s has %d samples so far", s.busy.Name, n)
		}
		return s.agree(list, s.busy, s.wave, s.plain)
	})
	for _, n := range []*stage.PlayedNode{s.busy, s.wave, s.plain} {
		item := itemOf(list, n.Name)
		s.t.Notef("%s has %d samples, pressure %s %%, cpu mean %s %% and %d hot, requested %s, %d pods use %s", n.Name,
			item.Int("samples"), item.Text("pressurePercent"), item.Text("cpu", "meanPercent"),
			item.Int("cpu", "hotSamples"), item.Text("cpu", "requested"), item.Int("pods"), item.Text("cpu", "podsUsed"))
	}
	if missed := s.missed(); missed > 0 {
		s.t.Notef("%d times the learner may have missed a sample, as the machine stood still", missed)
	}
}

// follows: the newest usage is told. (The mean of what changed is compared while its clock is fast: tables.)
func (s *nodesScenario) follows() {
	s.t.Eventually("the newest usage", stage.Soon, func() error {
		list, err := s.list(s.token, "")
		if err != nil {
			return err
		}
		item := itemOf(list, s.wave.Name)
		for i, want := range []int64{s.wave.UsedCPU, s.wave.UsedMemory} {
			of := item.Object(resourceNames[i])
			if amountAt(of, i, "used") != want || thousandthsAt(of, "mostPercent") < thousandthsAt(of, "meanPercent") {
				return fmt.Errorf("it is %s", item)
			}
		}
		return s.agree(list)
	})
}

// selected: by labels, and no more than asked for.
func (s *nodesScenario) selected() {
	names := func(query string) []string {
		list, err := s.list(s.token, query)
		s.t.Check(err)
		var all []string
		for _, item := range list.List("items") {
			all = append(all, item.Text("name"))
		}
		slices.Sort(all)
		return all
	}
	for query, want := range map[string][]string{
		"?labelSelector=pool%3Da":            {s.busy.Name, s.wave.Name},
		"?labelSelector=pool%20in%20(b)":     {s.liar.Name, s.plain.Name},
		"?labelSelector=pool,pool%21%3Db":    {s.busy.Name, s.wave.Name},
		"?labelSelector=pool%3Dnone":         nil,
		"?labelSelector=pool%3Da&limit=1000": {s.busy.Name, s.wave.Name},
	} {
		if got := names(query); !slices.Equal(got, want) {
			s.t.Fatalf("%s selects %v, not %v", query, got, want)
		}
	}
	list, err := s.list(s.token, "?limit=1")
	s.t.Check(err)
	all := names("")
	if got := len(list.List("items")); got != 1 || list.Int("left") != int64(len(all)-1) {
		s.t.Fatalf("limit=1 gives %d of %d and leaves %d", got, len(all), list.Int("left"))
	}
	answer, err := s.ask(s.token, "?labelSelector=pool%20in%20(a")
	s.t.Check(err)
	if answer.Code != 400 {
		s.t.Fatalf("a selector without its end: HTTP %d: %s", answer.Code, answer.Body)
	}
}

// tables: the command shows what REST answers, also of a node whose usage has changed meanwhile. A table is made once in five seconds, so both may be of the same.
func (s *nodesScenario) tables() {
	some := []*stage.PlayedNode{s.busy, s.wave, s.plain}
	s.t.Eventually("the command shows the same", stage.Soon, func() error {
		before, err := s.ask(s.token, "?labelSelector=pool")
		if err != nil {
			return err
		}
		table := s.t.MustSucceed(s.command(s.token, "-l", "pool"))
		wide := s.t.MustSucceed(s.command(s.token, "-l", "pool", "-o", "wide"))
		same := s.t.MustSucceed(s.command(s.token, "-l", "pool", "-o", "json"))
		after, err := s.ask(s.token, "?labelSelector=pool")
		if err != nil || before.Body != after.Body {
			return fmt.Errorf("a new table came between (%v)", err)
		}
		list := before.Object()
		if kube.Parse(same).String() != list.String() {
			s.t.Fatalf("-o json prints %s, and REST answers %s", same, before.Body)
		}
		if err := s.agree(list, some...); err != nil {
			return err
		}
		if wave := itemOf(list, s.wave.Name).Object("cpu"); wave.Text("mostPercent") != "75" || wave.Text("meanPercent") == "75" {
			return fmt.Errorf("what node %s uses has not changed so far: %s", s.wave.Name, wave)
		}
		for isWide, text := range map[bool]string{false: table, true: wide} {
			rows := cellsOf(text)
			for _, n := range some {
				want := nodeRow(itemOf(list, n.Name), amounts{n.CPU, n.Memory}, s.loads[n.Name], isWide)
				if !slices.ContainsFunc(rows, func(row []string) bool { return slices.Equal(row, want) }) {
					return fmt.Errorf("no row is %q:\n%s", want, text)
				}
			}
			if first := rows[0]; first[0] != "NAME" || len(first) != len(rows[1]) || len(rows) != len(list.List("items"))+1 {
				return fmt.Errorf("the table is:\n%s", text)
			}
		}
		return nil
	})
	s.t.Notef("%s", s.t.MustSucceed(s.command(s.token, "-l", "pool", "-o", "wide")))
}

// described: what kubectl says is requested of a node is what halflife says.
func (s *nodesScenario) described() {
	for _, n := range []*stage.PlayedNode{s.busy, s.plain} {
		list, err := s.list(s.token, "")
		s.t.Check(err)
		_, rest, found := strings.Cut(s.t.Ctl("describe", "node", n.Name), "Allocated resources:")
		for r, name := range resourceNames {
			want := itemOf(list, n.Name).Object(name)
			told := ""
			for _, line := range strings.Split(rest, "\n") {
				if cells := strings.Fields(line); len(cells) > 2 && cells[0] == name {
					told = cells[1] + " " + cells[2]
				}
			}
			asked := amountAt(want, r, "requested")
			got := amountAt(kube.Object{"x": strings.Fields(told + " -")[0]}, r, "x")
			share := fmt.Sprintf("(%d%%)", asked*100/amountAt(want, r, "allocatable"))
			if !found || got != asked || !strings.HasSuffix(told, share) {
				s.t.Fatalf("kubectl says that %s of %s is requested of %s, and halflife %s: %s", told, name, n.Name, share, want)
			}
		}
	}
}

// callers: who may list nodes sees them, and names only of workloads whose recommendations he may list.
func (s *nodesScenario) callers() {
	t := s.t
	nodes := M{"apiGroups": L{""}, "resources": L{"nodes"}, "verbs": L{"list"}}
	t.Account("nodes")
	t.Account("team", stage.ReadRule("list"))
	t.Account("none", stage.ReadRule("get", "list"))
	defer t.ClusterRole("nodes", nodes)()
	defer t.ClusterRole("team", nodes)()
	token := map[string]string{"all": s.token, "": "", "stranger": "x.y.z"}
	for _, name := range []string{"nodes", "team", "none"} {
		token[name] = t.Token(name)
	}
	here, there := "?namespace="+t.NS, "?namespace="+s.other.NS
	t.Eventually("the rights are in force", stage.Soon, func() error {
		_, err := s.list(token["team"], "")
		if err == nil {
			_, err = s.list(token["nodes"], "")
		}
		return err
	})
	for _, row := range []struct {
		who, query string
		code       int
		names      string // of the workloads above their requests on the busy node; "-": the key is not there
	}{
		{"all", "", 200, "db web lone"}, {"all", here, 200, "web"}, {"all", there, 200, "db lone"}, {"all", "?namespace=nowhere", 200, ""},
		{"team", "", 200, "-"}, {"team", here, 200, "web"}, {"team", there, 200, "-"},
		{"nodes", "", 200, "-"}, {"nodes", here, 200, "-"},
		{"none", "", 403, ""}, {"none", here, 403, ""}, {"", "", 401, ""}, {"stranger", "", 401, ""},
	} {
		answer, err := s.ask(token[row.who], row.query)
		t.Check(err)
		if answer.Code != row.code {
			t.Fatalf("%s asks %s: HTTP %d, not %d: %s", row.who, row.query, answer.Code, row.code, answer.Body)
		}
		if row.code != 200 {
			continue
		}
		item := itemOf(answer.Object(), s.busy.Name)
		names := []string{}
		for _, w := range item.List("workloads") {
			names = append(names, w.Text("name"))
		}
		got := strings.Join(names, " ")
		if item.At("workloads") == nil {
			got = "-"
		}
		if got != row.names || row.names == "-" && (strings.Contains(answer.Body, t.NS) || strings.Contains(answer.Body, "db")) {
			t.Fatalf("%s asks %s: '%s' of '%s' are named: %s", row.who, row.query, got, row.names, answer.Body)
		}
	}
	if r := s.command(token["none"]); r.Code != 1 || !strings.Contains(r.Err, "this needs permission to list nodes") {
		t.Fatalf("who may not list nodes is told: %d %s", r.Code, r.Err)
	}
	if text := t.MustSucceed(s.command(token["team"], "-n", t.NS)); !strings.Contains(text, t.NS+"/Deployment/web +224m") || strings.Contains(text, "db") {
		t.Fatalf("-n %s shows:\n%s", t.NS, text)
	}
}

// cordoned: a cordon and a taint are shown, and go.
func (s *nodesScenario) cordoned() {
	t := s.t
	shows := func(what, unschedulable, taints, status, column string) {
		t.Eventually(what, stage.Soon, func() error {
			list, err := s.list(s.token, "")
			if err != nil {
				return err
			}
			if item := itemOf(list, s.plain.Name); item.Text("unschedulable") != unschedulable || item.Text("taints") != taints {
				return fmt.Errorf("it is %s", item)
			}
			text := t.MustSucceed(s.command(s.token, "-l", "pool=b", "-o", "wide"))
			for _, row := range cellsOf(text) {
				if row[0] == s.plain.Name && row[8] == status && row[len(row)-1] == column {
					return nil
				}
			}
			return fmt.Errorf("the table is\n%s", text)
		})
	}
	shows("it is neither cordoned nor tainted", "false", "", "Ready", "-")
	t.Ctl("cordon", s.plain.Name)
	shows("it is cordoned", "true", `["node.kubernetes.io/unschedulable:NoSchedule"]`, "Ready,Cordoned", "node.kubernetes.io/unschedulable:NoSchedule")
	t.Ctl("uncordon", s.plain.Name)
	t.Ctl("taint", "nodes", s.plain.Name, "dedicated=batch:PreferNoSchedule")
	shows("it is tainted", "false", `["dedicated=batch:PreferNoSchedule"]`, "Ready", "dedicated=batch:PreferNoSchedule")
	t.Ctl("taint", "nodes", s.plain.Name, "dedicated-")
	shows("it is as before", "false", "", "Ready", "-")
}

// lies: usage above the capacity counts as the capacity, and is told once.
func (s *nodesScenario) lies() {
	list, err := s.list(s.token, "")
	s.t.Check(err)
	item := itemOf(list, s.liar.Name)
	if item.Int("samples") < 1 || item.Text("pressurePercent") != "100" || item.Text("cpu", "used") != "4" || item.Text("cpu", "mostPercent") != "100" {
		s.t.Fatalf("a node that uses 9 of 4 cores is %s", item)
	}
	s.t.Check(s.t.Learner.Says(s.liar.Name, "a node's usage is above its capacity: it counts as the capacity", 1))
	if s.t.Learner.Says("", "a node's usage is above its capacity", 2) == nil {
		s.t.Fatalf("it is told more than once")
	}
	if s.t.Learner.Counter(`halflife_node_samples_total{result="bounded"}`) < 2 {
		s.t.Fatalf("the samples that are bounded are not counted")
	}
}

// silent: a node of which nothing was measured for five minutes has no pressure, and comes last. Its clock is slow by four.
func (s *nodesScenario) silent() {
	t := s.t
	t.StartNode(s.late)
	t.Eventually("it is measured", stage.Soon, func() error {
		list, err := s.list(s.token, "")
		if item := itemOf(list, s.late.Name); err == nil && item.Text("pressurePercent") != "97.5" {
			err = fmt.Errorf("it is %s", item)
		}
		return err
	})
	t.SilenceNode(s.late)
	t.Eventually("it is silent", stage.Soon, func() error {
		list, err := s.list(s.token, "")
		if err != nil {
			return err
		}
		item, items := itemOf(list, s.late.Name), list.List("items")
		if item.Int("samples") != 0 || item.At("pressurePercent") != nil || item.At("cpu", "used") != nil {
			return fmt.Errorf("it is %s", item)
		}
		if last := items[len(items)-1].Text("name"); last != s.late.Name {
			t.Fatalf("node %s comes last: %s", last, list)
		}
		return nil
	})
	text := t.MustSucceed(s.command(s.token))
	rows := cellsOf(text)
	if last := rows[len(rows)-1]; !slices.Equal(last, []string{s.late.Name, "-", "-", "-", "-", "0%", "0%", "-"}) {
		t.Fatalf("the table ends with %q:\n%s", last, text)
	}
}

// relayed: a replica asks the learner, in the caller's name.
func (s *nodesScenario) relayed() {
	t := s.t
	t.Check(t.InstallWebhooks())
	replica, err := t.StartServe(t.Name+"-serve", append(stage.RESTSettings, "--upstream-url="+s.url, "--upstream-ca="+s.ca)...)
	t.Check(err)
	t.Replica = replica
	t.RouteWebhooks(replica)
	t.Eventually("the replica answers as the learner does", stage.Soon, func() error {
		own, err := s.ask(s.token, "")
		if err != nil {
			return err
		}
		got, err := t.Ask(replica, s.token, "GET", "/api/v1/nodes", "")
		if err == nil && (got.Code != 200 || got.Body != own.Body) {
			err = fmt.Errorf("HTTP %d: %s", got.Code, got.Body)
		}
		return err
	})
	t.Account("nobody")
	for token, code := range map[string]int{t.Token("nobody"): 403, "": 401} {
		answer, err := t.Ask(replica, token, "GET", "/api/v1/nodes", "")
		t.Check(err)
		if answer.Code != code {
			t.Fatalf("the replica answers HTTP %d, not %d: %s", answer.Code, code, answer.Body)
		}
	}
}

// denied: where the usage of nodes may not be read, that is told once, and nothing else is held.
func (s *nodesScenario) denied() {
	const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/halflife-controller-base"
	const away, back = "usage of nodes cannot be read", "usage of nodes can be read again"
	t := s.t
	was, err := t.Get(role)
	t.Check(err)
	var rules, less L
	for _, r := range was.List("rules") {
		rules = append(rules, map[string]any(r))
		if r.Text("apiGroups") == `["metrics.k8s.io"]` {
			r = kube.Object{"apiGroups": r["apiGroups"], "resources": L{"pods"}, "verbs": r["verbs"]}
		}
		less = append(less, map[string]any(r))
	}
	_, err = t.Merge(role, M{"rules": less})
	t.Check(err)
	defer func() { _, _ = t.Merge(role, M{"rules": rules}) }()
	t.Eventually("its usage is denied", stage.Soon, func() error { return t.Learner.Says("", away, 1) })
	app := stage.App()
	t.Apply(stage.PinnedTo(t.NewDeployment("later", 1, app), s.wave.Name))
	cpu, memory := stage.Targets()
	t.WaitResized("later", 1, cpu, memory)
	t.RecIn("deployment-later", "Ready", stage.Soon)
	_, err = t.Merge(role, M{"rules": rules})
	t.Check(err)
	t.Eventually("it is read again", stage.Soon, func() error { return t.Learner.Says("", back, 1) })
	if t.Learner.Says("", away, 2) == nil {
		t.Fatalf("it is told more than once")
	}
	t.Check(t.Delete(t.Path("deployments", "later")))
}

// restarted: the samples survive.
func (s *nodesScenario) restarted() {
	t := s.t
	before, err := s.list(s.token, "")
	t.Check(err)
	if code, _, err := t.Learner.Terminate(); code != 0 || err != nil {
		t.Fatalf("SIGTERM: exit code %d (%v)", code, err)
	}
	t.Check(t.Learner.Start())
	t.Eventually("it knows the samples", stage.Soon, func() error {
		after, err := s.list(s.token, "")
		if err != nil {
			return err
		}
		for _, n := range []*stage.PlayedNode{s.busy, s.wave, s.plain} {
			was, is := itemOf(before, n.Name), itemOf(after, n.Name)
			if is.Int("samples") < was.Int("samples")-2 || is.Text("lastSample") < was.Text("lastSample") {
				return fmt.Errorf("it had %s, and has %s", was, is)
			}
		}
		return nil
	})
}

// resized: what comes back with another size is another machine.
func (s *nodesScenario) resized() {
	t := s.t
	t.ResizeNode(s.wave, 8000, 32*1024*stage.Mi)
	t.Eventually("its samples begin anew", stage.Soon, func() error {
		list, err := s.list(s.token, "")
		if err != nil {
			return err
		}
		item := itemOf(list, s.wave.Name)
		if item.Text("cpu", "capacity") != "8" || item.Int("samples") > 2 || item.Int("samples") < 1 {
			return fmt.Errorf("it is %s", item)
		}
		// 900m of 8 cores, 14Gi of 32Gi
		if item.Text("cpu", "meanPercent") != "11.2" || item.Text("pressurePercent") != "43.7" {
			t.Fatalf("what it used before counts: %s", item)
		}
		return nil
	})
}

// goes: a node that is deleted leaves, and one that comes back under its name begins anew.
func (s *nodesScenario) goes() {
	t := s.t
	kept := t.Learner.Counter("halflife_nodes")
	t.Ctl("delete", "node", s.busy.Name)
	t.Eventually("it has left", stage.Soon, func() error {
		list, err := s.list(s.token, "")
		if err == nil && itemOf(list, s.busy.Name) != nil {
			err = fmt.Errorf("it is there: %s", itemOf(list, s.busy.Name))
		}
		if got := t.Learner.Counter("halflife_nodes"); err == nil && got != kept-1 {
			err = fmt.Errorf("%g nodes are kept, and %g were", got, kept)
		}
		return err
	})
	if text := t.MustSucceed(s.command(s.token)); strings.Contains(text, s.busy.Name) {
		t.Fatalf("the table is\n%s", text)
	}
	s.witness.Forget(s.busy.Name)
	s.busy.UsedCPU, s.busy.Rate = 400, 0
	t.StartNode(s.busy)
	t.Eventually("it begins anew", stage.Soon, func() error {
		list, err := s.list(s.token, "")
		if err != nil {
			return err
		}
		item := itemOf(list, s.busy.Name)
		if item.Int("samples") < 1 {
			return fmt.Errorf("it is %s", item)
		}
		if item.Int("samples") > 3 || item.Text("cpu", "mostPercent") != "10" {
			t.Fatalf("what it used before counts: %s", item)
		}
		return nil
	})
}
