package scenario

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// stood is for how long canaries are watched: what is to be seen meanwhile must be seen on a machine with much to do as well.
const stood = 40 * time.Second

// tried is a quick profile that changes so many per cent first, and watches them for so long.
func tried(mode string, percent int, watch time.Duration) M {
	p := stage.QuickProfile(mode)
	p["apply"].(M)["canary"] = M{"percent": percent}
	p["apply"].(M)["guard"] = M{"watch": watch.String()}
	return p
}

// canaries are names of Deployments: so many of the first half by the hash, and two that are not.
func canaries(t *stage.T, count int) (first, rest []string) {
	for i := 0; len(first) < count || len(rest) < 2; i++ {
		name := fmt.Sprintf("web-%d", i)
		sum := sha256.Sum256([]byte(strings.Join([]string{t.NS, "Deployment", name, ""}, "/")))
		half := binary.BigEndian.Uint32(sum[:4]) < 1<<31
		if half && len(first) < count {
			first = append(first, name)
		} else if !half && len(rest) < 2 {
			rest = append(rest, name)
		}
	}
	return first, rest
}

func mixed(t *stage.T, app, cpu string, pods int, others string, rest int) {
	t.Eventually(fmt.Sprintf("%d pods ask for %s, %d for %s", pods, cpu, rest, others), stage.Soon, func() error {
		got := t.CountByCPU(app)
		if got[cpu] != pods || got[others] != rest || len(t.Pods(app)) != pods+rest {
			return fmt.Errorf("they ask for %v", got)
		}
		return nil
	})
}

func waitCanary(t *stage.T, rec, reason string) kube.Object {
	return t.RecWhen(rec, "condition Canary "+reason, stage.Soon, func(r kube.Object) error {
		if got := r.Condition("Canary").Text("reason"); got != reason {
			return fmt.Errorf("condition Canary is '%s': %s", got, r.Object("status"))
		}
		return nil
	})
}

// Half of the running pods are resized, new ones come as the others are, and all follow once those stood; nothing restarts.
func canaryInPlace(t *stage.T) {
	t.Namespace()
	profile := tried("Recommend", 50, stood)
	t.Profile(profile)
	t.Apply(t.NewDeployment("web", 4, stage.App()))
	t.Eventually("they run", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", "2", 4) })
	before := t.UIDs("web")
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	cpu, memory := stage.Targets()
	mixed(t, "web", cpu, 2, "2", 2)
	rec := waitCanary(t, "deployment-web", "Watched")
	if rec.Condition("Applied").Text("reason") == "UpToDate" || rec.Object("status", "canary") == nil {
		t.Fatalf("its status says nothing of canaries: %s", rec.Object("status"))
	}
	t.Ctl("-n", t.NS, "scale", "deployment/web", "--replicas=5")
	mixed(t, "web", cpu, 2, "2", 3)
	t.WaitResized("web", 5, cpu, memory)
	for name, uid := range before {
		if got := t.UIDs("web")[name]; got != uid {
			t.Fatalf("pod %s did not live through it", name)
		}
	}
	rec = t.WaitApplied("deployment-web", "True", "UpToDate", "")
	if rec.Object("status", "canary") != nil || rec.Condition("Canary") != nil {
		t.Fatalf("its status speaks of canaries still: %s", rec.Object("status"))
	}
	t.CheckGeneration("deployments", "web", 2) // made, and scaled
}

// profileOpens waits until the scenario's profile says so of its canaries.
func profileOpens(t *stage.T, open bool, counts M) {
	t.Eventually(fmt.Sprintf("the profile's status says %v, %v", open, counts), stage.Soon, func() error {
		p, err := t.Get("/apis/halflife.dev/v1alpha1/clusterprofiles/e2e-" + t.Name)
		t.Check(err)
		canary := p.Object("status", "canary")
		if canary.At("complete") != open {
			return fmt.Errorf("status.canary is %s", canary)
		}
		for name, want := range counts {
			if canary.Text(name) != fmt.Sprint(want) {
				return fmt.Errorf("%s is not %v in %s", name, want, canary)
			}
		}
		return nil
	})
}

// One of three is rolled out first; the others wait, say for what, and follow once it stood.
func canaryRollout(t *stage.T) {
	t.Namespace()
	chosen, rest := canaries(t, 1)
	first := chosen[0]
	t.Profile(tried("Rollout", 50, stood))
	for _, name := range append(rest, first) {
		t.Apply(t.NewDeployment(name, 2, stage.App()))
	}
	cpu, _ := stage.Targets()
	t.Eventually("the canary runs with its target", stage.Soon, func() error { return t.PodsAsk(first, "app", "cpu", cpu, 2) })
	waitCanary(t, "deployment-"+first, "Watched")
	waiting(t, rest)
	profileOpens(t, false, M{"workloads": 1, "changed": 1})
	for _, name := range rest {
		t.Eventually(name+" follows", stage.Soon, func() error { return t.PodsAsk(name, "app", "cpu", cpu, 2) })
	}
	profileOpens(t, true, M{"workloads": 1, "changed": 1, "passed": 1})
}

// waiting checks that workloads wait for the canaries, say so, and were not touched.
func waiting(t *stage.T, names []string) {
	for _, name := range names {
		rec := waitCanary(t, "deployment-"+name, "Waiting")
		if got := rec.Named("app", "status", "containers").Text("cpu", "reason"); got != "Canary" {
			t.Fatalf("reason of %s is %s", name, got)
		}
		t.CheckGeneration("deployments", name, 1)
	}
}

// One of two canaries does harm: it has its originals again and is Held, the other one stays lowered. The rest waits, also
// when the watch time is long over, until a person has the guard let go: then what was taken back is tried again.
func canaryGuard(t *stage.T) {
	t.Namespace()
	first, rest := canaries(t, 2)
	profile := tried("Rollout", 50, 10*time.Minute)
	t.Profile(profile)
	for _, name := range append(rest, first...) {
		t.Apply(t.NewDeployment(name, 2, stage.App()))
	}
	cpu, memory := stage.Targets()
	for _, name := range first {
		t.WaitResized(name, 2, cpu, memory)
		waitCanary(t, "deployment-"+name, "Watched")
	}
	waiting(t, rest)
	bad, good := first[0], first[1]
	t.ReportRestarts(t.Pods(bad)[0].Name(), 2)
	t.WaitGuarded("deployment-"+bad, "Restarts", "its containers restarted 2 times within")
	t.WaitResized(bad, 2, "2", "1Gi")
	t.CheckGeneration("deployments", bad, 3)

	profile["apply"].(M)["guard"] = M{"watch": "1s"}
	t.Profile(profile)
	profileOpens(t, false, M{"workloads": 2, "changed": 1, "passed": 1, "reverted": 1})
	t.Cycles(t.Learner, 2)
	waiting(t, rest)
	t.CheckUnguarded("deployment-" + good)
	t.Check(t.PodsAsk(good, "app", "cpu", cpu, 2))
	t.CheckGeneration("deployments", good, 2)
	t.CheckGeneration("deployments", bad, 3)

	profile["apply"].(M)["guard"] = M{"watch": "1s", "enabled": false}
	t.Profile(profile)
	for _, name := range append(rest, bad) {
		t.WaitResized(name, 2, cpu, memory)
	}
	profileOpens(t, true, M{"workloads": 2, "changed": 2, "passed": 2})
}

// The two pods of four that try a setting do harm: they have their originals again, and nothing restarts. The others were never
// touched, and are not when the watch time is long over.
func canaryGuardInPlace(t *stage.T) {
	t.Namespace()
	profile := tried("Recommend", 50, 10*time.Minute)
	t.Profile(profile)
	t.Apply(t.NewWorkload("StatefulSet", "db", 4, stage.App()))
	t.Eventually("they run", stage.Soon, func() error { return t.PodsAsk("db", "app", "cpu", "2", 4) })
	before := t.UIDs("db")
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	cpu, _ := stage.Targets()
	mixed(t, "db", cpu, 2, "2", 2)
	waitCanary(t, "statefulset-db", "Watched")
	var others []string
	for _, p := range t.Pods("db") {
		if stage.PodRequested(p, "app", "cpu") == cpu {
			t.ReportRestarts(p.Name(), 1)
		} else {
			others = append(others, p.Name())
		}
	}
	t.WaitGuarded("statefulset-db", "Restarts", "its containers restarted 2 times within")
	t.WaitResized("db", 4, "2", "1Gi")
	profile["apply"].(M)["guard"] = M{"watch": "1s"}
	t.Profile(profile)
	t.Cycles(t.Learner, 2)
	rec := t.WaitGuarded("statefulset-db", "Restarts", "left alone until")
	if rec.Object("status", "canary") != nil || rec.Condition("Canary") != nil {
		t.Fatalf("its status speaks of canaries still: %s", rec.Object("status"))
	}
	t.Check(t.PodsAsk("db", "app", "cpu", "2", 4))
	t.CheckSamePods("db", before)
	for _, name := range others {
		if p := t.Workload("pods", name); p.Generation() != 1 || stage.HasAnnotations(p) {
			t.Fatalf("pod %s was touched: %s", name, p.Object("metadata"))
		}
	}
	t.CheckGeneration("statefulsets", "db", 1)
}

// A deploy of the canary gets its target, one of another workload what its owner asks for, until the canary stood; from the
// replica that the API server calls.
func canaryDeploy(t *stage.T) {
	t.Namespace()
	chosen, rest := canaries(t, 1)
	first := chosen[0]
	profile := tried("OnDeploy", 50, stood)
	profile["apply"].(M)["at"] = "Workload"
	t.Profile(profile)
	cpu, _ := stage.Targets()
	for _, name := range []string{first, rest[0]} {
		t.Apply(t.NewDeployment(name, 2, stage.App()))
		t.RecIn("deployment-"+name, "Ready", stage.Soon)
	}
	waitCanary(t, "deployment-"+rest[0], "Waiting")
	probe := t.NewDeployment(first, 2, stage.App())
	stage.FindContainer(kube.Object(probe).Object("spec", "template", "spec"), "app")["image"] = "registry.invalid/app:probe"
	t.WaitAtAdmission("learned", probe, "workload", cpu)
	release := func(name, label, want string) {
		t.Ctl("-n", t.NS, "patch", "deployment", name, "-p", `{"spec":{"template":{"metadata":{"labels":{"release":"`+label+`"}}}}}`)
		if got := stage.Requested(t.Workload("deployments", name), "app", "cpu"); got != want {
			t.Fatalf("release %s of %s asks for %s, not %s", label, name, got, want)
		}
	}
	release(rest[0], "one", "2")
	release(first, "one", cpu)
	waitCanary(t, "deployment-"+first, "Watched")
	release(rest[0], "two", "2")
	profileOpens(t, true, M{"workloads": 1, "changed": 1})
	t.RecWhen("deployment-"+rest[0], "condition Canary is over", stage.Soon, func(r kube.Object) error {
		if r.Condition("Canary") != nil {
			return fmt.Errorf("condition Canary is %s", r.Condition("Canary"))
		}
		return nil
	})
	t.Eventually("a deploy of the others gets it as well", stage.Soon, func() error {
		t.Ctl("-n", t.NS, "patch", "deployment", rest[0], "-p", fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{"release":"%d"}}}}}`, time.Now().UnixNano()))
		if got := stage.Requested(t.Workload("deployments", rest[0]), "app", "cpu"); got != cpu {
			return fmt.Errorf("it asks for %s", got)
		}
		return nil
	})
}
