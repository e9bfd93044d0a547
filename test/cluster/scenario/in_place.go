package scenario

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// reportResize says of a pod's resize what a real one would; "" ends it.
func reportResize(t *stage.T, pod, kind, reason, message string) {
	p, err := t.Get(t.Path("pods", pod))
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
	_, err = t.Merge(t.Path("pods", pod)+"/status", M{"status": M{"conditions": conditions}})
	t.Check(err)
}

// Running pods are resized, and nothing restarts; limits and template stay; what they asked for is recorded first. New
// pods come with the same, scaled up or rolled out; and without the reason the originals are back, with no trace of us.
func inPlace(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Recommend")
	t.Profile(profile)
	t.Apply(t.NewDeployment("web", 3, stage.App()))
	t.Apply(t.NewWorkload("StatefulSet", "db", 2, stage.App()))
	t.Eventually("they run", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", "2", 3) })
	t.Eventually("they run", stage.Soon, func() error { return t.PodsAsk("db", "app", "cpu", "2", 2) })
	web, db := t.UIDs("web"), t.UIDs("db")
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	cpu, memory := stage.Targets()
	t.WaitResized("web", 3, cpu, memory)
	t.WaitResized("db", 2, cpu, memory)
	t.CheckSamePods("web", web)
	t.CheckSamePods("db", db)
	for _, p := range append(t.Pods("web"), t.Pods("db")...) {
		limits := stage.FindContainer(p.Object("spec"), "app").Object("resources", "limits")
		if limits.Text("cpu") != "4" || limits.Text("memory") != "2Gi" {
			t.Fatalf("the limits of pod %s are %s", p.Name(), limits)
		}
		before, now := kube.Parse(p.Annotation(stage.OriginalsAnnotation)), kube.Parse(p.Annotation(stage.AppliedAnnotation))
		if before.Text("app", "requests", "cpu") != "2" || before.Text("app", "limits", "memory") != "2Gi" ||
			now.Text("app", "requests", "cpu") != cpu || now.Text("app", "requests", "memory") != memory {
			t.Fatalf("the annotations of pod %s are %s", p.Name(), p.Object("metadata", "annotations"))
		}
	}
	rec := t.WaitApplied("deployment-web", "True", "UpToDate", "")
	if rec.Text("status", "applied", "mode") != "InPlace" ||
		rec.Named("app", "status", "applied", "containers").Text("cpu") != cpu {
		t.Fatalf("status.applied is %s", rec.Object("status", "applied"))
	}
	t.CheckGeneration("deployments", "web", 1)
	t.CheckGeneration("statefulsets", "db", 1)

	t.Ctl("-n", t.NS, "scale", "deployment/web", "--replicas=5")
	t.Eventually("new ones come with the same", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 5) })
	for _, p := range t.Pods("web") {
		if web[p.Name()] == "" && p.Generation() > 1 && !t.BlameUnknown() {
			t.Fatalf("pod %s was not admitted with it, but resized", p.Name())
		}
	}
	t.Ctl("-n", t.NS, "rollout", "restart", "statefulset/db")
	t.Eventually("successors come with the same", stage.Soon, func() error {
		if len(t.Pods("db")) == 2 {
			for name, uid := range t.UIDs("db") {
				if db[name] == uid {
					return fmt.Errorf("%s is still the old one", name)
				}
			}
		}
		return t.PodsAsk("db", "app", "cpu", cpu, 2)
	})

	t.Create("horizontalpodautoscalers", M{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
		"metadata": t.Meta("db"), "spec": M{"minReplicas": 2, "maxReplicas": 2,
			"scaleTargetRef": M{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"},
			"metrics": L{M{"type": "Resource", "resource": M{"name": "cpu",
				"target": M{"type": "Utilization", "averageUtilization": 70}}}}}})
	t.WaitResized("db", 2, "2", memory)
	t.Check(t.Delete(t.Path("horizontalpodautoscalers", "db")))
	t.WaitResized("db", 2, cpu, memory)
}

// A Guaranteed pod cannot leave its class: it stays, its successor comes with the value; under keepGuaranteed neither.
func inPlaceGuaranteed(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Recommend")
	t.Profile(profile)
	fixed := stage.Container{Name: "app", Requests: M{"cpu": "2", "memory": "1Gi"}, Limits: M{"cpu": "2", "memory": "1Gi"},
		CPU: stage.UsedCPU, Memory: stage.UsedMemory}
	t.Apply(t.NewWorkload("StatefulSet", "db", 2, fixed))
	keeps := t.NewWorkload("StatefulSet", "keeps", 1, fixed)
	keeps["metadata"].(M)["labels"].(M)["keep"] = "yes"
	t.Apply(keeps)
	t.Eventually("they run", stage.Soon, func() error { return t.PodsAsk("db", "app", "cpu", "2", 2) })
	keep := stage.QuickProfile("InPlace") // before the other goes over to it, which would set it as well
	keep["apply"].(M)["keepGuaranteed"] = true
	keep["selector"], keep["priority"] = M{"matchLabels": M{"keep": "yes"}}, 10
	t.ProfileNamed("e2e-in-place-keeps", keep)
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	t.WaitApplied("statefulset-db", "False", "QoS", "2 of 2 pods")
	t.Check(t.PodsAsk("db", "app", "cpu", "2", 2))
	cpu, _ := stage.Targets()
	t.Check(t.Delete(t.Path("pods", "db-1")))
	t.Eventually("the successor comes with it", stage.Soon, func() error {
		p, err := t.Get(t.Path("pods", "db-1"))
		if err != nil {
			return err
		}
		if got := stage.PodRequested(p, "app", "cpu"); got != cpu {
			return fmt.Errorf("it asks for %s", got)
		}
		return nil
	})
	t.WaitApplied("statefulset-db", "False", "QoS", "1 of 2 pods")
	kept := t.RecIn("statefulset-keeps", "Ready", stage.Soon)
	if got := kept.Named("app", "status", "containers").Text("cpu", "reason"); got != "QoS" {
		t.Fatalf("reason under keepGuaranteed is '%s', not QoS", got)
	}
	t.Check(t.PodsAsk("keeps", "app", "cpu", "2", 1))
}

// The kubelet's verdict is followed: what waits, what never fits, what fails, each told, once; the pod stays, and the next
// setting tries again.
func inPlaceRefused(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("InPlace")
	t.Profile(profile)
	t.Apply(t.NewWorkload("StatefulSet", "db", 3, stage.App()))
	cpu, memory := stage.Targets()
	t.WaitResized("db", 3, cpu, memory)
	t.WaitApplied("statefulset-db", "True", "UpToDate", "")
	reportResize(t, "db-0", "PodResizePending", "Deferred", "Node didn't have enough resource: cpu")
	t.WaitApplied("statefulset-db", "False", "Deferred", "Node didn't have enough resource")
	reportResize(t, "db-1", "PodResizePending", "Infeasible", "Node didn't have enough capacity: cpu")
	t.WaitApplied("statefulset-db", "False", "Infeasible", "1 of 3 pods")
	t.Cycles(t.Learner, 2)
	reportResize(t, "db-0", "", "", "")
	t.WaitApplied("statefulset-db", "False", "Infeasible", "capacity")
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
	before := t.UIDs("db")
	profile["resources"] = M{"cpu": M{"multiplier": "1"}, "memory": M{"enabled": true}}
	t.Profile(profile)
	t.WaitResized("db", 3, model.CPU.Text(model.CPU.Model(stage.UsedCPU)), memory)
	reportResize(t, "db-1", "", "", "")
	t.WaitApplied("statefulset-db", "True", "UpToDate", "")
	t.CheckSamePods("db", before)
}

// What the API server itself refuses is told in its words, and tried again; the other pods are resized meanwhile.
func inPlaceQuota(t *stage.T) {
	t.Namespace()
	t.Apply(t.NewWorkload("StatefulSet", "db", 3, stage.App()))
	t.Eventually("they run", stage.Soon, func() error { return t.PodsAsk("db", "app", "cpu", "2", 3) })
	t.Apply(M{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
		"metadata": M{"name": "e2e-in-place", "labels": M{"e2e": t.Name}}, "spec": M{"failurePolicy": "Fail",
			"matchConstraints": M{"namespaceSelector": M{"matchLabels": M{"e2e": t.Name}}, "resourceRules": L{M{
				"apiGroups": L{""}, "apiVersions": L{"v1"}, "operations": L{"UPDATE"}, "resources": L{"pods/resize"}}}},
			"validations": L{M{"expression": "object.metadata.name != 'db-1'", "message": "db-1 is not to be touched"}}}})
	t.Apply(M{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
		"metadata": M{"name": "e2e-in-place", "labels": M{"e2e": t.Name}},
		"spec":     M{"policyName": "e2e-in-place", "validationActions": L{"Deny"}}})
	clean := func() {
		_, _ = t.Kubectl.Run("", "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", "e2e-in-place", "--ignore-not-found")
	}
	defer clean()
	t.Eventually("the policy denies", stage.Soon, func() error {
		_, err := t.Patch(t.Path("pods", "db-1")+"/resize?dryRun=All", L{M{"op": "replace",
			"path": "/spec/containers/0/resources/requests/cpu", "value": "1"}})
		if err == nil {
			return fmt.Errorf("it does not")
		}
		return nil
	})
	t.Profile(stage.QuickProfile("InPlace"))
	cpu, _ := stage.Targets()
	t.WaitApplied("statefulset-db", "False", "ResizeRefused", "db-1 is not to be touched")
	for _, p := range t.Pods("db") {
		want := cpu
		if p.Name() == "db-1" {
			want = "2"
		}
		if got := stage.PodRequested(p, "app", "cpu"); got != want {
			t.Fatalf("pod %s asks for %s, not %s", p.Name(), got, want)
		}
	}
	clean()
	t.Eventually("it is tried again", stage.Soon, func() error { return t.PodsAsk("db", "app", "cpu", cpu, 3) })
}

// A pod without owner is its own template: it is annotated before it is resized, and its original stands for good.
func inPlaceBare(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("InPlace")
	profile["dimension"] = "Pod"
	t.Profile(profile)
	meta := t.Meta("alone")
	tmpl := stage.PodTemplate("alone", stage.App())
	meta["annotations"] = tmpl["metadata"].(M)["annotations"]
	made := t.Create("pods", M{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": tmpl["spec"]})
	cpu, memory := stage.Targets()
	t.WaitResized("alone", 1, cpu, memory)
	judge := func() {
		p, err := t.Get(t.Path("pods", "alone"))
		t.Check(err)
		before := kube.Parse(p.Annotation(stage.OriginalsAnnotation))
		if p.UID() != made.UID() || before.Text("app", "requests", "cpu") != "2" || before.Text("app", "requests", "memory") != "1Gi" {
			t.Fatalf("the pod is %s", p.Object("metadata"))
		}
		t.Check(t.PodsAsk("alone", "app", "cpu", cpu, 1))
	}
	judge()
	rec := t.WaitApplied("pod-alone", "True", "UpToDate", "")
	if got := rec.Named("app", "status", "containers").Text("cpu", "original"); got != "2" {
		t.Fatalf("the original became %s", got)
	}
	t.Cycles(t.Learner, 2)
	judge()
	profile["resources"] = M{"cpu": M{"multiplier": "1"}, "memory": M{"enabled": true}}
	t.Profile(profile)
	cpu = model.CPU.Text(model.CPU.Model(stage.UsedCPU))
	t.WaitResized("alone", 1, cpu, memory)
	judge()
}

// Killed in the middle of many resizes, and started again: the same end.
func inPlaceRestart(t *stage.T) {
	t.Namespace()
	const pods = 60
	profile := stage.QuickProfile("Recommend")
	t.Profile(profile)
	h := t.StartOwn("--api-rate=20")
	t.Apply(t.NewDeployment("web", pods, stage.App()))
	t.Eventually("they run", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", "2", pods) })
	t.RecIn("deployment-web", "Ready", stage.Soon)
	before := t.UIDs("web")
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	cpu, memory := stage.Targets()
	done := func() int {
		n := 0
		for _, p := range t.Pods("web") {
			if stage.PodRequested(p, "app", "cpu") == cpu {
				n++
			}
		}
		return n
	}
	t.Eventually("some are resized", stage.Soon, func() error {
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
	t.WaitResized("web", pods, cpu, memory)
	t.CheckSamePods("web", before)
	t.WaitApplied("deployment-web", "True", "UpToDate", "")
	t.CheckGeneration("deployments", "web", 1)
	for _, p := range t.Pods("web") {
		if kube.Parse(p.Annotation(stage.OriginalsAnnotation)).Text("app", "requests", "cpu") != "2" {
			t.Fatalf("pod %s is not annotated with its original: %s", p.Name(), p.Object("metadata", "annotations"))
		}
	}
	t.Notef("killed with %d of %d pods resized", killed, pods)
}
