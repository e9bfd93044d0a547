package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/stage"
)

// upgrading is a namespace whose workloads replicas of two versions look after. "rolled" is lowered by the leader, and the
// others are changed only at deploys: "deployed" is lowered, "optedout" and "sized" (by a VPA) are not.
type upgrading struct {
	*stage.T
	cpu   string // the target
	begun int64  // samples in the database as the leader began
}

var upgraded = []string{"rolled", "deployed", "optedout", "sized"}

// The version before leads while a replica of this version admits; both change places, and back. Each decides deploys by
// the Recommendations of the other, goes on with the other's database, and changes no workload for it. In the end this
// version takes back what both have set.
func upgrade(t *stage.T) {
	former, err := programs.Former(t.Root, os.Stderr)
	if errors.Is(err, programs.ErrNoHistory) {
		t.Notef("SKIPPED: %v", err)
		return
	}
	t.Check(err)
	u := &upgrading{T: t}
	u.cpu, _ = stage.Targets()
	t.Namespace()
	t.InstallVPA()
	t.Check(t.InstallWebhooks())
	u.lead(former)
	u.serve(t.Binary())
	before := u.make()
	kept := M{"deployed": u.cpu, "optedout": "2", "sized": "2"}
	u.deploy("the version before leads, this one admits", kept)
	u.end(false)
	u.succeed(former, t.Binary())
	u.writeAnew()
	u.serve(former)
	u.deploy("this version leads, the one before admits", kept)
	u.end(false)
	u.succeed(t.Binary(), former)
	u.writeAnew()
	u.serve(t.Binary())
	u.deploy("after the downgrade", kept)
	u.takeBack(before)
}

// takeBack has what is held be lowered as well, and then all be as it was before halflife; before: the spec of "rolled".
func (u *upgrading) takeBack(before string) {
	t := u.T
	u.letGo()
	u.deploy("what was held is lowered", M{"deployed": u.cpu, "optedout": u.cpu, "sized": u.cpu})
	t.Learner.Stop()
	t.Learner = nil
	t.CheckSays(t.Command(0, "restore", "--all", "--restart", "--timeout", "5m"),
		"deployment/rolled restored: app cpu "+u.cpu+" -> 2", "deployment/deployed restored", "deployment/optedout restored",
		"deployment/sized restored")
	if now := specOf(t, "deployments", "rolled"); now != before {
		t.Fatalf("rolled was\n%s\nand is\n%s", before, now)
	}
	for _, name := range upgraded {
		t.Check(t.PodsAsk(name, "app", "cpu", "2", 2))
		if w := t.Workload("deployments", name); stage.HasAnnotations(w) {
			t.Fatalf("it still carries annotations of halflife: %s", w)
		}
	}
}

// lead starts the leader of a version, with the database of the leaders before it.
func (u *upgrading) lead(binary string) {
	h, err := u.StartVersion(binary, "run", u.Name)
	u.Learner = h
	u.Check(err)
}

// serve has a replica of a version admit, in place of the one before it.
func (u *upgrading) serve(binary string) {
	if u.Replica != nil {
		u.Replica.Stop()
	}
	h, err := u.StartVersion(binary, "serve", u.Name+"-serve", stage.RESTSettings...)
	u.Replica = h
	u.Check(err)
	u.RouteWebhooks(h)
}

// make makes the workloads, waits until each is as it must be, and returns the spec of "rolled" before halflife.
func (u *upgrading) make() string {
	u.Apply(u.NewVPA("sizer", "sized", "Auto"))
	for _, name := range upgraded {
		object := u.NewDeployment(name, 2, stage.App())
		if name == "optedout" {
			object["metadata"].(M)["annotations"] = M{"halflife.dev/apply": "Never"}
		}
		u.Apply(object)
	}
	before := specOf(u.T, "deployments", "rolled")
	for mode, operator := range map[string]string{"Rollout": "In", "OnDeploy": "NotIn"} {
		profile := stage.QuickProfile(mode)
		profile["selector"] = M{"matchExpressions": L{M{"key": "app", "operator": operator, "values": L{"rolled"}}}}
		u.ProfileNamed("e2e-"+u.Name+"-"+strings.ToLower(mode), profile)
	}
	u.Eventually("rolled is lowered", stage.Soon, func() error { return u.PodsAsk("rolled", "app", "cpu", u.cpu, 2) })
	u.WaitApplied("deployment-rolled", "True", "UpToDate", "")
	u.WaitApplied("deployment-deployed", "False", "NextDeploy", "")
	u.WaitHeld("deployment-optedout", "OptedOut", "")
	u.WaitHeld("deployment-sized", "OtherAutoscaler", "")
	return before
}

// writeAnew has the leader write each Recommendation, which a person writes in v1beta1: holds it, and lets it go.
func (u *upgrading) writeAnew() {
	for _, hold := range []any{"look", nil} {
		for _, name := range upgraded {
			_, err := u.Merge(fmt.Sprintf("/apis/halflife.dev/v1beta1/namespaces/%s/recommendations/deployment-%s", u.NS, name),
				M{"metadata": M{"annotations": M{"halflife.dev/hold": hold, "e2e": "stays in managedFields"}}})
			u.Check(err)
		}
		for _, name := range upgraded {
			u.RecWhen("deployment-"+name, fmt.Sprintf("hold %v", hold), stage.Soon, func(r kube.Object) error {
				if held := r.Condition("Held").Text("status") == "True"; held != (hold != nil) {
					return fmt.Errorf("its conditions are %v", r.At("status", "conditions"))
				}
				return nil
			})
		}
	}
}

// letGo takes away what keeps "optedout" and "sized" from being lowered.
func (u *upgrading) letGo() {
	_, err := u.Merge(u.Path("deployments", "optedout"), M{"metadata": M{"annotations": M{"halflife.dev/apply": nil}}})
	u.Check(err)
	u.Apply(u.NewVPA("sizer", "sized", "Off"))
	for _, name := range []string{"optedout", "sized"} {
		u.WaitApplied("deployment-"+name, "False", "NextDeploy", "")
	}
}

// deploy restarts what is changed at deploys; want is the CPU that the new pods of each ask for. The replica knows from the
// Recommendations alone what the leader has decided.
func (u *upgrading) deploy(what string, want M) {
	for name := range want {
		u.Ctl("-n", u.NS, "rollout", "restart", "deployment/"+name)
	}
	for name, cpu := range want {
		u.Ctl("-n", u.NS, "rollout", "status", "deployment/"+name, "--timeout=300s")
		u.WaitAdmitted(what+": "+name, name, cpu.(string), 2)
	}
	u.WaitApplied("deployment-deployed", "True", "UpToDate", "")
	u.Notef("%s: deployed as decided", what)
}

// end ends the leader, by SIGTERM or by SIGKILL. What it had counted is in the database, but for what came since its last
// checkpoint where it was killed.
func (u *upgrading) end(kill bool) {
	counted, lost := int64(u.Learner.Counter(`halflife_samples_total{result="accepted"}`)), int64(0)
	if kill {
		lost = int64(2 * len(upgraded) * 5) // a checkpoint every three cycles, and the one that is being written
		u.Learner.Kill()
	} else if code, _, err := u.Learner.Terminate(); err != nil || code != 0 {
		u.Fatalf("SIGTERM: exit code %d (%v)", code, err)
	}
	kept := int64(0)
	for _, name := range upgraded {
		kept += stored(u.T, u.NS, name).Int("histograms", "app/cpu", "samples")
	}
	if counted == 0 || kept < u.begun+counted-lost {
		u.Fatalf("%d samples are in the database: %d were as the leader began, and it counted %d", kept, u.begun, counted)
	}
	u.Notef("%d samples are in the database: %d were as the leader began, and it counted %d", kept, u.begun, counted)
	u.begun = kept
}

// succeed starts the leader of a version after one of the other has ended: it reads the same histories, and tells the same
// numbers without a write to a workload or a pod.
func (u *upgrading) succeed(last, next string) {
	u.compareExports(last, next)
	numbers, generation, pods := map[string]string{}, map[string]int64{}, map[string]map[string]string{}
	for _, name := range upgraded {
		rec, err := u.Rec("deployment-" + name)
		u.Check(err)
		numbers[name], pods[name] = numbersOf(rec), u.UIDs(name)
		generation[name] = u.Workload("deployments", name).Generation()
	}
	mark := u.Audit.Mark()
	u.lead(next)
	if loaded := u.Learner.Number("database opened", "targets="); loaded < len(upgraded) {
		u.Fatalf("it read %d workloads of the database and not the %d of the version before it", loaded, len(upgraded))
	}
	u.Cycles(u.Learner, 4)
	for _, w := range stage.Writes(u.Audit.Since(mark, stage.LearnerUser)) {
		if w.Object.Resource == "deployments" || w.Object.Resource == "pods" {
			u.Fatalf("the leader wrote a workload: %s %s", w.Verb, w.URI)
		}
	}
	for _, name := range upgraded {
		rec, err := u.Rec("deployment-" + name)
		u.Check(err)
		if now := numbersOf(rec); now != numbers[name] {
			u.Fatalf("%s was %s and is %s", name, numbers[name], now)
		}
		u.CheckGeneration("deployments", name, generation[name])
		u.CheckSamePods(name, pods[name])
	}
}

// compareExports ends the scenario unless both versions export the same histories of the database.
func (u *upgrading) compareExports(last, next string) {
	histories := func(binary string) string {
		file := filepath.Join(u.Learner.Dir, "halflife.db")
		lines := strings.Split(u.MustSucceed(u.Execute(binary, nil, "", "export", "--all", "--database", file)), "\n")
		return strings.Join(lines[1:len(lines)-2], "\n") // without the head, which has the time, and the digest at the end
	}
	if a, b := histories(last), histories(next); a != b {
		u.Fatalf("one version exports\n%s\nand the other\n%s", a, b)
	}
}
