package scenario

import (
	"fmt"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

func roomQuota(t *stage.T, hard M) M {
	return M{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": t.Meta("room"), "spec": M{"hard": hard}}
}

// A quota that has no room for the pod of a rollout beside the others: nothing is written, and the condition says which quota lacks
// what. With room, the rollout goes through. A quota that is full, but for a rollout without a surge, holds nothing.
func quotaSurge(t *stage.T) {
	t.Namespace()
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.Apply(t.NewWorkload("StatefulSet", "db", 1, stage.App()))
	// A pod made while the quota is new may be counted by nobody until minutes later.
	t.Eventually("all its pods are there", stage.Soon, func() error {
		if err := t.PodsAsk("web", "app", "cpu", "2", 2); err != nil {
			return err
		}
		return t.PodsAsk("db", "app", "cpu", "2", 1)
	})
	t.Apply(roomQuota(t, M{"requests.cpu": "8", "pods": "3"})) // as many pods as there are
	full := func() error {
		got, err := t.Get(t.Path("resourcequotas", "room"))
		if err == nil && (got.Text("status", "used", "pods") != "3" || got.Text("status", "used", "requests.cpu") == "") {
			err = fmt.Errorf("it says %s", got.Object("status"))
		}
		return err
	}
	t.Eventually("the quota counts", stage.Soon, full)
	profile := stage.QuickProfile("Rollout")
	profile["selector"] = M{"matchLabels": M{"app": "db"}} // while its one pod is replaced, there is room
	t.Profile(profile)
	cpu, memory := stage.Targets()
	t.Eventually("a StatefulSet needs no room", stage.Soon, func() error {
		if err := t.PodsAsk("db", "app", "cpu", cpu, 1); err != nil {
			return err
		}
		return t.PodsAsk("db", "app", "memory", memory, 1)
	})
	t.Eventually("the quota counts it", stage.Soon, full)
	t.Cycles(t.Learner, 1)
	t.Profile(stage.QuickProfile("Rollout"))
	rec := t.RecWhen("deployment-web", "the quota is told", stage.Soon, func(r kube.Object) error {
		return stage.CheckCondition(r, "Applied", "False", "ResourceQuota 'room': 3 of 3 pods are used, the rollout needs 1 more")
	})
	if got := rec.Named("app", "status", "containers").Text("cpu", "reason"); got != "Quota" {
		t.Fatalf("reason of CPU is '%s', not Quota", got)
	}
	t.CheckGeneration("deployments", "web", 1)
	t.Apply(roomQuota(t, M{"requests.cpu": "8", "pods": "4"}))
	t.Eventually("with room it is lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
}
