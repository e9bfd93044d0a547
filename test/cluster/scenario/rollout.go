package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// Rollout patches each kind's template once: new pods carry the target, limits stay, memory only where it is enabled, and
// what needs more than it asks for is left alone.
func rollout(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Rollout"))
	cpuOnly := stage.QuickProfile("Rollout")
	cpuOnly["resources"] = M{"memory": M{"enabled": false}}
	cpuOnly["selector"] = M{"matchLabels": M{"memory": "off"}}
	cpuOnly["priority"] = 10
	t.ProfileNamed("e2e-rollout-cpu", cpuOnly)

	kinds := []string{"Deployment", "StatefulSet", "DaemonSet"}
	for _, kind := range kinds {
		t.Apply(t.NewWorkload(kind, strings.ToLower(kind), 3, stage.App()))
	}
	off := t.NewDeployment("cpu-only", 2, stage.App())
	off["metadata"].(M)["labels"].(M)["memory"] = "off"
	t.Apply(off)
	t.Apply(t.NewDeployment("needy", 2, stage.Container{Name: "app", Requests: M{"cpu": "100m", "memory": "64Mi"},
		CPU: 410, Memory: 300 * stage.Mi}))

	cpu, memory := stage.Targets()
	for _, kind := range kinds {
		name := strings.ToLower(kind)
		t.Eventually(name+" runs with its target", stage.Soon, func() error {
			if err := t.PodsAsk(name, "app", "cpu", cpu, 3); err != nil {
				return err
			}
			return t.PodsAsk(name, "app", "memory", memory, 3)
		})
		t.CheckLimits(stage.Plural(kind), name)
	}
	t.Eventually("CPU alone where memory is off", stage.Soon, func() error { return t.PodsAsk("cpu-only", "app", "cpu", cpu, 2) })
	t.Check(t.PodsAsk("cpu-only", "app", "memory", "1Gi", 2))
	left := t.RecIn("deployment-cpu-only", "Ready", stage.Soon).Named("app", "status", "containers")
	if got := left.Text("memory", "reason"); got != "MemoryOff" {
		t.Fatalf("reason of memory is '%s', not MemoryOff", got)
	}

	t.Cycles(t.Learner, 3)
	for _, kind := range kinds {
		t.CheckGeneration(stage.Plural(kind), strings.ToLower(kind), 2)
	}
	t.CheckGeneration("deployments", "cpu-only", 2)
	t.CheckGeneration("deployments", "needy", 1)
	needy := t.RecIn("deployment-needy", "Ready", stage.Soon)
	if got := needy.Named("app", "status", "containers").Text("cpu", "target"); got != "100m" {
		t.Fatalf("the target above the original is %s, not the original 100m", got)
	}
	if needy.Condition("UnderProvisioned").Text("status") != "True" {
		t.Fatalf("condition UnderProvisioned is missing: %s", needy.Object("status"))
	}
	done := t.RecWhen("deployment-deployment", "condition Applied", stage.Soon, func(r kube.Object) error {
		return stage.CheckCondition(r, "Applied", "True", "")
	})
	if got := done.Named("app", "status", "applied", "containers").Text("cpu"); got != cpu {
		t.Fatalf("status.applied says %s, not %s", got, cpu)
	}
}

// The owner goes on living: he changes his request, applies the manifest he has with a new image, undoes a rollout. Each
// time his word is the new original, and a value of ours never is.
func owner(t *stage.T, kind string) {
	t.Namespace()
	profile := stage.QuickProfile("Rollout")
	t.Profile(profile)
	manifest := t.NewWorkload(kind, "web", 3, stage.App())
	t.Apply(manifest)
	cpu, memory := stage.Targets()
	ours := func(what, cpu, original string) {
		t.Eventually(what, stage.Soon, func() error {
			if got := stage.Requested(t.Workload(stage.Plural(kind), "web"), "app", "cpu"); got != cpu {
				return fmt.Errorf("the template asks for %s", got)
			}
			if err := t.PodsAsk("web", "app", "cpu", cpu, 3); err != nil {
				return err
			}
			return t.PodsAsk("web", "app", "memory", memory, 3)
		})
		t.RecWhen(strings.ToLower(kind)+"-web", "original after "+what, stage.Soon, func(r kube.Object) error {
			if got := r.Named("app", "status", "containers").Text("cpu", "original"); got != original {
				return fmt.Errorf("original is %s, not %s", got, original)
			}
			return nil
		})
		template := t.Workload(stage.Plural(kind), "web").Object("spec", "template", "spec")
		limits := stage.FindContainer(template, "app").Object("resources", "limits")
		if limits.Text("cpu") != "4" || limits.Text("memory") != "2Gi" {
			t.Fatalf("%s: the limits are %s", what, limits)
		}
	}
	name := strings.ToLower(kind) + "/web"
	ours("the first rollout", cpu, "2")

	t.Ctl("-n", t.NS, "set", "resources", name, "-c", "app", "--requests=cpu=1,memory=512Mi")
	ours("the owner's new request", cpu, "1")

	stage.FindContainer(kube.Object(manifest).Object("spec", "template", "spec"), "app")["image"] = "registry.invalid/app:2"
	t.Apply(manifest)
	ours("the old manifest with a new image", cpu, "2")

	profile["resources"] = M{"cpu": M{"multiplier": "1"}, "memory": M{"enabled": true}}
	t.Profile(profile)
	tight := model.CPU.Text(model.CPU.Model(stage.UsedCPU))
	ours("a profile without a margin", tight, "2")

	before := t.Workload(stage.Plural(kind), "web").Generation()
	t.Ctl("-n", t.NS, "rollout", "undo", name)
	t.Eventually("undone, and patched by us", stage.Soon, func() error {
		if got := t.Workload(stage.Plural(kind), "web").Generation(); got < before+2 {
			return fmt.Errorf("generation %d became %d", before, got)
		}
		return nil
	})
	ours("rollout undo to our older value", tight, "2")
	t.Cycles(t.Learner, 2)
	t.CheckGeneration(stage.Plural(kind), "web", before+2)
}
