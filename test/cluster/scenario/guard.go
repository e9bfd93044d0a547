package scenario

import (
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// soonAfter is a time for what a kubelet tells: whole seconds, and not before a change of the same second.
func soonAfter() string { return time.Now().UTC().Add(time.Second).Format(time.RFC3339) }

// reportStatus sets conditions of a pod, and more of its status.
func reportStatus(t *stage.T, pod string, condition M, more M) {
	p, err := t.Get(t.Path("pods", pod))
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
	_, err = t.Merge(t.Path("pods", pod)+"/status", M{"status": status})
	t.Check(err)
}

// reportEviction is a pod that its kubelet evicted for memory.
func reportEviction(t *stage.T, pod string) {
	reportStatus(t, pod, M{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "lastTransitionTime": soonAfter()},
		M{"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory. Threshold quantity: 100Mi, available: " +
			"80Mi. Container app was using 1200Mi, request is 174Mi, has larger consumption of memory. "})
}

func reportNotReady(t *stage.T, pod string) {
	reportStatus(t, pod, M{"type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": soonAfter()}, nil)
}

// One of fifty restarts after its change: that one has its original again and is Held, forty-nine stay lowered.
func guard(t *stage.T) {
	t.Namespace()
	const workloads, bad = 50, "web-7"
	t.Profile(stage.GuardedProfile("InPlace", "10m"))
	var all L
	for i := range workloads {
		all = append(all, t.NewDeployment(fmt.Sprintf("web-%d", i), 1, stage.App()))
	}
	t.Apply(M{"apiVersion": "v1", "kind": "List", "items": all})
	cpu, memory := stage.Targets()
	ask := func(want map[string]int) func() error {
		return func() error {
			list, err := t.Get(t.Path("pods", ""))
			if err != nil {
				return err
			}
			got := map[string]int{}
			for _, p := range list.List("items") {
				got[stage.PodRequested(p, "app", "cpu")]++
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("so many pods ask for so much: %v, not %v", got, want)
			}
			return nil
		}
	}
	t.Eventually("all are lowered", stage.Soon, ask(map[string]int{cpu: workloads}))
	t.WaitApplied("deployment-"+bad, "True", "UpToDate", "")
	t.ReportRestarts(t.Pods(bad)[0].Name(), 2)
	t.WaitGuarded("deployment-"+bad, "Restarts", "its containers restarted 2 times within")
	t.Eventually("one has its original", stage.Soon, ask(map[string]int{cpu: workloads - 1, "2": 1}))
	t.Check(t.PodsAsk(bad, "app", "cpu", "2", 1))
	t.Check(t.PodsAsk(bad, "app", "memory", "1Gi", 1))
	t.Cycles(t.Learner, 2)
	t.Check(ask(map[string]int{cpu: workloads - 1, "2": 1})())
	held := 0
	list, err := t.Get(fmt.Sprintf("%s/namespaces/%s/recommendations", stage.APIPath, t.NS))
	t.Check(err)
	for _, r := range list.List("items") {
		if r.Text("status", "state") == "Held" {
			held++
		}
	}
	if held != 1 {
		t.Fatalf("%d of %d are Held", held, workloads)
	}
	t.Check(t.PodsAsk("web-8", "app", "memory", memory, 1))
	page, err := t.Learner.Page("/metrics")
	t.Check(err)
	if !strings.Contains(page, `halflife_reverts_total{cause="Restarts"} `) || strings.Contains(page, `halflife_reverts_total{cause="Restarts"} 0`) {
		t.Fatalf("the metrics do not tell of it:\n%s", page)
	}
	t.Eventually("an Event tells of it", stage.Soon, func() error {
		events := t.Ctl("-n", t.NS, "get", "events", "--field-selector", "reason=Guarded")
		if !strings.Contains(events, "deployment/"+bad) || !strings.Contains(events, "the original requests come back") {
			return fmt.Errorf("%s", events)
		}
		return nil
	})
}

// Rolled out, and fewer pods are ready than before: one patch brings the originals back, with no trace of us. An owner's
// release that restarts stays, until a pod of it is evicted.
func guardRollout(t *stage.T) {
	t.Namespace()
	t.Profile(stage.GuardedProfile("Rollout", "3m"))
	t.Apply(t.NewDeployment("web", 3, stage.App()))
	t.Apply(t.NewDeployment("other", 2, stage.App()))
	cpu, memory := stage.Targets()
	t.WaitResized("web", 3, cpu, memory)
	t.WaitResized("other", 2, cpu, memory)
	reportNotReady(t, t.Pods("web")[1].Name())

	t.Ctl("-n", t.NS, "set", "image", "deployment/other", "app=registry.invalid/app:2")
	t.Eventually("the release is out", stage.Soon, func() error {
		for _, p := range t.Pods("other") {
			if got := stage.FindContainer(p.Object("spec"), "app").Text("image"); got != "registry.invalid/app:2" {
				return fmt.Errorf("pod %s runs %s", p.Name(), got)
			}
		}
		return t.PodsAsk("other", "app", "cpu", cpu, 2)
	})
	t.ReportRestarts(t.Pods("other")[0].Name(), 9)

	t.WaitGuarded("deployment-web", "NotReady", "2 of its 3 pods are ready")
	t.WaitResized("web", 3, "2", "1Gi")
	t.CheckGeneration("deployments", "web", 3)
	notes := t.Workload("deployments", "web").Object("spec", "template", "metadata", "annotations")
	if notes.Text(stage.OriginalsAnnotation)+notes.Text(stage.AppliedAnnotation) != "" {
		t.Fatalf("the template's annotations are %s", notes)
	}
	t.CheckUnguarded("deployment-other")
	t.Check(t.PodsAsk("other", "app", "cpu", cpu, 2))
	reportEviction(t, t.Pods("other")[0].Name())
	t.WaitGuarded("deployment-other", "Evicted", "a pod was evicted for lack of memory")
	if got := stage.Requested(t.Workload("deployments", "other"), "app", "cpu"); got != "2" {
		t.Eventually("the original is back", stage.Soon, func() error {
			if got := stage.Requested(t.Workload("deployments", "other"), "app", "cpu"); got != "2" {
				return fmt.Errorf("the template asks for %s", got)
			}
			return nil
		})
	}
	t.Cycles(t.Learner, 1)
	t.CheckGeneration("deployments", "web", 3)
}

// Resized, and one is killed for lack of room, by a limit that its node could never give: all are resized to their
// originals, and nothing restarts. One that is killed at its limit is its limit's matter.
func guardInPlace(t *stage.T) {
	t.Namespace()
	t.Profile(stage.GuardedProfile("InPlace", "10m"))
	t.Apply(t.NewWorkload("StatefulSet", "db", 3, stage.Container{Name: "app", Requests: M{"cpu": "2", "memory": "1Gi"},
		Limits: M{"cpu": "4", "memory": "128Ti"}, CPU: stage.UsedCPU, Memory: stage.UsedMemory}))
	t.Apply(t.NewWorkload("StatefulSet", "full", 2, stage.Container{Name: "app", Requests: M{"cpu": "2", "memory": "1Gi"},
		Limits: M{"cpu": "4", "memory": "1100Mi"}, CPU: stage.UsedCPU, Memory: 1000 * stage.Mi}))
	cpu, memory := stage.Targets()
	t.WaitResized("db", 3, cpu, memory)
	t.Eventually("full is resized", stage.Soon, func() error { return t.PodsAsk("full", "app", "cpu", cpu, 2) })
	before := t.UIDs("db")
	t.Check(t.ReportOOMKill(t.Pods("full")[0], false))
	t.ReportRestarts(t.Pods("full")[1].Name(), 1)
	killed := t.Pods("db")[1]
	dead := M{"terminated": M{"exitCode": 137, "reason": "OOMKilled", "startedAt": killed.Text("status", "startTime"), "finishedAt": soonAfter()}}
	_, err := t.Patch(t.Path("pods", killed.Name())+"/status", L{
		M{"op": "replace", "path": "/status/containerStatuses/0/restartCount", "value": 1},
		M{"op": "add", "path": "/status/containerStatuses/0/lastState", "value": dead}})
	t.Check(err)
	t.WaitGuarded("statefulset-db", "OutOfMemory", "killed for lack of room on its node")
	t.WaitResized("db", 3, "2", "1Gi")
	t.CheckSamePods("db", before)
	t.CheckGeneration("statefulsets", "db", 1)
	t.Eventually("no annotation is left", stage.Soon, func() error {
		for _, p := range t.Pods("db") {
			if p.Annotation(stage.OriginalsAnnotation)+p.Annotation(stage.AppliedAnnotation) != "" {
				return fmt.Errorf("pod %s: %s", p.Name(), p.Object("metadata", "annotations"))
			}
		}
		return nil
	})
	t.RecWhen("statefulset-full", "its kill", stage.Soon, func(r kube.Object) error {
		if got := r.Int("status", "oomKills"); got != 1 {
			return fmt.Errorf("%d kills", got)
		}
		return nil
	})
	t.Cycles(t.Learner, 1)
	t.CheckUnguarded("statefulset-full")
	t.Check(t.PodsAsk("full", "app", "cpu", cpu, 2))
}

// Admitted: restarts after a deploy are its owner's. Once a pod is evicted, those that come get the originals, from the
// replica too, and those that run are resized to them; none is evicted for it.
func guardPod(t *stage.T) {
	t.Namespace()
	profile := stage.OnDeployProfile("Pod")
	profile["apply"].(M)["guard"] = M{"watch": "10m"}
	t.Profile(profile)
	web := t.NewDeployment("web", 3, stage.App())
	t.Apply(web)
	t.RecIn("deployment-web", "Ready", stage.Soon)
	cpu, memory := stage.Targets()
	t.WaitAtAdmission("learned", web, "pod", cpu)
	t.Ctl("-n", t.NS, "rollout", "restart", "deployment/web")
	t.WaitAdmitted("it runs with its target", "web", cpu, 3, func() error { return t.PodsAsk("web", "app", "memory", memory, 3) })
	t.Ctl("-n", t.NS, "rollout", "status", "deployment/web", "--timeout=60s")
	pods := t.Pods("web")
	t.ReportRestarts(pods[0].Name(), 9)
	t.Cycles(t.Learner, 2)
	t.CheckUnguarded("deployment-web")
	t.Check(t.PodsAsk("web", "app", "cpu", cpu, 3))

	evicted := pods[2].Name()
	reportEviction(t, evicted)
	t.WaitGuarded("deployment-web", "Evicted", "after halflife's change")
	running := func() (list []kube.Object) {
		for _, p := range t.Pods("web") {
			if p.Name() != evicted {
				list = append(list, p)
			}
		}
		return list
	}
	t.Eventually("those that run have the originals", stage.Soon, func() error {
		list := running()
		if len(list) != 3 {
			return fmt.Errorf("%d pods", len(list))
		}
		for _, p := range list {
			if got := stage.PodRequested(p, "app", "cpu"); got != "2" {
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
	t.Eventually("new ones come with the originals", stage.Soon, func() error {
		list := running()
		if len(list) != 5 {
			return fmt.Errorf("%d pods", len(list))
		}
		for _, p := range list {
			if there[p.UID()] {
				continue
			}
			if got := stage.PodRequested(p, "app", "memory"); got != "1Gi" || p.Generation() > 1 {
				return fmt.Errorf("pod %s asks for %s, generation %d", p.Name(), got, p.Generation())
			}
		}
		return nil
	})
	t.CheckGeneration("deployments", "web", 3)
}
