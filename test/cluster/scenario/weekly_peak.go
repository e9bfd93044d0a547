package scenario

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// The peak of one pod of three, which no median knows of: weeklyPeak holds it from when it is turned on, also once it is
// over, and gives it back when it is turned off.
func weeklyPeak(t *stage.T) {
	const peak = 700 * stage.Mi
	t.Namespace()
	profile := func(weekly bool) M {
		spec := stage.QuickProfile("Recommend")
		spec["resources"] = M{"memory": M{"enabled": true, "percentile": 50, "weeklyPeak": weekly}}
		return spec
	}
	model50 := model.Memory.Model(stage.UsedMemory)
	target50 := model.MemoryDefault.Target(model50, 1024*stage.Mi)
	memory := func(what string, want, target int64) {
		t.RecWhen("statefulset-db", what, stage.Soon, func(r kube.Object) error {
			m := r.Named("app", "status", "containers").Object("memory")
			if m.Text("model") != model.Memory.Text(want) || m.Text("target") != model.Memory.Text(target) {
				return fmt.Errorf("model %s and target %s, not %s and %s", m.Text("model"), m.Text("target"),
					model.Memory.Text(want), model.Memory.Text(target))
			}
			return nil
		})
	}
	uses := func(bytes int64) {
		_, err := t.Merge(t.Path("pods", "db-0"), M{"metadata": M{"annotations": M{"usage.halflife.dev/memory.app": fmt.Sprint(bytes)}}})
		t.Check(err)
		t.Eventually("metrics-server tells of it", stage.Soon, func() error {
			m, err := t.Get("/apis/metrics.k8s.io/v1beta1/namespaces/" + t.NS + "/pods/db-0")
			if err != nil {
				return err
			}
			told := m.Named("app", "containers").Text("usage", "memory")
			if got, err := resource.ParseQuantity(told); err != nil || got.Value() != bytes {
				return fmt.Errorf("it tells '%s' (%v)", told, err)
			}
			return nil
		})
		t.Cycles(t.Learner, 2)
	}
	t.Profile(profile(false))
	t.Apply(t.NewWorkload("StatefulSet", "db", 3, stage.App()))
	memory("the median", model50, target50)
	uses(peak)
	memory("still the median", model50, target50)
	t.Profile(profile(true))
	memory("the peak of the week", peak, model.MemoryDefault.Target(peak, 1024*stage.Mi))
	uses(stage.UsedMemory)
	memory("the peak, after it", peak, model.MemoryDefault.Target(peak, 1024*stage.Mi))
	t.Profile(profile(false))
	memory("the median again", model50, target50)
}
