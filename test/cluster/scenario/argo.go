package scenario

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/programs"
)

func init() {
	shared = append(shared, scenario{"argo-canary", canary}, scenario{"argo-bluegreen", blueGreen},
		scenario{"argo-workloadref", workloadRef}, scenario{"argo-pause", pausing}, scenario{"argo-guard", guardedCanary})
}

var argoRuns struct {
	sync.Mutex
	of map[*World]bool
}

// NeedArgo says whether scenarios of those names (none: all) have its controller run.
func NeedArgo(names []string) bool {
	for _, s := range pick(shared, names) {
		if strings.HasPrefix(s.name, "argo-") {
			return true
		}
	}
	return false
}

// Argo starts the real controller of Argo Rollouts once for a control plane, with its CustomResourceDefinitions: beside
// a halflife that runs already.
func (t *T) Argo() {
	argoRuns.Lock()
	defer argoRuns.Unlock()
	if argoRuns.of[t.World] {
		return
	}
	source, err := programs.ModuleDir(filepath.Join(t.Root, "test", "cluster"), "github.com/argoproj/argo-rollouts")
	t.Check(err)
	crds, err := filepath.Glob(filepath.Join(source, "manifests", "crds", "*-crd.yaml"))
	t.Check(err)
	for _, file := range crds {
		t.Ctl("apply", "--server-side", "-f", file)
	}
	t.established("rollouts.argoproj.io", "analysisruns.argoproj.io", "analysistemplates.argoproj.io",
		"clusteranalysistemplates.argoproj.io", "experiments.argoproj.io")
	t.Check(t.Plane.StartBeside("argo-rollouts", t.Plane.Set.Path("rollouts-controller"), 2, func(port []int) []string {
		return []string{"--kubeconfig=" + t.Plane.Kubeconfig, "--leader-elect=false", "--loglevel=warn", "--qps=200",
			"--burst=400", fmt.Sprintf("--metricsPort=%d", port[0]), fmt.Sprintf("--healthzPort=%d", port[1])}
	}))
	if argoRuns.of == nil {
		argoRuns.of = map[*World]bool{}
	}
	argoRuns.of[t.World] = true
}

// rolled is a Rollout with a template of its own.
func (t *T) rolled(name string, replicas int, strategy M, boxes ...box) M {
	o := t.deployment(name, replicas, boxes...)
	o["apiVersion"], o["kind"] = rollouts.apiVersion(), rollouts.kind
	o["spec"].(M)["strategy"] = strategy
	return o
}

const rolloutRec = "rollout.argoproj.io-web"

// inPhase waits until Argo's controller says so of the present generation.
func (t *T) inPhase(name string, phases ...string) kube.Object {
	var last kube.Object
	t.Eventually(name+" is "+strings.Join(phases, " or "), soon, func() error {
		last = t.Workload("rollouts", name)
		seen := last.Text("status", "observedGeneration") == fmt.Sprint(last.Generation())
		for _, p := range phases {
			if seen && last.Text("status", "phase") == p {
				return nil
			}
		}
		return fmt.Errorf("phase is '%s': %s", last.Text("status", "phase"), last.Text("status", "message"))
	})
	return last
}

// image is what the owner deploys by: another image, and perhaps another request.
func (t *T) image(plural, name, image, cpu string) {
	_, err := t.Patch(t.path(plural, name), L{
		M{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image},
		M{"op": "replace", "path": "/spec/template/spec/containers/0/resources/requests/cpu", "value": cpu}})
	t.Check(err)
}

// goOn ends the pause that a Rollout is in, as `kubectl argo rollouts promote` does.
func (t *T) goOn(name string) kube.Object {
	r := t.Workload("rollouts", name)
	if r.Text("status", "phase") == "Paused" {
		_, err := t.Merge(t.path("rollouts", name)+"/status", M{"status": M{"pauseConditions": nil}})
		t.Check(err)
	}
	return r
}

// stableImage is what most pods of a Rollout still run.
func (t *T) stableImage(r kube.Object) string {
	set := t.Workload("replicasets", r.Name()+"-"+r.Text("status", "stableRS"))
	return container(set.Object("spec", "template", "spec"), "app").Text("image")
}

// blocked waits until a recommendation says that a change waits for a rollout.
func (t *T) blocked(rec, message string) {
	t.RecWhen(rec, "RolloutBlocked", soon, func(r kube.Object) error {
		if got := r.Condition("Applied").Text("reason"); got != "RolloutBlocked" {
			return fmt.Errorf("reason is %s", got)
		}
		return condition(r, "Applied", "False", message)
	})
}

// Argo's own controller rolls its owner's canary while halflife would patch: it waits until that is whole, patches once, and
// the controller rolls that through the same steps.
func canary(t *T) {
	t.Argo()
	t.Namespace()
	t.Profile(quick("Recommend"))
	steps := L{M{"setWeight": 34}, M{"pause": M{"duration": "10m"}}, M{"setWeight": 67}, M{"pause": M{"duration": "1s"}}}
	t.Apply(t.rolled("web", 3, M{"canary": M{"steps": steps}}, app(usedCPU, usedMemory)))
	t.RecIn(rolloutRec, "Ready", soon)
	t.inPhase("web", "Healthy")

	t.image("rollouts", "web", "registry.invalid/app:2", "2")
	t.inPhase("web", "Progressing", "Paused")
	t.Profile(quick("Rollout"))
	t.blocked(rolloutRec, "rollout")
	cpu, memory := targets(usedCPU, usedMemory)
	t.Eventually("the template asks for the target", soon, func() error {
		r := t.goOn("web")
		if got := request(r, "app", "cpu"); got != cpu {
			return fmt.Errorf("it asks for %s", got)
		}
		if image := t.stableImage(r); image != "registry.invalid/app:2" {
			t.Fatalf("patched while most pods still ran %s", image)
		}
		return nil
	})
	t.Eventually("its pods run with the target", soon, func() error {
		t.goOn("web")
		if err := t.podsAsk("web", "app", "cpu", cpu, 3); err != nil {
			return err
		}
		return t.podsAsk("web", "app", "memory", memory, 3)
	})
	t.inPhase("web", "Healthy")
	t.unlimited("rollouts", "web")
	t.RecWhen(rolloutRec, "condition Applied", soon, func(r kube.Object) error { return condition(r, "Applied", "True", "") })
	t.Cycles(t.halflife, 2)
	t.generation("rollouts", "web", 3) // made, its owner's image, ours
}

// Two ReplicaSets of different templates run side by side for a while: what is learned is the workload's, what is judged is
// the newest template's request.
func blueGreen(t *T) {
	t.Argo()
	t.Namespace()
	for _, name := range []string{"active", "preview"} {
		t.Apply(M{"apiVersion": "v1", "kind": "Service", "metadata": t.meta(name),
			"spec": M{"selector": M{"app": "web"}, "ports": L{M{"port": 80}}}})
	}
	t.Profile(quick("Recommend"))
	t.Apply(t.rolled("web", 2, M{"blueGreen": M{"activeService": "active", "previewService": "preview",
		"autoPromotionSeconds": 15, "scaleDownDelaySeconds": 5}}, app(usedCPU, usedMemory)))
	before := t.RecIn(rolloutRec, "Ready", soon)
	t.inPhase("web", "Healthy")

	t.image("rollouts", "web", "registry.invalid/app:2", "1500m")
	t.Eventually("both run", soon, func() error {
		asks := map[string]int{}
		for _, p := range t.Pods("web") {
			asks[podRequest(p, "app", "cpu")]++
		}
		if asks["2"] != 2 || asks["1500m"] != 2 {
			return fmt.Errorf("pods ask for %v", asks)
		}
		return nil
	})
	t.RecWhen(rolloutRec, "judged by the newest template", soon, func(r kube.Object) error {
		cpu := r.Named("app", "status", "containers").Object("cpu")
		if cpu.Text("original") != "1500m" || cpu.Text("current") != "1500m" {
			return fmt.Errorf("%s", cpu)
		}
		if got := r.Text("status", "firstSample"); got != before.Text("status", "firstSample") {
			t.Fatalf("its history began anew: %s", got)
		}
		return nil
	})
	t.Profile(quick("Rollout"))
	cpu, memory := targets(usedCPU, usedMemory)
	t.Eventually("its pods run with the target", soon, func() error {
		if err := t.podsAsk("web", "app", "cpu", cpu, 2); err != nil {
			return err
		}
		return t.podsAsk("web", "app", "memory", memory, 2)
	})
	t.inPhase("web", "Healthy")
	t.generation("rollouts", "web", 3)
}

// A Deployment that a Rollout comes to run (workloadRef) stays what it was: its history goes on, its template is the one
// that is patched, and Argo's controller rolls that out.
func workloadRef(t *T) {
	t.Argo()
	t.Namespace()
	t.Profile(quick("Recommend"))
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	before := t.RecIn("deployment-web", "Ready", soon)
	t.Apply(M{"apiVersion": rollouts.apiVersion(), "kind": rollouts.kind, "metadata": t.meta("roll"), "spec": M{
		"replicas": 2, "workloadRef": M{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "scaleDown": "onsuccess"},
		"strategy": M{"canary": M{"steps": L{M{"setWeight": 50}, M{"pause": M{"duration": "1s"}}}}}}})
	t.inPhase("roll", "Healthy")
	t.Eventually("the Deployment runs nothing any more", soon, func() error {
		if n := t.Workload("deployments", "web").Int("status", "replicas"); n != 0 {
			return fmt.Errorf("it has %d replicas", n)
		}
		return nil
	})
	const more = 410
	_, err := t.Patch(t.path("deployments", "web"), L{M{"op": "replace",
		"path": "/spec/template/metadata/annotations/usage.halflife.dev~1cpu.app", "value": model.CPU.Text(more)}})
	t.Check(err)
	cpu, memory := targets(more, usedMemory)
	t.RecWhen("deployment-web", "what the Rollout's pods use", soon, func(r kube.Object) error {
		if r.Text("status", "firstSample") != before.Text("status", "firstSample") {
			t.Fatalf("its history began anew: %s", r.Object("status"))
		}
		if got := r.Named("app", "status", "containers").Text("cpu", "target"); got != cpu {
			return fmt.Errorf("the target is %s", got)
		}
		return condition(r, "Ready", "True", "")
	})

	t.Profile(quick("Rollout"))
	t.Eventually("the Rollout's pods run with the target", soon, func() error {
		if err := t.podsAsk("web", "app", "cpu", cpu, 2); err != nil {
			return err
		}
		return t.podsAsk("web", "app", "memory", memory, 2)
	})
	r := t.inPhase("roll", "Healthy")
	if r.Object("spec", "template") != nil && len(r.List("spec", "template", "spec", "containers")) > 0 {
		t.Fatalf("the Rollout was given a template: %s", r.Object("spec", "template"))
	}
	t.unlimited("deployments", "web")
	t.RecWhen("deployment-web", "condition Applied", soon, func(r kube.Object) error { return condition(r, "Applied", "True", "") })
	if o, err := t.Rec("rollout.argoproj.io-roll"); err == nil {
		t.Fatalf("the Rollout has a recommendation of its own: %s", o.Object("status"))
	}
}

// Steps that pause without a duration wait for a person: nothing is patched, and the condition says what to do to have it
// patched all the same.
func pausing(t *T) {
	t.Argo()
	t.Namespace()
	profile := quick("Rollout")
	t.Profile(profile)
	t.Apply(t.rolled("web", 2, M{"canary": M{"steps": L{M{"setWeight": 50}, M{"pause": M{}}}}}, app(usedCPU, usedMemory)))
	t.inPhase("web", "Healthy")
	t.blocked(rolloutRec, "name its kind in the profile's targets")
	t.Cycles(t.halflife, 2)
	t.generation("rollouts", "web", 1)

	profile["targets"] = L{target(rollouts.apiVersion(), rollouts.kind)}
	t.Profile(profile)
	t.inPhase("web", "Paused")
	t.generation("rollouts", "web", 2)
	cpu, _ := targets(usedCPU, usedMemory)
	t.goOn("web")
	t.Eventually("promoted, its pods run with the target", soon, func() error { return t.podsAsk("web", "app", "cpu", cpu, 2) })
	t.generation("rollouts", "web", 2)
}

// The pod of the first step of our change does harm: one patch brings the originals back before the next step, and the
// controller returns to the ReplicaSet that was stable all the while, whose pods live through it.
func guardedCanary(t *T) {
	t.Argo()
	t.Namespace()
	profile := watched("Recommend", "10m")
	t.Profile(profile)
	steps := L{M{"setWeight": 34}, M{"pause": M{"duration": "10m"}}}
	t.Apply(t.rolled("web", 3, M{"canary": M{"steps": steps}}, app(usedCPU, usedMemory)))
	t.RecIn(rolloutRec, "Ready", soon)
	stable := t.inPhase("web", "Healthy").Text("status", "stableRS")
	profile["apply"].(M)["mode"] = "Rollout"
	t.Profile(profile)
	cpu, _ := targets(usedCPU, usedMemory)
	t.Eventually("one pod tries it", soon, func() error {
		if got := t.requests("web"); got[cpu] != 1 {
			return fmt.Errorf("pods ask for %v", got)
		}
		return nil
	})
	t.inPhase("web", "Paused")
	before := map[string]string{}
	for _, p := range t.Pods("web") {
		if podRequest(p, "app", "cpu") == cpu {
			t.restarted(p.Name(), 2)
		} else {
			before[p.Name()] = p.UID()
		}
	}
	t.guarded(rolloutRec, "Restarts", "its containers restarted 2 times within")
	r := t.inPhase("web", "Healthy")
	t.resized("web", 3, "2", "1Gi")
	if r.Text("status", "stableRS") != stable || r.Text("status", "currentPodHash") != stable {
		t.Fatalf("%s was stable; it is %s", stable, r.Object("status"))
	}
	for name, uid := range before {
		if t.uids("web")[name] != uid {
			t.Fatalf("pod %s did not live through it", name)
		}
	}
	t.Cycles(t.halflife, 1)
	t.generation("rollouts", "web", 3) // made, ours, and back
}
