package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// rolled is a Rollout with a template of its own.
func rolled(t *stage.T, name string, replicas int, strategy M, boxes ...stage.Container) M {
	o := t.NewDeployment(name, replicas, boxes...)
	o["apiVersion"], o["kind"] = stage.ArgoRollout.APIVersion(), stage.ArgoRollout.Kind
	o["spec"].(M)["strategy"] = strategy
	return o
}

const rolloutRec = "rollout.argoproj.io-web"

// inPhase waits until Argo's controller says so of the present generation.
func inPhase(t *stage.T, name string, phases ...string) kube.Object {
	var last kube.Object
	t.Eventually(name+" is "+strings.Join(phases, " or "), stage.Soon, func() error {
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

// goOn ends the pause that a Rollout is in, as `kubectl argo rollouts promote` does.
func goOn(t *stage.T, name string) kube.Object {
	r := t.Workload("rollouts", name)
	if r.Text("status", "phase") == "Paused" {
		_, err := t.Merge(t.Path("rollouts", name)+"/status", M{"status": M{"pauseConditions": nil}})
		t.Check(err)
	}
	return r
}

// stableImage is what most pods of a Rollout still run.
func stableImage(t *stage.T, r kube.Object) string {
	set := t.Workload("replicasets", r.Name()+"-"+r.Text("status", "stableRS"))
	return stage.FindContainer(set.Object("spec", "template", "spec"), "app").Text("image")
}

// Argo's own controller rolls its owner's canary while halflife would patch: it waits until that is whole, patches once, and
// the controller rolls that through the same steps.
func argoCanary(t *stage.T) {
	t.StartArgo()
	t.Namespace()
	t.Profile(stage.QuickProfile("Recommend"))
	steps := L{M{"setWeight": 34}, M{"pause": M{"duration": "10m"}}, M{"setWeight": 67}, M{"pause": M{"duration": "1s"}}}
	t.Apply(rolled(t, "web", 3, M{"canary": M{"steps": steps}}, stage.App()))
	t.RecIn(rolloutRec, "Ready", stage.Soon)
	inPhase(t, "web", "Healthy")

	t.SetImage("rollouts", "web", "registry.invalid/app:2", "2")
	inPhase(t, "web", "Progressing", "Paused")
	t.Profile(stage.QuickProfile("Rollout"))
	t.WaitRolloutBlocked(rolloutRec, "rollout")
	cpu, memory := stage.Targets()
	t.Eventually("the template asks for the target", stage.Soon, func() error {
		r := goOn(t, "web")
		if got := stage.Requested(r, "app", "cpu"); got != cpu {
			return fmt.Errorf("it asks for %s", got)
		}
		if image := stableImage(t, r); image != "registry.invalid/app:2" {
			t.Fatalf("patched while most pods still ran %s", image)
		}
		return nil
	})
	t.Eventually("its pods run with the target", stage.Soon, func() error {
		goOn(t, "web")
		if err := t.PodsAsk("web", "app", "cpu", cpu, 3); err != nil {
			return err
		}
		return t.PodsAsk("web", "app", "memory", memory, 3)
	})
	inPhase(t, "web", "Healthy")
	t.CheckLimits("rollouts", "web")
	t.RecWhen(rolloutRec, "condition Applied", stage.Soon, func(r kube.Object) error {
		return stage.CheckCondition(r, "Applied", "True", "")
	})
	t.Cycles(t.Learner, 2)
	t.CheckGeneration("rollouts", "web", 3) // made, its owner's image, ours
}

// Two ReplicaSets of different templates run side by side for a while: what is learned is the workload's, what is judged is
// the newest template's request.
func blueGreen(t *stage.T) {
	t.StartArgo()
	t.Namespace()
	for _, name := range []string{"active", "preview"} {
		t.Apply(M{"apiVersion": "v1", "kind": "Service", "metadata": t.Meta(name),
			"spec": M{"selector": M{"app": "web"}, "ports": L{M{"port": 80}}}})
	}
	t.Profile(stage.QuickProfile("Recommend"))
	t.Apply(rolled(t, "web", 2, M{"blueGreen": M{"activeService": "active", "previewService": "preview",
		"autoPromotionSeconds": 15, "scaleDownDelaySeconds": 5}}, stage.App()))
	before := t.RecIn(rolloutRec, "Ready", stage.Soon)
	inPhase(t, "web", "Healthy")

	t.SetImage("rollouts", "web", "registry.invalid/app:2", "1500m")
	t.Eventually("both run", stage.Soon, func() error {
		asks := map[string]int{}
		for _, p := range t.Pods("web") {
			asks[stage.PodRequested(p, "app", "cpu")]++
		}
		if asks["2"] != 2 || asks["1500m"] != 2 {
			return fmt.Errorf("pods ask for %v", asks)
		}
		return nil
	})
	t.RecWhen(rolloutRec, "judged by the newest template", stage.Soon, func(r kube.Object) error {
		cpu := r.Named("app", "status", "containers").Object("cpu")
		if cpu.Text("original") != "1500m" || cpu.Text("current") != "1500m" {
			return fmt.Errorf("%s", cpu)
		}
		if got := r.Text("status", "firstSample"); got != before.Text("status", "firstSample") {
			t.Fatalf("its history began anew: %s", got)
		}
		return nil
	})
	t.Profile(stage.QuickProfile("Rollout"))
	cpu, memory := stage.Targets()
	t.Eventually("its pods run with the target", stage.Soon, func() error {
		if err := t.PodsAsk("web", "app", "cpu", cpu, 2); err != nil {
			return err
		}
		return t.PodsAsk("web", "app", "memory", memory, 2)
	})
	inPhase(t, "web", "Healthy")
	t.CheckGeneration("rollouts", "web", 3)
}

// A Deployment that a Rollout comes to run (workloadRef) stays what it was: its history goes on, its template is the one
// that is patched, and Argo's controller rolls that out.
func workloadRef(t *stage.T) {
	t.StartArgo()
	t.Namespace()
	t.Profile(stage.QuickProfile("Recommend"))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	before := t.RecIn("deployment-web", "Ready", stage.Soon)
	t.Apply(M{"apiVersion": stage.ArgoRollout.APIVersion(), "kind": stage.ArgoRollout.Kind, "metadata": t.Meta("roll"), "spec": M{
		"replicas": 2, "workloadRef": M{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "scaleDown": "onsuccess"},
		"strategy": M{"canary": M{"steps": L{M{"setWeight": 50}, M{"pause": M{"duration": "1s"}}}}}}})
	inPhase(t, "roll", "Healthy")
	t.Eventually("the Deployment runs nothing any more", stage.Soon, func() error {
		if n := t.Workload("deployments", "web").Int("status", "replicas"); n != 0 {
			return fmt.Errorf("it has %d replicas", n)
		}
		return nil
	})
	const more = 410
	_, err := t.Patch(t.Path("deployments", "web"), L{M{"op": "replace",
		"path": "/spec/template/metadata/annotations/usage.halflife.dev~1cpu.app", "value": model.CPU.Text(more)}})
	t.Check(err)
	cpu, memory := stage.TargetsOf(more, stage.UsedMemory)
	t.RecWhen("deployment-web", "what the Rollout's pods use", stage.Soon, func(r kube.Object) error {
		if r.Text("status", "firstSample") != before.Text("status", "firstSample") {
			t.Fatalf("its history began anew: %s", r.Object("status"))
		}
		if got := r.Named("app", "status", "containers").Text("cpu", "target"); got != cpu {
			return fmt.Errorf("the target is %s", got)
		}
		return stage.CheckCondition(r, "Ready", "True", "")
	})

	t.Profile(stage.QuickProfile("Rollout"))
	t.Eventually("the Rollout's pods run with the target", stage.Soon, func() error {
		if err := t.PodsAsk("web", "app", "cpu", cpu, 2); err != nil {
			return err
		}
		return t.PodsAsk("web", "app", "memory", memory, 2)
	})
	r := inPhase(t, "roll", "Healthy")
	if r.Object("spec", "template") != nil && len(r.List("spec", "template", "spec", "containers")) > 0 {
		t.Fatalf("the Rollout was given a template: %s", r.Object("spec", "template"))
	}
	t.CheckLimits("deployments", "web")
	t.RecWhen("deployment-web", "condition Applied", stage.Soon, func(r kube.Object) error {
		return stage.CheckCondition(r, "Applied", "True", "")
	})
	if o, err := t.Rec("rollout.argoproj.io-roll"); err == nil {
		t.Fatalf("the Rollout has a recommendation of its own: %s", o.Object("status"))
	}
}

// Steps that pause without a duration wait for a person: nothing is patched, and the condition says what to do to have it
// patched all the same.
func pausing(t *stage.T) {
	t.StartArgo()
	t.Namespace()
	profile := stage.QuickProfile("Rollout")
	t.Profile(profile)
	t.Apply(rolled(t, "web", 2, M{"canary": M{"steps": L{M{"setWeight": 50}, M{"pause": M{}}}}}, stage.App()))
	inPhase(t, "web", "Healthy")
	t.WaitRolloutBlocked(rolloutRec, "name its kind in the profile's targets")
	t.Cycles(t.Learner, 2)
	t.CheckGeneration("rollouts", "web", 1)

	profile["targets"] = L{stage.TargetKind(stage.ArgoRollout.APIVersion(), stage.ArgoRollout.Kind)}
	t.Profile(profile)
	inPhase(t, "web", "Paused")
	t.CheckGeneration("rollouts", "web", 2)
	cpu, _ := stage.Targets()
	goOn(t, "web")
	t.Eventually("promoted, its pods run with the target", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	t.CheckGeneration("rollouts", "web", 2)
}

// The pod of the first step of our change does harm: one patch brings the originals back before the next step, and the
// controller returns to the ReplicaSet that was stable all the while, whose pods live through it.
func guardedCanary(t *stage.T) {
	t.StartArgo()
	t.Namespace()
	profile := stage.GuardedProfile("Recommend", "10m")
	t.Profile(profile)
	steps := L{M{"setWeight": 34}, M{"pause": M{"duration": "10m"}}}
	t.Apply(rolled(t, "web", 3, M{"canary": M{"steps": steps}}, stage.App()))
	t.RecIn(rolloutRec, "Ready", stage.Soon)
	stable := inPhase(t, "web", "Healthy").Text("status", "stableRS")
	profile["apply"].(M)["mode"] = "Rollout"
	t.Profile(profile)
	cpu, _ := stage.Targets()
	t.Eventually("one pod tries it", stage.Soon, func() error {
		if got := t.CountByCPU("web"); got[cpu] != 1 {
			return fmt.Errorf("pods ask for %v", got)
		}
		return nil
	})
	inPhase(t, "web", "Paused")
	before := map[string]string{}
	for _, p := range t.Pods("web") {
		if stage.PodRequested(p, "app", "cpu") == cpu {
			t.ReportRestarts(p.Name(), 2)
		} else {
			before[p.Name()] = p.UID()
		}
	}
	t.WaitGuarded(rolloutRec, "Restarts", "its containers restarted 2 times within")
	r := inPhase(t, "web", "Healthy")
	t.WaitResized("web", 3, "2", "1Gi")
	if r.Text("status", "stableRS") != stable || r.Text("status", "currentPodHash") != stable {
		t.Fatalf("%s was stable; it is %s", stable, r.Object("status"))
	}
	for name, uid := range before {
		if t.UIDs("web")[name] != uid {
			t.Fatalf("pod %s did not live through it", name)
		}
	}
	t.Cycles(t.Learner, 1)
	t.CheckGeneration("rollouts", "web", 3) // made, ours, and back
}
