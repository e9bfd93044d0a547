package scenario

import (
	"fmt"

	"halflife.dev/cluster/kube"
)

func init() {
	shared = append(shared, scenario{"quota-surge", quotaSurge})
}

func (t *T) quota(hard M) M {
	return M{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": t.meta("room"), "spec": M{"hard": hard}}
}

// A quota that has no room for the pod of a rollout beside the others: nothing is written, and the condition says which quota lacks
// what. With room, the rollout goes through. A quota that is full, but for a rollout without a surge, holds nothing.
func quotaSurge(t *T) {
	t.Namespace()
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	t.Apply(t.workload("StatefulSet", "db", 1, app(usedCPU, usedMemory)))
	// A pod made while the quota is new may be counted by nobody until minutes later.
	t.Eventually("all its pods are there", soon, func() error {
		if err := t.podsAsk("web", "app", "cpu", "2", 2); err != nil {
			return err
		}
		return t.podsAsk("db", "app", "cpu", "2", 1)
	})
	t.Apply(t.quota(M{"requests.cpu": "8", "pods": "3"})) // as many pods as there are
	full := func() error {
		got, err := t.Get(t.path("resourcequotas", "room"))
		if err == nil && (got.Text("status", "used", "pods") != "3" || got.Text("status", "used", "requests.cpu") == "") {
			err = fmt.Errorf("it says %s", got.Object("status"))
		}
		return err
	}
	t.Eventually("the quota counts", soon, full)
	profile := quick("Rollout")
	profile["selector"] = M{"matchLabels": M{"app": "db"}} // while its one pod is replaced, there is room
	t.Profile(profile)
	cpu, memory := targets(usedCPU, usedMemory)
	t.Eventually("a StatefulSet needs no room", soon, func() error {
		if err := t.podsAsk("db", "app", "cpu", cpu, 1); err != nil {
			return err
		}
		return t.podsAsk("db", "app", "memory", memory, 1)
	})
	t.Eventually("the quota counts it", soon, full)
	t.Cycles(t.halflife, 1)
	t.Profile(quick("Rollout"))
	rec := t.RecWhen("deployment-web", "the quota is told", soon, func(r kube.Object) error {
		return condition(r, "Applied", "False", "ResourceQuota 'room': 3 of 3 pods are used, the rollout needs 1 more")
	})
	if got := rec.Named("app", "status", "containers").Text("cpu", "reason"); got != "Quota" {
		t.Fatalf("reason of CPU is '%s', not Quota", got)
	}
	t.generation("deployments", "web", 1)
	t.Apply(t.quota(M{"requests.cpu": "8", "pods": "4"}))
	t.Eventually("with room it is lowered", soon, func() error { return t.podsAsk("web", "app", "cpu", cpu, 2) })
}
