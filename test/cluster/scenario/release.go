package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// The times that a release promises.
const (
	untilTable  = time.Minute     // from the tarball to the table of halflife scan
	untilNumber = 2 * time.Minute // from helm install to the first number in a Recommendation
)

// released is a release as a person has it: the folder of its files, and a place for what its tarball installs.
type released struct {
	*stage.T
	folder, version, prefix string
}

func newReleased(t *stage.T) *released {
	version, err := os.ReadFile(filepath.Join(t.Root, "VERSION"))
	t.Check(err)
	r := &released{T: t, version: strings.TrimSpace(string(version)), prefix: filepath.Join(t.Dir, t.Name+"-prefix")}
	if r.folder = os.Getenv("E2E_RELEASE"); r.folder == "" {
		r.folder = makeRelease(t)
	}
	return r
}

// makeRelease makes the files of a release for this machine's architecture, of the program under test. The revision is
// that of the program: by another one it would be linked anew while other scenarios run it.
func makeRelease(t *stage.T) string {
	built, err := os.ReadFile(filepath.Join(filepath.Dir(t.Binary()), "version"))
	t.Check(err)
	_, revision, _ := strings.Cut(strings.TrimSpace(string(built)), " ")
	folder := filepath.Join(t.Dir, t.Name+"-files")
	cmd := exec.Command(filepath.Join(t.Root, "deploy", "release-files"), "make", folder, runtime.GOARCH)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=0", "REVISION="+revision)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("release-files: %v\n%s", err, out)
	}
	return folder
}

// file is the path of a file of the release, by what stands behind its version.
func (r *released) file(suffix string) string {
	return filepath.Join(r.folder, "halflife-"+r.version+suffix)
}

// person runs a program as whoever installs the release.
func (r *released) person(program string, args ...string) string {
	env := []string{"KUBECONFIG=" + r.Plane.Kubeconfig, "HOME=" + r.Kubectl.Home, "LC_ALL=C.UTF-8"}
	return r.MustSucceed(r.Execute(program, env, "", args...))
}

func (r *released) make(target string) {
	unpacked := filepath.Join(r.Dir, "halflife-"+r.version+"-linux-"+runtime.GOARCH)
	r.person("make", "-C", unpacked, target, "PREFIX="+r.prefix)
}

func (r *released) program() string { return filepath.Join(r.prefix, "bin", "halflife") }

// within notes how long something took, and ends the scenario where that is more than was promised.
func (r *released) within(what string, took, limit time.Duration) {
	r.Notef("%s: %.1f s of %.0f s", what, took.Seconds(), limit.Seconds())
	if took > stage.Scaled(limit) {
		r.Fatalf("%s took %s, more than %s on this machine", what, took, stage.Scaled(limit))
	}
}

// releasePlane is what depends on the nodes: what runs there, and how halflife does.
type releasePlane struct {
	workload M // named web, in the scenario's namespace; its only container is app
	owners   string
	values   func(r *released) []string // of the chart: where the nodes find the image; nil: no pod runs
	start    func(r *released)          // behind the chart: halflife runs
	end      func()                     // before the chart goes
}

// playRelease has a person take a release's files: the program of its tarball prints a table, its chart installs halflife,
// which tells a first number, and lowers one workload. Then all is taken back, and nothing is left.
func playRelease(t *stage.T, p releasePlane) {
	r := newReleased(t)
	removeManifests(t)
	t.Apply(p.workload)
	t.WaitMeasured("web")
	before := specOf(t, "deployments", "web")

	begun := stage.Begin()
	r.person("tar", "-C", t.Dir, "-xzf", r.file("-linux-"+runtime.GOARCH+".tar.gz"))
	r.make("install")
	table := r.person(r.program(), "scan", "-A")
	r.within("the table, from the tarball", begun.Took(), untilTable)
	t.CheckSays(rowOf(t, table), "deployment/web", p.owners+" → ")

	values := []string{"crds.keep=false", "persistence.enabled=false"}
	if p.values != nil {
		values = append(values, p.values(r)...)
	}
	begun = stage.Begin()
	t.CheckSays(t.Helm("install", "halflife", r.file(".tgz"), "-n", stage.OwnNamespace, "--create-namespace",
		"--set", strings.Join(values, ",")), "It changes nothing until a Profile says so")
	t.Served(stage.OwnCRDs...)
	p.start(r)
	t.Ctl("apply", "-n", t.NS, "-f", filepath.Join(r.prefix, "share", "halflife", "samples", "look-only.yaml"))
	t.RecWhen("deployment-web", "it tells a number", 2*untilNumber, func(rec kube.Object) error {
		if rec.Text("status", "soFar", "cpu") == "" {
			return fmt.Errorf("its status is %s", rec.Text("status"))
		}
		return nil
	})
	r.within("the first number, from helm install", begun.Took(), untilNumber)

	begun = stage.Begin()
	t.Ctl("delete", "profile", "look-only", "-n", t.NS)
	t.Profile(stage.QuickProfile("Rollout"))
	t.Eventually("it is lowered", stage.Soon, func() error { return asksLess(t, p.owners) })
	t.Notef("one workload lowered: %.1f s", begun.Took().Seconds())

	begun = stage.Begin()
	r.person(r.program(), "restore", "--all", "--timeout", "5m")
	if now := specOf(t, "deployments", "web"); now != before {
		t.Fatalf("it was\n%s\nand is\n%s", before, now)
	}
	p.end()
	t.Helm("uninstall", "halflife", "-n", stage.OwnNamespace, "--wait")
	t.Ctl("delete", "namespace", stage.OwnNamespace, "--timeout=300s")
	checkNothingLeft(t)
	r.make("uninstall")
	t.Check(filepath.WalkDir(r.prefix, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = fmt.Errorf("%s is left", path)
		}
		return err
	}))
	t.Notef("everything taken back: %.1f s", begun.Took().Seconds())
}

// rowOf is the line of a table that is of the scenario's namespace.
func rowOf(t *stage.T, table string) string {
	for _, line := range strings.Split(table, "\n") {
		if strings.HasPrefix(line, t.NS+" ") {
			return line
		}
	}
	t.Fatalf("no row of namespace %s:\n%s", t.NS, table)
	return ""
}

// asksLess returns an error unless web's pods run, and ask for less CPU than its owner does.
func asksLess(t *stage.T, owners string) error {
	pods := t.Pods("web")
	if len(pods) == 0 {
		return fmt.Errorf("it has no pods")
	}
	for _, p := range pods {
		got := stage.PodRequested(p, "app", "cpu")
		if stage.Amount(got) >= stage.Amount(owners) || p.Text("status", "phase") != "Running" {
			return fmt.Errorf("pod %s is %s and asks for %s", p.Name(), p.Text("status", "phase"), got)
		}
	}
	return nil
}

// The nodes of this control plane run no containers: the program of the tarball runs beside it, under the account that the
// chart made, and with the intervals that the chart's pod has.
func release(t *stage.T) {
	t.Namespace()
	defer reinstall(t)
	playRelease(t, releasePlane{
		workload: t.NewDeployment("web", 2, stage.App()),
		owners:   "2",
		start: func(r *released) {
			h, err := t.StartVersion(r.program(), "run", t.Name, "--interval=60s", "--status-interval=10m", "--checkpoint-interval=5m")
			t.Learner = h
			t.Check(err)
		},
		end: func() {
			t.Learner.Stop()
			t.Learner = nil
		},
	})
}

// Containers run on this node: the image of the release runs there as the chart installs it.
func nodeRelease(t *stage.T) {
	t.Namespace()
	playRelease(t, releasePlane{
		workload: t.NewBurnerWorkload("Deployment", "web", 1, stage.IdleBurner),
		owners:   "250m",
		values: func(r *released) []string { // as if it had been copied to a registry
			const repository = "halflife.test/halflife"
			t.Check(t.Node.Import(r.file("-image.tar")))
			t.Check(t.Node.Tag("docker.io/library/halflife:"+r.version, repository+":"+r.version)) // as engines write a name without a registry
			return []string{"image.repository=" + repository}
		},
		start: func(*released) { selfPod(t) },
		end:   func() {},
	})
}
