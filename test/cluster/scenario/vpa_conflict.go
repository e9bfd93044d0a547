package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// A VPA in Auto on the same target, of a CRD that is installed while halflife runs: every write is held, and the condition names it.
// In Off it holds nothing; come back on a lowered workload, it holds what would be written then.
func vpaAuto(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Rollout")
	profile["paused"] = true
	t.Profile(profile)
	t.InstallVPA()
	t.Apply(t.NewVPA("sizer", "web", "Auto"))
	t.Apply(t.NewVPA("looker", "api", "Off"))
	for _, name := range []string{"web", "api"} {
		t.Apply(t.NewDeployment(name, 2, stage.App()))
	}
	named := func(r kube.Object) error {
		return stage.CheckCondition(r, "OtherAutoscaler", "True", "VerticalPodAutoscaler 'sizer', updateMode Auto")
	}
	t.RecWhen("deployment-web", "the VPA is named", stage.Soon, named)
	t.Profile(stage.QuickProfile("Rollout"))
	cpu, memory := stage.Targets()
	t.Eventually("beside a VPA in Off it is lowered", stage.Soon, func() error { return t.PodsAsk("api", "app", "cpu", cpu, 2) })
	rec := t.RecWhen("deployment-web", "held by the VPA", stage.Soon, func(r kube.Object) error {
		if got := r.Condition("Applied"); got.Text("reason") != "OtherAutoscaler" || got.Text("status") != "False" {
			return fmt.Errorf("Applied is %s", got)
		}
		return named(r)
	})
	for _, resource := range []string{"cpu", "memory"} {
		if got := rec.Named("app", "status", "containers").Text(resource, "reason"); got != "OtherAutoscaler" {
			t.Fatalf("reason of %s is '%s', not OtherAutoscaler", resource, got)
		}
	}
	t.CheckGeneration("deployments", "web", 1)
	t.Apply(t.NewVPA("sizer", "web", "Off"))
	t.Eventually("the VPA is Off, so it is lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "memory", memory, 2) })
	t.RecWhen("deployment-web", "no VPA is named any more", stage.Soon, func(r kube.Object) error {
		if c := r.Condition("OtherAutoscaler"); c != nil {
			return fmt.Errorf("it still says %s", c)
		}
		return nil
	})
}

// A VPA whose policies set memory alone, and nothing of another container: that is left to it, the rest is lowered. The
// API server takes the list of it in the status.
func vpaPart(t *stage.T) {
	t.Namespace()
	t.InstallVPA()
	vpa := t.NewVPA("sizer", "web", "Auto")
	vpa["spec"].(stage.M)["resourcePolicy"] = stage.M{"containerPolicies": stage.L{
		stage.M{"containerName": "*", "controlledResources": stage.L{"memory"}, "controlledValues": "RequestsOnly"},
		stage.M{"containerName": "side", "mode": "Off"}}}
	t.Apply(vpa)
	side := stage.App()
	side.Name = "side"
	profile := stage.QuickProfile("Rollout")
	profile["paused"] = true
	t.Profile(profile)
	t.Apply(t.NewDeployment("web", 2, stage.App(), side))
	t.RecWhen("deployment-web", "the VPA of the CRD just installed is named", stage.Soon, func(r kube.Object) error {
		return stage.CheckCondition(r, "OtherAutoscaler", "True", "VerticalPodAutoscaler 'sizer'")
	})
	t.Profile(stage.QuickProfile("Rollout"))
	cpu, memory := stage.Targets()
	for _, want := range []struct{ container, resource, value string }{
		{"app", "cpu", cpu}, {"app", "memory", "1Gi"}, {"side", "cpu", cpu}, {"side", "memory", memory}} {
		t.Eventually("what is left to the VPA stays, the rest is lowered", stage.Soon, func() error {
			return t.PodsAsk("web", want.container, want.resource, want.value, 2)
		})
	}
	t.RecWhen("deployment-web", "the part is named, for people and for programs", stage.Soon, func(r kube.Object) error {
		if got := r.Named("app", "status", "containers").Text("memory", "reason"); got != "OtherAutoscaler" {
			return fmt.Errorf("reason of memory is '%s'", got)
		}
		if got := fmt.Sprint(r.At("status", "decision", "otherAutoscaler")); !strings.Contains(got, "side") {
			return fmt.Errorf("the decision has %s", got)
		}
		return stage.CheckCondition(r, "OtherAutoscaler", "True", "sets memory of 'app': halflife leaves them alone, and sets the others")
	})
	t.CheckGeneration("deployments", "web", 2)
}

// At a deploy, the first one as well, a workload that a VPA sizes gets its owner's values, by render and at admission.
func vpaDeploy(t *stage.T) {
	t.HalvedNamespace("Pod")
	t.InstallVPA()
	token, _ := t.Pipeline("ci", stage.RenderRules()...)
	t.Apply(t.NewVPA("sizer", "web", "Recreate"))
	manifest := fmt.Sprintf(limitsManifest, "web", t.NS, "pod", usualResources)
	t.Eventually("render leaves it as it is", stage.Soon, func() error {
		for _, h := range t.Halflives() {
			if body := t.Render(h, token, manifest).Body; body != manifest {
				return fmt.Errorf("%s says %s", h.Command, body)
			}
		}
		return nil
	})
	t.CtlIn(manifest, "apply", "-f", "-")
	t.WaitAdmittedPod("it runs", "web", "1", "2")
}
