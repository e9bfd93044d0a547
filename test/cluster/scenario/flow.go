package scenario

import (
	"fmt"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
)

func init() {
	doored = append(doored, scenario{"flow", flow}, scenario{"flow-rollout", flowRollout})
}

// flowManifest is what an owner keeps in his repository, comments and all. Only the image differs from deploy to deploy.
const flowManifest = `# %[1]s, as its owner wrote it
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  namespace: %[2]s
  labels: {app: %[1]s, at: %[3]s}
spec:
  replicas: 1
  selector:
    matchLabels: {app: %[1]s}
  template:
    metadata:
      labels: {app: %[1]s}
      annotations:
        usage.halflife.dev/cpu.app: "%[5]dm"
        usage.halflife.dev/memory.app: 300Mi
        usage.halflife.dev/silent: "%[6]t"
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: app
        image: registry.invalid/app:%[4]s
        resources:
          requests:
            cpu: 2           # two cores, to be safe
            memory: 1Gi
          limits: {cpu: 4, memory: 2Gi}
`

const flowUsed = 345 // of two cores, so that about 0.4 is recommended

// flowDeploy is one manifest deployed in each way, again and again, each with a workload of its own.
type flowDeploy struct {
	ways
	tag    int
	silent bool
	table  [][]string
}

func (f *flowDeploy) manifest(name, at string) string {
	return fmt.Sprintf(flowManifest, name, f.t.NS, at, fmt.Sprint(f.tag), flowUsed, f.silent)
}

// next is the next deploy of the same manifests in all four ways: each pod then asks for that CPU, and for its memory as
// ever; where the request is ours, it remembers the owner's.
func (f *flowDeploy) next(situation, cpu, reason string) {
	t := f.t
	for _, w := range fourWays {
		query := ""
		if f.tag == 0 {
			query = "?container=app&original=cpu:2,memory:1Gi&labels=" + "app%3D" + w.name + ",at%3D" + w.at
		}
		t.Agree(f.token, "deploy/"+w.name, query, cpu, reason, soon)
	}
	f.tag++
	row := []string{situation}
	for _, w := range fourWays {
		f.deploy(w.name, f.manifest(w.name, w.at))
	}
	for _, w := range fourWays {
		pod := t.cameWith(fmt.Sprintf("%s: %s runs again", situation, w.name), w.name, fmt.Sprint(f.tag), cpu)
		asks := container(pod.Object("spec"), "app").Object("resources", "requests")
		row = append(row, asks.Text("cpu")+" "+asks.Text("memory"))
		if err := t.asksFor(pod, cpu); err != nil {
			t.Fatalf("%s: %v", situation, err)
		}
		notes := pod.Object("metadata", "annotations")
		if got := kube.Parse(notes.Text(originals)).Text("app", "requests", "cpu"); (cpu == "2") != (got == "") || (got != "" && got != "2") {
			t.Fatalf("%s: %s remembers '%s' of its owner: %s", situation, w.name, got, notes)
		}
	}
	f.table = append(f.table, row)
}

// silence makes the pods look as if they had told nothing for long.
func (f *flowDeploy) silence() {
	long := time.Now().Add(-20 * time.Minute).UTC().Format(time.RFC3339)
	for _, w := range fourWays {
		for _, p := range f.t.Pods(w.name) {
			_, err := f.t.Merge(f.t.path("pods", p.Name())+"/status", M{"status": M{"startTime": long}})
			f.t.Check(err)
		}
	}
}

func (f *flowDeploy) hold(value string) {
	for _, w := range fourWays {
		f.t.Ctl("-n", f.t.NS, "annotate", "--overwrite", "rec", "deployment-"+w.name, value)
	}
}

// A workload's life, deployed in four ways with one result: the static factor first, again while it is learned, then what
// was learned, the last good value while nothing is heard of it, and the owner's own whenever somebody holds it.
func flow(t *T) {
	t.Namespace()
	f := &flowDeploy{ways: t.ways()}
	apply := func(field string, value any) func(M) {
		return func(spec M) { spec["apply"].(M)[field] = value }
	}
	learned := model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(flowUsed), 2000))

	t.profilesAt(apply("minHistory", "1h"))
	f.next("first deploy, NoData", "1", "Static")
	for _, w := range fourWays {
		t.RecIn("deployment-"+w.name, "Learning", soon)
	}
	f.next("Learning", "1", "Static")

	t.profilesAt(func(M) {})
	f.silent = true
	f.next("Ready", learned, "Lowered")
	f.silence()
	f.next("Stale", learned, "Stale")

	f.hold("halflife.dev/hold=a sale")
	f.next("held by a person", "2", "Paused")
	f.hold("halflife.dev/hold-")
	t.profilesAt(func(spec M) { spec["paused"] = true })
	f.next("profile paused", "2", "Paused")
	t.profilesAt(apply("mode", "Recommend"))
	f.next("mode Recommend", "2", "RecommendOnly")
	t.profilesAt(func(M) {})
	f.next("Ready again", learned, "Lowered")

	t.noteTable(f.table)
}

// Under Rollout a deploy is sized too, and halflife goes on by itself: the static factor starts no rollout but acts at a deploy,
// what is learned starts one, and the next deploy of the same manifest is one rollout and not two.
func flowRollout(t *T) {
	t.Namespace()
	f := &flowDeploy{ways: t.ways()}
	profile := func(minHistory string) {
		spec := onDeploy("Pod")
		spec["resources"] = M{"memory": M{"enabled": false}}
		spec["apply"].(M)["mode"], spec["apply"].(M)["minHistory"] = "Rollout", minHistory
		t.Profile(spec)
	}
	learned := model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(flowUsed), 2000))
	names := []string{"rest", "cli", "at-workload"}
	runs := func(what, cpu string, revisions int) {
		for _, name := range names {
			t.Eventually(name+": "+what, soon, func() error {
				pod, err := t.podWith(name, fmt.Sprint(f.tag))
				if err == nil {
					err = t.asksFor(pod, cpu)
				}
				return err
			})
			list, err := t.Get("/apis/apps/v1/namespaces/" + t.NS + "/replicasets?labelSelector=app%3D" + name)
			t.Check(err)
			if got := len(list.List("items")); got != revisions {
				t.Fatalf("%s: %s has had %d revisions, not %d", what, name, got, revisions)
			}
		}
		t.Notef("%-26s %-8s %d revisions", what, cpu, revisions)
	}
	deploy := func() {
		f.tag++
		for _, name := range names {
			f.deploy(name, f.manifest(name, "rollout"))
		}
	}
	profile("1h")
	for _, name := range names {
		t.Agree(f.token, "deploy/"+name, "?container=app&original=cpu:2,memory:1Gi", "1", "Static", soon)
	}
	deploy()
	runs("first deploy", "1", 1)
	for _, name := range names {
		t.RecIn("deployment-"+name, "Learning", soon)
	}
	runs("learning", "1", 1)
	profile("0s")
	runs("learned, by a rollout", learned, 2)
	for _, name := range names {
		t.Agree(f.token, "deploy/"+name, "", learned, "Lowered", soon)
	}
	deploy()
	runs("the next deploy", learned, 3)
	t.Cycles(t.halflife, 2)
	runs("two cycles later", learned, 3)
}

// asksFor is an error unless a pod's container app asks for that CPU, and for its memory as ever.
func (t *T) asksFor(pod kube.Object, cpu string) error {
	asks := container(pod.Object("spec"), "app").Object("resources", "requests")
	if asks.Text("cpu") != cpu || asks.Text("memory") != "1Gi" {
		return fmt.Errorf("pod %s asks for %s, not %s of CPU and 1Gi", pod.Name(), asks, cpu)
	}
	return nil
}
