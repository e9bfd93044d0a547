package scenario

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// --- what the API server's own record says ---

// taken is cores and GiB, or those times seconds.
type taken struct{ cpu, memory float64 }

func (a taken) plus(b taken, times float64) taken {
	return taken{a.cpu + b.cpu*times, a.memory + b.memory*times}
}

// asks is what a pod asks for: as its owner wrote it, and as it is.
type asks struct{ asked, inForce taken }

func (a asks) plus(b asks, times float64) asks {
	return asks{a.asked.plus(b.asked, times), a.inForce.plus(b.inForce, times)}
}

// podLife is a pod as the record tells it so far. It counts from when its phase is Running.
type podLife struct {
	now   asks
	runs  bool
	since time.Time
}

// integral is what the pods of a namespace asked for and had in force, times the seconds for which they ran: by the API
// server's record of all writes to them. edges is a second of each start, end and change.
type integral struct {
	sum, edges, rate asks
	pods             map[string]*podLife
}

type podWrite struct {
	Verb     string
	Object   struct{ Resource, Namespace string } `json:"objectRef"`
	Status   struct{ Code int }                   `json:"responseStatus"`
	Reached  time.Time                            `json:"stageTimestamp"`
	Response kube.Object                          `json:"responseObject"`
}

func requestsOf(pod kube.Object) taken {
	var sum taken
	for _, c := range pod.List("spec", "containers") {
		cpu := resource.MustParse(c.Text("resources", "requests", "cpu"))
		memory := resource.MustParse(c.Text("resources", "requests", "memory"))
		sum = sum.plus(taken{float64(cpu.MilliValue()) / 1000, float64(memory.Value()) / (1 << 30)}, 1)
	}
	return sum
}

func (in *integral) add(w podWrite) {
	pod := w.Response
	life := in.pods[pod.UID()]
	if life == nil { // its owner's template is not changed here: what it is made with is what its owner asks for
		life = &podLife{now: asks{requestsOf(pod), requestsOf(pod)}}
		in.pods[pod.UID()] = life
	}
	before := *life
	life.now.inForce = requestsOf(pod)
	// The last deletion of a pod, by its kubelet, is one without grace.
	_, graceful := pod.At("metadata", "deletionGracePeriodSeconds").(float64)
	gone := w.Verb == "delete" && graceful && pod.Int("metadata", "deletionGracePeriodSeconds") == 0
	life.runs = pod.Text("status", "phase") == "Running" && !gone
	if before.runs == life.runs && before.now == life.now {
		return
	}
	if before.runs {
		in.sum = in.sum.plus(before.now, w.Reached.Sub(before.since).Seconds())
		in.rate, in.edges = in.rate.plus(before.now, -1), in.edges.plus(before.now, 1)
	}
	if life.runs {
		in.rate, in.edges = in.rate.plus(life.now, 1), in.edges.plus(life.now, 1)
	}
	life.since = w.Reached
}

// integrate reads the record of a namespace's pods.
func integrate(t *stage.T) integral {
	in := integral{pods: map[string]*podLife{}}
	record, err := os.Open(t.Plane.AuditLog())
	t.Check(err)
	defer record.Close()
	lines := bufio.NewReaderSize(record, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return in
		}
		var w podWrite
		if bytes.Contains(line, []byte(`"responseObject":{"kind":"Pod"`)) && json.Unmarshal(line, &w) == nil &&
			w.Object.Resource == "pods" && w.Object.Namespace == t.NS && w.Status.Code < 300 {
			in.add(w)
		}
	}
}

// --- what halflife booked ---

// books are those of a halflife that is ended and started again. lost is what pods had while it was not there.
type books struct {
	t        *stage.T
	token    string
	settings []string
	lost     asks
	away     float64 // seconds that are not booked
}

func beginBooks(t *stage.T, settings ...string) *books {
	t.Namespace()
	t.KeepCycles()
	b := &books{t: t, settings: append(append(settings, stage.RESTSettings...), "--interval=5s", "--leader-elect=false")}
	t.Check(t.StartRotate())
	t.StartOwn(b.settings...)
	t.Account("auditor")
	t.ClusterRole("auditor", stage.ReadRule("get", "list"))
	b.token = t.Token("auditor")
	t.Cycles(t.Learner, 2)
	return b
}

// told is the report of the last hours. In each of them the rows have the same sum, which is the total.
func (b *books) told(by string) kube.Object {
	var report kube.Object
	b.t.Eventually("the report by "+by, stage.Soon, func() error {
		answer, err := b.t.Ask(b.t.Learner, b.token, "GET", "/api/v1/report?since=3h&by="+by, "")
		if err == nil && answer.Code != 200 {
			err = fmt.Errorf("HTTP %d: %s", answer.Code, answer.Body)
		}
		report = answer.Object()
		return err
	})
	for _, resource := range []string{"cpu", "memory"} {
		for _, flow := range []string{"asked", "inForce", "used"} {
			sum := 0.0
			for _, row := range report.List("rows") {
				sum += number(row, resource, flow)
			}
			if total := number(report, "total", resource, flow); math.Abs(sum-total) > 1e-6*total {
				b.t.Fatalf("by %s, the rows have %v of %s %s, and the total has %v", by, sum, resource, flow, total)
			}
		}
	}
	return report
}

func number(o kube.Object, path ...string) float64 {
	f, _ := o.At(path...).(float64)
	return f
}

// settled waits until a checkpoint is over that holds all that pods did so far: what is lost from then on is so much a second.
func (b *books) settled() {
	const written = "halflife_checkpoint_seconds_count"
	before := b.t.Learner.Counter(written)
	b.t.Eventually("a checkpoint is over", stage.Soon, func() error {
		if n := b.t.Learner.Counter(written) - before; n < 2 { // one may have begun before
			return fmt.Errorf("%.0f", n)
		}
		return nil
	})
}

// goesOn is called once halflife is back after it had settled.
func (b *books) goesOn() {
	b.t.Cycles(b.t.Learner, 2)
	away := number(b.told("cluster"), "notBooked")
	b.lost = b.lost.plus(integrate(b.t).rate, away-b.away)
	b.t.Notef("%.3f s are not booked", away-b.away)
	b.away = away
}

// close ends all pods, and compares what is booked of them with the record.
func (b *books) close() {
	t := b.t
	t.Ctl("-n", t.NS, "delete", "deployments,jobs", "--all", "--wait=false")
	t.Eventually("no pod is left", stage.Soon, func() error {
		list, err := t.Get(t.Path("pods", ""))
		if err == nil && len(list.List("items")) > 0 {
			err = fmt.Errorf("%d are", len(list.List("items")))
		}
		return err
	})
	t.Cycles(t.Learner, 2)
	in := integrate(t)
	want := in.sum.plus(b.lost, -1)
	var row kube.Object
	for _, r := range b.told("namespace").List("rows") {
		if r.Name() == "" && r.Text("name") == t.NS {
			row = r
		}
	}
	for _, by := range []string{"profile", "pool", "cluster"} {
		b.told(by)
	}
	t.Notef("%d pods", len(in.pods))
	for _, c := range []struct {
		what             string
		got, want, edges float64
	}{
		{"CPU asked for", number(row, "cpu", "asked"), want.asked.cpu, in.edges.asked.cpu},
		{"CPU in force", number(row, "cpu", "inForce"), want.inForce.cpu, in.edges.inForce.cpu},
		{"memory asked for", number(row, "memory", "asked"), want.asked.memory, in.edges.asked.memory},
		{"memory in force", number(row, "memory", "inForce"), want.inForce.memory, in.edges.inForce.memory},
	} {
		t.Notef("%-17s booked %10.3f, by the record %10.3f: %+.3f %%", c.what, c.got, c.want, (c.got/c.want-1)*100)
		if c.want <= 0 || math.Abs(c.got-c.want) > max(c.want/1000, c.edges) {
			t.Fatalf("%s: %.3f is booked, %.3f by the record", c.what, c.got, c.want)
		}
	}
}

// --- scenarios ---

// A week in minutes: pods are lowered, come and go, are deployed again, end by themselves, get their originals back from a
// guard; halflife is ended, and killed.
func report(t *stage.T) {
	b := beginBooks(t, "--checkpoint-interval=10s")
	t.Profile(stage.GuardedProfile("InPlace", "10m"))
	for app, replicas := range map[string]int{"web": 3, "api": 2, "db": 1} {
		t.Apply(t.NewDeployment(app, replicas, stage.App()))
	}
	cpu, memory := stage.Targets()
	for app, replicas := range map[string]int{"web": 3, "api": 2, "db": 1} {
		t.WaitResized(app, replicas, cpu, memory)
	}
	t.Ctl("-n", t.NS, "scale", "deployment/web", "--replicas=6")
	t.WaitResized("web", 6, cpu, memory)
	t.Ctl("-n", t.NS, "scale", "deployment/web", "--replicas=2")
	t.Redeploy("api")
	t.WaitResized("api", 2, cpu, memory)
	t.WaitResized("web", 2, cpu, memory)

	b.settled()
	t.Learner.Terminate()
	t.Check(t.Learner.Start())
	b.goesOn()

	t.WaitApplied("deployment-db", "True", "UpToDate", "")
	t.ReportRestarts(t.Pods("db")[0].Name(), 2)
	t.WaitGuarded("deployment-db", "Restarts", "its containers restarted 2 times within")
	t.WaitResized("db", 1, "2", "1Gi")
	t.Apply(M{"apiVersion": "batch/v1", "kind": "Job", "metadata": t.Meta("nightly"), "spec": stage.JobSpec("nightly", "10s", 2, stage.App())})
	t.Eventually("the Job has ended", stage.Soon, func() error {
		job, err := t.Get(t.Path("jobs", "nightly"))
		if err == nil && job.Int("status", "succeeded") != 2 {
			err = fmt.Errorf("its status is %s", job.Object("status"))
		}
		return err
	})

	b.settled()
	t.Learner.Kill()
	t.Check(t.Learner.Start())
	b.goesOn()
	b.close()
}

// Killed before each write to a file, one after the other, for as long as there are any before its fifth checkpoint: what
// was booked is there, and nothing is booked twice.
func reportCrash(t *stage.T) {
	const checkpoint = 2 * time.Second
	b := beginBooks(t, "--checkpoint-interval="+checkpoint.String())
	t.Profile(stage.QuickProfile("InPlace"))
	t.Apply(t.NewDeployment("web", 3, stage.App()))
	cpu, memory := stage.Targets()
	t.WaitResized("web", 3, cpu, memory)
	t.WaitApplied("deployment-web", "True", "UpToDate", "")
	b.settled()
	t.Learner.Kill()
	deadly, script := filepath.Join(t.Root, "build", "release", "kill-at-write.so"), filepath.Join(t.Learner.Dir, "killed")
	writes := 0
	for lives := false; !lives; writes++ {
		if writes > 500 {
			t.Fatalf("it writes without end")
		}
		t.Check(os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nKILL_AT_WRITE=%d LD_PRELOAD=%s exec %s \"$@\"\n", writes+1, deadly, t.Binary()), 0o755))
		h, err := t.StartVersion(script, "run", t.Name, b.settings...)
		if err == nil {
			_, err := h.Wait(5 * checkpoint)
			lives = err != nil
		}
		h.Kill()
	}
	t.Notef("killed before each of %d writes", writes-1)
	h, err := t.StartVersion(t.Binary(), "run", t.Name, b.settings...)
	t.Check(err)
	t.Learner = h
	b.goesOn()
	b.close()
}
