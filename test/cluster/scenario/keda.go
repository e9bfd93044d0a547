package scenario

import (
	_ "embed"
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
)

func init() {
	shared = append(shared, scenario{"keda", keda})
}

//go:embed crds/keda.yaml
var kedaCRD string

func (t *T) scaledObject(name string) string {
	return fmt.Sprintf("/apis/keda.sh/v1alpha1/namespaces/%s/scaledobjects/%s", t.NS, name)
}

// kedasHPA is the autoscaler that KEDA makes of a ScaledObject.
func (t *T) kedasHPA(name, uid string) M {
	h := t.hpa(name, M{"type": "Utilization", "averageUtilization": ownersTarget})
	h["metadata"].(M)["ownerReferences"] = L{M{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": name,
		"uid": uid, "controller": true, "blockOwnerDeletion": true}}
	return h
}

// An autoscaler that another object made is held where that object is not to be seen. Once KEDA's kind is installed, which
// may be while halflife runs, the target follows in the ScaledObject, and the autoscaler that KEDA makes of it is KEDA's.
func keda(t *T) {
	t.Namespace()
	profile := t.retuning("Rollout")
	t.Profile(profile)
	t.Apply(t.kedasHPA("early", "11111111-2222-4333-8444-555555555555"))
	t.Apply(t.deployment("early", 2, app(usedCPU, usedMemory)))
	t.held("deployment-early", "HPAHold", "HPA 'early' was made by ScaledObject 'early'")
	t.generation("deployments", "early", 1)

	t.CtlIn(kedaCRD, "apply", "-f", "-")
	t.Ctl("wait", "--for=condition=Established", "--timeout=300s", "crd", "scaledobjects.keda.sh")
	t.Eventually("a ScaledObject is made", soon, func() error {
		_, err := t.ctl.Run(kube.Object(M{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": t.meta("web"),
			"spec": M{"scaleTargetRef": M{"name": "web"}, "minReplicaCount": 2, "maxReplicaCount": 2, "triggers": L{
				M{"type": "cron", "metadata": M{"start": "0 6 * * *", "desiredReplicas": "2"}},
				M{"type": "cpu", "metricType": "Utilization", "metadata": M{"value": fmt.Sprint(ownersTarget)}}}}}).String(),
			"apply", "-f", "-")
		return err
	})
	source, err := t.Get(t.scaledObject("web"))
	t.Check(err)
	t.Apply(t.kedasHPA("web", source.UID()))
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	trigger := func(source kube.Object) string { return source.List("spec", "triggers")[1].Text("metadata", "value") }
	cpu, _ := targets(usedCPU, usedMemory)
	t.Eventually("the request falls and the trigger rises", soon, func() error {
		if got := request(t.Workload("deployments", "web"), "app", "cpu"); got != cpu {
			return fmt.Errorf("the request is '%s'", got)
		}
		source, err := t.Get(t.scaledObject("web"))
		if err != nil || trigger(source) == fmt.Sprint(ownersTarget) {
			return fmt.Errorf("the trigger is '%s' (%v)", trigger(source), err)
		}
		if got := source.Annotation(originalTargets); got != `{"Resource/cpu":60}` {
			return fmt.Errorf("recorded is '%s'", got)
		}
		return nil
	})
	t.untouched("web")
	profile["apply"].(M)["hpa"] = "Hold"
	t.Profile(profile)
	t.held("deployment-web", "HPAHold", "ScaledObject 'web' scales on cpu utilization")
	t.Eventually("as before", soon, func() error {
		source, err := t.Get(t.scaledObject("web"))
		if err != nil || trigger(source) != fmt.Sprint(ownersTarget) || source.Annotation(originalTargets) != "" {
			return fmt.Errorf("%s (%v)", source, err)
		}
		return t.podsAsk("web", "app", "cpu", "2", 2)
	})
	t.untouched("web")
}

// untouched is an autoscaler that halflife never wrote.
func (t *T) untouched(name string) {
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
