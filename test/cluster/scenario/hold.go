package scenario

import (
	"fmt"

	"halflife.dev/cluster/kube"
)

func init() {
	shared = append(shared,
		scenario{"contested-apply", contestedByApply}, scenario{"contested-policy", contestedByPolicy},
		scenario{"limitrange", limitRange}, scenario{"guaranteed", guaranteed}, scenario{"managed", managed},
		scenario{"optout", optOut}, scenario{"optout-namespace", optOutNamespace}, scenario{"orphaned", orphaned},
		scenario{"blocked", blocked})
}

// held waits until a recommendation is Ready (or Held) but not applied, for that reason.
func (t *T) held(rec, reason, message string) kube.Object {
	return t.RecWhen(rec, "held by "+reason, soon, func(r kube.Object) error {
		c := r.Condition("Applied")
		if c.Text("status") != "False" || c.Text("reason") != reason {
			return fmt.Errorf("condition Applied is %s, state %s", c, r.Text("status", "state"))
		}
		return condition(r, "Applied", "False", message)
	})
}

// A request that another manager's server-side apply owns is never patched, so that its next apply finds no conflict.
func contestedByApply(t *T) {
	t.Namespace()
	t.Profile(quick("Rollout"))
	manifest := t.deployment("web", 2, app(usedCPU, usedMemory))
	apply := func() {
		t.CtlIn(kube.Object(manifest).String(), "apply", "--server-side", "--field-manager=helm", "-f", "-")
	}
	apply()
	rec := t.held("deployment-web", "Contested", "")
	t.Check(condition(rec, "Contested", "True", "helm"))
	t.Cycles(t.halflife, 2)
	t.generation("deployments", "web", 1)
	container(kube.Object(manifest).Object("spec", "template", "spec"), "app")["image"] = "registry.invalid/app:2"
	apply()
	t.Cycles(t.halflife, 2)
	t.generation("deployments", "web", 2)
}

// A policy that makes another value of ours is contested, once: no loop of patches.
func contestedByPolicy(t *T) {
	t.Namespace()
	cleanPolicy := func() {
		_, _ = t.ctl.Run("", "delete", "mutatingadmissionpolicy,mutatingadmissionpolicybinding", "e2e-round", "--ignore-not-found")
	}
	defer cleanPolicy()
	const kind = "admissionregistration.k8s.io/v1"
	t.Apply(M{"apiVersion": kind, "kind": "MutatingAdmissionPolicy", "metadata": M{"name": "e2e-round"}, "spec": M{
		"reinvocationPolicy": "Never", "failurePolicy": "Fail",
		"matchConstraints": M{
			"namespaceSelector": M{"matchLabels": M{"e2e": t.Name}},
			"resourceRules":     L{M{"apiGroups": L{"apps"}, "apiVersions": L{"v1"}, "operations": L{"UPDATE"}, "resources": L{"deployments"}}},
		},
		"matchConditions": L{M{"name": "not-whole",
			"expression": "object.spec.template.spec.containers[0].resources.requests['cpu'] != '2'"}},
		"mutations": L{M{"patchType": "JSONPatch", "jsonPatch": M{"expression": `[JSONPatch{op: "replace",` +
			`path: "/spec/template/spec/containers/0/resources/requests/cpu", value: "500m"}]`}}},
	}})
	t.Apply(M{"apiVersion": kind, "kind": "MutatingAdmissionPolicyBinding", "metadata": M{"name": "e2e-round"},
		"spec": M{"policyName": "e2e-round"}})
	t.Apply(t.deployment("probe", 0, app(usedCPU, usedMemory)))
	t.Eventually("the policy rounds", soon, func() error {
		o, err := t.Patch(t.path("deployments", "probe"), L{M{"op": "replace",
			"path": "/spec/template/spec/containers/0/resources/requests/cpu", "value": "600m"}})
		if err != nil {
			return err
		}
		if got := request(o, "app", "cpu"); got != "500m" {
			return fmt.Errorf("600m came back as %s", got)
		}
		return nil
	})
	t.Profile(quick("Rollout"))
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	t.RecWhen("deployment-web", "contested by admission", soon, func(r kube.Object) error {
		return condition(r, "Contested", "True", "500m")
	})
	rec := t.held("deployment-web", "Contested", "")
	if got := rec.Named("app", "status", "containers").Text("cpu", "original"); got != "2" {
		t.Fatalf("the original is %s, not 2", got)
	}
	t.Cycles(t.halflife, 3)
	t.generation("deployments", "web", 2)
}

// A LimitRange's minimum raises the target; where it is not below the original, the original stands.
func limitRange(t *T) {
	t.Namespace()
	t.Create("limitranges", M{"apiVersion": "v1", "kind": "LimitRange", "metadata": t.meta("least"),
		"spec": M{"limits": L{M{"type": "Container", "min": M{"cpu": "600m"}}}}})
	t.Profile(quick("Rollout"))
	t.Apply(t.deployment("above", 2, app(usedCPU, usedMemory)))
	small := app(usedCPU, usedMemory)
	small.requests = M{"cpu": "600m", "memory": "1Gi"}
	t.Apply(t.deployment("at", 2, small))
	t.Eventually("the pods ask for the minimum", soon, func() error { return t.podsAsk("above", "app", "cpu", "600m", 2) })
	cpu := t.RecIn("deployment-at", "Ready", soon).Named("app", "status", "containers").Object("cpu")
	if cpu.Text("reason") != "LimitRange" || cpu.Text("target") != "600m" {
		t.Fatalf("at the minimum: %s", cpu)
	}
	if got := request(t.Workload("deployments", "at"), "app", "cpu"); got != "600m" {
		t.Fatalf("the request at the minimum became %s", got)
	}
}

// keepGuaranteed leaves a Guaranteed pod alone; without it the pod is lowered, and a condition says what that costs.
func guaranteed(t *T) {
	t.Namespace()
	t.Profile(quick("Rollout"))
	keep := quick("Rollout")
	keep["priority"] = 10
	keep["selector"] = M{"matchLabels": M{"keep": "yes"}}
	keep["apply"].(M)["keepGuaranteed"] = true
	t.ProfileNamed("e2e-guaranteed-keep", keep)
	even := app(usedCPU, usedMemory)
	even.limits = even.requests
	kept := t.deployment("kept", 2, even)
	kept["metadata"].(M)["labels"].(M)["keep"] = "yes"
	t.Apply(kept)
	t.Apply(t.deployment("let-go", 2, even))
	cpu, _ := targets(usedCPU, usedMemory)
	t.Eventually("the pod is lowered", soon, func() error { return t.podsAsk("let-go", "app", "cpu", cpu, 2) })
	t.RecWhen("deployment-let-go", "QoSChanges", soon, func(r kube.Object) error { return condition(r, "QoSChanges", "True", "") })
	rec := t.RecIn("deployment-kept", "Ready", soon)
	if got := rec.Named("app", "status", "containers").Text("cpu", "reason"); got != "QoS" {
		t.Fatalf("reason of the kept one is '%s', not QoS", got)
	}
	t.Cycles(t.halflife, 2)
	t.generation("deployments", "kept", 1)
	if pod := t.Pods("kept")[0]; pod.Text("status", "qosClass") != "Guaranteed" {
		t.Fatalf("the kept pod is %s", pod.Text("status", "qosClass"))
	}
}

// A workload that belongs to an operator's object is the operator's to change.
func managed(t *T) {
	t.Namespace()
	t.Profile(quick("Rollout"))
	t.Apply(M{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": M{"name": "databases.example.com"}, "spec": M{"group": "example.com", "scope": "Namespaced",
			"names": M{"plural": "databases", "singular": "database", "kind": "Database"},
			"versions": L{M{"name": "v1", "served": true, "storage": true, "schema": M{"openAPIV3Schema": M{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}})
	t.Ctl("wait", "--for=condition=Established", "--timeout=300s", "crd/databases.example.com")
	defer func() { _, _ = t.ctl.Run("", "delete", "crd", "databases.example.com", "--wait=false") }()
	var db kube.Object
	t.Eventually("the operator's object", soon, func() (err error) {
		db, err = t.Post("/apis/example.com/v1/namespaces/"+t.NS+"/databases",
			M{"apiVersion": "example.com/v1", "kind": "Database", "metadata": M{"name": "orders"}})
		return err
	})
	object := t.deployment("orders", 2, app(usedCPU, usedMemory))
	object["metadata"].(M)["ownerReferences"] = L{M{"apiVersion": "example.com/v1", "kind": "Database", "name": "orders",
		"uid": db.UID(), "controller": true}}
	t.Apply(object)
	rec := t.held("deployment-orders", "Managed", "")
	t.Check(condition(rec, "Managed", "True", "orders"))
	t.Cycles(t.halflife, 2)
	t.generation("deployments", "orders", 1)
}

// The annotation of a workload beats every profile: recommended for, never changed.
func optOut(t *T) {
	t.Namespace()
	t.Profile(quick("Rollout"))
	t.optedOut(M{"halflife.dev/apply": "Never"})
}

// So does that of the namespace.
func optOutNamespace(t *T) {
	t.Namespace("halflife.dev/apply", "Never")
	t.Profile(quick("Rollout"))
	t.optedOut(M{})
}

func (t *T) optedOut(annotations M) {
	object := t.deployment("web", 2, app(usedCPU, usedMemory))
	object["metadata"].(M)["annotations"] = annotations
	t.Apply(object)
	rec := t.held("deployment-web", "OptedOut", "")
	cpu, _ := targets(usedCPU, usedMemory)
	if got := rec.Named("app", "status", "containers").Text("cpu", "target"); got != cpu {
		t.Fatalf("the target is %s, not %s: a hold must not change it", got, cpu)
	}
	t.Cycles(t.halflife, 2)
	t.generation("deployments", "web", 1)
}

// A profile deleted after a change leaves the value and keeps the recommendation, Held; one that changed nothing takes
// its recommendation along.
func orphaned(t *T) {
	t.Namespace()
	t.Beside()
	t.Profile(quick("Rollout"))
	untouched := t.deployment("untouched", 2, app(usedCPU, usedMemory))
	untouched["metadata"].(M)["annotations"] = M{"halflife.dev/apply": "Never"}
	t.Apply(untouched)
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	cpu, _ := targets(usedCPU, usedMemory)
	t.Eventually("the pods are lowered", soon, func() error { return t.podsAsk("web", "app", "cpu", cpu, 2) })
	t.RecIn("deployment-untouched", "Ready", soon)
	t.Ctl("delete", "clusterprofile", "e2e-orphaned")
	t.RecIn("deployment-web", "Held", soon)
	t.held("deployment-web", "Orphaned", "")
	t.Eventually("the recommendation of the untouched one goes", soon, func() error {
		if _, err := t.Rec("deployment-untouched"); kube.Code(err) != 404 {
			return fmt.Errorf("it is still there (%v)", err)
		}
		return nil
	})
	t.Cycles(t.halflife, 2)
	t.generation("deployments", "web", 2)
	t.Check(t.podsAsk("web", "app", "cpu", cpu, 2))
}

// What cannot roll out now is not patched: too few replicas, paused, OnDelete, Recreate.
func blocked(t *T) {
	t.Namespace()
	profile := quick("Rollout")
	profile["apply"].(M)["minReplicas"] = 2
	t.Profile(profile)
	few := t.deployment("few", 1, app(usedCPU, usedMemory))
	paused := t.deployment("paused", 2, app(usedCPU, usedMemory))
	recreate := t.deployment("recreate", 2, app(usedCPU, usedMemory))
	recreate["spec"].(M)["strategy"] = M{"type": "Recreate"}
	onDelete := t.workload("StatefulSet", "ondelete", 2, app(usedCPU, usedMemory))
	onDelete["spec"].(M)["updateStrategy"] = M{"type": "OnDelete"}
	for _, o := range []M{few, paused, recreate, onDelete} {
		t.Apply(o)
	}
	t.Eventually("the paused one has its pods", soon, func() error { return t.podsAsk("paused", "app", "cpu", "2", 2) })
	t.Ctl("-n", t.NS, "rollout", "pause", "deployment/paused")
	for _, rec := range []string{"deployment-few", "deployment-recreate", "statefulset-ondelete", "deployment-paused"} {
		t.held(rec, "RolloutBlocked", "")
	}
	t.Cycles(t.halflife, 2)
	t.generation("deployments", "few", 1)
	t.generation("deployments", "recreate", 1)
	t.generation("statefulsets", "ondelete", 1)
	t.Ctl("-n", t.NS, "scale", "deployment/few", "--replicas=2")
	cpu, _ := targets(usedCPU, usedMemory)
	t.Eventually("with enough replicas it is lowered", soon, func() error { return t.podsAsk("few", "app", "cpu", cpu, 2) })
}
