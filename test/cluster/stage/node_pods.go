package stage

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/node"
)

// IdleBurner uses little of what its owner asks for.
var IdleBurner = Burner{Requests: M{"cpu": "250m", "memory": "300Mi"}, Limits: M{"cpu": "1", "memory": "500Mi"},
	Steps: []string{"cpu=0.05,mem=100Mi"}}

// Burner is a container that really runs.
type Burner struct {
	Requests, Limits M
	Steps            []string
}

// NewBurnerWorkload makes a workload of one burner, in a container named app.
func (t *T) NewBurnerWorkload(kind, name string, replicas int, b Burner) M {
	args := L{}
	for _, step := range b.Steps {
		args = append(args, step)
	}
	o := t.NewWorkload(kind, name, replicas)
	o["spec"].(M)["template"] = M{"metadata": M{"labels": M{"app": name}}, "spec": M{"terminationGracePeriodSeconds": 1,
		"containers": L{M{"name": "app", "image": node.Burn, "imagePullPolicy": "Never", "args": args,
			"resources": resources(Container{Requests: b.Requests, Limits: b.Limits})}}}}
	return o
}

// Amount returns a quantity in cores or bytes, or 0 for none.
func Amount(text string) float64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return q.AsApproximateFloat64()
}

// WaitOnePod waits until an app's only pod is ready, and returns it.
func (t *T) WaitOnePod(app string) kube.Object {
	var pod kube.Object
	t.Eventually(app+" runs", Soon, func() error {
		pods := t.Pods(app)
		if len(pods) != 1 {
			return fmt.Errorf("%d pods of 1", len(pods))
		}
		pod = pods[0]
		if pod.Condition("Ready").Text("status") != "True" {
			return fmt.Errorf("pod %s: %v", pod.Name(), pod.At("status", "containerStatuses"))
		}
		return nil
	})
	return pod
}

// AppStatus returns the status of a pod's container app.
func AppStatus(pod kube.Object) kube.Object { return pod.Named("app", "status", "containerStatuses") }

// Sample is the usage of a pod's container app at one time, in cores and bytes, as the metrics-server tells it.
type Sample struct{ CPU, Memory float64 }

// Witness reads every sample of the scenario's namespace once, as halflife does.
type Witness struct {
	mu  sync.Mutex
	by  map[string]map[string]Sample // pod, time stamp
	end chan struct{}
}

// NewWitness starts a witness.
func (t *T) NewWitness() *Witness {
	w := &Witness{by: map[string]map[string]Sample{}, end: make(chan struct{})}
	go func() {
		for {
			list, err := t.Get("/apis/metrics.k8s.io/v1beta1/namespaces/" + t.NS + "/pods")
			if err == nil {
				w.take(list)
			}
			select {
			case <-w.end:
				return
			case <-time.After(2 * time.Second):
			}
		}
	}()
	return w
}

func (w *Witness) take(list kube.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range list.List("items") {
		usage := pod.Named("app", "containers").Object("usage")
		if w.by[pod.Name()] == nil {
			w.by[pod.Name()] = map[string]Sample{}
		}
		w.by[pod.Name()][pod.Text("timestamp")] = Sample{Amount(usage.Text("cpu")), Amount(usage.Text("memory"))}
	}
}

// Stop ends the witness.
func (w *Witness) Stop() { close(w.end) }

// Of returns the samples of one pod.
func (w *Witness) Of(pod string) []Sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []Sample
	for _, s := range w.by[pod] {
		list = append(list, s)
	}
	return list
}

// Shares returns the weight of a container at the kernel: cpu.shares of its cgroup, or cpu.weight.
func (t *T) Shares(pod kube.Object) (int, error) {
	file := "cpu.shares"
	if node.Unified() {
		file = "cpu.weight"
	}
	text, err := t.Node.Slot().Cgroup("cpu", AppStatus(pod).Text("containerID"), file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// SharesOf returns the weight that the kubelet and runc give to a request.
func SharesOf(cpu string) int {
	shares := max(2, int(Amount(cpu)*1000+0.5)*1024/1000)
	if node.Unified() {
		return 1 + (shares-2)*9999/262142
	}
	return shares
}

// HasShares returns an error unless each pod of an app has the weight of that request.
func (t *T) HasShares(app, cpu string) error {
	for _, pod := range t.Pods(app) {
		got, err := t.Shares(pod)
		if err != nil {
			return err
		}
		if want := SharesOf(cpu); got != want {
			return fmt.Errorf("the cgroup of pod %s has %d shares, not %d", pod.Name(), got, want)
		}
	}
	return nil
}

// CPUSeconds returns the processor time that a container has used.
func (t *T) CPUSeconds(pod kube.Object) float64 {
	controller, file := "cpuacct", "cpuacct.usage"
	if node.Unified() {
		controller, file = "cpu", "cpu.stat"
	}
	text, err := t.Node.Slot().Cgroup(controller, AppStatus(pod).Text("containerID"), file)
	t.Check(err)
	if node.Unified() {
		var us float64
		_, err = fmt.Sscanf(text, "usage_usec %f", &us)
		t.Check(err)
		return us / 1e6
	}
	ns, err := strconv.ParseFloat(text, 64)
	t.Check(err)
	return ns / 1e9
}

// CheckGoesOn checks that an app still runs in the same container, and waits until it has worked on.
func (t *T) CheckGoesOn(app string, before kube.Object) {
	pod := t.WaitOnePod(app)
	was, is := AppStatus(before), AppStatus(pod)
	if pod.UID() != before.UID() || is.Text("containerID") != was.Text("containerID") || is.Int("restartCount") != 0 {
		t.Fatalf("the container was %s and is %s", was, is)
	}
	used := t.CPUSeconds(pod)
	t.Eventually("it works on", Soon, func() error {
		if now := t.CPUSeconds(pod); now <= used {
			return fmt.Errorf("it has used %.3f s of processor time, before %.3f", now, used)
		}
		return nil
	})
}

// WaitLowered waits until an app's pods have less than their owner asks for, by the word of the API server, the kubelet and
// the kernel, and returns what they have. The target may have moved on by then.
func (t *T) WaitLowered(app, owners string, pods int) (cpu, memory string) {
	t.Eventually(app+" is lowered", Soon, func() error {
		r, err := t.Rec("deployment-" + app)
		if err != nil {
			return err
		}
		box := r.Named("app", "status", "containers")
		cpu, memory = box.Text("cpu", "current"), box.Text("memory", "current")
		if Amount(cpu) <= 0 || Amount(cpu) >= Amount(owners) {
			return fmt.Errorf("it is set to '%s', its owner's %s", cpu, owners)
		}
		if err := t.PodsAsk(app, "app", "cpu", cpu, pods); err != nil {
			return err
		}
		if err := t.PodsAsk(app, "app", "memory", memory, pods); err != nil {
			return err
		}
		return t.HasRequests(app, cpu, memory)
	})
	return cpu, memory
}

// WaitInForce waits until all that was applied is in force. A target that rose since then waits for an hour.
func (t *T) WaitInForce(rec string) {
	t.RecWhen(rec, "what was applied is in force", Soon, func(r kube.Object) error {
		if got := r.Condition("Applied").Text("reason"); got != "UpToDate" && got != "Cooldown" {
			return fmt.Errorf("%s", r.Condition("Applied"))
		}
		return nil
	})
}

// HasRequests returns an error unless the kubelet and the kernel have given each pod of an app those requests.
func (t *T) HasRequests(app, cpu, memory string) error {
	for _, pod := range t.Pods(app) {
		has := AppStatus(pod).Object("resources", "requests")
		if has.Text("cpu") != cpu || has.Text("memory") != memory {
			return fmt.Errorf("pod %s has been given %s", pod.Name(), has)
		}
	}
	return t.HasShares(app, cpu)
}

// Deaths returns the ends of a pod's container app that its kubelet tells of now.
func Deaths(pod kube.Object) (all []kube.Object) {
	for _, place := range []string{"state", "lastState"} {
		if dead := AppStatus(pod).Object(place, "terminated"); dead != nil {
			all = append(all, dead)
		}
	}
	return all
}

// WaitOOMKill waits until the kernel has killed an app's container, and returns how often it has.
func (t *T) WaitOOMKill(app string) int64 {
	var kills int64
	t.Eventually("the kernel kills it", Soon, func() error {
		pods := t.Pods(app)
		if len(pods) != 1 || len(Deaths(pods[0])) == 0 {
			return fmt.Errorf("%d pods, and none was killed", len(pods))
		}
		for _, dead := range Deaths(pods[0]) {
			if dead.Text("reason") != "OOMKilled" || dead.Int("exitCode") != 137 {
				t.Fatalf("it ended otherwise: %s", dead)
			}
		}
		kills = AppStatus(pods[0]).Int("restartCount")
		state := AppStatus(pods[0])
		if state.Object("state", "terminated") != nil || state.Text("state", "waiting", "reason") != "" {
			kills++ // restartCount rises only once the next process is made
		}
		return nil
	})
	return kills
}
