package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"halflife.dev/cluster/model"
	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/stage"
)

// watcherScenario is a halflife that tells the load of nodes, nodes of a given load, and a second scheduler: kube-scheduler
// with the plug-ins of kubernetes-sigs, each alone in a profile of its own.
type watcherScenario struct {
	t              *stage.T
	url            string // of load-watcher's interface
	level, varying []*stage.PlayedNode
	swing          *stage.PlayedNode // of those that vary
	power          map[string]model.Power
	pods           int
}

const (
	watcherCores  = 4000
	watcherMemory = 16 * 1024 * stage.Mi
	podCores      = 240 // of each pod placed here: its request and limit
	podMemory     = 64 * stage.Mi
	baseCores     = 2400 // of what runs on each node for LowRiskOverCommitment; its limit is more than the node has
	baseLimit     = 4000
	baseMemory    = 4 * 1024 * stage.Mi
)

// Each plug-in puts a pod where its formula says, by what halflife tells it; load-watcher's own way with metrics-server puts
// one on a node that swings. halflife killed changes nothing for the scheduler, nor does its restart.
func watcherPlugins(t *stage.T) {
	s := beginWatcher(t)
	for i, cores := range []int64{200, 1000, 2000, 3000} {
		s.level = append(s.level, s.node(fmt.Sprintf("watcher-%d", i), "level", cores))
	}
	s.varying = []*stage.PlayedNode{s.node("watcher-steady", "vary", 2000), s.node("watcher-swing", "vary", 3200)}
	s.swing = s.varying[1]
	s.power = map[string]model.Power{}
	for _, n := range s.level {
		s.power[n.Name] = model.Power{K1: -91.5, K2: -0.0719}
	}
	s.power[s.level[3].Name] = model.Power{K1: -1830, K2: -0.0719}
	s.learns()
	s.schedules()
	s.packs()
	s.balances()
	s.saves()
	s.upstream()
	s.risks()
	s.killed()
}

// Usage is away: after five minutes the map is empty, and the scheduler goes by its other plug-ins in place of old load.
func watcherAway(t *stage.T) {
	s := beginWatcher(t)
	s.level = []*stage.PlayedNode{{Name: "watcher-packed", Pool: "level", CPU: watcherCores, Memory: watcherMemory, UsedCPU: 1000, UsedMemory: 1024 * stage.Mi},
		{Name: "watcher-empty", Pool: "level", CPU: watcherCores, Memory: watcherMemory, UsedCPU: 40, UsedMemory: 1024 * stage.Mi}}
	for _, n := range s.level {
		t.StartNode(n)
	}
	// It asks for memory: TargetLoadPacking counts the CPU of a pod that is new to it as if the samples lacked it.
	s.based(s.level[:1], podCores, podCores, 12*1024*stage.Mi)
	t.Eventually("their usage is told", stage.Soon, func() error {
		_, err := s.loads(1)
		return err
	})
	s.schedules()
	// TargetLoadPacking weighs more than what would spread the requests.
	if node := s.place("packing-else-spread", "level"); node != s.level[0].Name {
		t.Fatalf("while usage is there, the pod is on %s", node)
	}
	t.Check(t.Plane.RemoveMetricsAPI())
	began := time.Now()
	t.Eventually("the map is empty", 8*time.Minute, func() error {
		all, err := s.document()
		if err == nil && len(all.Data.NodeMetricsMap) > 0 {
			err = fmt.Errorf("it has %d nodes", len(all.Data.NodeMetricsMap))
		}
		return err
	})
	t.Notef("the map is empty after %.0f s", time.Since(began).Seconds())
	if code := s.code("/watcher/health"); code != 503 {
		t.Fatalf("its health is %d", code)
	}
	time.Sleep(2 * collects) // until the scheduler has read that
	if node := s.place("packing-else-spread", "level"); node != s.level[1].Name {
		t.Fatalf("while usage is away, the pod is on %s", node)
	}
	t.Check(t.Plane.RegisterMetricsAPI())
	t.Eventually("usage is told again", stage.Soon+2*time.Minute, func() error {
		_, err := s.loads(1)
		return err
	})
}

// collects is how often the plug-ins read the load.
const collects = 30 * time.Second

func beginWatcher(t *stage.T) *watcherScenario {
	t.Namespace()
	s := &watcherScenario{t: t, url: fmt.Sprintf("http://127.0.0.1:%d", t.FreePort())}
	t.StartOwn("--interval=5s", "--watcher-listen="+strings.TrimPrefix(s.url, "http://"))
	return s
}

// node makes one whose clock is slow at first and then fast, so that it has samples of a quarter of an hour in two minutes.
func (s *watcherScenario) node(name, pool string, cores int64) *stage.PlayedNode {
	n := &stage.PlayedNode{Name: name, Pool: pool, CPU: watcherCores, Memory: watcherMemory, UsedCPU: cores, UsedMemory: 2048 * stage.Mi,
		Slow: 12 * time.Minute, Rate: 8}
	s.t.StartNode(n)
	return n
}

// --- what halflife tells ---

type watcherMetric struct {
	Type, Operator string
	Value          float64
}

type watcherDocument struct {
	Timestamp int64
	Window    struct {
		Duration   string
		Start, End int64
	}
	Data struct {
		NodeMetricsMap map[string]struct{ Metrics []watcherMetric }
	}
}

func (s *watcherScenario) code(path string) int {
	res, err := http.Get(s.url + path)
	s.t.Check(err)
	res.Body.Close()
	return res.StatusCode
}

func (s *watcherScenario) document() (all watcherDocument, err error) {
	res, err := http.Get(s.url + "/watcher")
	if err != nil {
		return all, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != 200 {
		err = fmt.Errorf("HTTP %d: %s", res.StatusCode, body)
	}
	if err == nil {
		err = json.Unmarshal(body, &all)
	}
	return all, err
}

// loads gives the load of each of the scenario's nodes, once all have so many metrics of each resource.
func (s *watcherScenario) loads(metrics int) (map[string][2]model.Load, error) {
	all, err := s.document()
	if err != nil {
		return nil, err
	}
	loads := map[string][2]model.Load{}
	for _, n := range append(slices.Clone(s.level), s.varying...) {
		of := all.Data.NodeMetricsMap[n.Name].Metrics
		if len(of) < 2*metrics {
			return nil, fmt.Errorf("node %s has %v", n.Name, of)
		}
		var load [2]model.Load
		for _, m := range of {
			l := &load[slices.Index([]string{"CPU", "Memory"}, m.Type)]
			*map[string]*float64{"AVG": &l.Mean, "STD": &l.Deviation, "Latest": &l.Latest}[m.Operator] = m.Value
		}
		loads[n.Name] = load
	}
	return loads, nil
}

// learns waits for means and deviations; one node swings meanwhile, and is low at the end.
func (s *watcherScenario) learns() {
	t := s.t
	high := true
	swung := time.Now()
	t.Eventually("nodes have means and deviations", 3*stage.Soon, func() error {
		if time.Since(swung) > 15*time.Second {
			swung, high = time.Now(), !high
			t.NodeUses(s.swing, map[bool]int64{true: 3200, false: 800}[high], s.swing.UsedMemory)
		}
		loads, err := s.loads(3)
		if l := loads[s.swing.Name][0]; err == nil && (l.Deviation < 20 || l.Mean < 40 || l.Mean > 65) {
			err = fmt.Errorf("the node that swings has %+v", l)
		}
		return err
	})
	t.NodeUses(s.swing, 800, s.swing.UsedMemory)
	t.Eventually("the node that swings is low", stage.Soon, func() error {
		loads, err := s.loads(3)
		if l := loads[s.swing.Name][0]; err == nil && l.Latest > 21 {
			err = fmt.Errorf("it has %+v", l)
		}
		return err
	})
	loads, err := s.loads(3)
	t.Check(err)
	for _, n := range s.level {
		if l := loads[n.Name][0]; math.Abs(l.Mean-float64(n.UsedCPU)/40) > 1 || l.Deviation > 1 || math.Abs(l.Latest-l.Mean) > 1 {
			t.Fatalf("node %s, at %d of 4000, has %+v", n.Name, n.UsedCPU, l)
		}
	}
	if l := loads[s.swing.Name][0]; l.Deviation < 15 || l.Mean < 35 {
		t.Fatalf("the node that swings has %+v", l)
	}
	t.Notef("steady %+v, swings %+v", loads[s.varying[0].Name][0], loads[s.swing.Name][0])
}

// --- the scheduler ---

// profile is one of the scheduler's, by which the plug-ins of that name and weight alone score.
func watcherProfile(name string, args M, scores ...M) M {
	var enabled L
	for _, one := range scores {
		enabled = append(enabled, one)
	}
	var config L
	for plugin, of := range args {
		config = append(config, M{"name": plugin, "args": of})
	}
	return M{"schedulerName": name, "pluginConfig": config,
		"plugins": M{"score": M{"disabled": L{M{"name": "*"}}, "enabled": enabled}}}
}

// BuildLoadScheduler builds the scheduler of these scenarios.
func BuildLoadScheduler(root string) (programs.Set, error) {
	return programs.Build(filepath.Join(root, "test", "cluster", "scheduler"), programs.LoadScheduler, os.Stderr)
}

// schedules starts the scheduler.
func (s *watcherScenario) schedules() {
	t := s.t
	set, err := BuildLoadScheduler(t.Root)
	t.Check(err)
	const packing, variation, risk, peaks = "TargetLoadPacking", "LoadVariationRiskBalancing", "LowRiskOverCommitment", "Peaks"
	told := M{"watcherAddress": s.url}
	power := M{}
	for node, of := range s.power {
		power[node] = M{"k0": 500, "k1": of.K1, "k2": of.K2}
	}
	profiles := L{
		watcherProfile("packing", M{packing: told}, M{"name": packing}),
		watcherProfile("variation", M{variation: told}, M{"name": variation}),
		watcherProfile("risk", M{risk: told}, M{"name": risk}),
		watcherProfile("upstream", M{variation: M{"metricProvider": M{"type": "KubernetesMetricsServer"}}}, M{"name": variation}),
		watcherProfile("packing-else-spread", M{packing: told}, M{"name": packing, "weight": 10}, M{"name": "NodeResourcesFit"}),
	}
	if len(power) > 0 { // Peaks does not start without. The names of its arguments are those of upstream's structure, whose tags cannot be read.
		profiles = append(profiles, watcherProfile("peaks", M{peaks: M{"WatcherAddress": s.url, "NodePowerModel": power}}, M{"name": peaks}))
	}
	config := M{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"leaderElection":   M{"leaderElect": false},
		"clientConnection": M{"kubeconfig": t.Plane.Kubeconfig, "qps": 1000, "burst": 2000},
		"profiles":         profiles,
	}
	text, err := json.Marshal(config)
	t.Check(err)
	path := filepath.Join(t.Dir, t.Name+"-scheduler.json")
	t.Check(os.WriteFile(path, text, 0o644))
	port := t.FreePort()
	access := t.Plane.Kubeconfig
	t.Check(t.Plane.StartAt("trimaran", "/usr/bin/env", port, "KUBE_CONFIG="+access, set.Path("trimaran"), "--config="+path,
		"--authentication-kubeconfig="+access, "--authorization-kubeconfig="+access, "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+filepath.Join(t.Dir, t.Name+"-scheduler-certs")))
}

func (s *watcherScenario) pod(name string, cores, limit, memory int64) M {
	asks := M{"cpu": fmt.Sprintf("%dm", cores), "memory": fmt.Sprint(memory)}
	most := M{"cpu": fmt.Sprintf("%dm", limit), "memory": fmt.Sprint(memory)}
	return M{"apiVersion": "v1", "kind": "Pod", "metadata": s.t.Meta(name),
		"spec": M{"containers": L{M{"name": "app", "image": "registry.invalid/app:1", "resources": M{"requests": asks, "limits": most}}}}}
}

// place has a profile of the scheduler place one more pod on the nodes of a pool, and returns where it is.
func (s *watcherScenario) place(profile, pool string) string {
	t := s.t
	s.pods++
	name := fmt.Sprintf("%s-%d", profile, s.pods)
	pod := s.pod(name, podCores, podCores, podMemory)
	pod["spec"].(M)["schedulerName"] = profile
	pod["spec"].(M)["nodeSelector"] = M{"pool": pool}
	t.Apply(pod)
	var node string
	t.Eventually("pod "+name+" is placed", stage.Soon, func() error {
		got, err := t.Get(t.Path("pods", name))
		if node = got.Text("spec", "nodeName"); err == nil && node == "" {
			err = fmt.Errorf("its conditions are %s", got.Text("status", "conditions"))
		}
		return err
	})
	return node
}

// expect has a pod placed, and ends the scenario if it is not on a node of the best score, or if the scores tell nothing.
func (s *watcherScenario) expect(profile string, nodes []*stage.PlayedNode, score func(loads map[string][2]model.Load) []float64) string {
	t := s.t
	loads, err := s.loads(3)
	t.Check(err)
	scores := score(loads)
	node := s.place(profile, nodes[0].Pool)
	at := slices.IndexFunc(nodes, func(n *stage.PlayedNode) bool { return n.Name == node })
	best, worst := slices.Max(scores), slices.Min(scores)
	var said []string
	for i, n := range nodes {
		said = append(said, fmt.Sprintf("%s %.1f", n.Name, scores[i]))
	}
	t.Notef("%-10s on %-14s of %s", profile, node, strings.Join(said, ", "))
	if at < 0 || scores[at] < best-1 || worst > best-5 {
		t.Fatalf("%s put the pod on %s; by the formula the nodes have %s; the load is %v", profile, node, strings.Join(said, ", "), loads)
	}
	return node
}

// --- the plug-ins ---

// packs: TargetLoadPacking fills up the node below 40 % that is next to it, and counts what it placed there, for the samples
// cannot know that yet.
func (s *watcherScenario) packs() {
	placed := map[string]float64{}
	var nodes []string
	for range 3 {
		node := s.expect("packing", s.level, func(loads map[string][2]model.Load) []float64 {
			var scores []float64
			for _, n := range s.level {
				scores = append(scores, model.PackingScore(loads[n.Name][0], watcherCores, placed[n.Name]+podCores))
			}
			return scores
		})
		placed[node] += podCores
		nodes = append(nodes, node)
		s.t.Eventually("the scheduler knows of it", stage.Soon, func() error {
			got, err := s.t.Get(s.t.Path("pods", fmt.Sprintf("packing-%d", s.pods)))
			if err == nil && got.Text("status", "phase") != "Running" {
				err = fmt.Errorf("it is %s", got.Text("status", "phase"))
			}
			return err
		})
	}
	if want := []string{s.level[1].Name, s.level[1].Name, s.level[0].Name}; !slices.Equal(nodes, want) {
		s.t.Fatalf("the pods are on %v, not %v", nodes, want)
	}
}

// shares of what a node has for pods.
func (s *watcherScenario) shares(n *stage.PlayedNode, cores, memory int64) [2]float64 {
	cpu, bytes := n.ForPods()
	return [2]float64{float64(cores) / float64(cpu), float64(memory) / float64(bytes)}
}

func (s *watcherScenario) variation(nodes []*stage.PlayedNode) func(map[string][2]model.Load) []float64 {
	return func(loads map[string][2]model.Load) (scores []float64) {
		for _, n := range nodes {
			scores = append(scores, model.VariationScore(loads[n.Name], s.shares(n, podCores, podMemory)))
		}
		return scores
	}
}

// balances: LoadVariationRiskBalancing takes the least mean and deviation; of equal means the one that is steady.
func (s *watcherScenario) balances() {
	if node := s.expect("variation", s.level, s.variation(s.level)); node != s.level[0].Name {
		s.t.Fatalf("the pod is on %s", node)
	}
	if node := s.expect("variation", s.varying, s.variation(s.varying)); node == s.swing.Name {
		s.t.Fatalf("the pod is on the node that swings")
	}
}

// upstream: by load-watcher's own reading of metrics-server, which has the latest alone, the same plug-in takes the node that
// swings for an idle one.
func (s *watcherScenario) upstream() {
	node := s.place("upstream", s.varying[0].Pool)
	s.t.Notef("%-10s on %-14s by the latest sample alone", "upstream", node)
	if node != s.swing.Name {
		s.t.Fatalf("without deviations the pod is on %s", node)
	}
}

// saves: Peaks takes the node whose power jumps least.
func (s *watcherScenario) saves() {
	node := s.expect("peaks", s.level, func(loads map[string][2]model.Load) []float64 {
		var cpu []model.Load
		var asks []float64
		var power []model.Power
		for _, n := range s.level {
			cpu, asks, power = append(cpu, loads[n.Name][0]), append(asks, float64(podCores)/watcherCores), append(power, s.power[n.Name])
		}
		return model.PeaksScores(cpu, asks, power)
	})
	if node != s.level[2].Name {
		s.t.Fatalf("the pod is on %s", node)
	}
}

// based puts a pod on each node.
func (s *watcherScenario) based(nodes []*stage.PlayedNode, cores, limit, memory int64) {
	for _, n := range nodes {
		s.t.Apply(stage.PinnedTo(s.pod("base-"+n.Name, cores, limit, memory), n.Name))
	}
	s.t.Eventually("the nodes have pods", stage.Soon, func() error {
		for _, n := range nodes {
			pod, err := s.t.Get(s.t.Path("pods", "base-"+n.Name))
			if err != nil || pod.Text("spec", "nodeName") != n.Name {
				return fmt.Errorf("pod base-%s is on '%s' (%v)", n.Name, pod.Text("spec", "nodeName"), err)
			}
		}
		return nil
	})
}

// risks: LowRiskOverCommitment leaves out nodes that may well use more than was requested there.
func (s *watcherScenario) risks() {
	t := s.t
	list, err := t.Get(t.Path("pods", ""))
	t.Check(err)
	for _, pod := range list.List("items") {
		t.Check(t.Delete(t.Path("pods", pod.Name())))
	}
	t.Eventually("the nodes are empty", stage.Soon, func() error {
		list, err := t.Get(t.Path("pods", ""))
		if err == nil && len(list.List("items")) > 0 {
			err = fmt.Errorf("%d pods are left", len(list.List("items")))
		}
		return err
	})
	s.based(append(slices.Clone(s.level), s.varying...), baseCores, baseLimit, baseMemory)
	here := func(nodes []*stage.PlayedNode) func(map[string][2]model.Load) []float64 {
		return func(loads map[string][2]model.Load) (scores []float64) {
			for _, n := range nodes {
				before, limitBefore := s.shares(n, baseCores, baseMemory), s.shares(n, baseLimit, baseMemory)
				with, limit := s.shares(n, baseCores+podCores, baseMemory+podMemory), s.shares(n, baseLimit+podCores, baseMemory+podMemory)
				scores = append(scores, model.RiskScore(loads[n.Name], [2]model.Asked{
					{Before: before[0], With: with[0], Limit: limit[0], LimitBefore: limitBefore[0]},
					{Before: before[1], With: with[1], Limit: limit[1], LimitBefore: limitBefore[1]}}))
			}
			return scores
		}
	}
	if node := s.expect("risk", s.level, here(s.level)); node == s.level[3].Name {
		t.Fatalf("the pod is on the fullest node")
	}
	if node := s.expect("risk", s.varying, here(s.varying)); node == s.swing.Name {
		t.Fatalf("the pod is on the node that swings")
	}
}

// killed: the scheduler goes on by what it has; after a restart halflife tells what it told before.
func (s *watcherScenario) killed() {
	t := s.t
	before, err := s.loads(3)
	t.Check(err)
	t.Learner.Kill()
	time.Sleep(collects + 5*time.Second) // it asks in vain
	if node := s.place("variation", s.varying[0].Pool); node == s.swing.Name {
		t.Fatalf("while halflife is away, the pod is on the node that swings")
	}
	t.Check(t.Learner.Start())
	var after map[string][2]model.Load
	t.Eventually("it tells the load again", stage.Soon, func() (err error) {
		after, err = s.loads(3)
		return err
	})
	for node, was := range before {
		is := after[node]
		if math.Abs(was[0].Mean-is[0].Mean) > 8 || math.Abs(was[0].Deviation-is[0].Deviation) > 8 || math.Abs(was[1].Mean-is[1].Mean) > 1 {
			t.Fatalf("of node %s it told %+v, and tells %+v", node, was, is)
		}
	}
}
