package scenario

import (
	"fmt"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// whole is what all containers of a pod, or all pods of a namespace, go by together.
const whole = "*"

// of is quick under another dimension than Workload.
func of(dimension, mode string) M {
	p := stage.QuickProfile(mode)
	p["dimension"] = dimension
	return p
}

// row compares one container of a recommendation with what a constant usage of CPU must give.
func row(r kube.Object, name string, cpu, original int64) error {
	if got := r.Text("status", "state"); got != "Ready" {
		return fmt.Errorf("state is '%s': %s", got, r.Object("status"))
	}
	return stage.Expect(model.CPU, model.CPUDefault, cpu, original).Compare(r.Named(name, "status", "containers").Object("cpu"))
}

// sameAfter ends halflife and starts it again: the recommendation goes on with what it knew.
func sameAfter(t *stage.T, name, container string) {
	t.Cycles(t.Learner, 1)
	before, err := t.Rec(name)
	t.Check(err)
	if code, _, err := t.Learner.Terminate(); code != 0 || err != nil {
		t.Fatalf("SIGTERM: exit code %d (%v)", code, err)
	}
	t.Check(t.Learner.Start())
	t.Cycles(t.Learner, 1)
	t.RecWhen(name, "as before", stage.Soon, func(r kube.Object) error {
		was, is := before.Named(container, "status", "containers"), r.Named(container, "status", "containers")
		if r.Text("status", "firstSample") != before.Text("status", "firstSample") ||
			is.Text("cpu", "model") != was.Text("cpu", "model") || is.Text("state") != "Ready" {
			return fmt.Errorf("%s became %s", before.Object("status"), r.Object("status"))
		}
		return nil
	})
}

// A namespace as a whole: the sum of what the selected pods use, against the sum of what they ask for and the
// ResourceQuota; beside a profile for workloads, with which it does not compete; also after a restart.
func dimensionNamespace(t *stage.T) {
	const each = 123
	t.Namespace()
	t.StartOwn()
	t.Create("resourcequotas", M{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": t.Meta("all"),
		"spec": M{"hard": M{"requests.cpu": "20", "requests.memory": "40Gi", "pods": "20"}}})
	namespaces := of("Namespace", "Recommend")
	namespaces["selector"] = M{"matchExpressions": L{M{"key": "app", "operator": "In", "values": L{"db", "web"}}}}
	t.Profile(namespaces)
	t.ProfileNamed("e2e-dimension-namespace-loads", stage.QuickProfile("Recommend"))
	t.Apply(t.NewWorkload("StatefulSet", "db", 2, stage.AppUsing(each, stage.UsedMemory)))
	t.Apply(t.NewDeployment("web", 2, stage.AppUsing(each, stage.UsedMemory)))
	t.Apply(t.NewDeployment("other", 1, stage.AppUsing(each, stage.UsedMemory)))

	name := "namespace-" + t.NS
	r := t.RecWhen(name, "the sum of four pods", stage.Soon, func(r kube.Object) error {
		if used := r.Text("status", "quota", "cpu", "used"); r.Text("status", "quota", "cpu", "hard") != "20" || used != "10" {
			return fmt.Errorf("the quota is %s", r.Object("status", "quota"))
		}
		return row(r, whole, 4*each, 4*2000)
	})
	if kind := r.Text("spec", "targetRef", "kind") + " of " + r.Text("spec", "dimension"); kind != "Namespace of Namespace" {
		t.Fatalf("the target is a %s", kind)
	}
	for _, rec := range []string{"statefulset-db", "deployment-web", "deployment-other"} {
		t.RecIn(rec, "Ready", stage.Soon)
	}
	for profile, matched := range map[string]int64{"e2e-dimension-namespace": 1, "e2e-dimension-namespace-loads": 3} {
		t.WaitMatched("/clusterprofiles/"+profile, matched)
	}
	for _, p := range t.Pods("db") {
		t.Check(t.Delete(t.Path("pods", p.Name()))) // made again at once: no dip that counts
	}
	sameAfter(t, name, whole)
	t.RecWhen(name, "no dip", stage.Soon, func(r kube.Object) error { return row(r, whole, 4*each, 4*2000) })
	t.Ctl("delete", "clusterprofile", "e2e-dimension-namespace")
	t.Eventually("it goes with its profile", stage.Soon, func() error {
		if _, err := t.Rec(name); kube.Code(err) != 404 {
			return fmt.Errorf("it is there still (%v)", err)
		}
		return nil
	})
	t.RecIn("deployment-web", "Ready", stage.Soon)
}

// Each pod of a StatefulSet by its ordinal, and a pod without owner, which gets the value when it is admitted again by the
// same name; what was learned outlives the pods, and a restart.
func dimensionPod(t *stage.T) {
	t.Namespace()
	t.Check(t.InstallWebhooks())
	learner := t.StartOwn(t.RESTSettingsAt(t.FreePort())...)
	replica, err := t.StartServe(t.Name+"-serve", stage.RESTSettings...)
	t.Replica = replica
	t.Check(err)
	t.Check(learner.Alive())
	t.RouteWebhooks(replica)
	t.Profile(of("Pod", "OnDeploy"))
	side := stage.Container{Name: "side", Requests: M{"cpu": "500m", "memory": "64Mi"}, CPU: stage.UsedCPU, Memory: stage.UsedMemory}
	t.Apply(t.NewWorkload("StatefulSet", "db", 2, stage.App(), side))
	t.Create("pods", lone(t))
	for _, name := range []string{"pod-db-0", "pod-db-1"} {
		r := t.RecWhen(name, "its containers, and all together", stage.Soon, func(r kube.Object) error {
			if err := row(r, "app", stage.UsedCPU, 2000); err != nil {
				return err
			}
			return row(r, whole, 2*stage.UsedCPU, 2500)
		})
		if why := r.Named("app", "status", "containers").Text("cpu", "reason"); why != "RecommendOnly" {
			t.Fatalf("%s: the reason is %s", name, why)
		}
	}
	t.RecWhen("pod-lone", "what the pod needs", stage.Soon, func(r kube.Object) error { return row(r, "app", stage.UsedCPU, 2000) })

	cpu, _ := stage.Targets()
	// With a grace period the node alone removes it. KWOK deletes by name: where the server has removed the pod already, it
	// may hit the next one of that name.
	t.Check(t.Delete(t.Path("pods", "lone") + "?gracePeriodSeconds=30"))
	podGone(t, "lone")
	t.Eventually("the webhooks know it", stage.Soon, func() error {
		probe, err := t.Post(t.Path("pods", "")+"?dryRun=All", lone(t))
		if err == nil && stage.PodRequested(probe, "app", "cpu") != cpu {
			err = fmt.Errorf("it would ask for %s", stage.PodRequested(probe, "app", "cpu"))
		}
		return err
	})
	if got := stage.PodRequested(t.Create("pods", lone(t)), "app", "cpu"); got != cpu {
		t.Fatalf("the pod is admitted again with %s, not %s", got, cpu)
	}
	t.RecWhen("pod-lone", "what was applied", stage.Soon, func(r kube.Object) error {
		if by := r.Text("status", "applied", "mode"); by != "OnDeploy" {
			return fmt.Errorf("applied by '%s': %s", by, r.Object("status"))
		}
		return row(r, "app", stage.UsedCPU, 2000)
	})
	sameAfter(t, "pod-lone", "app")
	t.Check(t.Delete(t.Path("pods", "db-0")))
	t.Eventually("the StatefulSet's are as their owner wrote them", stage.Soon, func() error {
		return t.PodsAsk("db", "app", "cpu", "2", 2)
	})
	t.Ctl("-n", t.NS, "scale", "statefulset/db", "--replicas=1")
	podGone(t, "db-1")
	t.Cycles(learner, 2)
	t.RecWhen("pod-db-1", "outlives its pod", stage.Soon, func(r kube.Object) error { return row(r, "app", stage.UsedCPU, 2000) })
}

// lone is a pod that nobody owns.
func lone(t *stage.T) M {
	pod := stage.PodTemplate("lone", stage.App())
	meta := t.Meta("lone")
	meta["annotations"] = pod["metadata"].(M)["annotations"]
	return M{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod["spec"]}
}

// podGone waits until a pod is.
func podGone(t *stage.T, name string) {
	t.Eventually("pod "+name+" is gone", stage.Soon, func() error {
		if _, err := t.Get(t.Path("pods", name)); kube.Code(err) != 404 {
			return fmt.Errorf("it is there still (%v)", err)
		}
		return nil
	})
}
