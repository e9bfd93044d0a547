package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

func scaledObject(t *stage.T, name string) string {
	return fmt.Sprintf("/apis/keda.sh/v1alpha1/namespaces/%s/scaledobjects/%s", t.NS, name)
}

// kedasHPA is the autoscaler that KEDA makes of a ScaledObject.
func kedasHPA(t *stage.T, name, uid string) M {
	h := t.NewHPA(name, M{"type": "Utilization", "averageUtilization": ownersTarget})
	h["metadata"].(M)["ownerReferences"] = L{M{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": name,
		"uid": uid, "controller": true, "blockOwnerDeletion": true}}
	return h
}

// An autoscaler that another object made is held where that object is not to be seen. Once KEDA's kind is installed, which
// may be while halflife runs, the target follows in the ScaledObject, and the autoscaler that KEDA makes of it is KEDA's.
func keda(t *stage.T) {
	t.Namespace()
	profile := retuning(t, "Rollout")
	t.Profile(profile)
	t.Apply(kedasHPA(t, "early", "11111111-2222-4333-8444-555555555555"))
	t.Apply(t.NewDeployment("early", 2, stage.App()))
	t.WaitHeld("deployment-early", "HPAHold", "HPA 'early' was made by ScaledObject 'early'")
	t.CheckGeneration("deployments", "early", 1)

	t.InstallKEDA()
	t.Eventually("a ScaledObject is made", stage.Soon, func() error {
		_, err := t.Kubectl.Run(kube.Object(M{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": t.Meta("web"),
			"spec": M{"scaleTargetRef": M{"name": "web"}, "minReplicaCount": 2, "maxReplicaCount": 2, "triggers": L{
				M{"type": "cron", "metadata": M{"start": "0 6 * * *", "desiredReplicas": "2"}},
				M{"type": "cpu", "metricType": "Utilization", "metadata": M{"value": fmt.Sprint(ownersTarget)}}}}}).String(),
			"apply", "-f", "-")
		return err
	})
	source, err := t.Get(scaledObject(t, "web"))
	t.Check(err)
	t.Apply(kedasHPA(t, "web", source.UID()))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	trigger := func(source kube.Object) string { return source.List("spec", "triggers")[1].Text("metadata", "value") }
	cpu, _ := stage.Targets()
	t.Eventually("the request falls and the trigger rises", stage.Soon, func() error {
		if got := stage.Requested(t.Workload("deployments", "web"), "app", "cpu"); got != cpu {
			return fmt.Errorf("the request is '%s'", got)
		}
		source, err := t.Get(scaledObject(t, "web"))
		if err != nil || trigger(source) == fmt.Sprint(ownersTarget) {
			return fmt.Errorf("the trigger is '%s' (%v)", trigger(source), err)
		}
		if got := source.Annotation(originalTargets); got != `{"Resource/cpu":60}` {
			return fmt.Errorf("recorded is '%s'", got)
		}
		return nil
	})
	untouched(t, "web")
	profile["apply"].(M)["hpa"] = "Hold"
	t.Profile(profile)
	t.WaitHeld("deployment-web", "HPAHold", "ScaledObject 'web' scales on cpu utilization")
	t.Eventually("as before", stage.Soon, func() error {
		source, err := t.Get(scaledObject(t, "web"))
		if err != nil || trigger(source) != fmt.Sprint(ownersTarget) || source.Annotation(originalTargets) != "" {
			return fmt.Errorf("%s (%v)", source, err)
		}
		return t.PodsAsk("web", "app", "cpu", "2", 2)
	})
	untouched(t, "web")
}

// untouched is an autoscaler that halflife never wrote.
func untouched(t *stage.T, name string) {
	h := t.Workload("horizontalpodautoscalers", name)
	for _, by := range h.List("metadata", "managedFields") {
		if strings.HasPrefix(by.Text("manager"), "halflife") {
			t.Fatalf("halflife wrote the autoscaler: %s", h)
		}
	}
	if got := utilizationTarget(h); got != ownersTarget {
		t.Fatalf("the autoscaler's target is %d", got)
	}
}
