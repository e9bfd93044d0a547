package scenario

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
)

func init() {
	doored = append(doored, scenario{"in-place", inPlace}, scenario{"in-place-guaranteed", inPlaceGuaranteed})
	shared = append(shared, scenario{"in-place-refused", inPlaceRefused}, scenario{"in-place-quota", inPlaceQuota}, scenario{"in-place-bare", inPlaceBare},
		scenario{"raise", raise})
	alone = append(alone, scenario{"in-place-restart", inPlaceRestart})
}

// uids of an app's pods by their names: who was resized is who he was.
func (t *T) uids(app string) map[string]string {
	all := map[string]string{}
	for _, p := range t.Pods(app) {
		all[p.Name()] = p.UID()
	}
	return all
}

func (t *T) same(app string, before map[string]string) {
	for name, uid := range t.uids(app) {
		if before[name] != uid {
			t.Fatalf("pod %s is not one of those before (%v)", name, before)
		}
	}
}

// resized waits until an app's pods ask for the target, whatever they asked for before.
func (t *T) resized(app string, pods int, cpu, memory string) {
	t.Eventually(app+" runs with its target", soon, func() error {
		if err := t.podsAsk(app, "app", "cpu", cpu, pods); err != nil {
			return err
		}
		return t.podsAsk(app, "app", "memory", memory, pods)
	})
}

// kubelet says of a pod's resize what a real one would; "" ends it.
func (t *T) kubelet(pod, kind, reason, message string) {
	p, err := t.Get(t.path("pods", pod))
	t.Check(err)
	conditions := L{}
	for _, c := range p.List("status", "conditions") {
		if !strings.HasPrefix(c.Text("type"), "PodResize") {
			conditions = append(conditions, map[string]any(c))
		}
	}
	if kind != "" {
		conditions = append(conditions, M{"type": kind, "status": "True", "reason": reason, "message": message})
	}
	_, err = t.Merge(t.path("pods", pod)+"/status", M{"status": M{"conditions": conditions}})
	t.Check(err)
}

func (t *T) applies(rec, status, reason, message string) kube.Object {
	return t.RecWhen(rec, "Applied "+status+" "+reason, soon, func(r kube.Object) error {
		if got := r.Condition("Applied").Text("reason"); got != reason {
			return fmt.Errorf("reason is %s, not %s: %s", got, reason, r.Condition("Applied"))
		}
		return condition(r, "Applied", status, message)
	})
}

// Running pods are resized, and nothing restarts; limits and template stay; what they asked for is recorded first. New
// pods come with the same, scaled up or rolled out; and without the reason the originals are back, with no trace of us.
func inPlace(t *T) {
	t.Namespace()
	profile := quick("Recommend")
	t.Profile(profile)
	t.Apply(t.deployment("web", 3, app(usedCPU, usedMemory)))
	t.Apply(t.workload("StatefulSet", "db", 2, app(usedCPU, usedMemory)))
	t.Eventually("they run", soon, func() error { return t.podsAsk("web", "app", "cpu", "2", 3) })
	t.Eventually("they run", soon, func() error { return t.podsAsk("db", "app", "cpu", "2", 2) })
	web, db := t.uids("web"), t.uids("db")
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	cpu, memory := targets(usedCPU, usedMemory)
	t.resized("web", 3, cpu, memory)
	t.resized("db", 2, cpu, memory)
	t.same("web", web)
	t.same("db", db)
	for _, p := range append(t.Pods("web"), t.Pods("db")...) {
		limits := container(p.Object("spec"), "app").Object("resources", "limits")
		if limits.Text("cpu") != "4" || limits.Text("memory") != "2Gi" {
			t.Fatalf("the limits of pod %s are %s", p.Name(), limits)
		}
		before, now := kube.Parse(p.Annotation(originals)), kube.Parse(p.Annotation(applied))
		if before.Text("app", "requests", "cpu") != "2" || before.Text("app", "limits", "memory") != "2Gi" ||
			now.Text("app", "requests", "cpu") != cpu || now.Text("app", "requests", "memory") != memory {
			t.Fatalf("the annotations of pod %s are %s", p.Name(), p.Object("metadata", "annotations"))
		}
	}
	rec := t.applies("deployment-web", "True", "UpToDate", "")
	if rec.Text("status", "applied", "mode") != "InPlace" ||
		rec.Named("app", "status", "applied", "containers").Text("cpu") != cpu {
		t.Fatalf("status.applied is %s", rec.Object("status", "applied"))
	}
	t.generation("deployments", "web", 1)
	t.generation("statefulsets", "db", 1)

	t.Ctl("-n", t.NS, "scale", "deployment/web", "--replicas=5")
	t.Eventually("new ones come with the same", soon, func() error { return t.podsAsk("web", "app", "cpu", cpu, 5) })
	for _, p := range t.Pods("web") {
		if web[p.Name()] == "" && p.Generation() > 1 && !t.stranger() {
			t.Fatalf("pod %s was not admitted with it, but resized", p.Name())
		}
	}
	t.Ctl("-n", t.NS, "rollout", "restart", "statefulset/db")
	t.Eventually("successors come with the same", soon, func() error {
		if len(t.Pods("db")) == 2 {
			for name, uid := range t.uids("db") {
				if db[name] == uid {
					return fmt.Errorf("%s is still the old one", name)
				}
			}
		}
		return t.podsAsk("db", "app", "cpu", cpu, 2)
	})

	t.Create("horizontalpodautoscalers", M{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
		"metadata": t.meta("db"), "spec": M{"minReplicas": 2, "maxReplicas": 2,
			"scaleTargetRef": M{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"},
			"metrics": L{M{"type": "Resource", "resource": M{"name": "cpu",
				"target": M{"type": "Utilization", "averageUtilization": 70}}}}}})
	t.resized("db", 2, "2", memory)
	t.Check(t.Delete(t.path("horizontalpodautoscalers", "db")))
	t.resized("db", 2, cpu, memory)
}

// A Guaranteed pod cannot leave its class: it stays, its successor comes with the value; under keepGuaranteed neither.
func inPlaceGuaranteed(t *T) {
	t.Namespace()
	profile := quick("Recommend")
	t.Profile(profile)
	fixed := box{name: "app", requests: M{"cpu": "2", "memory": "1Gi"}, limits: M{"cpu": "2", "memory": "1Gi"},
		cpu: usedCPU, memory: usedMemory}
	t.Apply(t.workload("StatefulSet", "db", 2, fixed))
	keeps := t.workload("StatefulSet", "keeps", 1, fixed)
	keeps["metadata"].(M)["labels"].(M)["keep"] = "yes"
	t.Apply(keeps)
	t.Eventually("they run", soon, func() error { return t.podsAsk("db", "app", "cpu", "2", 2) })
	keep := quick("InPlace") // before the other goes over to it, which would set it as well
	keep["apply"].(M)["keepGuaranteed"] = true
	keep["selector"], keep["priority"] = M{"matchLabels": M{"keep": "yes"}}, 10
	t.ProfileNamed("e2e-in-place-keeps", keep)
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	t.applies("statefulset-db", "False", "QoS", "2 of 2 pods")
	t.Check(t.podsAsk("db", "app", "cpu", "2", 2))
	cpu, _ := targets(usedCPU, usedMemory)
	t.Check(t.Delete(t.path("pods", "db-1")))
	t.Eventually("the successor comes with it", soon, func() error {
		p, err := t.Get(t.path("pods", "db-1"))
		if err != nil {
			return err
		}
		if got := podRequest(p, "app", "cpu"); got != cpu {
			return fmt.Errorf("it asks for %s", got)
		}
		return nil
	})
	t.applies("statefulset-db", "False", "QoS", "1 of 2 pods")
	kept := t.RecIn("statefulset-keeps", "Ready", soon)
	if got := kept.Named("app", "status", "containers").Text("cpu", "reason"); got != "QoS" {
		t.Fatalf("reason under keepGuaranteed is '%s', not QoS", got)
	}
	t.Check(t.podsAsk("keeps", "app", "cpu", "2", 1))
}

// The kubelet's verdict is followed: what waits, what never fits, what fails, each told, once; the pod stays, and the next
// setting tries again.
func inPlaceRefused(t *T) {
	t.Namespace()
	profile := quick("InPlace")
	t.Profile(profile)
	t.Apply(t.workload("StatefulSet", "db", 3, app(usedCPU, usedMemory)))
	cpu, memory := targets(usedCPU, usedMemory)
	t.resized("db", 3, cpu, memory)
	t.applies("statefulset-db", "True", "UpToDate", "")
	t.kubelet("db-0", "PodResizePending", "Deferred", "Node didn't have enough resource: cpu")
	t.applies("statefulset-db", "False", "Deferred", "Node didn't have enough resource")
	t.kubelet("db-1", "PodResizePending", "Infeasible", "Node didn't have enough capacity: cpu")
	t.applies("statefulset-db", "False", "Infeasible", "1 of 3 pods")
	t.Cycles(t.halflife, 2)
	t.kubelet("db-0", "", "", "")
	t.applies("statefulset-db", "False", "Infeasible", "capacity")
	list, err := t.Get("/apis/events.k8s.io/v1/namespaces/" + t.NS + "/events")
	t.Check(err)
	told := 0
	for _, e := range list.List("items") {
		if e.Text("reason") == "Infeasible" && e.Text("regarding", "kind") == "StatefulSet" {
			told++
		}
	}
	if told != 1 {
		t.Fatalf("%d Events tell of what is Infeasible, not one: %s", told, list)
	}
	before := t.uids("db")
	profile["resources"] = M{"cpu": M{"multiplier": "1"}, "memory": M{"enabled": true}}
	t.Profile(profile)
	t.resized("db", 3, model.CPU.Text(model.CPU.Model(usedCPU)), memory)
	t.kubelet("db-1", "", "", "")
	t.applies("statefulset-db", "True", "UpToDate", "")
	t.same("db", before)
}

// What the API server itself refuses is told in its words, and tried again; the other pods are resized meanwhile.
func inPlaceQuota(t *T) {
	t.Namespace()
	t.Apply(t.workload("StatefulSet", "db", 3, app(usedCPU, usedMemory)))
	t.Eventually("they run", soon, func() error { return t.podsAsk("db", "app", "cpu", "2", 3) })
	t.Apply(M{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
		"metadata": M{"name": "e2e-in-place", "labels": M{"e2e": t.Name}}, "spec": M{"failurePolicy": "Fail",
			"matchConstraints": M{"namespaceSelector": M{"matchLabels": M{"e2e": t.Name}}, "resourceRules": L{M{
				"apiGroups": L{""}, "apiVersions": L{"v1"}, "operations": L{"UPDATE"}, "resources": L{"pods/resize"}}}},
			"validations": L{M{"expression": "object.metadata.name != 'db-1'", "message": "db-1 is not to be touched"}}}})
	t.Apply(M{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
		"metadata": M{"name": "e2e-in-place", "labels": M{"e2e": t.Name}},
		"spec":     M{"policyName": "e2e-in-place", "validationActions": L{"Deny"}}})
	clean := func() {
		_, _ = t.ctl.Run("", "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", "e2e-in-place", "--ignore-not-found")
	}
	defer clean()
	t.Eventually("the policy denies", soon, func() error {
		_, err := t.Patch(t.path("pods", "db-1")+"/resize?dryRun=All", L{M{"op": "replace",
			"path": "/spec/containers/0/resources/requests/cpu", "value": "1"}})
		if err == nil {
			return fmt.Errorf("it does not")
		}
		return nil
	})
	t.Profile(quick("InPlace"))
	cpu, _ := targets(usedCPU, usedMemory)
	t.applies("statefulset-db", "False", "ResizeRefused", "db-1 is not to be touched")
	for _, p := range t.Pods("db") {
		want := cpu
		if p.Name() == "db-1" {
			want = "2"
		}
		if got := podRequest(p, "app", "cpu"); got != want {
			t.Fatalf("pod %s asks for %s, not %s", p.Name(), got, want)
		}
	}
	clean()
	t.Eventually("it is tried again", soon, func() error { return t.podsAsk("db", "app", "cpu", cpu, 3) })
}

// A pod without owner is its own template: it is annotated before it is resized, and its original stands for good.
func inPlaceBare(t *T) {
	t.Namespace()
	profile := quick("InPlace")
	profile["dimension"] = "Pod"
	t.Profile(profile)
	meta := t.meta("alone")
	tmpl := template("alone", app(usedCPU, usedMemory))
	meta["annotations"] = tmpl["metadata"].(M)["annotations"]
	made := t.Create("pods", M{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": tmpl["spec"]})
	cpu, memory := targets(usedCPU, usedMemory)
	t.resized("alone", 1, cpu, memory)
	judge := func() {
		p, err := t.Get(t.path("pods", "alone"))
		t.Check(err)
		before := kube.Parse(p.Annotation(originals))
		if p.UID() != made.UID() || before.Text("app", "requests", "cpu") != "2" || before.Text("app", "requests", "memory") != "1Gi" {
			t.Fatalf("the pod is %s", p.Object("metadata"))
		}
		t.Check(t.podsAsk("alone", "app", "cpu", cpu, 1))
	}
	judge()
	rec := t.applies("pod-alone", "True", "UpToDate", "")
	if got := rec.Named("app", "status", "containers").Text("cpu", "original"); got != "2" {
		t.Fatalf("the original became %s", got)
	}
	t.Cycles(t.halflife, 2)
	judge()
	profile["resources"] = M{"cpu": M{"multiplier": "1"}, "memory": M{"enabled": true}}
	t.Profile(profile)
	cpu = model.CPU.Text(model.CPU.Model(usedCPU))
	t.resized("alone", 1, cpu, memory)
	judge()
}

// Killed in the middle of many resizes, and started again: the same end.
func inPlaceRestart(t *T) {
	t.Namespace()
	const pods = 60
	profile := quick("Recommend")
	t.Profile(profile)
	h := t.own("--api-rate=20")
	t.Apply(t.deployment("web", pods, app(usedCPU, usedMemory)))
	t.Eventually("they run", soon, func() error { return t.podsAsk("web", "app", "cpu", "2", pods) })
	t.RecIn("deployment-web", "Ready", soon)
	before := t.uids("web")
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	cpu, memory := targets(usedCPU, usedMemory)
	done := func() int {
		n := 0
		for _, p := range t.Pods("web") {
			if podRequest(p, "app", "cpu") == cpu {
				n++
			}
		}
		return n
	}
	t.Eventually("some are resized", soon, func() error {
		if n := done(); n == 0 {
			return fmt.Errorf("none is")
		}
		return nil
	})
	h.Signal(syscall.SIGKILL)
	_, err := h.Wait(30 * time.Second)
	t.Check(err)
	killed := done()
	if killed == pods {
		t.Fatalf("all %d were resized before it was killed", pods)
	}
	t.Check(h.Start())
	t.resized("web", pods, cpu, memory)
	t.same("web", before)
	t.applies("deployment-web", "True", "UpToDate", "")
	t.generation("deployments", "web", 1)
	for _, p := range t.Pods("web") {
		if kube.Parse(p.Annotation(originals)).Text("app", "requests", "cpu") != "2" {
			t.Fatalf("pod %s is not annotated with its original: %s", p.Name(), p.Object("metadata", "annotations"))
		}
	}
	t.Notef("killed with %d of %d pods resized", killed, pods)
}

// uses makes container app of a pod use so much memory from now on.
func (t *T) uses(pod string, bytes int64) {
	_, err := t.Merge(t.path("pods", pod), M{"metadata": M{"annotations": M{"usage.halflife.dev/memory.app": fmt.Sprint(bytes)}}})
	t.Check(err)
}

// Memory that climbs past the request is asked for at once, in that pod alone, whatever the cooldown says; never more than
// the original; and it stands.
func raise(t *T) {
	t.Namespace()
	profile := quick("InPlace")
	profile["apply"].(M)["raise"] = M{"after": "1m", "most": "100"}
	t.Profile(profile)
	t.Apply(t.workload("StatefulSet", "db", 3, app(usedCPU, usedMemory)))
	cpu, memory := targets(usedCPU, usedMemory)
	t.resized("db", 3, cpu, memory)
	t.uses("db-0", 400*mi)
	t.uses("db-1", 1500*mi)
	asks := func(pod, want string) {
		t.Eventually(pod+" asks for "+want, soon, func() error {
			p, err := t.Get(t.path("pods", pod))
			if err != nil {
				return err
			}
			if got := podRequest(p, "app", "memory"); got != want {
				return fmt.Errorf("it asks for %s", got)
			}
			if want != memory && p.Annotation("halflife.dev/raised") == "" {
				return fmt.Errorf("it does not tell that it was raised: %s", p.Object("metadata", "annotations"))
			}
			return nil
		})
	}
	asks("db-0", "440Mi")
	asks("db-1", "1Gi")
	asks("db-2", memory)
	t.Cycles(t.halflife, 2)
	asks("db-0", "440Mi")
	asks("db-1", "1Gi")
	rec, err := t.Rec("statefulset-db")
	t.Check(err)
	if got := rec.Named("app", "status", "applied", "containers").Text("memory"); got != memory {
		t.Fatalf("the setting became %s", got)
	}
}
