package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// Each native kind gets a recommendation whose numbers equal what its usage must give.
func numbers(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Recommend")
	profile["targets"] = L{stage.TargetKind("apps/v1", "Deployment"), stage.TargetKind("apps/v1", "StatefulSet"),
		stage.TargetKind("apps/v1", "DaemonSet"), stage.TargetKind("apps/v1", "ReplicaSet"), stage.TargetKind("batch/v1", "Job")}
	t.Profile(profile)
	kinds := []struct {
		kind     string
		replicas int
		cpu      int64
		memory   int64
	}{
		{"Deployment", 3, 137, 150 * stage.Mi}, {"StatefulSet", 2, 612, 333 * stage.Mi}, {"DaemonSet", 3, 25, 40 * stage.Mi},
		{"ReplicaSet", 1, 1480, 700 * stage.Mi}, {"Job", 2, 77, 90 * stage.Mi},
	}
	for _, k := range kinds {
		name := "n-" + stage.Plural(k.kind)
		object := t.NewWorkload(k.kind, name, k.replicas, stage.AppUsing(k.cpu, k.memory))
		if k.kind == "Job" {
			object = M{"apiVersion": "batch/v1", "kind": "Job", "metadata": t.Meta(name),
				"spec": stage.JobSpec(name, "30m", k.replicas, stage.AppUsing(k.cpu, k.memory))}
		}
		t.Create(stage.Plural(k.kind), object)
	}
	for _, k := range kinds {
		cpu := stage.Expect(model.CPU, model.CPUDefault, k.cpu, 2000)
		memory := stage.Expect(model.Memory, model.MemoryDefault, k.memory, 1024*stage.Mi)
		rec := t.RecWhen(strings.ToLower(k.kind)+"-n-"+stage.Plural(k.kind), "exact numbers", stage.Soon, func(r kube.Object) error {
			if r.Text("status", "state") != "Ready" {
				return fmt.Errorf("state '%s'", r.Text("status", "state"))
			}
			c := r.Named("app", "status", "containers")
			if err := cpu.Compare(c.Object("cpu")); err != nil {
				return fmt.Errorf("cpu: %w", err)
			}
			if err := memory.Compare(c.Object("memory")); err != nil {
				return fmt.Errorf("memory: %w", err)
			}
			return nil
		})
		if k.kind == "Job" {
			continue // it has no replicas to save on
		}
		saving := (2000 - model.CPUDefault.Target(model.CPU.Model(k.cpu), 2000)) * int64(k.replicas)
		if got := rec.Text("status", "saving", "cpu"); got != model.CPU.Text(saving) {
			t.Fatalf("%s: saving of CPU is %s, not %s", k.kind, got, model.CPU.Text(saving))
		}
		if ref := rec.Object("spec", "targetRef"); ref.Text("kind") != k.kind {
			t.Fatalf("%s: targetRef is %s", k.kind, ref)
		}
	}
}

// A CronJob learns over its runs: Ready after three of them, and its own numbers, not one for each Job.
func cronJob(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Recommend"))
	const cpu, memory = 230, 210 * stage.Mi
	t.Create("cronjobs", M{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": t.Meta("tick"), "spec": M{
		"schedule": "* * * * *", "concurrencyPolicy": "Allow",
		"jobTemplate": M{"spec": stage.JobSpec("tick", "45s", 8, stage.AppUsing(cpu, memory))},
	}})
	rec := t.RecIn("cronjob-tick", "Ready", 2*stage.Soon)
	c := rec.Named("app", "status", "containers")
	t.Check(stage.Expect(model.CPU, model.CPUDefault, cpu, 2000).Compare(c.Object("cpu")))
	t.Check(stage.Expect(model.Memory, model.MemoryDefault, memory, 1024*stage.Mi).Compare(c.Object("memory")))
	list, err := t.Get(t.Path("recommendations", ""))
	t.Check(err)
	if n := len(list.List("items")); n != 1 {
		t.Fatalf("%d recommendations, not one for the CronJob alone", n)
	}
	t.Notef("ready after %s samples", rec.Text("status", "samples"))
}

// Two containers, an init container, a native sidecar; a pod without requests; one without limits; one with limits only.
func containers(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Recommend"))
	many := []stage.Container{
		{Name: "setup", Init: true, Requests: M{"cpu": "500m", "memory": "64Mi"}, CPU: 137, Memory: 150 * stage.Mi},
		{Name: "proxy", Sidecar: true, Requests: M{"cpu": "200m", "memory": "128Mi"}, CPU: 25, Memory: 40 * stage.Mi},
		stage.AppUsing(612, 333*stage.Mi),
		{Name: "log", Requests: M{"cpu": "300m", "memory": "256Mi"}, CPU: 77, Memory: 90 * stage.Mi},
	}
	bare := stage.Container{Name: "app", CPU: 410, Memory: 300 * stage.Mi}
	unlimited := stage.Container{Name: "app", Requests: M{"cpu": "1", "memory": "512Mi"}, CPU: 410, Memory: 300 * stage.Mi}
	limits := stage.Container{Name: "app", Limits: M{"cpu": "1500m", "memory": "768Mi"}, CPU: 410, Memory: 300 * stage.Mi}
	t.Create("deployments", t.NewDeployment("many", 2, many...))
	t.Create("deployments", t.NewDeployment("bare", 1, bare))
	t.Create("deployments", t.NewDeployment("unlimited", 1, unlimited))
	t.Create("deployments", t.NewDeployment("limits", 1, limits))

	rec := t.RecIn("deployment-many", "Ready", stage.Soon)
	for _, c := range []struct {
		name     string
		cpu      int64
		original int64
		memory   int64
		asked    int64
	}{
		{"proxy", 25, 200, 40 * stage.Mi, 128 * stage.Mi},
		{"app", 612, 2000, 333 * stage.Mi, 1024 * stage.Mi},
		{"log", 77, 300, 90 * stage.Mi, 256 * stage.Mi},
	} {
		status := rec.Named(c.name, "status", "containers")
		t.Check(stage.Expect(model.CPU, model.CPUDefault, c.cpu, c.original).Compare(status.Object("cpu")))
		t.Check(stage.Expect(model.Memory, model.MemoryDefault, c.memory, c.asked).Compare(status.Object("memory")))
	}
	if got := rec.Named("setup", "status", "containers").Text("cpu", "reason"); got != "Init" {
		t.Fatalf("reason of the init container is '%s', not Init", got)
	}
	// The scheduler's sum: the containers and the sidecar, against an init container beside the sidecar (500m + 200m).
	if got := rec.Text("status", "pod", "cpu", "original"); got != "2500m" {
		t.Fatalf("the pod's original CPU is %s, not 2500m", got)
	}

	for name, original := range map[string][2]int64{"unlimited": {1000, 512 * stage.Mi}, "limits": {1500, 768 * stage.Mi}} {
		status := t.RecIn("deployment-"+name, "Ready", stage.Soon).Named("app", "status", "containers")
		t.Check(stage.Expect(model.CPU, model.CPUDefault, 410, original[0]).Compare(status.Object("cpu")))
		t.Check(stage.Expect(model.Memory, model.MemoryDefault, 300*stage.Mi, original[1]).Compare(status.Object("memory")))
	}
	status := t.RecIn("deployment-bare", "Ready", stage.Soon).Named("app", "status", "containers")
	if got := status.Text("cpu", "reason"); got != "NoOriginal" {
		t.Fatalf("reason without a request is '%s', not NoOriginal", got)
	}
	if got, want := status.Text("cpu", "model"), model.CPU.Text(model.CPU.Model(410)); got != want {
		t.Fatalf("the model without a request is '%s', not %s", got, want)
	}
}
