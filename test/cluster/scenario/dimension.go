package scenario

import (
	"fmt"
	"time"

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

// nodeRec waits until judge accepts the recommendation of a node, which is in halflife's own namespace, and returns it.
func nodeRec(t *stage.T, node, what string, limit time.Duration, judge func(kube.Object) error) kube.Object {
	var last kube.Object
	t.Eventually("node-"+node+": "+what, limit, func() error {
		r, err := t.Get(fmt.Sprintf("%s/namespaces/%s/recommendations/node-%s", stage.APIPath, stage.OwnNamespace, node))
		if err != nil {
			return err
		}
		last = r
		return judge(r)
	})
	return last
}

// nodeSays compares what is published of a node with what must be, in millicores and bytes; peak: of CPU.
func nodeSays(r kube.Object, n *stage.PlayedNode, original, requested amounts, peak int64) error {
	if got := r.Text("status", "state"); got != "Ready" {
		return fmt.Errorf("state is '%s': %s", got, r.Object("status"))
	}
	cpu, memory := n.ForPods()
	allocatable := amounts{cpu, memory}
	for i, name := range resourceNames {
		of := r.Object("status", "node", name)
		for _, x := range []struct {
			key  string
			want int64
		}{
			{"capacity", amounts{n.CPU, n.Memory}[i]}, {"allocatable", allocatable[i]}, {"original", original[i]}, {"requested", requested[i]},
		} {
			if got := amountAt(of, i, x.key); got != x.want {
				return fmt.Errorf("%s of %s is %d, not %d: %s", x.key, name, got, x.want, of)
			}
		}
		if got, want := of.Int("packingPercent"), requested[i]*100/allocatable[i]; got != want {
			return fmt.Errorf("packing of %s is %d, not %d: %s", name, got, want, of)
		}
	}
	row := r.Named(whole, "status", "containers").Object("cpu")
	if got := amountAt(r.Object("status", "node", "cpu"), 0, "peak"); got < peak || got > peak*106/100 || got != amountAt(row, 0, "model") {
		return fmt.Errorf("the peak is %d, not %d: %s", got, peak, r.Object("status"))
	}
	return nil
}

// A node as a whole: what all pods on it use together, of whichever namespace and with the overhead of their RuntimeClass,
// against what they request and what the node has. Pods that come write nothing, a size does; what is learned outlives a
// restart, and not another machine. It goes with its profile, and nothing is written to the node.
func dimensionNode(t *stage.T) {
	const each, gi = 123, 1024 * stage.Mi
	t.Namespace()
	other := t.In("other")
	s := startNodesLearner(t)
	t.Account("all")
	token := t.Token("all", "--duration=2h")
	defer t.ClusterRole("all", M{"apiGroups": L{""}, "resources": L{"nodes"}, "verbs": L{"list"}}, stage.ReadRule("list"))()
	n := &stage.PlayedNode{Name: "dimension-node", Pool: "learned", CPU: 16000, Memory: 16 * gi, UsedCPU: 1000, UsedMemory: 4 * gi}
	beside := &stage.PlayedNode{Name: "dimension-node-beside", Pool: "other", CPU: 16000, Memory: 16 * gi, UsedCPU: 1000, UsedMemory: 4 * gi}
	t.StartNode(n)
	t.StartNode(beside)
	mark := t.Audit.Mark()
	_, err := t.Post("/apis/node.k8s.io/v1/runtimeclasses", M{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass",
		"metadata": M{"name": "dimension-node", "labels": M{"e2e": t.Name}}, "handler": "any", "overhead": M{"podFixed": M{"cpu": "250m", "memory": "160Mi"}}})
	t.Check(err)
	defer func() { _ = t.Delete("/apis/node.k8s.io/v1/runtimeclasses/dimension-node") }()
	app := func() stage.Container { return stage.AppUsing(each, stage.UsedMemory) }
	t.Apply(stage.PinnedTo(t.NewDeployment("web", 2, app()), n.Name))
	sandboxed := stage.PinnedTo(other.NewDeployment("sandboxed", 1, app()), n.Name)
	sandboxed["spec"].(M)["template"].(M)["spec"].(M)["runtimeClassName"] = "dimension-node"
	other.Apply(sandboxed)
	nodes := of("Node", "Recommend")
	nodes["selector"] = M{"matchLabels": M{"pool": "learned"}}
	profile := M{"apiVersion": "halflife.dev/v1beta1", "kind": "ClusterProfile",
		"metadata": M{"name": "e2e-dimension-node", "labels": M{"e2e": t.Name}}, "spec": nodes}
	t.Apply(profile)
	t.WaitMatched("/clusterprofiles/e2e-dimension-node", 1)
	asks := func(pods int64) amounts { // each asks for two cores and 1Gi, and one has an overhead
		return amounts{pods*2000 + 250, pods*gi + 160*stage.Mi}
	}
	r := nodeRec(t, n.Name, "the sum of three pods", 2*stage.Soon, func(r kube.Object) error {
		return nodeSays(r, n, asks(3), asks(3), 3*each)
	})
	if kind := r.Text("spec", "targetRef", "kind") + " of " + r.Text("spec", "dimension") + " in " + r.Text("metadata", "labels", "pool"); kind != "Node of Node in learned" {
		t.Fatalf("the target is a %s", kind)
	}
	t.Check(stage.CheckCondition(r, "Applied", "False", "halflife writes nothing to nodes"))

	// One more pod is told live, and not written.
	t.Apply(stage.PinnedTo(t.NewDeployment("more", 1, stage.AppUsing(1, stage.UsedMemory)), n.Name))
	t.Eventually("REST tells the pod", stage.Soon, func() error {
		list, err := s.list(token, "?labelSelector=pool%3Dlearned")
		if err != nil {
			return err
		}
		item := itemOf(list, n.Name)
		if item.Int("pods") != 4 || amountAt(item.Object("cpu"), 0, "requested") != asks(4)[0] || amountAt(item.Object("cpu"), 0, "peak") < 3*each {
			return fmt.Errorf("it is %s", item)
		}
		return nil
	})
	t.Cycles(t.Learner, 2)
	same := nodeRec(t, n.Name, "unwritten", stage.Soon, func(kube.Object) error { return nil })
	if r.Text("metadata", "resourceVersion") != same.Text("metadata", "resourceVersion") {
		t.Fatalf("a pod that comes has it written: %s became %s", r.Object("status"), same.Object("status"))
	}

	// Another process goes on with what was learned, and says nothing new.
	if code, _, err := t.Learner.Terminate(); code != 0 || err != nil {
		t.Fatalf("SIGTERM: exit code %d (%v)", code, err)
	}
	t.Check(t.Learner.Start())
	t.Cycles(t.Learner, 3)
	again := nodeRec(t, n.Name, "as before", stage.Soon, func(kube.Object) error { return nil })
	if again.Text("status", "firstSample") != r.Text("status", "firstSample") {
		t.Fatalf("after a restart %s became %s", r.Object("status"), again.Object("status"))
	}

	// Another machine learns anew, and its size is written at once.
	t.ResizeNode(n, 32000, 32*gi)
	nodeRec(t, n.Name, "another machine", stage.Soon, func(r kube.Object) error {
		if r.Text("status", "firstSample") == again.Text("status", "firstSample") {
			return fmt.Errorf("it goes on: %s", r.Object("status"))
		}
		return nodeSays(r, n, asks(4), asks(4), 3*each)
	})
	for _, request := range t.Audit.Since(mark, stage.LearnerUser) {
		if request.Object.Resource == "nodes" && request.Verb != "get" && request.Verb != "list" && request.Verb != "watch" {
			t.Fatalf("it writes to a node: %s %s", request.Verb, request.URI)
		}
	}

	// A deleted node keeps it for a while; without its profile it goes.
	t.Ctl("delete", "node", n.Name)
	t.Cycles(t.Learner, 2)
	nodeRec(t, n.Name, "kept", stage.Soon, func(kube.Object) error { return nil })
	t.Ctl("delete", "clusterprofile", "e2e-dimension-node")
	n.UsedCPU = 500
	t.StartNode(n)
	t.Eventually("it goes with its profile", stage.Soon, func() error {
		_, err := t.Get(fmt.Sprintf("%s/namespaces/%s/recommendations/node-%s", stage.APIPath, stage.OwnNamespace, n.Name))
		if kube.Code(err) != 404 {
			return fmt.Errorf("it is there still (%v)", err)
		}
		return nil
	})
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
