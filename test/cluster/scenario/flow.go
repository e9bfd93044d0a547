package scenario

import (
	"fmt"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

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
	stage.Ways
	tag    int
	silent bool
	table  [][]string
}

func (f *flowDeploy) manifest(name, at string) string {
	return fmt.Sprintf(flowManifest, name, f.T.NS, at, fmt.Sprint(f.tag), flowUsed, f.silent)
}

// next is the next deploy of the same manifests in all four ways: each pod then asks for that CPU, and for its memory as
// ever; where the request is ours, it remembers the owner's.
func (f *flowDeploy) next(situation, cpu, reason string) {
	t := f.T
	for _, w := range stage.FourWays {
		query := ""
		if f.tag == 0 {
			query = "?container=app&original=cpu:2,memory:1Gi&labels=" + "app%3D" + w.Name + ",at%3D" + w.At
		}
		t.WaitAgree(f.Token, "deploy/"+w.Name, query, cpu, reason, stage.Soon)
	}
	f.tag++
	row := []string{situation}
	for _, w := range stage.FourWays {
		f.Deploy(w.Name, f.manifest(w.Name, w.At))
	}
	for _, w := range stage.FourWays {
		pod := t.WaitAdmittedPod(fmt.Sprintf("%s: %s runs again", situation, w.Name), w.Name, fmt.Sprint(f.tag), cpu)
		asks := stage.FindContainer(pod.Object("spec"), "app").Object("resources", "requests")
		row = append(row, asks.Text("cpu")+" "+asks.Text("memory"))
		if err := asksFor(t, pod, cpu); err != nil {
			t.Fatalf("%s: %v", situation, err)
		}
		notes := pod.Object("metadata", "annotations")
		got := kube.Parse(notes.Text(stage.OriginalsAnnotation)).Text("app", "requests", "cpu")
		if (cpu == "2") != (got == "") || (got != "" && got != "2") {
			t.Fatalf("%s: %s remembers '%s' of its owner: %s", situation, w.Name, got, notes)
		}
	}
	f.table = append(f.table, row)
}

// silence makes the pods look as if they had told nothing for long.
func (f *flowDeploy) silence() {
	long := time.Now().Add(-20 * time.Minute).UTC().Format(time.RFC3339)
	for _, w := range stage.FourWays {
		for _, p := range f.T.Pods(w.Name) {
			_, err := f.T.Merge(f.T.Path("pods", p.Name())+"/status", M{"status": M{"startTime": long}})
			f.T.Check(err)
		}
	}
}

func (f *flowDeploy) hold(value string) {
	for _, w := range stage.FourWays {
		f.T.Ctl("-n", f.T.NS, "annotate", "--overwrite", "rec", "deployment-"+w.Name, value)
	}
}

// A workload's life, deployed in four ways with one result: the static factor first, again while it is learned, then what
// was learned, the last good value while nothing is heard of it, and the owner's own whenever somebody holds it.
func flow(t *stage.T) {
	t.Namespace()
	f := &flowDeploy{Ways: t.NewWays()}
	apply := func(field string, value any) func(M) {
		return func(spec M) { spec["apply"].(M)[field] = value }
	}
	learned := model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(flowUsed), 2000))

	t.ProfilesAt(apply("minHistory", "1h"))
	f.next("first deploy, NoData", "1", "Static")
	for _, w := range stage.FourWays {
		t.RecIn("deployment-"+w.Name, "Learning", stage.Soon)
	}
	f.next("Learning", "1", "Static")

	t.ProfilesAt(func(M) {})
	f.silent = true
	f.next("Ready", learned, "Lowered")
	f.silence()
	f.next("Stale", learned, "Stale")

	f.hold("halflife.dev/hold=a sale")
	f.next("held by a person", "2", "Paused")
	f.hold("halflife.dev/hold-")
	t.ProfilesAt(func(spec M) { spec["paused"] = true })
	f.next("profile paused", "2", "Paused")
	t.ProfilesAt(apply("mode", "Recommend"))
	f.next("mode Recommend", "2", "RecommendOnly")
	t.ProfilesAt(func(M) {})
	f.next("Ready again", learned, "Lowered")

	t.NoteTable(f.table)
}

// Under Rollout a deploy is sized too, and halflife goes on by itself: the static factor starts no rollout but acts at a deploy,
// what is learned starts one, and the next deploy of the same manifest is one rollout and not two.
func flowRollout(t *stage.T) {
	t.Namespace()
	f := &flowDeploy{Ways: t.NewWays()}
	profile := func(minHistory string) {
		spec := stage.OnDeployProfile("Pod")
		spec["resources"] = M{"memory": M{"enabled": false}}
		spec["apply"].(M)["mode"], spec["apply"].(M)["minHistory"] = "Rollout", minHistory
		t.Profile(spec)
	}
	learned := model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(flowUsed), 2000))
	names := []string{"rest", "cli", "at-workload"}
	runs := func(what, cpu string, revisions int) {
		for _, name := range names {
			t.Eventually(name+": "+what, stage.Soon, func() error {
				pod, err := t.PodWith(name, fmt.Sprint(f.tag))
				if err == nil {
					err = asksFor(t, pod, cpu)
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
			f.Deploy(name, f.manifest(name, "rollout"))
		}
	}
	profile("1h")
	for _, name := range names {
		t.WaitAgree(f.Token, "deploy/"+name, "?container=app&original=cpu:2,memory:1Gi", "1", "Static", stage.Soon)
	}
	deploy()
	runs("first deploy", "1", 1)
	for _, name := range names {
		t.RecIn("deployment-"+name, "Learning", stage.Soon)
	}
	runs("learning", "1", 1)
	profile("0s")
	runs("learned, by a rollout", learned, 2)
	for _, name := range names {
		t.WaitAgree(f.Token, "deploy/"+name, "", learned, "Lowered", stage.Soon)
	}
	deploy()
	runs("the next deploy", learned, 3)
	t.Cycles(t.Learner, 2)
	runs("two cycles later", learned, 3)
}

// asksFor is an error unless a pod's container app asks for that CPU, and for its memory as ever.
func asksFor(t *stage.T, pod kube.Object, cpu string) error {
	asks := stage.FindContainer(pod.Object("spec"), "app").Object("resources", "requests")
	if asks.Text("cpu") != cpu || asks.Text("memory") != "1Gi" {
		return fmt.Errorf("pod %s asks for %s, not %s of CPU and 1Gi", pod.Name(), asks, cpu)
	}
	return nil
}
