package scenario

import (
	"fmt"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// A request that another manager's server-side apply owns is never patched, so that its next apply finds no conflict.
func contestedByApply(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Rollout"))
	manifest := t.NewDeployment("web", 2, stage.App())
	apply := func() {
		t.CtlIn(kube.Object(manifest).String(), "apply", "--server-side", "--field-manager=helm", "-f", "-")
	}
	apply()
	rec := t.WaitHeld("deployment-web", "Contested", "")
	t.Check(stage.CheckCondition(rec, "Contested", "True", "helm"))
	t.Cycles(t.Learner, 2)
	t.CheckGeneration("deployments", "web", 1)
	stage.FindContainer(kube.Object(manifest).Object("spec", "template", "spec"), "app")["image"] = "registry.invalid/app:2"
	apply()
	t.Cycles(t.Learner, 2)
	t.CheckGeneration("deployments", "web", 2)
}

// A policy that makes another value of ours is contested, once: no loop of patches.
func contestedByPolicy(t *stage.T) {
	t.Namespace()
	defer alterDeployments(t, "e2e-round", "object.spec.template.spec.containers[0].resources.requests['cpu'] != '2'",
		`op: "replace", path: "/spec/template/spec/containers/0/resources/requests/cpu", value: "500m"`)()
	t.Apply(t.NewDeployment("probe", 0, stage.App()))
	t.Eventually("the policy rounds", stage.Soon, func() error {
		o, err := t.Patch(t.Path("deployments", "probe"), L{M{"op": "replace",
			"path": "/spec/template/spec/containers/0/resources/requests/cpu", "value": "600m"}})
		if err != nil {
			return err
		}
		if got := stage.Requested(o, "app", "cpu"); got != "500m" {
			return fmt.Errorf("600m came back as %s", got)
		}
		return nil
	})
	t.Profile(stage.QuickProfile("Rollout"))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.RecWhen("deployment-web", "contested by admission", stage.Soon, func(r kube.Object) error {
		return stage.CheckCondition(r, "Contested", "True", "500m")
	})
	rec := t.WaitHeld("deployment-web", "Contested", "")
	if got := rec.Named("app", "status", "containers").Text("cpu", "original"); got != "2" {
		t.Fatalf("the original is %s, not 2", got)
	}
	t.Cycles(t.Learner, 3)
	t.CheckGeneration("deployments", "web", 2)
}

// A LimitRange's minimum raises the target; where it is not below the original, the original stands.
func limitRange(t *stage.T) {
	t.Namespace()
	t.Create("limitranges", M{"apiVersion": "v1", "kind": "LimitRange", "metadata": t.Meta("least"),
		"spec": M{"limits": L{M{"type": "Container", "min": M{"cpu": "600m"}}}}})
	t.Profile(stage.QuickProfile("Rollout"))
	t.Apply(t.NewDeployment("above", 2, stage.App()))
	small := stage.App()
	small.Requests = M{"cpu": "600m", "memory": "1Gi"}
	t.Apply(t.NewDeployment("at", 2, small))
	t.Eventually("the pods ask for the minimum", stage.Soon, func() error { return t.PodsAsk("above", "app", "cpu", "600m", 2) })
	cpu := t.RecIn("deployment-at", "Ready", stage.Soon).Named("app", "status", "containers").Object("cpu")
	if cpu.Text("reason") != "LimitRange" || cpu.Text("target") != "600m" {
		t.Fatalf("at the minimum: %s", cpu)
	}
	if got := stage.Requested(t.Workload("deployments", "at"), "app", "cpu"); got != "600m" {
		t.Fatalf("the request at the minimum became %s", got)
	}
}

// keepGuaranteed leaves a Guaranteed pod alone; without it the pod is lowered, and a condition says what that costs.
func guaranteed(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Rollout"))
	keep := stage.QuickProfile("Rollout")
	keep["priority"] = 10
	keep["selector"] = M{"matchLabels": M{"keep": "yes"}}
	keep["apply"].(M)["keepGuaranteed"] = true
	t.ProfileNamed("e2e-guaranteed-keep", keep)
	even := stage.App()
	even.Limits = even.Requests
	kept := t.NewDeployment("kept", 2, even)
	kept["metadata"].(M)["labels"].(M)["keep"] = "yes"
	t.Apply(kept)
	t.Apply(t.NewDeployment("let-go", 2, even))
	cpu, _ := stage.Targets()
	t.Eventually("the pod is lowered", stage.Soon, func() error { return t.PodsAsk("let-go", "app", "cpu", cpu, 2) })
	t.RecWhen("deployment-let-go", "QoSChanges", stage.Soon, func(r kube.Object) error {
		return stage.CheckCondition(r, "QoSChanges", "True", "")
	})
	rec := t.RecIn("deployment-kept", "Ready", stage.Soon)
	if got := rec.Named("app", "status", "containers").Text("cpu", "reason"); got != "QoS" {
		t.Fatalf("reason of the kept one is '%s', not QoS", got)
	}
	t.Cycles(t.Learner, 2)
	t.CheckGeneration("deployments", "kept", 1)
	if pod := t.Pods("kept")[0]; pod.Text("status", "qosClass") != "Guaranteed" {
		t.Fatalf("the kept pod is %s", pod.Text("status", "qosClass"))
	}
}

// A workload that belongs to an operator's object is the operator's to change.
func managed(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Rollout"))
	t.Apply(M{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": M{"name": "databases.example.com"}, "spec": M{"group": "example.com", "scope": "Namespaced",
			"names": M{"plural": "databases", "singular": "database", "kind": "Database"},
			"versions": L{M{"name": "v1", "served": true, "storage": true, "schema": M{"openAPIV3Schema": M{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}})
	t.Served("databases.example.com")
	defer func() { _, _ = t.Kubectl.Run("", "delete", "crd", "databases.example.com", "--wait=false") }()
	var db kube.Object
	t.Eventually("the operator's object", stage.Soon, func() (err error) {
		db, err = t.Post("/apis/example.com/v1/namespaces/"+t.NS+"/databases",
			M{"apiVersion": "example.com/v1", "kind": "Database", "metadata": M{"name": "orders"}})
		return err
	})
	object := t.NewDeployment("orders", 2, stage.App())
	object["metadata"].(M)["ownerReferences"] = L{M{"apiVersion": "example.com/v1", "kind": "Database", "name": "orders",
		"uid": db.UID(), "controller": true}}
	t.Apply(object)
	rec := t.WaitHeld("deployment-orders", "Managed", "")
	t.Check(stage.CheckCondition(rec, "Managed", "True", "orders"))
	t.Cycles(t.Learner, 2)
	t.CheckGeneration("deployments", "orders", 1)
}

// The annotation of a workload beats every profile: recommended for, never changed.
func optOut(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Rollout"))
	optedOut(t, M{"halflife.dev/apply": "Never"})
}

// So does that of the namespace.
func optOutNamespace(t *stage.T) {
	t.Namespace("halflife.dev/apply", "Never")
	t.Profile(stage.QuickProfile("Rollout"))
	optedOut(t, M{})
}

func optedOut(t *stage.T, annotations M) {
	object := t.NewDeployment("web", 2, stage.App())
	object["metadata"].(M)["annotations"] = annotations
	t.Apply(object)
	rec := t.WaitHeld("deployment-web", "OptedOut", "")
	cpu, _ := stage.Targets()
	if got := rec.Named("app", "status", "containers").Text("cpu", "target"); got != cpu {
		t.Fatalf("the target is %s, not %s: a hold must not change it", got, cpu)
	}
	t.Cycles(t.Learner, 2)
	t.CheckGeneration("deployments", "web", 1)
}

// A profile deleted after a change leaves the value and keeps the recommendation, Held; one that changed nothing takes
// its recommendation along.
func orphaned(t *stage.T) {
	t.Namespace()
	t.KeepCycles()
	t.Profile(stage.QuickProfile("Rollout"))
	untouched := t.NewDeployment("untouched", 2, stage.App())
	untouched["metadata"].(M)["annotations"] = M{"halflife.dev/apply": "Never"}
	t.Apply(untouched)
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	cpu, _ := stage.Targets()
	t.Eventually("the pods are lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	t.RecIn("deployment-untouched", "Ready", stage.Soon)
	t.Ctl("delete", "clusterprofile", "e2e-orphaned")
	t.RecIn("deployment-web", "Held", stage.Soon)
	t.WaitHeld("deployment-web", "Orphaned", "")
	t.Eventually("the recommendation of the untouched one goes", stage.Soon, func() error {
		if _, err := t.Rec("deployment-untouched"); kube.Code(err) != 404 {
			return fmt.Errorf("it is still there (%v)", err)
		}
		return nil
	})
	t.Cycles(t.Learner, 2)
	t.CheckGeneration("deployments", "web", 2)
	t.Check(t.PodsAsk("web", "app", "cpu", cpu, 2))
}

// What cannot roll out now is not patched: too few replicas, paused, OnDelete, Recreate.
func blocked(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Rollout")
	profile["apply"].(M)["minReplicas"] = 2
	t.Profile(profile)
	few := t.NewDeployment("few", 1, stage.App())
	paused := t.NewDeployment("paused", 2, stage.App())
	recreate := t.NewDeployment("recreate", 2, stage.App())
	recreate["spec"].(M)["strategy"] = M{"type": "Recreate"}
	onDelete := t.NewWorkload("StatefulSet", "ondelete", 2, stage.App())
	onDelete["spec"].(M)["updateStrategy"] = M{"type": "OnDelete"}
	for _, o := range []M{few, paused, recreate, onDelete} {
		t.Apply(o)
	}
	t.Eventually("the paused one has its pods", stage.Soon, func() error { return t.PodsAsk("paused", "app", "cpu", "2", 2) })
	t.Ctl("-n", t.NS, "rollout", "pause", "deployment/paused")
	for _, rec := range []string{"deployment-few", "deployment-recreate", "statefulset-ondelete", "deployment-paused"} {
		t.WaitHeld(rec, "RolloutBlocked", "")
	}
	t.Cycles(t.Learner, 2)
	t.CheckGeneration("deployments", "few", 1)
	t.CheckGeneration("deployments", "recreate", 1)
	t.CheckGeneration("statefulsets", "ondelete", 1)
	t.Ctl("-n", t.NS, "scale", "deployment/few", "--replicas=2")
	cpu, _ := stage.Targets()
	t.Eventually("with enough replicas it is lowered", stage.Soon, func() error { return t.PodsAsk("few", "app", "cpu", cpu, 2) })
}
