package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/node"
	"halflife.dev/cluster/stage"
)

// Usage that jumps over its limit between two samples is its limit's matter, whatever the last sample was. On a node in common
// the cause is unknown as long as one of the others has no sample yet.
func nodeOOMJump(t *stage.T) {
	t.Namespace()
	t.StartOwn()
	profile := stage.QuickProfile("InPlace")
	profile["apply"].(M)["guard"] = M{"watch": "10m", "restarts": 1}
	t.Profile(profile)
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.Burner{Requests: M{"cpu": "60m", "memory": "100Mi"},
		Limits: M{"memory": "120Mi"}, Steps: []string{"cpu=0.01,mem=20Mi,for=60", "cpu=0.01,mem=300Mi"}}))
	t.WaitLowered("web", "60m", 1)
	t.WaitOOMKill("web")
	t.RecWhen("deployment-web", "the limit is too low", stage.Soon, func(r kube.Object) error {
		if got := r.Condition("OutOfMemory").Text("reason"); got != "LimitTooLow" {
			return fmt.Errorf("condition OutOfMemory has reason '%s': %s", got, r.Condition("OutOfMemory"))
		}
		return nil
	})
	t.Cycles(t.Learner, 2)
	t.CheckUnguarded("deployment-web")
}

// saidOf is what halflife logged of a kill, by cause.
func saidOf(t *stage.T, cause string) error {
	if said := t.Learner.Said(t.NS, 100); !strings.Contains(said, "cause="+cause) {
		return fmt.Errorf("its log names no cause %s:\n%s", cause, said)
	}
	return nil
}

// All pods together are more than the node has for them, and one is killed far below its limit: the limit is not to blame.
func nodeOOMRoom(t *stage.T) {
	t.Namespace()
	t.StartOwn()
	t.Profile(stage.QuickProfile("Recommend"))
	t.Apply(t.NewBurnerWorkload("Deployment", "hog", 1, stage.Burner{Requests: M{"cpu": "20m", "memory": "60Mi"},
		Limits: M{"memory": "2Gi"}, Steps: []string{"cpu=0.01,mem=60Mi,for=40", "cpu=0.01,mem=900Mi,grow=3"}}))
	t.WaitOnePod("hog")
	t.WaitOOMKill("hog")
	rec := t.RecWhen("deployment-hog", "the kill is counted", stage.Soon, func(r kube.Object) error {
		if r.Int("status", "oomKills") == 0 || r.Condition("OutOfMemory") == nil {
			return fmt.Errorf("it is not: %s", r.Object("status"))
		}
		return nil
	})
	if c := rec.Condition("OutOfMemory"); c.Text("reason") == "LimitTooLow" {
		t.Fatalf("a limit of 2Gi is blamed for a kill at 512Mi: %s", c)
	}
}

// On cgroup v1 a kill for lack of room marks every container of the node, and whatever ends there later is reported as
// OOMKilled: with 0 in a rollout, with 1 by itself. Neither is a kill, and neither is taken back.
func nodeOOMMarked(t *stage.T) {
	t.Namespace()
	h := t.StartOwn()
	profile := stage.QuickProfile("InPlace")
	profile["selector"] = M{"matchExpressions": L{M{"key": "app", "operator": "NotIn", "values": L{"hog"}}}}
	profile["apply"].(M)["guard"] = M{"watch": "10m", "restarts": 9}
	t.Profile(profile)
	quiet := stage.Burner{Requests: M{"cpu": "60m", "memory": "100Mi"}, Limits: M{"memory": "200Mi"},
		Steps: []string{"cpu=0.01,mem=40Mi"}}
	ends := quiet
	ends.Steps = []string{"cpu=0.01,mem=40Mi,for=100,exit=1"}
	t.Apply(t.NewBurnerWorkload("Deployment", "calm", 1, quiet))
	t.Apply(t.NewBurnerWorkload("Deployment", "ends", 1, ends))
	old := t.WaitOnePod("calm")
	t.WaitLowered("calm", "60m", 1)
	t.WaitLowered("ends", "60m", 1)
	t.Apply(t.NewBurnerWorkload("Deployment", "hog", 1, stage.Burner{Requests: M{"cpu": "20m", "memory": "60Mi"},
		Limits: M{"memory": "2Gi"}, Steps: []string{"cpu=0.01,mem=900Mi,grow=3"}}))
	t.WaitOnePod("hog")
	t.WaitOOMKill("hog")
	t.Check(t.Delete(t.Path("deployments", "hog")))
	t.Ctl("-n", t.NS, "rollout", "restart", "deployment/calm")
	t.Eventually("it is replaced", stage.Soon, func() error {
		if pod := t.WaitOnePod("calm"); pod.UID() == old.UID() {
			return fmt.Errorf("pod %s is still there", pod.Name())
		}
		return nil
	})
	var dead kube.Object
	t.Eventually("the other ends by itself", stage.Soon, func() error {
		if list := stage.Deaths(t.Pods("ends")[0]); len(list) > 0 {
			dead = list[0]
			return nil
		}
		return fmt.Errorf("it runs")
	})
	t.Notef("ended with %d, reason %s", dead.Int("exitCode"), dead.Text("reason"))
	t.Cycles(h, 3)
	for _, name := range []string{"calm", "ends"} {
		rec, err := t.Rec("deployment-" + name)
		t.Check(err)
		if rec.Int("status", "oomKills") != 0 || rec.Condition("Guarded").Text("status") != "" {
			t.Fatalf("%s was not killed, and its status is %s", name, rec.Object("status"))
		}
	}
	if dead.Text("reason") == "OOMKilled" && h.Counter("halflife_oom_kills_not_believed_total") == 0 {
		t.Fatalf("what was not believed is not counted")
	}
}

// An owner's resize restarts a container that ignores SIGTERM, so that the kubelet kills it. On cgroup v1 it was marked by a kill
// elsewhere on the node, and is reported as OOMKilled with 137: that is no kill for lack of memory, and nothing is taken back.
func nodeOOMMarkedResize(t *stage.T) {
	t.Namespace()
	h := t.StartOwn()
	profile := stage.QuickProfile("InPlace")
	profile["selector"] = M{"matchLabels": M{"app": "web"}}
	profile["apply"].(M)["guard"] = M{"watch": "10m", "restarts": 9}
	t.Profile(profile)
	web := t.NewBurnerWorkload("Deployment", "web", 1, stage.Burner{Requests: M{"cpu": "60m", "memory": "100Mi"},
		Limits: M{"memory": "200Mi"}, Steps: []string{"cpu=0.01,mem=40Mi,deaf=1"}})
	pod := web["spec"].(M)["template"].(M)["spec"].(M)
	pod["containers"].(L)[0].(M)["resizePolicy"] = L{M{"resourceName": "memory", "restartPolicy": "RestartContainer"}}
	t.Apply(web)
	name := t.WaitOnePod("web").Name()
	t.Eventually("its CPU is lowered", stage.Soon, func() error {
		if got := stage.AppStatus(t.WaitOnePod("web")).Text("resources", "requests", "cpu"); stage.Amount(got) >= 0.06 {
			return fmt.Errorf("it has %s", got)
		}
		return nil
	})
	t.Apply(t.NewBurnerWorkload("Deployment", "hog", 1, stage.Burner{Requests: M{"cpu": "20m", "memory": "60Mi"},
		Limits: M{"memory": "2Gi"}, Steps: []string{"cpu=0.01,mem=900Mi,grow=3"}}))
	t.WaitOOMKill("hog")
	t.Check(t.Delete(t.Path("deployments", "hog")))
	t.Ctl("-n", t.NS, "patch", "pod", name, "--subresource", "resize", "-p",
		`{"spec":{"containers":[{"name":"app","resources":{"requests":{"memory":"90Mi"}}}]}}`)
	var dead kube.Object
	t.Eventually("the resize restarts it", stage.Soon, func() error {
		if list := stage.Deaths(t.Pods("web")[0]); len(list) > 0 {
			dead = list[0]
			return nil
		}
		return fmt.Errorf("it runs")
	})
	t.Notef("ended with %d, reason %s", dead.Int("exitCode"), dead.Text("reason"))
	if dead.Int("exitCode") != 137 || (!node.Unified() && dead.Text("reason") != "OOMKilled") {
		t.Fatalf("it was to be killed, and to be marked: %s", dead)
	}
	t.Cycles(h, 3)
	t.CheckUnguarded("deployment-web")
	rec, err := t.Rec("deployment-web")
	t.Check(err)
	if kills := rec.Int("status", "oomKills"); kills != 0 {
		t.Fatalf("%d kills are counted of a container that its kubelet restarted for a resize", kills)
	}
	if dead.Text("reason") == "OOMKilled" && h.Counter("halflife_oom_kills_not_believed_total") == 0 {
		t.Fatalf("what was not believed is not counted")
	}
}

// Usage that climbs into its limit ends there. Each kill is counted, and that the limit is too low is told: a request that
// is raised would change nothing.
func nodeOOMLimit(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Recommend"))
	t.Apply(t.NewBurnerWorkload("Deployment", "leak", 1, stage.Burner{Requests: M{"cpu": "20m", "memory": "60Mi"},
		Limits: M{"memory": "100Mi"}, Steps: []string{"cpu=0.01,mem=20Mi,for=15", "cpu=0.01,mem=200Mi,grow=90"}}))
	t.WaitOOMKill("leak")
	t.Eventually("each kill is counted", stage.Soon, func() error {
		rec, err := t.Rec("deployment-leak")
		if err != nil {
			return err
		}
		if got, want := rec.Int("status", "oomKills"), t.WaitOOMKill("leak"); got != want {
			return fmt.Errorf("%d kills are counted, and there were %d", got, want)
		}
		return nil
	})
	rec := t.RecWhen("deployment-leak", "the limit is too low", stage.Soon, func(r kube.Object) error {
		if got := r.Condition("OutOfMemory").Text("reason"); got != "LimitTooLow" {
			return fmt.Errorf("condition OutOfMemory has reason '%s': %s", got, r.Condition("OutOfMemory"))
		}
		return stage.CheckCondition(r, "OutOfMemory", "True", "container 'app' was killed at its memory limit")
	})
	t.Notef("%d kills: %s", rec.Int("status", "oomKills"), rec.Condition("OutOfMemory").Text("message"))
}
