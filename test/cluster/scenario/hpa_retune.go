package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

const (
	ownersTarget = 60     // per cent
	ownersCPU    = "500m" // so a pod is wanted for each 300m of load
)

// retuning is a profile under which targets follow, and the right to write them.
func retuning(t *stage.T, mode string) M {
	role, err := os.ReadFile(filepath.Join(t.Root, "manifests", "components", "retune", "rbac.yaml"))
	t.Check(err)
	// by a name of its own: each scenario has it, and none is left of halflife's
	t.CtlIn(strings.Replace(string(role), "halflife-controller-retune", "e2e-"+t.Name, 1), "apply", "-f", "-")
	p := stage.QuickProfile(mode)
	p["resources"] = M{"memory": M{"enabled": false}}
	p["apply"].(M)["hpa"] = "Retune"
	return p
}

// scaled is an autoscaler that reacts at once both ways.
func scaled(t *stage.T, name string, most int) M {
	h := t.NewHPA(name, M{"type": "Utilization", "averageUtilization": ownersTarget})
	spec := h["spec"].(M)
	spec["minReplicas"], spec["maxReplicas"] = 1, most
	spec["behavior"] = M{"scaleDown": M{"stabilizationWindowSeconds": 0}, "scaleUp": M{"stabilizationWindowSeconds": 0}}
	return h
}

func utilizationTarget(h kube.Object) int64 {
	return h.List("spec", "metrics")[0].Int("resource", "target", "averageUtilization")
}

const (
	originalTargets = "halflife.dev/original-targets"
	appliedTargets  = "halflife.dev/applied-targets"
)

// The same load on two services, one of which halflife lowers: the real controller wants as many pods of both. Every
// step lies 5 % and more from where another count, or the controller's tolerance of 10 %, would begin. E2E_LONG=1 plays
// more steps, down as well.
func hpaRetune(t *stage.T) {
	t.Namespace()
	profile := retuning(t, "Rollout")
	profile["selector"] = M{"matchLabels": M{"app": "lowered"}}
	profile["apply"].(M)["minChangePercent"] = 20
	names := []string{"lowered", "still"}
	t.Profile(profile)
	for _, name := range names {
		t.Apply(scaled(t, name, 8))
		d := t.NewDeployment(name, 3, stage.Container{Name: "app", Requests: M{"cpu": ownersCPU, "memory": "64Mi"},
			CPU: 260, Memory: 40 * stage.Mi})
		delete(d["spec"].(M), "replicas")
		t.Apply(d)
	}
	t.Eventually("the request falls and the target rises", stage.Soon, func() error {
		if got, err := t.RequestOf("lowered"); err != nil || got == ownersCPU {
			return fmt.Errorf("the request is '%s' (%v)", got, err)
		}
		if got := utilizationTarget(t.Workload("horizontalpodautoscalers", "lowered")); got < ownersTarget*3/2 {
			return fmt.Errorf("the target is %d", got)
		}
		return nil
	})
	type step struct {
		cores float64
		want  int64
	}
	steps := []step{{1.404, 5}}
	if os.Getenv("E2E_LONG") != "" {
		steps = []step{{0.78, 3}, {1.404, 5}, {0.45, 2}, {1.08, 4}}
	}
	for _, s := range steps {
		began := time.Now()
		settled := t.PlayLoad(names, s.cores)
		h := t.Workload("horizontalpodautoscalers", "lowered")
		lowered, _ := t.RequestOf("lowered")
		t.Notef("%.2f cores: %d replicas at %s and %d %%, %d at %s and %d %%, settled within %.0f s", s.cores,
			settled["lowered"], lowered, utilizationTarget(h), settled["still"], ownersCPU, ownersTarget, time.Since(began).Seconds())
		if settled["lowered"] != settled["still"] || settled["lowered"] != s.want {
			t.Fatalf("%.2f cores: %v, not %d", s.cores, settled, s.want)
		}
		if got := h.Annotation(originalTargets); got != `{"Resource/cpu":60}` {
			t.Fatalf("recorded is '%s'", got)
		}
	}
	profile["apply"].(M)["hpa"] = "Hold"
	t.Profile(profile)
	asItsOwners(t, "lowered", ownersCPU)
}

// asItsOwners waits until requests and target are as before halflife.
func asItsOwners(t *stage.T, name, cpu string) {
	t.Eventually("requests and target are as before", stage.Soon, func() error {
		h := t.Workload("horizontalpodautoscalers", name)
		if got := utilizationTarget(h); got != ownersTarget {
			return fmt.Errorf("the target is %d", got)
		}
		for _, note := range []string{originalTargets, appliedTargets} {
			if got := h.Annotation(note); got != "" {
				return fmt.Errorf("%s is '%s'", note, got)
			}
		}
		if got := stage.Requested(t.Workload("deployments", name), "app", "cpu"); got != cpu {
			return fmt.Errorf("the request is '%s'", got)
		}
		return nil
	})
}

// followed is what an autoscaler was told and wanted since it is watched, each change once.
type followed struct {
	sync.Mutex
	targets, wanted []int64
}

func (f *followed) add(h kube.Object) {
	f.Lock()
	defer f.Unlock()
	note := func(list *[]int64, value int64) {
		if n := len(*list); n == 0 || (*list)[n-1] != value {
			*list = append(*list, value)
		}
	}
	note(&f.targets, utilizationTarget(h))
	note(&f.wanted, h.Int("status", "desiredReplicas"))
}

func (f *followed) sofar() (targets, wanted []int64) {
	f.Lock()
	defer f.Unlock()
	return slices.Clone(f.targets), slices.Clone(f.wanted)
}

// following watches an autoscaler until ctx ends.
func following(t *stage.T, ctx context.Context, name string) *followed {
	f := &followed{}
	go func() {
		_ = t.Watch(ctx, t.Path("horizontalpodautoscalers", ""), func(e kube.Event) error {
			var o kube.Object
			if err := json.Unmarshal(e.Object, &o); err != nil {
				return err
			}
			list := o.List("items")
			if e.Type != "LIST" {
				list = []kube.Object{o}
			}
			for _, h := range list {
				if h.Name() == name {
					f.add(h)
				}
			}
			return nil
		})
	}()
	t.Eventually(name+" is watched", stage.Soon, func() error {
		if targets, _ := f.sofar(); len(targets) == 0 {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	return f
}

// rises are the targets while so many pods are lowered one after another, in millicores.
func rises(original, lowered, pods int64) []int64 {
	list := []int64{ownersTarget}
	for n := int64(1); n <= pods; n++ {
		sum := n*lowered + (pods-n)*original
		list = append(list, (2*ownersTarget*pods*original+sum)/(2*sum))
	}
	return list
}

// Running pods are lowered one after another, and the target follows each of them: the autoscaler wants as many pods all the
// while as that of another service under the same load, which is left alone. On the way back the target falls first, so that an
// error can only scale out.
func hpaRetuneInPlace(t *stage.T) {
	const pods, used = 5, 285 // 95 % of what the owner's target allows
	t.Namespace()
	profile := retuning(t, "Recommend")
	profile["selector"] = M{"matchLabels": M{"app": "lowered"}}
	profile["resources"].(M)["cpu"] = M{"multiplier": "1.3"} // no step leaves the autoscaler's tolerance
	t.Profile(profile)
	names := []string{"lowered", "still"}
	for _, name := range names {
		t.Apply(scaled(t, name, 8))
		t.Apply(t.NewDeployment(name, pods, stage.Container{Name: "app", Requests: M{"cpu": ownersCPU, "memory": "64Mi"},
			CPU: used, Memory: 40 * stage.Mi}))
	}
	t.RecIn("deployment-lowered", "Ready", stage.Soon)
	t.Eventually("the autoscaler sees the load", stage.Soon, func() error {
		n, err := stage.SeenByHPA(t.Workload("horizontalpodautoscalers", "lowered"), pods, used)
		if err == nil && n != pods {
			err = fmt.Errorf("it wants %d", n)
		}
		return err
	})
	before, template := t.UIDs("lowered"), t.Workload("deployments", "lowered").Object("spec", "template").String()
	ctx, stop := context.WithCancel(t.Context)
	defer stop()
	f := following(t, ctx, "lowered")

	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	policy := model.CPUDefault
	policy.Thousandths = 1300
	lowered := policy.Target(model.CPU.Model(used), 500)
	want := rises(500, lowered, pods)
	t.Eventually("all pods are lowered, and the target followed", stage.Soon, func() error {
		if got := utilizationTarget(t.Workload("horizontalpodautoscalers", "lowered")); got != want[pods] {
			return fmt.Errorf("the target is %d, not %d", got, want[pods])
		}
		return t.PodsAsk("lowered", "app", "cpu", model.CPU.Text(lowered), pods)
	})
	settled := t.PlayLoad(names, pods*used/1000.0)
	targets, wanted := f.sofar()
	t.Notef("the target went %v, the autoscaler wanted %v", targets, wanted)
	if !slices.Equal(targets, want) {
		t.Fatalf("the target went %v, not %v", targets, want)
	}
	if !slices.Equal(wanted, []int64{pods}) || settled["lowered"] != pods || settled["still"] != pods {
		t.Fatalf("the autoscaler wanted %v; settled: %v, not %d", wanted, settled, pods)
	}
	t.CheckSamePods("lowered", before)
	t.CheckGeneration("deployments", "lowered", 1)
	t.RecWhen("deployment-lowered", "condition Retuned", stage.Soon, func(r kube.Object) error {
		return stage.CheckCondition(r, "Retuned", "True", "the targets of HPA 'lowered' follow the requests")
	})

	profile["apply"].(M)["hpa"] = "Hold"
	t.Profile(profile)
	asItsOwners(t, "lowered", ownersCPU)
	t.Eventually("the pods ask for what they did", stage.Soon, func() error { // one more where the autoscaler looked in between
		return t.PodsAsk("lowered", "app", "cpu", ownersCPU, max(pods, len(t.Pods("lowered"))))
	})
	if got := t.Workload("deployments", "lowered").Object("spec", "template").String(); got != template {
		t.Fatalf("the template became %s", got)
	}
}

// The real controller counts the pods of a canary Deployment too, because the selector of its target matches them. Then no
// target is right for the requests of one of the two: both are held, until the canary is gone.
func hpaShared(t *stage.T) {
	const own, others, pods, canaries = 80, 400, 2, 4 // millicores of each pod
	t.Namespace()
	t.Profile(retuning(t, "Rollout"))
	t.Apply(t.NewHPA("web", M{"type": "Utilization", "averageUtilization": ownersTarget}))
	service := func(name string, replicas int, used int64) M {
		return t.NewDeployment(name, replicas, stage.Container{Name: "app",
			Requests: M{"cpu": ownersCPU, "memory": "64Mi"}, CPU: used, Memory: 40 * stage.Mi})
	}
	canary := service("canary", canaries, others)
	labels, spec := M{"app": "web", "track": "canary"}, canary["spec"].(M)
	spec["selector"] = M{"matchLabels": labels}
	spec["template"].(M)["metadata"].(M)["labels"] = labels
	t.Apply(canary)
	t.Apply(service("web", pods, own))
	sees := func(each int64) {
		t.Eventually(fmt.Sprintf("the autoscaler sees %dm of each pod", each), stage.Soon, func() error {
			_, err := stage.SeenByHPA(t.Workload("horizontalpodautoscalers", "web"), pods, each)
			return err
		})
	}
	held := func() {
		t.WaitHeld("deployment-web", "HPAShared",
			"HPA 'web' scales on cpu utilization, and counts pods of Deployment 'canary' too")
		t.WaitHeld("deployment-canary", "HPAShared",
			"HPA 'web' of Deployment 'web' scales on cpu utilization, and counts pods of this workload too")
		asItsOwners(t, "web", ownersCPU)
		if got := stage.Requested(t.Workload("deployments", "canary"), "app", "cpu"); got != ownersCPU {
			t.Fatalf("the request of the canary is '%s'", got)
		}
	}
	sees((pods*own + canaries*others) / (pods + canaries))
	held()
	t.Cycles(t.Learner, 2)
	held()
	t.Ctl("-n", t.NS, "delete", "deployment", "canary")
	t.Eventually("the request falls and the target rises", stage.Soon, func() error {
		if got, err := t.RequestOf("web"); err != nil || got == ownersCPU {
			return fmt.Errorf("the request is '%s' (%v)", got, err)
		}
		if got := utilizationTarget(t.Workload("horizontalpodautoscalers", "web")); got < ownersTarget*3/2 {
			return fmt.Errorf("the target is %d", got)
		}
		return nil
	})
	sees(own)
	t.Apply(canary)
	held()
}

// Whoever applies the autoscaler again puts its target back: the original request comes back, and the workload is left
// alone.
func hpaContested(t *stage.T) {
	t.Namespace()
	t.Profile(retuning(t, "Rollout"))
	owners := t.NewHPA("web", M{"type": "Utilization", "averageUtilization": ownersTarget})
	t.Apply(owners)
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.Eventually("the target rises", stage.Soon, func() error {
		if got := utilizationTarget(t.Workload("horizontalpodautoscalers", "web")); got <= ownersTarget {
			return fmt.Errorf("the target is %d", got)
		}
		return nil
	})
	t.Apply(owners)
	t.RecWhen("deployment-web", "contested", stage.Soon, func(r kube.Object) error {
		c := r.Condition("Contested")
		if c == nil || c.Text("status") != "True" {
			return fmt.Errorf("conditions: %s", r.Object("status"))
		}
		return nil
	})
	asItsOwners(t, "web", "2")
	t.Cycles(t.Learner, 2)
	asItsOwners(t, "web", "2")
}

// A deploy that gets less is followed by the target as its pods come, wherever the request is written; one that gets its
// owner's again brings the target back.
func hpaRetuneDeploy(t *stage.T, at string) {
	t.Namespace()
	profile := stage.HalvingProfile(at)
	profile["apply"].(M)["hpa"] = retuning(t, "OnDeploy")["apply"].(M)["hpa"]
	profile["resources"] = M{"memory": M{"enabled": false}}
	t.Profile(profile)
	t.Apply(t.NewHPA("web", M{"type": "Utilization", "averageUtilization": ownersTarget}))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	comes := func(cpu string, target int64) {
		t.Eventually(fmt.Sprintf("pods come with %s, and the target is %d", cpu, target), stage.Soon, func() error {
			if err := t.PodsAsk("web", "app", "cpu", cpu, 2); err != nil {
				t.Redeploy("web")
				return err
			}
			if got := utilizationTarget(t.Workload("horizontalpodautoscalers", "web")); got != target {
				return fmt.Errorf("the target is %d", got)
			}
			return nil
		})
	}
	comes("1", 2*ownersTarget)
	profile["apply"].(M)["hpa"] = "Hold"
	t.Profile(profile)
	comes("2", ownersTarget)
	if got := t.Workload("horizontalpodautoscalers", "web").Annotation(originalTargets); got != "" {
		t.Fatalf("still recorded: %s", got)
	}
}
