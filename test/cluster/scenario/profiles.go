package scenario

import (
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// follows waits until a recommendation follows a profile.
func follows(t *stage.T, rec, kind, profile string) {
	t.RecWhen(rec, "follows "+kind+" "+profile, stage.Soon, func(r kube.Object) error {
		ref := r.Object("spec", "profileRef")
		if ref.Text("kind") != kind || ref.Text("name") != profile {
			return fmt.Errorf("it follows %s", ref)
		}
		return nil
	})
}

// Two profiles on one workload: a Profile beats a ClusterProfile, then the higher priority wins; the loser says so. With
// the last of them the recommendation goes.
func precedence(t *stage.T) {
	t.Namespace()
	low, high := stage.QuickProfile("Recommend"), stage.QuickProfile("Recommend")
	high["priority"] = 10
	high["resources"] = M{"cpu": M{"multiplier": "1.5"}, "memory": M{"enabled": true}}
	t.ProfileNamed("e2e-precedence-low", low)
	t.ProfileNamed("e2e-precedence-high", high)
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	follows(t, "deployment-web", "ClusterProfile", "e2e-precedence-high")
	t.RecIn("deployment-web", "Ready", stage.Soon)
	policy := model.CPUDefault
	policy.Thousandths = 1500
	cpuTarget(t, "deployment-web", policy)
	t.WaitMatched("/clusterprofiles/e2e-precedence-high", 1)
	t.WaitMatched("/clusterprofiles/e2e-precedence-low", 0)
	t.Eventually("the loser says who won", stage.Soon, func() error {
		p, err := t.Get(stage.APIPath + "/clusterprofiles/e2e-precedence-low")
		if err == nil && !strings.Contains(p.Object("status").String(), "e2e-precedence-high") {
			err = fmt.Errorf("its status is %s", p.Object("status"))
		}
		return err
	})

	t.Apply(M{"apiVersion": "halflife.dev/v1alpha1", "kind": "Profile", "metadata": M{"name": "team", "namespace": t.NS},
		"spec": stage.QuickProfile("Recommend")})
	follows(t, "deployment-web", "Profile", "team")
	cpuTarget(t, "deployment-web", model.CPUDefault)

	t.Ctl("-n", t.NS, "delete", "hlp", "team")
	follows(t, "deployment-web", "ClusterProfile", "e2e-precedence-high")
	high["selector"] = M{"matchLabels": M{"app": "other"}}
	t.ProfileNamed("e2e-precedence-high", high)
	follows(t, "deployment-web", "ClusterProfile", "e2e-precedence-low")
	t.Ctl("delete", "hlcp", "e2e-precedence-low")
	t.Eventually("the recommendation goes with the last profile", stage.Soon, func() error {
		if _, err := t.Rec("deployment-web"); kube.Code(err) != 404 {
			return fmt.Errorf("it is still there (%v)", err)
		}
		return nil
	})
}

func cpuTarget(t *stage.T, rec string, policy model.Policy) {
	want := model.CPU.Text(policy.Target(model.CPU.Model(stage.UsedCPU), 2000))
	t.RecWhen(rec, "target "+want, stage.Soon, func(r kube.Object) error {
		if got := r.Named("app", "status", "containers").Text("cpu", "target"); got != want {
			return fmt.Errorf("target is %s", got)
		}
		return nil
	})
}

// A workload deleted and made again goes on with its history: sized at once, without learning anew.
func recreated(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Rollout")
	profile["apply"].(M)["minHistory"] = "40s"
	t.Profile(profile)
	manifest := t.NewDeployment("web", 2, stage.App())
	t.Apply(manifest)
	t.Apply(t.NewDeployment("beside", 1, stage.App())) // usage is read only while somebody has a profile
	cpu, _ := stage.Targets()
	t.Eventually("the first is lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	first := t.Workload("deployments", "web").UID()
	since := t.RecIn("deployment-web", "Ready", stage.Soon).Text("status", "firstSample")
	t.Ctl("-n", t.NS, "delete", "deployment", "web")
	t.Cycles(t.Learner, 2)
	if _, err := t.Rec("deployment-web"); err != nil {
		t.Fatalf("the recommendation did not outlive its workload: %v", err)
	}
	t.Apply(manifest)
	start := time.Now()
	t.Eventually("the second is lowered at once", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	if rec := t.RecIn("deployment-web", "Ready", stage.Soon); since == "" || rec.Text("status", "firstSample") != since {
		t.Fatalf("its history, of %s, began anew: %s", since, rec.Object("status"))
	}
	if t.Workload("deployments", "web").UID() == first {
		t.Fatalf("it is still the same deployment")
	}
	t.Notef("lowered %.0f s after it was made again", time.Since(start).Seconds())
}

// A namespace that goes away in the middle of patching leaves nothing behind and stops nobody.
func namespaceGone(t *stage.T) {
	t.Namespace()
	t.KeepCycles()
	t.Profile(stage.QuickProfile("Rollout"))
	const many = 20
	for i := range many {
		t.Create("deployments", t.NewDeployment(fmt.Sprintf("w%d", i), 2, stage.App()))
	}
	mark := t.Audit.Mark()
	t.Eventually("the first patch", stage.Soon, func() error {
		for _, r := range t.Audit.Since(mark, stage.LearnerUser) {
			if r.Verb == "patch" && r.Object.Resource == "deployments" && r.Object.Namespace == t.NS {
				return nil
			}
		}
		return fmt.Errorf("none yet")
	})
	t.Check(t.Delete("/api/v1/namespaces/" + t.NS))
	t.Eventually("the namespace is gone", stage.Soon, func() error {
		if _, err := t.Get("/api/v1/namespaces/" + t.NS); kube.Code(err) != 404 {
			return fmt.Errorf("it is still there (%v)", err)
		}
		return nil
	})
	t.Cycles(t.Learner, 2)
	mark = t.Audit.Mark()
	t.Cycles(t.Learner, 2)
	for _, r := range stage.Writes(t.Audit.Since(mark, stage.LearnerUser)) {
		if r.Object.Namespace == t.NS {
			t.Fatalf("still writing into the namespace that is gone: %s %s", r.Verb, r.URI)
		}
	}
}
