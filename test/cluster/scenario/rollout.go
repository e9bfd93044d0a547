package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
)

func init() {
	shared = append(shared, scenario{"rollout", rollout})
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		shared = append(shared, scenario{"owner-" + strings.ToLower(kind), func(t *T) { owner(t, kind) }})
	}
}

const (
	usedCPU    = 137
	usedMemory = 150 * mi
	originals  = "halflife.dev/original-resources"
	applied    = "halflife.dev/applied-resources"
)

// What the usual container comes to: its target for CPU and memory.
func targets(cpu, memory int64) (string, string) {
	return model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(cpu), 2000)),
		model.Memory.Text(model.MemoryDefault.Target(model.Memory.Model(memory), 1024*mi))
}

// Rollout patches each kind's template once: new pods carry the target, limits stay, memory only where it is enabled, and
// what needs more than it asks for is left alone.
func rollout(t *T) {
	t.Namespace()
	t.Profile(quick("Rollout"))
	cpuOnly := quick("Rollout")
	cpuOnly["resources"] = M{"memory": M{"enabled": false}}
	cpuOnly["selector"] = M{"matchLabels": M{"memory": "off"}}
	cpuOnly["priority"] = 10
	t.ProfileNamed("e2e-rollout-cpu", cpuOnly)

	kinds := []string{"Deployment", "StatefulSet", "DaemonSet"}
	for _, kind := range kinds {
		t.Apply(t.workload(kind, strings.ToLower(kind), 3, app(usedCPU, usedMemory)))
	}
	off := t.deployment("cpu-only", 2, app(usedCPU, usedMemory))
	off["metadata"].(M)["labels"].(M)["memory"] = "off"
	t.Apply(off)
	t.Apply(t.deployment("needy", 2, box{name: "app", requests: M{"cpu": "100m", "memory": "64Mi"}, cpu: 410, memory: 300 * mi}))

	cpu, memory := targets(usedCPU, usedMemory)
	for _, kind := range kinds {
		name := strings.ToLower(kind)
		t.Eventually(name+" runs with its target", soon, func() error {
			if err := t.podsAsk(name, "app", "cpu", cpu, 3); err != nil {
				return err
			}
			return t.podsAsk(name, "app", "memory", memory, 3)
		})
		t.unlimited(plural(kind), name)
	}
	t.Eventually("CPU alone where memory is off", soon, func() error { return t.podsAsk("cpu-only", "app", "cpu", cpu, 2) })
	t.Check(t.podsAsk("cpu-only", "app", "memory", "1Gi", 2))
	if got := t.RecIn("deployment-cpu-only", "Ready", soon).Named("app", "status", "containers").Text("memory", "reason"); got != "MemoryOff" {
		t.Fatalf("reason of memory is '%s', not MemoryOff", got)
	}

	t.Cycles(t.halflife, 3)
	for _, kind := range kinds {
		t.generation(plural(kind), strings.ToLower(kind), 2)
	}
	t.generation("deployments", "cpu-only", 2)
	t.generation("deployments", "needy", 1)
	needy := t.RecIn("deployment-needy", "Ready", soon)
	if got := needy.Named("app", "status", "containers").Text("cpu", "target"); got != "100m" {
		t.Fatalf("the target above the original is %s, not the original 100m", got)
	}
	if needy.Condition("UnderProvisioned").Text("status") != "True" {
		t.Fatalf("condition UnderProvisioned is missing: %s", needy.Object("status"))
	}
	done := t.RecWhen("deployment-deployment", "condition Applied", soon, func(r kube.Object) error {
		return condition(r, "Applied", "True", "")
	})
	if got := done.Named("app", "status", "applied", "containers").Text("cpu"); got != cpu {
		t.Fatalf("status.applied says %s, not %s", got, cpu)
	}
}

// unlimited checks that the limits are as their owner wrote them, to the byte, and that the template tells the original.
func (t *T) unlimited(plural, name string) {
	w := t.Workload(plural, name)
	limits := container(w.Object("spec", "template", "spec"), "app").Object("resources", "limits")
	if limits.Text("cpu") != "4" || limits.Text("memory") != "2Gi" || len(limits) != 2 {
		t.Fatalf("the limits of %s are %s", name, limits)
	}
	notes := w.Object("spec", "template", "metadata", "annotations")
	if !strings.Contains(notes.Text(originals), `"2"`) || notes.Text(applied) == "" {
		t.Fatalf("the annotations of %s's template are %s", name, notes)
	}
}

func (t *T) generation(plural, name string, want int64) {
	w := t.Workload(plural, name)
	if got := w.Generation(); got != want {
		t.Fatalf("generation of %s is %d, not %d: %s", name, got, want, w.Object("spec", "template", "metadata", "annotations"))
	}
}

// condition is an error unless a condition has that status and its message holds that.
func condition(o kube.Object, kind, status, message string) error {
	c := o.Condition(kind)
	if c.Text("status") != status || !strings.Contains(c.Text("message"), message) {
		return fmt.Errorf("condition %s is not %s with '%s': %v", kind, status, message, o.At("status", "conditions"))
	}
	return nil
}

// The owner goes on living: he changes his request, applies the manifest he has with a new image, undoes a rollout. Each
// time his word is the new original, and a value of ours never is.
func owner(t *T, kind string) {
	t.Namespace()
	profile := quick("Rollout")
	t.Profile(profile)
	manifest := t.workload(kind, "web", 3, app(usedCPU, usedMemory))
	t.Apply(manifest)
	cpu, memory := targets(usedCPU, usedMemory)
	ours := func(what, cpu, original string) {
		t.Eventually(what, soon, func() error {
			if got := request(t.Workload(plural(kind), "web"), "app", "cpu"); got != cpu {
				return fmt.Errorf("the template asks for %s", got)
			}
			if err := t.podsAsk("web", "app", "cpu", cpu, 3); err != nil {
				return err
			}
			return t.podsAsk("web", "app", "memory", memory, 3)
		})
		t.RecWhen(strings.ToLower(kind)+"-web", "original after "+what, soon, func(r kube.Object) error {
			if got := r.Named("app", "status", "containers").Text("cpu", "original"); got != original {
				return fmt.Errorf("original is %s, not %s", got, original)
			}
			return nil
		})
		limits := container(t.Workload(plural(kind), "web").Object("spec", "template", "spec"), "app").Object("resources", "limits")
		if limits.Text("cpu") != "4" || limits.Text("memory") != "2Gi" {
			t.Fatalf("%s: the limits are %s", what, limits)
		}
	}
	name := strings.ToLower(kind) + "/web"
	ours("the first rollout", cpu, "2")

	t.Ctl("-n", t.NS, "set", "resources", name, "-c", "app", "--requests=cpu=1,memory=512Mi")
	ours("the owner's new request", cpu, "1")

	container(kube.Object(manifest).Object("spec", "template", "spec"), "app")["image"] = "registry.invalid/app:2"
	t.Apply(manifest)
	ours("the old manifest with a new image", cpu, "2")

	profile["resources"] = M{"cpu": M{"multiplier": "1"}, "memory": M{"enabled": true}}
	t.Profile(profile)
	tight := model.CPU.Text(model.CPU.Model(usedCPU))
	ours("a profile without a margin", tight, "2")

	before := t.Workload(plural(kind), "web").Generation()
	t.Ctl("-n", t.NS, "rollout", "undo", name)
	t.Eventually("undone, and patched by us", soon, func() error {
		if got := t.Workload(plural(kind), "web").Generation(); got < before+2 {
			return fmt.Errorf("generation %d became %d", before, got)
		}
		return nil
	})
	ours("rollout undo to our older value", tight, "2")
	t.Cycles(t.halflife, 2)
	t.generation(plural(kind), "web", before+2)
}
