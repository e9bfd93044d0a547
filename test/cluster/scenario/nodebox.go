package scenario

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/node"
)

// burner is a container that really runs: what its owner asks for, and what it does (the steps of burn).
type burner struct {
	requests, limits M
	steps            []string
}

// burning is a workload of one burner, its container named app.
func (t *T) burning(kind, name string, replicas int, b burner) M {
	args := L{}
	for _, step := range b.steps {
		args = append(args, step)
	}
	o := t.workload(kind, name, replicas)
	o["spec"].(M)["template"] = M{"metadata": M{"labels": M{"app": name}}, "spec": M{"terminationGracePeriodSeconds": 1,
		"containers": L{M{"name": "app", "image": node.Burn, "imagePullPolicy": "Never", "args": args,
			"resources": resources(box{requests: b.requests, limits: b.limits})}}}}
	return o
}

// amount is a quantity in cores or bytes; 0 for none.
func amount(text string) float64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return q.AsApproximateFloat64()
}

// oneRuns waits until an app's only pod is ready, and gives it.
func (t *T) oneRuns(app string) kube.Object {
	var pod kube.Object
	t.Eventually(app+" runs", soon, func() error {
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

// containerOf is the status of a pod's app.
func containerOf(pod kube.Object) kube.Object { return pod.Named("app", "status", "containerStatuses") }

// sample is what metrics-server told of a pod's app once, in cores and bytes.
type sample struct{ cpu, memory float64 }

// witness reads all that metrics-server tells of the scenario's namespace, each once, as halflife does.
type witness struct {
	mu  sync.Mutex
	by  map[string]map[string]sample // pod, time stamp
	end chan struct{}
}

func (t *T) witness() *witness {
	w := &witness{by: map[string]map[string]sample{}, end: make(chan struct{})}
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

func (w *witness) take(list kube.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range list.List("items") {
		usage := pod.Named("app", "containers").Object("usage")
		if w.by[pod.Name()] == nil {
			w.by[pod.Name()] = map[string]sample{}
		}
		w.by[pod.Name()][pod.Text("timestamp")] = sample{amount(usage.Text("cpu")), amount(usage.Text("memory"))}
	}
}

func (w *witness) stop() { close(w.end) }

// of gives the samples of one pod.
func (w *witness) of(pod string) []sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []sample
	for _, s := range w.by[pod] {
		list = append(list, s)
	}
	return list
}

// shares is what the kernel gives a container of the node's processors by: the cgroup's cpu.shares, or cpu.weight.
func (t *T) shares(pod kube.Object) (int, error) {
	file := "cpu.shares"
	if node.Unified() {
		file = "cpu.weight"
	}
	text, err := t.Node.Slot().Cgroup("cpu", containerOf(pod).Text("containerID"), file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// sharesOf is what they are for a request, as the kubelet and runc reckon.
func sharesOf(cpu string) int {
	shares := max(2, int(amount(cpu)*1000+0.5)*1024/1000)
	if node.Unified() {
		return 1 + (shares-2)*9999/262142
	}
	return shares
}

// hasShares is an error unless the kernel has each pod of an app by that request.
func (t *T) hasShares(app, cpu string) error {
	for _, pod := range t.Pods(app) {
		got, err := t.shares(pod)
		if err != nil {
			return err
		}
		if want := sharesOf(cpu); got != want {
			return fmt.Errorf("the cgroup of pod %s has %d shares, not %d", pod.Name(), got, want)
		}
	}
	return nil
}

// worked is the processor time that a container has used, in seconds.
func (t *T) worked(pod kube.Object) float64 {
	controller, file := "cpuacct", "cpuacct.usage"
	if node.Unified() {
		controller, file = "cpu", "cpu.stat"
	}
	text, err := t.Node.Slot().Cgroup(controller, containerOf(pod).Text("containerID"), file)
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

// goesOn checks that a container is the one that it was, and still works.
func (t *T) goesOn(app string, before kube.Object) {
	pod := t.oneRuns(app)
	was, is := containerOf(before), containerOf(pod)
	if pod.UID() != before.UID() || is.Text("containerID") != was.Text("containerID") || is.Int("restartCount") != 0 {
		t.Fatalf("the container was %s and is %s", was, is)
	}
	used := t.worked(pod)
	t.Eventually("it works on", soon, func() error {
		if now := t.worked(pod); now <= used {
			return fmt.Errorf("it has used %.3f s of processor time, before %.3f", now, used)
		}
		return nil
	})
}

// lowered waits until an app's pods have what was applied, below what their owner asks for, by the API server's, the
// kubelet's and the kernel's word, and gives that. The target itself may have moved on by then.
func (t *T) lowered(app, owners string, pods int) (cpu, memory string) {
	t.Eventually(app+" is lowered", soon, func() error {
		r, err := t.Rec("deployment-" + app)
		if err != nil {
			return err
		}
		box := r.Named("app", "status", "containers")
		cpu, memory = box.Text("cpu", "current"), box.Text("memory", "current")
		if amount(cpu) <= 0 || amount(cpu) >= amount(owners) {
			return fmt.Errorf("it is set to '%s', its owner's %s", cpu, owners)
		}
		if err := t.podsAsk(app, "app", "cpu", cpu, pods); err != nil {
			return err
		}
		if err := t.podsAsk(app, "app", "memory", memory, pods); err != nil {
			return err
		}
		return t.actual(app, cpu, memory)
	})
	return cpu, memory
}

// stands waits until all that was applied is in force; a target that rose since waits for an hour.
func (t *T) stands(rec string) {
	t.RecWhen(rec, "what was applied is in force", soon, func(r kube.Object) error {
		if got := r.Condition("Applied").Text("reason"); got != "UpToDate" && got != "Cooldown" {
			return fmt.Errorf("%s", r.Condition("Applied"))
		}
		return nil
	})
}

// actual is an error unless the kubelet and the kernel have given each pod of an app those requests.
func (t *T) actual(app, cpu, memory string) error {
	for _, pod := range t.Pods(app) {
		has := containerOf(pod).Object("resources", "requests")
		if has.Text("cpu") != cpu || has.Text("memory") != memory {
			return fmt.Errorf("pod %s has been given %s", pod.Name(), has)
		}
	}
	return t.hasShares(app, cpu)
}
