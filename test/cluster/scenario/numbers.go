package scenario

import (
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
)

func init() {
	shared = append(shared, scenario{"numbers", numbers}, scenario{"cronjob", cronJob}, scenario{"containers", containers})
}

// soon is when something must have happened that takes two scrapes and a cycle: a limit costs time only where something is
// wrong, and a machine may have much else to do.
const soon = 5 * time.Minute

// Each native kind gets a recommendation whose numbers equal what its usage must give.
func numbers(t *T) {
	t.Namespace()
	profile := quick("Recommend")
	profile["targets"] = L{target("apps/v1", "Deployment"), target("apps/v1", "StatefulSet"), target("apps/v1", "DaemonSet"),
		target("apps/v1", "ReplicaSet"), target("batch/v1", "Job")}
	t.Profile(profile)
	kinds := []struct {
		kind     string
		replicas int
		cpu      int64
		memory   int64
	}{
		{"Deployment", 3, 137, 150 * mi}, {"StatefulSet", 2, 612, 333 * mi}, {"DaemonSet", 3, 25, 40 * mi},
		{"ReplicaSet", 1, 1480, 700 * mi}, {"Job", 2, 77, 90 * mi},
	}
	for _, k := range kinds {
		name := "n-" + plural(k.kind)
		object := t.workload(k.kind, name, k.replicas, app(k.cpu, k.memory))
		if k.kind == "Job" {
			object = M{"apiVersion": "batch/v1", "kind": "Job", "metadata": t.meta(name),
				"spec": job(name, "30m", k.replicas, app(k.cpu, k.memory))}
		}
		t.Create(plural(k.kind), object)
	}
	for _, k := range kinds {
		cpu := expect(model.CPU, model.CPUDefault, k.cpu, 2000)
		memory := expect(model.Memory, model.MemoryDefault, k.memory, 1024*mi)
		rec := t.RecWhen(lower(k.kind)+"-n-"+plural(k.kind), "exact numbers", soon, func(r kube.Object) error {
			if r.Text("status", "state") != "Ready" {
				return fmt.Errorf("state '%s'", r.Text("status", "state"))
			}
			c := r.Named("app", "status", "containers")
			if err := cpu.compare(c.Object("cpu")); err != nil {
				return fmt.Errorf("cpu: %w", err)
			}
			if err := memory.compare(c.Object("memory")); err != nil {
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
func cronJob(t *T) {
	t.Namespace()
	t.Profile(quick("Recommend"))
	const cpu, memory = 230, 210 * mi
	t.Create("cronjobs", M{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": t.meta("tick"), "spec": M{
		"schedule": "* * * * *", "concurrencyPolicy": "Allow",
		"jobTemplate": M{"spec": job("tick", "45s", 8, app(cpu, memory))},
	}})
	rec := t.RecIn("cronjob-tick", "Ready", 2*soon)
	c := rec.Named("app", "status", "containers")
	t.Check(expect(model.CPU, model.CPUDefault, cpu, 2000).compare(c.Object("cpu")))
	t.Check(expect(model.Memory, model.MemoryDefault, memory, 1024*mi).compare(c.Object("memory")))
	list, err := t.Get(t.path("recommendations", ""))
	t.Check(err)
	if n := len(list.List("items")); n != 1 {
		t.Fatalf("%d recommendations, not one for the CronJob alone", n)
	}
	t.Notef("ready after %s samples", rec.Text("status", "samples"))
}

// Two containers, an init container, a native sidecar; a pod without requests; one without limits; one with limits only.
func containers(t *T) {
	t.Namespace()
	t.Profile(quick("Recommend"))
	many := []box{
		{name: "setup", init: true, requests: M{"cpu": "500m", "memory": "64Mi"}, cpu: 137, memory: 150 * mi},
		{name: "proxy", sidecar: true, requests: M{"cpu": "200m", "memory": "128Mi"}, cpu: 25, memory: 40 * mi},
		app(612, 333*mi),
		{name: "log", requests: M{"cpu": "300m", "memory": "256Mi"}, cpu: 77, memory: 90 * mi},
	}
	bare := box{name: "app", cpu: 410, memory: 300 * mi}
	unlimited := box{name: "app", requests: M{"cpu": "1", "memory": "512Mi"}, cpu: 410, memory: 300 * mi}
	limits := box{name: "app", limits: M{"cpu": "1500m", "memory": "768Mi"}, cpu: 410, memory: 300 * mi}
	t.Create("deployments", t.deployment("many", 2, many...))
	t.Create("deployments", t.deployment("bare", 1, bare))
	t.Create("deployments", t.deployment("unlimited", 1, unlimited))
	t.Create("deployments", t.deployment("limits", 1, limits))

	rec := t.RecIn("deployment-many", "Ready", soon)
	for _, c := range []struct {
		name     string
		cpu      int64
		original int64
		memory   int64
		asked    int64
	}{{"proxy", 25, 200, 40 * mi, 128 * mi}, {"app", 612, 2000, 333 * mi, 1024 * mi}, {"log", 77, 300, 90 * mi, 256 * mi}} {
		status := rec.Named(c.name, "status", "containers")
		t.Check(expect(model.CPU, model.CPUDefault, c.cpu, c.original).compare(status.Object("cpu")))
		t.Check(expect(model.Memory, model.MemoryDefault, c.memory, c.asked).compare(status.Object("memory")))
	}
	if got := rec.Named("setup", "status", "containers").Text("cpu", "reason"); got != "Init" {
		t.Fatalf("reason of the init container is '%s', not Init", got)
	}
	// The scheduler's sum: the containers and the sidecar, against an init container beside the sidecar (500m + 200m).
	if got := rec.Text("status", "pod", "cpu", "original"); got != "2500m" {
		t.Fatalf("the pod's original CPU is %s, not 2500m", got)
	}

	for name, original := range map[string][2]int64{"unlimited": {1000, 512 * mi}, "limits": {1500, 768 * mi}} {
		status := t.RecIn("deployment-"+name, "Ready", soon).Named("app", "status", "containers")
		t.Check(expect(model.CPU, model.CPUDefault, 410, original[0]).compare(status.Object("cpu")))
		t.Check(expect(model.Memory, model.MemoryDefault, 300*mi, original[1]).compare(status.Object("memory")))
	}
	status := t.RecIn("deployment-bare", "Ready", soon).Named("app", "status", "containers")
	if got := status.Text("cpu", "reason"); got != "NoOriginal" {
		t.Fatalf("reason without a request is '%s', not NoOriginal", got)
	}
	if got, want := status.Text("cpu", "model"), model.CPU.Text(model.CPU.Model(410)); got != want {
		t.Fatalf("the model without a request is '%s', not %s", got, want)
	}
}

func target(apiVersion, kind string) M { return M{"apiVersion": apiVersion, "kind": kind} }

func lower(kind string) string { return strings.ToLower(kind) }
