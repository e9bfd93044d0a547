package scenario

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/stage"
)

// serveUser is the name of the replicas at the API server.
const serveUser = stage.LearnerUser + "-serve"

// upgradingChart is upgrading by each version's own chart.
type upgradingChart struct {
	*upgrading
	chart map[string]string // of a program
	moves int
}

// The chart of the version before, whose CRDs serve v1alpha1 alone, is upgraded to this one, taken back, and upgraded again.
// Each time controllers and replicas of both versions run side by side. No sample and no number is lost, nobody's workload
// is written but for the one change that was due, and the CRDs stay as the newer version has them.
func upgradeAPI(t *stage.T) {
	former, err := programs.Former(t.Root, os.Stderr)
	if errors.Is(err, programs.ErrNoHistory) {
		t.Notef("SKIPPED: %v", err)
		return
	}
	t.Check(err)
	files := filepath.Join(t.Dir, "former")
	t.Check(programs.FormerFiles(t.Root, files))
	u := &upgradingChart{upgrading: &upgrading{T: t},
		chart: map[string]string{former: stage.Chart(files), t.Binary(): stage.Chart(t.Root)}}
	u.cpu, _ = stage.Targets()
	t.Namespace()
	removeManifests(t)
	defer reinstall(t)
	mark := t.Audit.Mark()
	t.Helm("install", "halflife", u.chart[former], "-n", stage.OwnNamespace, "--create-namespace",
		"--set", "admission.enabled=true,persistence.enabled=false")
	t.Served(stage.OwnCRDs...)
	u.checkServed("v1alpha1")
	t.Check(t.NameThisMachine())
	t.InstallVPA()
	t.Check(t.StartRotateOf(former))
	u.lead(former)
	u.serve(former)
	before := u.make()
	u.checkSays(t.Binary(), "warn  halflife's CRDs are older than this halflife: they lack halflife.dev/v1beta1")

	u.move("upgrade", former, t.Binary())
	u.move("downgrade", t.Binary(), former, "--set", "crds.install=false")
	u.move("second upgrade", former, t.Binary(), "--set", "crds.install=true")
	u.checkWrites(mark)
	u.rollBack()
	u.takeBack(before)
	t.Helm("uninstall", "halflife", "-n", stage.OwnNamespace, "--wait")
}

// checkServed ends the scenario unless the CRDs serve these versions and store v1alpha1.
func (u *upgradingChart) checkServed(want string) {
	for _, name := range stage.OwnCRDs {
		crd, err := u.Get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name)
		u.Check(err)
		var served []string
		for _, v := range crd.List("spec", "versions") {
			if v.At("served") == true {
				served = append(served, v.Text("name"))
			}
			if v.At("storage") == true && v.Text("name") != "v1alpha1" {
				u.Fatalf("%s stores %s", name, v.Text("name"))
			}
		}
		if is := strings.Join(served, " "); is != want {
			u.Fatalf("%s serves %s, not %s", name, is, want)
		}
	}
}

// checkSays has a version's halflife check look, as the account of the controller.
func (u *upgradingChart) checkSays(program, line string) {
	r := u.Execute(program, []string{"HALFLIFE_KUBECONFIG=" + u.Learner.Kubeconfig}, "", "check", "--database=", "--namespace", stage.OwnNamespace)
	u.CheckSays(r.Out, line)
}

// upgrade installs a version's chart over the one before. What the scenario set in the webhooks is the chart's again.
func (u *upgradingChart) upgrade(program string, settings ...string) {
	u.Helm(append([]string{"upgrade", "halflife", u.chart[program], "-n", stage.OwnNamespace, "--reset-then-reuse-values", "--force-conflicts"},
		settings...)...)
	u.Served(stage.OwnCRDs...)
}

// move has the chart and the programs of one version take the place of the other's.
func (u *upgradingChart) move(what, last, next string, settings ...string) {
	u.moves++
	kept := M{"deployed": u.cpu, "optedout": "2", "sized": "2"}
	u.upgrade(next, settings...)
	u.checkServed("v1beta1 v1alpha1")
	u.StopRotate()
	u.Check(u.StartRotateOf(next))
	for _, program := range []string{last, next} {
		u.checkSays(program, "ok    halflife's CRDs")
	}

	former := u.Replica
	defer former.Stop()
	replica, err := u.StartVersion(next, "serve", fmt.Sprintf("%s-serve-%d", u.Name, u.moves), stage.RESTSettings...)
	u.Replica = replica
	u.Check(err)
	u.besideLeader(last, next)
	u.RouteWebhooks(replica)
	u.writeAnew()
	u.deploy(what+": the old controller leads, a new replica admits", kept)

	u.end(u.moves == 3)
	u.succeed(last, next)
	u.RouteWebhooks(former)
	u.writeAnew()
	u.deploy(what+": the new controller leads, an old replica admits", kept)
	u.Check(former.Alive())
	u.RouteWebhooks(replica)
}

// besideLeader has a controller of the next version run beside the leader: not on the leader's database, and on one of its
// own without a write. Its own is of a schema to come, which it leaves as it is, and names the command that exports.
func (u *upgradingChart) besideLeader(last, next string) {
	file := filepath.Join(u.Learner.Dir, "halflife.db")
	r := u.Execute("timeout", []string{"HALFLIFE_KUBECONFIG=" + u.Learner.Kubeconfig, "HALFLIFE_DATABASE=" + file, "HALFLIFE_LISTEN=127.0.0.1:0",
		"HALFLIFE_LEADER_ELECT=true", "HALFLIFE_NAMESPACE=" + stage.OwnNamespace}, "", "60", next, "run")
	if r.Code != 1 {
		u.Fatalf("on the leader's database: exit %d: %s", r.Code, r.Err)
	}
	u.CheckSays(r.Err, fmt.Sprintf("is held by process %d", u.Learner.ID()))

	name := fmt.Sprintf("%s-beside-%d", u.Name, u.moves)
	own := filepath.Join(u.Dir, "halflife-"+name, "halflife.db")
	u.Check(os.MkdirAll(filepath.Dir(own), 0o755))
	content, err := os.ReadFile(file)
	u.Check(err)
	const atSchema = 60 // PRAGMA user_version, in a file of SQLite
	binary.BigEndian.PutUint32(content[atSchema:], 99)
	u.Check(os.WriteFile(own, content, 0o600))
	h, err := u.StartVersion(next, "run", name)
	if h != nil {
		defer h.Stop()
	}
	u.Check(err)
	u.Check(h.Says("newer halflife", "halflife export --all --database "+own, 1))
	u.Cycles(u.Learner, 4) // two of each
	if h.Counter("halflife_leader") != 0 || u.Learner.Counter("halflife_leader") != 1 {
		u.Fatalf("who leads is not the one before")
	}
	if is, err := os.ReadFile(own); err != nil || !bytes.Equal(is, content) {
		u.Fatalf("it wrote the file of a newer schema (%v)", err)
	}
	if code, _, err := h.Terminate(); err != nil || code != 0 {
		u.Fatalf("SIGTERM: exit code %d (%v)", code, err)
	}
}

// rollBack has Helm bring back the first release, with the CRDs of the version before: what was written in v1beta1 cannot be
// written until those of this version are there again.
func (u *upgradingChart) rollBack() {
	u.Helm("rollback", "halflife", "1", "-n", stage.OwnNamespace, "--force-conflicts")
	u.Served(stage.OwnCRDs...)
	u.checkServed("v1alpha1")
	u.Ctl("apply", "-k", u.Root+"/crds")
	u.Served(stage.OwnCRDs...)
	u.checkServed("v1beta1 v1alpha1")
	u.RouteWebhooks(u.Replica)
	u.writeAnew()
}

// checkWrites ends the scenario unless the controllers wrote, of workloads, the one change alone, and all writes since mark
// were taken.
func (u *upgradingChart) checkWrites(mark int64) {
	if asked := stage.Writes(u.Audit.Since(mark, serveUser)); len(asked) > 0 {
		u.Fatalf("a replica wrote: %s", asked[0].URI)
	}
	asked := stage.Writes(u.Audit.Since(mark, stage.LearnerUser))
	lowered := 0
	for _, w := range asked {
		switch {
		case w.Object.APIGroup == "halflife.dev", w.Object.Resource == "events":
		case w.Object.Resource == "deployments" && w.Object.Namespace == u.NS && w.Object.Name == "rolled":
			lowered++
		default:
			u.Fatalf("a controller wrote: %s %s", w.Verb, w.URI)
		}
		if w.Response.Code >= 400 {
			u.Fatalf("HTTP %d: %s %s", w.Response.Code, w.Verb, w.URI)
		}
	}
	if lowered != 1 {
		u.Fatalf("rolled was written %d times", lowered)
	}
	u.Notef("writes of all controllers: %s", stage.Summary(asked))
}
