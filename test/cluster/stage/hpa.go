package stage

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"halflife.dev/cluster/kube"
)

const (
	hpaSync      = 5 * time.Second // of the plane's controller manager
	settledSyncs = 3
)

// NewHPA makes a HorizontalPodAutoscaler on CPU for two replicas of a Deployment.
func (t *T) NewHPA(name string, metricTarget M) M {
	return M{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": t.Meta(name), "spec": M{
		"minReplicas": 2, "maxReplicas": 2,
		"scaleTargetRef": M{"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
		"metrics":        L{M{"type": "Resource", "resource": M{"name": "cpu", "target": metricTarget}}},
	}}
}

// PlayLoad shares that many cores among the pods of each service, as they come and go, until each autoscaler has wanted one
// number of replicas for three syncs. It returns those numbers.
func (t *T) PlayLoad(names []string, cores float64) map[string]int64 {
	settled := map[string]int64{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	var failed error
	for _, name := range names {
		wait.Add(1)
		go func() {
			defer wait.Done()
			n, err := t.settle(name, cores)
			mu.Lock()
			defer mu.Unlock()
			settled[name] = n
			if err != nil {
				failed = fmt.Errorf("%s: %w", name, err)
			}
		}()
	}
	wait.Wait()
	t.Check(failed)
	return settled
}

func (t *T) settle(name string, cores float64) (int64, error) {
	deadline := time.Now().Add(2 * Soon)
	var wanted int64
	var since time.Time
	var last error
	for time.Now().Before(deadline) && !t.stopped() {
		desired, err := t.loadOnce(name, cores)
		if err != nil || desired != wanted {
			wanted, since, last = desired, time.Now(), err
		}
		if wanted > 0 && time.Since(since) >= settledSyncs*hpaSync {
			return wanted, nil
		}
		time.Sleep(time.Second)
	}
	return 0, fmt.Errorf("wants %d since %s: %v", wanted, since.Format(time.TimeOnly), last)
}

// loadOnce gives each pod its share. An error where the autoscaler does not see all of it yet: replicas are then still
// of the load before.
func (t *T) loadOnce(name string, cores float64) (int64, error) {
	list, err := t.Get(fmt.Sprintf("/api/v1/namespaces/%s/pods?labelSelector=app=%s", t.NS, name))
	if err != nil {
		return 0, err
	}
	var running []kube.Object
	for _, p := range list.List("items") {
		if p.Text("status", "phase") == "Running" && p.Text("metadata", "deletionTimestamp") == "" {
			running = append(running, p)
		}
	}
	if len(running) == 0 {
		return 0, fmt.Errorf("no pod runs")
	}
	each := int64(cores * 1000 / float64(len(running)))
	for _, p := range running {
		want := fmt.Sprintf("%dm", each)
		const key = "usage.halflife.dev/cpu.app"
		if p.Text("metadata", "annotations", key) == want {
			continue
		}
		_, err := t.Merge(fmt.Sprintf("/api/v1/namespaces/%s/pods/%s", t.NS, p.Name()), M{"metadata": M{"annotations": M{key: want}}})
		if err != nil && kube.Code(err) != 404 {
			return 0, err
		}
	}
	h, err := t.Get(fmt.Sprintf("/apis/autoscaling/v2/namespaces/%s/horizontalpodautoscalers/%s", t.NS, name))
	if err != nil {
		return 0, err
	}
	return SeenByHPA(h, len(running), each)
}

// SeenByHPA returns how many replicas an autoscaler wants, once it sees the usage of each running pod.
func SeenByHPA(h kube.Object, running int, each int64) (int64, error) {
	var desired int64
	_, _ = fmt.Sscan(h.Text("status", "desiredReplicas"), &desired)
	metrics := h.List("status", "currentMetrics")
	if len(metrics) != 1 {
		return 0, fmt.Errorf("it sees nothing: %s", h.Object("status"))
	}
	source := "pods"
	if metrics[0].Text("type") == "Resource" {
		source = "resource"
	}
	value, err := resource.ParseQuantity(metrics[0].Text(source, "current", "averageValue"))
	if err != nil {
		return 0, fmt.Errorf("its average is %s", metrics[0])
	}
	if got := value.MilliValue(); got*100 < each*95 || got*100 > each*105 || int64(running) != desired {
		return 0, fmt.Errorf("%d run, %d are wanted; it sees %dm of %dm", running, desired, got, each)
	}
	return desired, nil
}
