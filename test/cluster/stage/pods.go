package stage

import (
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
)

// Pods returns the pods of an app that nobody is deleting.
func (t *T) Pods(app string) []kube.Object {
	list, err := t.Get(t.Path("pods", "") + "?labelSelector=app%3D" + app)
	t.Check(err)
	var live []kube.Object
	for _, p := range list.List("items") {
		if p.Text("metadata", "deletionTimestamp") == "" {
			live = append(live, p)
		}
	}
	return live
}

// PodsAsk returns an error unless that many pods of an app run, and container name of each asks for want.
func (t *T) PodsAsk(app, name, resource, want string, pods int) error {
	list := t.Pods(app)
	if len(list) != pods {
		return fmt.Errorf("%d pods of %d", len(list), pods)
	}
	for _, p := range list {
		if got := PodRequested(p, name, resource); got != want {
			return fmt.Errorf("pod %s asks for %s %s, not %s", p.Name(), resource, got, want)
		}
		if p.Text("status", "phase") != "Running" {
			return fmt.Errorf("pod %s is %s", p.Name(), p.Text("status", "phase"))
		}
	}
	return nil
}

// UIDs returns the UIDs of an app's pods by name: a resized pod keeps its UID.
func (t *T) UIDs(app string) map[string]string {
	all := map[string]string{}
	for _, p := range t.Pods(app) {
		all[p.Name()] = p.UID()
	}
	return all
}

// CheckSamePods ends the scenario if an app has a pod that is not one of those before.
func (t *T) CheckSamePods(app string, before map[string]string) {
	for name, uid := range t.UIDs(app) {
		if before[name] != uid {
			t.Fatalf("pod %s is not one of those before (%v)", name, before)
		}
	}
}

// WaitMeasured waits until metrics-server tells what each pod of an app uses.
func (t *T) WaitMeasured(app string) {
	t.Eventually("the pods of "+app+" are measured", Soon, func() error {
		list, err := t.Get("/apis/metrics.k8s.io/v1beta1/namespaces/" + t.NS + "/pods?labelSelector=app%3D" + app)
		measured, pods := len(list.List("items")), len(t.Pods(app))
		if err == nil && (measured == 0 || measured != pods) {
			err = fmt.Errorf("%d of %d pods", measured, pods)
		}
		return err
	})
}

// WaitResized waits until an app's pods run and ask for that CPU and memory.
func (t *T) WaitResized(app string, pods int, cpu, memory string) {
	t.Eventually(app+" runs with its target", Soon, func() error {
		if err := t.PodsAsk(app, "app", "cpu", cpu, pods); err != nil {
			return err
		}
		return t.PodsAsk(app, "app", "memory", memory, pods)
	})
}

// PodWith returns the only pod of an app, once it runs an image of that tag.
func (t *T) PodWith(app, tag string) (kube.Object, error) {
	list := t.Pods(app)
	if len(list) != 1 {
		return nil, fmt.Errorf("%s has %d pods", app, len(list))
	}
	p := list[0]
	if image := FindContainer(p.Object("spec"), "app").Text("image"); !strings.HasSuffix(image, ":"+tag) {
		return nil, fmt.Errorf("pod %s runs image %s", p.Name(), image)
	}
	if phase := p.Text("status", "phase"); phase != "Running" {
		return nil, fmt.Errorf("pod %s is %s", p.Name(), phase)
	}
	return p, nil
}

// CountByCPU counts an app's pods by the CPU that they ask for.
func (t *T) CountByCPU(app string) map[string]int {
	count := map[string]int{}
	for _, p := range t.Pods(app) {
		count[PodRequested(p, "app", "cpu")]++
	}
	return count
}

// BarePod makes a pod of the usual container, without an owner.
func BarePod(meta M) M {
	pod := PodTemplate(meta["name"].(string), App())
	return M{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod["spec"]}
}

// CheckUnchanged ends the scenario if halflife has changed the usual container or annotated the object.
func (t *T) CheckUnchanged(what string, podSpec, object kube.Object) {
	got := FindContainer(podSpec, "app").Text("resources", "requests", "cpu")
	if notes := object.Object("metadata", "annotations"); got != "2" || strings.Contains(notes.String(), "halflife.dev/applied") {
		t.Fatalf("%s asks for %s, annotated %s", what, got, notes)
	}
}

// Redeploy rolls a Deployment's pods as its owner would, and waits until the rollout has ended. Pods are let in one by one:
// some of a rollout may come before halflife has something to give. (A second rollout restart within a second is refused.)
func (t *T) Redeploy(name string) {
	t.Ctl("-n", t.NS, "set", "env", "deployment/"+name, fmt.Sprintf("TRY=%d", time.Now().UnixNano()))
	t.Ctl("-n", t.NS, "rollout", "status", "deployment/"+name, "--timeout=300s")
}
