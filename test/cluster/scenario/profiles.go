package scenario

import (
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
)

func init() {
	shared = append(shared, scenario{"precedence", precedence}, scenario{"recreated", recreated},
		scenario{"namespace-gone", namespaceGone}, scenario{"oom", oom})
}

// follows waits until a recommendation follows a profile.
func (t *T) follows(rec, kind, profile string) {
	t.RecWhen(rec, "follows "+kind+" "+profile, soon, func(r kube.Object) error {
		ref := r.Object("spec", "profileRef")
		if ref.Text("kind") != kind || ref.Text("name") != profile {
			return fmt.Errorf("it follows %s", ref)
		}
		return nil
	})
}

// Two profiles on one workload: a Profile beats a ClusterProfile, then the higher priority wins; the loser says so. With
// the last of them the recommendation goes.
func precedence(t *T) {
	t.Namespace()
	low, high := quick("Recommend"), quick("Recommend")
	high["priority"] = 10
	high["resources"] = M{"cpu": M{"multiplier": "1.5"}, "memory": M{"enabled": true}}
	t.ProfileNamed("e2e-precedence-low", low)
	t.ProfileNamed("e2e-precedence-high", high)
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	t.follows("deployment-web", "ClusterProfile", "e2e-precedence-high")
	t.RecIn("deployment-web", "Ready", soon)
	policy := model.CPUDefault
	policy.Thousandths = 1500
	t.cpuTarget("deployment-web", policy)
	t.matched("/clusterprofiles/e2e-precedence-high", 1)
	t.matched("/clusterprofiles/e2e-precedence-low", 0)
	t.Eventually("the loser says who won", soon, func() error {
		p, err := t.Get(api + "/clusterprofiles/e2e-precedence-low")
		if err == nil && !strings.Contains(p.Object("status").String(), "e2e-precedence-high") {
			err = fmt.Errorf("its status is %s", p.Object("status"))
		}
		return err
	})

	t.Apply(M{"apiVersion": "halflife.dev/v1alpha1", "kind": "Profile", "metadata": M{"name": "team", "namespace": t.NS},
		"spec": quick("Recommend")})
	t.follows("deployment-web", "Profile", "team")
	t.cpuTarget("deployment-web", model.CPUDefault)

	t.Ctl("-n", t.NS, "delete", "hlp", "team")
	t.follows("deployment-web", "ClusterProfile", "e2e-precedence-high")
	high["selector"] = M{"matchLabels": M{"app": "other"}}
	t.ProfileNamed("e2e-precedence-high", high)
	t.follows("deployment-web", "ClusterProfile", "e2e-precedence-low")
	t.Ctl("delete", "hlcp", "e2e-precedence-low")
	t.Eventually("the recommendation goes with the last profile", soon, func() error {
		if _, err := t.Rec("deployment-web"); kube.Code(err) != 404 {
			return fmt.Errorf("it is still there (%v)", err)
		}
		return nil
	})
}

func (t *T) cpuTarget(rec string, policy model.Policy) {
	want := model.CPU.Text(policy.Target(model.CPU.Model(usedCPU), 2000))
	t.RecWhen(rec, "target "+want, soon, func(r kube.Object) error {
		if got := r.Named("app", "status", "containers").Text("cpu", "target"); got != want {
			return fmt.Errorf("target is %s", got)
		}
		return nil
	})
}

func (t *T) matched(profile string, want int64) {
	t.Eventually(fmt.Sprintf("%s matches %d", profile, want), soon, func() error {
		p, err := t.Get(api + profile)
		if err == nil && (p.Int("status", "targets", "matched") != want || p.At("status", "targets") == nil) {
			err = fmt.Errorf("its status is %s", p.Object("status"))
		}
		return err
	})
}

// A workload deleted and made again goes on with its history: sized at once, without learning anew.
func recreated(t *T) {
	t.Namespace()
	profile := quick("Rollout")
	profile["apply"].(M)["minHistory"] = "40s"
	t.Profile(profile)
	manifest := t.deployment("web", 2, app(usedCPU, usedMemory))
	t.Apply(manifest)
	t.Apply(t.deployment("beside", 1, app(usedCPU, usedMemory))) // usage is read only while somebody has a profile
	cpu, _ := targets(usedCPU, usedMemory)
	t.Eventually("the first is lowered", soon, func() error { return t.podsAsk("web", "app", "cpu", cpu, 2) })
	first := t.Workload("deployments", "web").UID()
	since := t.RecIn("deployment-web", "Ready", soon).Text("status", "firstSample")
	t.Ctl("-n", t.NS, "delete", "deployment", "web")
	t.Cycles(t.halflife, 2)
	if _, err := t.Rec("deployment-web"); err != nil {
		t.Fatalf("the recommendation did not outlive its workload: %v", err)
	}
	t.Apply(manifest)
	start := time.Now()
	t.Eventually("the second is lowered at once", soon, func() error { return t.podsAsk("web", "app", "cpu", cpu, 2) })
	if rec := t.RecIn("deployment-web", "Ready", soon); since == "" || rec.Text("status", "firstSample") != since {
		t.Fatalf("its history, of %s, began anew: %s", since, rec.Object("status"))
	}
	if t.Workload("deployments", "web").UID() == first {
		t.Fatalf("it is still the same deployment")
	}
	t.Notef("lowered %.0f s after it was made again", time.Since(start).Seconds())
}

// A namespace that goes away in the middle of patching leaves nothing behind and stops nobody.
func namespaceGone(t *T) {
	t.Namespace()
	t.Beside()
	t.Profile(quick("Rollout"))
	const many = 20
	for i := range many {
		t.Create("deployments", t.deployment(fmt.Sprintf("w%d", i), 2, app(usedCPU, usedMemory)))
	}
	mark := t.Audit.Mark()
	t.Eventually("the first patch", soon, func() error {
		for _, r := range t.Audit.Since(mark, account) {
			if r.Verb == "patch" && r.Object.Resource == "deployments" && r.Object.Namespace == t.NS {
				return nil
			}
		}
		return fmt.Errorf("none yet")
	})
	t.Check(t.Delete("/api/v1/namespaces/" + t.NS))
	t.Eventually("the namespace is gone", soon, func() error {
		if _, err := t.Get("/api/v1/namespaces/" + t.NS); kube.Code(err) != 404 {
			return fmt.Errorf("it is still there (%v)", err)
		}
		return nil
	})
	t.Cycles(t.halflife, 2)
	mark = t.Audit.Mark()
	t.Cycles(t.halflife, 2)
	for _, r := range Writes(t.Audit.Since(mark, account)) {
		if r.Object.Namespace == t.NS {
			t.Fatalf("still writing into the namespace that is gone: %s %s", r.Verb, r.URI)
		}
	}
}

// An OOM kill raises the memory model beside the histogram, once.
func oom(t *T) {
	t.Namespace()
	t.Profile(quick("Recommend"))
	t.Apply(t.deployment("web", 1, box{name: "app", requests: M{"cpu": "2", "memory": "4Gi"}, limits: M{"memory": "6Gi"},
		cpu: usedCPU, memory: 300 * mi}))
	memory := func(want int64) func(kube.Object) error {
		return func(r kube.Object) error {
			got := r.Named("app", "status", "containers").Text("memory", "model")
			if got != model.Memory.Text(want) {
				return fmt.Errorf("the memory model is '%s', not %s", got, model.Memory.Text(want))
			}
			return nil
		}
	}
	t.RecWhen("deployment-web", "memory before the kill", soon, memory(model.Memory.Model(300*mi)))
	pod := t.Pods("web")[0]
	t.uses(pod.Name(), 5*1024*mi)
	t.RecWhen("deployment-web", "its usage near the limit", soon, func(r kube.Object) error {
		if got := r.Named("app", "status", "containers").Text("memory", "model"); got == model.Memory.Text(model.Memory.Model(300*mi)) {
			return fmt.Errorf("the memory model is still %s", got)
		}
		return nil
	})
	now := time.Now().UTC().Format(time.RFC3339)
	_, err := t.Patch(t.path("pods", pod.Name())+"/status", L{
		M{"op": "replace", "path": "/status/containerStatuses/0/restartCount", "value": 1},
		M{"op": "add", "path": "/status/containerStatuses/0/lastState", "value": M{"terminated": M{
			"exitCode": 137, "reason": "OOMKilled", "startedAt": pod.Text("status", "startTime"), "finishedAt": now}}},
	})
	t.Check(err)
	// Its last sample was near the limit, so that is what killed it: max(6Gi x 1.2, 6Gi + 100Mi), up to a whole Mi.
	killed := int64(6*1024*mi) * 12 / 10
	killed = (killed + mi - 1) / mi * mi
	rec := t.RecWhen("deployment-web", "memory after the kill", soon, memory(killed))
	if got := rec.Named("app", "status", "containers").Text("memory", "target"); got != "4Gi" {
		t.Fatalf("the target is %s, above the original of 4Gi", got)
	}
	t.Cycles(t.halflife, 2)
	rec = t.RecWhen("deployment-web", "the kill counts once", soon, memory(killed))
	t.Check(condition(rec, "OutOfMemory", "True", "limit too low: raise it by hand"))
	if got := rec.Int("status", "oomKills"); got != 1 {
		t.Fatalf("%d kills are told, not 1", got)
	}
}
