package scenario

import (
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
)

func init() {
	shared = append(shared, scenario{"guard", guard}, scenario{"guard-rollout", guardRollout},
		scenario{"guard-in-place", guardInPlace})
	doored = append(doored, scenario{"guard-pod", guardPod})
}

// watched is a quick profile that watches a change for so long.
func watched(mode, watch string) M {
	profile := quick(mode)
	profile["apply"].(M)["guard"] = M{"watch": watch}
	return profile
}

// soonAfter is a time for what a kubelet tells: whole seconds, and not before a change of the same second.
func soonAfter() string { return time.Now().UTC().Add(time.Second).Format(time.RFC3339) }

// saysOf sets conditions of a pod, and more of its status.
func (t *T) saysOf(pod string, condition M, more M) {
	p, err := t.Get(t.path("pods", pod))
	t.Check(err)
	conditions := L{condition}
	for _, c := range p.List("status", "conditions") {
		if c.Text("type") != condition["type"] {
			conditions = append(conditions, map[string]any(c))
		}
	}
	status := M{"conditions": conditions}
	for k, v := range more {
		status[k] = v
	}
	_, err = t.Merge(t.path("pods", pod)+"/status", M{"status": status})
	t.Check(err)
}

// evicted is a pod that its kubelet evicted for memory.
func (t *T) evicted(pod string) {
	t.saysOf(pod, M{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "lastTransitionTime": soonAfter()},
		M{"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory. Threshold quantity: 100Mi, available: " +
			"80Mi. Container app was using 1200Mi, request is 174Mi, has larger consumption of memory. "})
}

func (t *T) notReady(pod string) {
	t.saysOf(pod, M{"type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": soonAfter()}, nil)
}

// restarted is a pod whose container ended by itself so often.
func (t *T) restarted(pod string, times int) {
	_, err := t.Patch(t.path("pods", pod)+"/status", L{M{"op": "replace", "path": "/status/containerStatuses/0/restartCount", "value": times}})
	t.Check(err)
}

// guarded waits until a recommendation says what happened.
func (t *T) guarded(rec, cause, message string) kube.Object {
	r := t.RecWhen(rec, "Guarded: "+cause, soon, func(r kube.Object) error {
		if got := r.Condition("Guarded").Text("reason"); got != cause {
			return fmt.Errorf("reason is '%s': %v", got, r.At("status", "conditions"))
		}
		return condition(r, "Guarded", "True", message)
	})
	if r.Text("status", "state") != "Held" || r.Text("status", "guard", "cause") != cause || r.Text("status", "guard", "until") == "" {
		t.Fatalf("status is %s", r.Object("status"))
	}
	return r
}

// unguarded is an error unless it stands as it is.
func (t *T) unguarded(rec string) {
	r, err := t.Rec(rec)
	t.Check(err)
	if r.Text("status", "state") != "Ready" || r.Condition("Guarded").Text("status") != "" {
		t.Fatalf("%s is %s", rec, r.Object("status"))
	}
}

// One of fifty restarts after its change: that one has its original again and is Held, forty-nine stay lowered.
func guard(t *T) {
	t.Namespace()
	const workloads, bad = 50, "web-7"
	t.Profile(watched("InPlace", "10m"))
	var all L
	for i := range workloads {
		all = append(all, t.deployment(fmt.Sprintf("web-%d", i), 1, app(usedCPU, usedMemory)))
	}
	t.Apply(M{"apiVersion": "v1", "kind": "List", "items": all})
	cpu, memory := targets(usedCPU, usedMemory)
	ask := func(want map[string]int) func() error {
		return func() error {
			list, err := t.Get(t.path("pods", ""))
			if err != nil {
				return err
			}
			got := map[string]int{}
			for _, p := range list.List("items") {
				got[podRequest(p, "app", "cpu")]++
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("so many pods ask for so much: %v, not %v", got, want)
			}
			return nil
		}
	}
	t.Eventually("all are lowered", soon, ask(map[string]int{cpu: workloads}))
	t.applies("deployment-"+bad, "True", "UpToDate", "")
	t.restarted(t.Pods(bad)[0].Name(), 2)
	t.guarded("deployment-"+bad, "Restarts", "its containers restarted 2 times within")
	t.Eventually("one has its original", soon, ask(map[string]int{cpu: workloads - 1, "2": 1}))
	t.Check(t.podsAsk(bad, "app", "cpu", "2", 1))
	t.Check(t.podsAsk(bad, "app", "memory", "1Gi", 1))
	t.Cycles(t.halflife, 2)
	t.Check(ask(map[string]int{cpu: workloads - 1, "2": 1})())
	held := 0
	list, err := t.Get(fmt.Sprintf("%s/namespaces/%s/recommendations", api, t.NS))
	t.Check(err)
	for _, r := range list.List("items") {
		if r.Text("status", "state") == "Held" {
			held++
		}
	}
	if held != 1 {
		t.Fatalf("%d of %d are Held", held, workloads)
	}
	t.Check(t.podsAsk("web-8", "app", "memory", memory, 1))
	page, err := t.halflife.Page("/metrics")
	t.Check(err)
	if !strings.Contains(page, `halflife_reverts_total{cause="Restarts"} `) || strings.Contains(page, `halflife_reverts_total{cause="Restarts"} 0`) {
		t.Fatalf("the metrics do not tell of it:\n%s", page)
	}
	t.Eventually("an Event tells of it", soon, func() error {
		events := t.Ctl("-n", t.NS, "get", "events", "--field-selector", "reason=Guarded")
		if !strings.Contains(events, "deployment/"+bad) || !strings.Contains(events, "the originals come back") {
			return fmt.Errorf("%s", events)
		}
		return nil
	})
}

// Rolled out, and fewer pods are ready than before: one patch brings the originals back, with no trace of us. An owner's
// release that restarts stays, until a pod of it is evicted.
func guardRollout(t *T) {
	t.Namespace()
	t.Profile(watched("Rollout", "3m"))
	t.Apply(t.deployment("web", 3, app(usedCPU, usedMemory)))
	t.Apply(t.deployment("other", 2, app(usedCPU, usedMemory)))
	cpu, memory := targets(usedCPU, usedMemory)
	t.resized("web", 3, cpu, memory)
	t.resized("other", 2, cpu, memory)
	t.notReady(t.Pods("web")[1].Name())

	t.Ctl("-n", t.NS, "set", "image", "deployment/other", "app=registry.invalid/app:2")
	t.Eventually("the release is out", soon, func() error {
		for _, p := range t.Pods("other") {
			if got := container(p.Object("spec"), "app").Text("image"); got != "registry.invalid/app:2" {
				return fmt.Errorf("pod %s runs %s", p.Name(), got)
			}
		}
		return t.podsAsk("other", "app", "cpu", cpu, 2)
	})
	t.restarted(t.Pods("other")[0].Name(), 9)

	t.guarded("deployment-web", "NotReady", "2 of its 3 pods are ready")
	t.resized("web", 3, "2", "1Gi")
	t.generation("deployments", "web", 3)
	notes := t.Workload("deployments", "web").Object("spec", "template", "metadata", "annotations")
	if notes.Text(originals)+notes.Text(applied) != "" {
		t.Fatalf("the template's annotations are %s", notes)
	}
	t.unguarded("deployment-other")
	t.Check(t.podsAsk("other", "app", "cpu", cpu, 2))
	t.evicted(t.Pods("other")[0].Name())
	t.guarded("deployment-other", "Evicted", "a pod was evicted for lack of memory")
	if got := request(t.Workload("deployments", "other"), "app", "cpu"); got != "2" {
		t.Eventually("the original is back", soon, func() error {
			if got := request(t.Workload("deployments", "other"), "app", "cpu"); got != "2" {
				return fmt.Errorf("the template asks for %s", got)
			}
			return nil
		})
	}
	t.Cycles(t.halflife, 1)
	t.generation("deployments", "web", 3)
}

// Resized, and one is killed for lack of room, by a limit that its node could never give: all are resized to their
// originals, and nothing restarts. One that is killed at its limit is its limit's matter.
func guardInPlace(t *T) {
	t.Namespace()
	t.Profile(watched("InPlace", "10m"))
	t.Apply(t.workload("StatefulSet", "db", 3, box{name: "app", requests: M{"cpu": "2", "memory": "1Gi"},
		limits: M{"cpu": "4", "memory": "128Ti"}, cpu: usedCPU, memory: usedMemory}))
	t.Apply(t.workload("StatefulSet", "full", 2, box{name: "app", requests: M{"cpu": "2", "memory": "1Gi"},
		limits: M{"cpu": "4", "memory": "1100Mi"}, cpu: usedCPU, memory: 1000 * mi}))
	cpu, memory := targets(usedCPU, usedMemory)
	t.resized("db", 3, cpu, memory)
	t.Eventually("full is resized", soon, func() error { return t.podsAsk("full", "app", "cpu", cpu, 2) })
	before := t.uids("db")
	t.Check(t.killed(t.Pods("full")[0], false))
	t.restarted(t.Pods("full")[1].Name(), 1)
	killed := t.Pods("db")[1]
	dead := M{"terminated": M{"exitCode": 137, "reason": "OOMKilled", "startedAt": killed.Text("status", "startTime"), "finishedAt": soonAfter()}}
	_, err := t.Patch(t.path("pods", killed.Name())+"/status", L{
		M{"op": "replace", "path": "/status/containerStatuses/0/restartCount", "value": 1},
		M{"op": "add", "path": "/status/containerStatuses/0/lastState", "value": dead}})
	t.Check(err)
	t.guarded("statefulset-db", "OutOfMemory", "killed for lack of room on its node")
	t.resized("db", 3, "2", "1Gi")
	t.same("db", before)
	t.generation("statefulsets", "db", 1)
	t.Eventually("no annotation is left", soon, func() error {
		for _, p := range t.Pods("db") {
			if p.Annotation(originals)+p.Annotation(applied) != "" {
				return fmt.Errorf("pod %s: %s", p.Name(), p.Object("metadata", "annotations"))
			}
		}
		return nil
	})
	t.RecWhen("statefulset-full", "its kill", soon, func(r kube.Object) error {
		if got := r.Int("status", "oomKills"); got != 1 {
			return fmt.Errorf("%d kills", got)
		}
		return nil
	})
	t.Cycles(t.halflife, 1)
	t.unguarded("statefulset-full")
	t.Check(t.podsAsk("full", "app", "cpu", cpu, 2))
}

// Admitted: restarts after a deploy are its owner's. Once a pod is evicted, those that come get the originals, from the
// replica too, and those that run are resized to them; none is evicted for it.
func guardPod(t *T) {
	t.Namespace()
	profile := onDeploy("Pod")
	profile["apply"].(M)["guard"] = M{"watch": "10m"}
	t.Profile(profile)
	web := t.deployment("web", 3, app(usedCPU, usedMemory))
	t.Apply(web)
	t.RecIn("deployment-web", "Ready", soon)
	cpu, memory := targets(usedCPU, usedMemory)
	t.onceToldAtAdmission("learned", web, "pod", cpu)
	t.Ctl("-n", t.NS, "rollout", "restart", "deployment/web")
	t.comeWith("it runs with its target", "web", cpu, 3, func() error { return t.podsAsk("web", "app", "memory", memory, 3) })
	t.Ctl("-n", t.NS, "rollout", "status", "deployment/web", "--timeout=60s")
	pods := t.Pods("web")
	t.restarted(pods[0].Name(), 9)
	t.Cycles(t.halflife, 2)
	t.unguarded("deployment-web")
	t.Check(t.podsAsk("web", "app", "cpu", cpu, 3))

	evicted := pods[2].Name()
	t.evicted(evicted)
	t.guarded("deployment-web", "Evicted", "after our change")
	running := func() (list []kube.Object) {
		for _, p := range t.Pods("web") {
			if p.Name() != evicted {
				list = append(list, p)
			}
		}
		return list
	}
	t.Eventually("those that run have the originals", soon, func() error {
		list := running()
		if len(list) != 3 {
			return fmt.Errorf("%d pods", len(list))
		}
		for _, p := range list {
			if got := podRequest(p, "app", "cpu"); got != "2" {
				return fmt.Errorf("pod %s asks for %s", p.Name(), got)
			}
		}
		return nil
	})
	there := map[string]bool{}
	for _, p := range running() {
		there[p.UID()] = true
	}
	for _, p := range pods[:2] {
		if !there[p.UID()] {
			t.Fatalf("pod %s is gone", p.Name())
		}
	}
	t.Ctl("-n", t.NS, "scale", "deployment/web", "--replicas=5")
	t.Eventually("new ones come with the originals", soon, func() error {
		list := running()
		if len(list) != 5 {
			return fmt.Errorf("%d pods", len(list))
		}
		for _, p := range list {
			if there[p.UID()] {
				continue
			}
			if got := podRequest(p, "app", "memory"); got != "1Gi" || p.Generation() > 1 {
				return fmt.Errorf("pod %s asks for %s, generation %d", p.Name(), got, p.Generation())
			}
		}
		return nil
	})
	t.generation("deployments", "web", 3)
}
