package scenario

import (
	_ "embed"
	"fmt"

	"halflife.dev/cluster/kube"
)

func init() {
	shared = append(shared, scenario{"vpa-auto", vpaAuto})
	doored = append(doored, scenario{"vpa-deploy", vpaDeploy})
}

//go:embed crds/vpa.yaml
var vpaCRD string

const vpas = "verticalpodautoscalers"

func (t *T) installVPA() {
	t.Eventually("VerticalPodAutoscalers are installed", soon, func() error {
		_, err := t.ctl.Run(vpaCRD, "apply", "-f", "-")
		return err
	})
	t.Ctl("wait", "--for=condition=Established", "--timeout=300s", "crd", vpas+".autoscaling.k8s.io")
}

func (t *T) vpa(name, of, mode string) M {
	return M{"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": t.meta(name), "spec": M{
		"targetRef":    M{"apiVersion": "apps/v1", "kind": "Deployment", "name": of},
		"updatePolicy": M{"updateMode": mode}}}
}

// A VPA in Auto on the same target, of a CRD that is installed while halflife runs: every write is held, and the condition names it.
// In Off it holds nothing; come back on a lowered workload, it holds what would be written then.
func vpaAuto(t *T) {
	t.Namespace()
	profile := quick("Rollout")
	profile["paused"] = true
	t.Profile(profile)
	t.installVPA()
	t.Apply(t.vpa("sizer", "web", "Auto"))
	t.Apply(t.vpa("looker", "api", "Off"))
	for _, name := range []string{"web", "api"} {
		t.Apply(t.deployment(name, 2, app(usedCPU, usedMemory)))
	}
	named := func(r kube.Object) error {
		return condition(r, "OtherAutoscaler", "True", "VerticalPodAutoscaler 'sizer', updateMode Auto")
	}
	t.RecWhen("deployment-web", "the VPA is named", soon, named)
	t.Profile(quick("Rollout"))
	cpu, memory := targets(usedCPU, usedMemory)
	t.Eventually("beside a VPA in Off it is lowered", soon, func() error { return t.podsAsk("api", "app", "cpu", cpu, 2) })
	rec := t.RecWhen("deployment-web", "held by the VPA", soon, func(r kube.Object) error {
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
	t.generation("deployments", "web", 1)
	t.Apply(t.vpa("sizer", "web", "Off"))
	t.Eventually("the VPA is Off, so it is lowered", soon, func() error { return t.podsAsk("web", "app", "memory", memory, 2) })
	t.RecWhen("deployment-web", "no VPA is named any more", soon, func(r kube.Object) error {
		if c := r.Condition("OtherAutoscaler"); c != nil {
			return fmt.Errorf("it still says %s", c)
		}
		return nil
	})
}

// At a deploy, the first one as well, a workload that a VPA sizes gets its owner's values, by render and at admission.
func vpaDeploy(t *T) {
	t.Halved("Pod")
	t.installVPA()
	token, _ := t.Pipeline("ci", Renderer()...)
	t.Apply(t.vpa("sizer", "web", "Recreate"))
	manifest := fmt.Sprintf(limitsManifest, "web", t.NS, "pod", usualResources)
	t.Eventually("render leaves it as it is", soon, func() error {
		for _, h := range t.mine() {
			if body := t.Render(h, token, manifest).Body; body != manifest {
				return fmt.Errorf("%s says %s", h.command, body)
			}
		}
		return nil
	})
	t.CtlIn(manifest, "apply", "-f", "-")
	t.cameWith("it runs", "web", "1", "2")
}
