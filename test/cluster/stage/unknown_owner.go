package stage

import (
	"errors"
	"fmt"

	"halflife.dev/cluster/kube"
)

// countUnknown returns how many pods halflife has let in unchanged because it did not hear in time whose they are: the
// machine was busy.
func (t *T) countUnknown() float64 {
	var sum float64
	for _, h := range t.Halflives() {
		sum += h.Counter(`halflife_admissions_total{result="no_owner"}`)
	}
	return sum
}

// MetricsLag is how long the metrics may take to tell of what has happened.
const MetricsLag = 2 * Interval

// BlameUnknown says whether one more unchanged pod is explained by halflife's own count of pods whose owner it did not
// know in time. Each count explains one pod.
func (t *T) BlameUnknown() bool {
	if t.unknown >= t.countUnknown()-t.unknownBefore {
		return false
	}
	t.unknown++
	return true
}

// Remake deletes a pod of an app that came as its owner wrote it, not with that CPU, so that it is made again: once for
// each pod of unknown owner. It returns false if no pod can be explained so.
func (t *T) Remake(app, cpu string) bool {
	for _, p := range t.Pods(app) {
		got := PodRequested(p, "app", "cpu")
		if got != cpu && t.asWritten(p, got) && t.BlameUnknown() {
			t.Notef("%s in %s was made again: it was let in unknown", p.Name(), t.NS)
			t.Check(t.Delete(t.Path("pods", p.Name()) + "?gracePeriodSeconds=30"))
			return true
		}
	}
	return false
}

// asWritten says whether the template of a pod's highest owner asks for that CPU now, or for none. (A pod of an earlier
// template may ask for another.)
func (t *T) asWritten(pod kube.Object, cpu string) bool {
	top := pod
	for {
		refs := top.List("metadata", "ownerReferences")
		if len(refs) == 0 || Plural(refs[0].Text("kind")) == "" {
			break
		}
		up, err := t.Get(t.Path(Plural(refs[0].Text("kind")), refs[0].Text("name")))
		if err != nil {
			return false // it has gone, and the pod goes with it
		}
		top = up
	}
	if inner := top.Object("spec", "jobTemplate"); inner != nil {
		top = inner
	}
	asks := Requested(top, "app", "cpu")
	return asks == cpu || asks == ""
}

// WaitAdmitted waits until that many pods of an app run with the CPU that admission gives, and the further checks pass.
func (t *T) WaitAdmitted(what, app, cpu string, pods int, more ...func() error) {
	t.Eventually(what, Soon, func() error {
		err := t.PodsAsk(app, "app", "cpu", cpu, pods)
		for _, ask := range more {
			err = errors.Join(err, ask())
		}
		if err != nil {
			t.Remake(app, cpu)
		}
		return err
	})
}

// WaitAdmittedPod waits for the only pod of an app that has an image of that tag, and returns it. The pod must ask for that
// CPU from its creation on.
func (t *T) WaitAdmittedPod(what, app, tag, cpu string) kube.Object {
	var pod kube.Object
	t.Eventually(what, Soon, func() (err error) {
		if pod, err = t.PodWith(app, tag); err != nil {
			return err
		}
		got := PodRequested(pod, "app", "cpu")
		if got == cpu {
			return nil
		}
		err = fmt.Errorf("%s in %s asks for '%s' of CPU, not '%s'", pod.Name(), t.NS, got, cpu)
		t.Eventually(what+": halflife tells of a stranger", MetricsLag, func() error {
			if t.Remake(app, cpu) {
				return nil
			}
			return err
		})
		return err
	})
	return pod
}
