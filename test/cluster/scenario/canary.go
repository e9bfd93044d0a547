package scenario

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
)

func init() {
	doored = append(doored, scenario{"canary-in-place", canaryInPlace}, scenario{"canary-deploy", canaryDeploy})
	shared = append(shared, scenario{"canary-rollout", canaryRollout}, scenario{"canary-guard", canaryGuard},
		scenario{"canary-guard-in-place", canaryGuardInPlace})
}

// stood is for how long canaries are watched: what is to be seen meanwhile must be seen on a machine with much to do as well.
const stood = 40 * time.Second

// tried is a quick profile that changes so many per cent first, and watches them for so long.
func tried(mode string, percent int, watch time.Duration) M {
	p := quick(mode)
	p["apply"].(M)["canary"] = M{"percent": percent}
	p["apply"].(M)["guard"] = M{"watch": watch.String()}
	return p
}

// canaries are names of Deployments: so many of the first half by the hash, and two that are not.
func (t *T) canaries(count int) (first, rest []string) {
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

// requests counts an app's pods by the CPU that they ask for.
func (t *T) requests(app string) map[string]int {
	count := map[string]int{}
	for _, p := range t.Pods(app) {
		count[podRequest(p, "app", "cpu")]++
	}
	return count
}

func (t *T) mixed(app, cpu string, pods int, others string, rest int) {
	t.Eventually(fmt.Sprintf("%d pods ask for %s, %d for %s", pods, cpu, rest, others), soon, func() error {
		got := t.requests(app)
		if got[cpu] != pods || got[others] != rest || len(t.Pods(app)) != pods+rest {
			return fmt.Errorf("they ask for %v", got)
		}
		return nil
	})
}

func (t *T) canary(rec, reason string) kube.Object {
	return t.RecWhen(rec, "condition Canary "+reason, soon, func(r kube.Object) error {
		if got := r.Condition("Canary").Text("reason"); got != reason {
			return fmt.Errorf("condition Canary is '%s': %s", got, r.Object("status"))
		}
		return nil
	})
}

// Half of the running pods are resized, new ones come as the others are, and all follow once those stood; nothing restarts.
func canaryInPlace(t *T) {
	t.Namespace()
	profile := tried("Recommend", 50, stood)
	t.Profile(profile)
	t.Apply(t.deployment("web", 4, app(usedCPU, usedMemory)))
	t.Eventually("they run", soon, func() error { return t.podsAsk("web", "app", "cpu", "2", 4) })
	before := t.uids("web")
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	cpu, memory := targets(usedCPU, usedMemory)
	t.mixed("web", cpu, 2, "2", 2)
	rec := t.canary("deployment-web", "Watched")
	if rec.Condition("Applied").Text("reason") == "UpToDate" || rec.Object("status", "canary") == nil {
		t.Fatalf("its status says nothing of canaries: %s", rec.Object("status"))
	}
	t.Ctl("-n", t.NS, "scale", "deployment/web", "--replicas=5")
	t.mixed("web", cpu, 2, "2", 3)
	t.resized("web", 5, cpu, memory)
	for name, uid := range before {
		if got := t.uids("web")[name]; got != uid {
			t.Fatalf("pod %s did not live through it", name)
		}
	}
	rec = t.applies("deployment-web", "True", "UpToDate", "")
	if rec.Object("status", "canary") != nil || rec.Condition("Canary") != nil {
		t.Fatalf("its status speaks of canaries still: %s", rec.Object("status"))
	}
	t.generation("deployments", "web", 2) // made, and scaled
}

// profileOpens waits until the scenario's profile says so of its canaries.
func (t *T) profileOpens(open bool, counts M) {
	t.Eventually(fmt.Sprintf("the profile's status says %v, %v", open, counts), soon, func() error {
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
func canaryRollout(t *T) {
	t.Namespace()
	chosen, rest := t.canaries(1)
	first := chosen[0]
	t.Profile(tried("Rollout", 50, stood))
	for _, name := range append(rest, first) {
		t.Apply(t.deployment(name, 2, app(usedCPU, usedMemory)))
	}
	cpu, _ := targets(usedCPU, usedMemory)
	t.Eventually("the canary runs with its target", soon, func() error { return t.podsAsk(first, "app", "cpu", cpu, 2) })
	t.canary("deployment-"+first, "Watched")
	t.waiting(rest)
	t.profileOpens(false, M{"workloads": 1, "changed": 1})
	for _, name := range rest {
		t.Eventually(name+" follows", soon, func() error { return t.podsAsk(name, "app", "cpu", cpu, 2) })
	}
	t.profileOpens(true, M{"workloads": 1, "changed": 1, "passed": 1})
}

// waiting checks that workloads wait for the canaries, say so, and were not touched.
func (t *T) waiting(names []string) {
	for _, name := range names {
		rec := t.canary("deployment-"+name, "Waiting")
		if got := rec.Named("app", "status", "containers").Text("cpu", "reason"); got != "Canary" {
			t.Fatalf("reason of %s is %s", name, got)
		}
		t.generation("deployments", name, 1)
	}
}

// One of two canaries does harm: it has its originals again and is Held, the other one stays lowered. The rest waits, also
// when the watch time is long over, until a person has the guard let go: then what was taken back is tried again.
func canaryGuard(t *T) {
	t.Namespace()
	first, rest := t.canaries(2)
	profile := tried("Rollout", 50, 10*time.Minute)
	t.Profile(profile)
	for _, name := range append(rest, first...) {
		t.Apply(t.deployment(name, 2, app(usedCPU, usedMemory)))
	}
	cpu, memory := targets(usedCPU, usedMemory)
	for _, name := range first {
		t.resized(name, 2, cpu, memory)
		t.canary("deployment-"+name, "Watched")
	}
	t.waiting(rest)
	bad, good := first[0], first[1]
	t.restarted(t.Pods(bad)[0].Name(), 2)
	t.guarded("deployment-"+bad, "Restarts", "its containers restarted 2 times within")
	t.resized(bad, 2, "2", "1Gi")
	t.generation("deployments", bad, 3)

	profile["apply"].(M)["guard"] = M{"watch": "1s"}
	t.Profile(profile)
	t.profileOpens(false, M{"workloads": 2, "changed": 1, "passed": 1, "reverted": 1})
	t.Cycles(t.halflife, 2)
	t.waiting(rest)
	t.unguarded("deployment-" + good)
	t.Check(t.podsAsk(good, "app", "cpu", cpu, 2))
	t.generation("deployments", good, 2)
	t.generation("deployments", bad, 3)

	profile["apply"].(M)["guard"] = M{"watch": "1s", "enabled": false}
	t.Profile(profile)
	for _, name := range append(rest, bad) {
		t.resized(name, 2, cpu, memory)
	}
	t.profileOpens(true, M{"workloads": 2, "changed": 2, "passed": 2})
}

// The two pods of four that try a setting do harm: they have their originals again, and nothing restarts. The others were never
// touched, and are not when the watch time is long over.
func canaryGuardInPlace(t *T) {
	t.Namespace()
	profile := tried("Recommend", 50, 10*time.Minute)
	t.Profile(profile)
	t.Apply(t.workload("StatefulSet", "db", 4, app(usedCPU, usedMemory)))
	t.Eventually("they run", soon, func() error { return t.podsAsk("db", "app", "cpu", "2", 4) })
	before := t.uids("db")
	profile["apply"].(M)["mode"] = "InPlace"
	t.Profile(profile)
	cpu, _ := targets(usedCPU, usedMemory)
	t.mixed("db", cpu, 2, "2", 2)
	t.canary("statefulset-db", "Watched")
	var others []string
	for _, p := range t.Pods("db") {
		if podRequest(p, "app", "cpu") == cpu {
			t.restarted(p.Name(), 1)
		} else {
			others = append(others, p.Name())
		}
	}
	t.guarded("statefulset-db", "Restarts", "its containers restarted 2 times within")
	t.resized("db", 4, "2", "1Gi")
	profile["apply"].(M)["guard"] = M{"watch": "1s"}
	t.Profile(profile)
	t.Cycles(t.halflife, 2)
	rec := t.guarded("statefulset-db", "Restarts", "left alone until")
	if rec.Object("status", "canary") != nil || rec.Condition("Canary") != nil {
		t.Fatalf("its status speaks of canaries still: %s", rec.Object("status"))
	}
	t.Check(t.podsAsk("db", "app", "cpu", "2", 4))
	t.same("db", before)
	for _, name := range others {
		if p := t.Workload("pods", name); p.Generation() != 1 || carries(p) {
			t.Fatalf("pod %s was touched: %s", name, p.Object("metadata"))
		}
	}
	t.generation("statefulsets", "db", 1)
}

// A deploy of the canary gets its target, one of another workload what its owner asks for, until the canary stood; from the
// replica that the API server calls.
func canaryDeploy(t *T) {
	t.Namespace()
	chosen, rest := t.canaries(1)
	first := chosen[0]
	profile := tried("OnDeploy", 50, stood)
	profile["apply"].(M)["at"] = "Workload"
	t.Profile(profile)
	cpu, _ := targets(usedCPU, usedMemory)
	for _, name := range []string{first, rest[0]} {
		t.Apply(t.deployment(name, 2, app(usedCPU, usedMemory)))
		t.RecIn("deployment-"+name, "Ready", soon)
	}
	t.canary("deployment-"+rest[0], "Waiting")
	probe := t.deployment(first, 2, app(usedCPU, usedMemory))
	container(kube.Object(probe).Object("spec", "template", "spec"), "app")["image"] = "registry.invalid/app:probe"
	t.onceToldAtAdmission("learned", probe, "workload", cpu)
	release := func(name, label, want string) {
		t.Ctl("-n", t.NS, "patch", "deployment", name, "-p", `{"spec":{"template":{"metadata":{"labels":{"release":"`+label+`"}}}}}`)
		if got := request(t.Workload("deployments", name), "app", "cpu"); got != want {
			t.Fatalf("release %s of %s asks for %s, not %s", label, name, got, want)
		}
	}
	release(rest[0], "one", "2")
	release(first, "one", cpu)
	t.canary("deployment-"+first, "Watched")
	release(rest[0], "two", "2")
	t.profileOpens(true, M{"workloads": 1, "changed": 1})
	t.RecWhen("deployment-"+rest[0], "condition Canary is over", soon, func(r kube.Object) error {
		if r.Condition("Canary") != nil {
			return fmt.Errorf("condition Canary is %s", r.Condition("Canary"))
		}
		return nil
	})
	t.Eventually("a deploy of the others gets it as well", soon, func() error {
		t.Ctl("-n", t.NS, "patch", "deployment", rest[0], "-p", fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{"release":"%d"}}}}}`, time.Now().UnixNano()))
		if got := request(t.Workload("deployments", rest[0]), "app", "cpu"); got != cpu {
			return fmt.Errorf("it asks for %s", got)
		}
		return nil
	})
}
