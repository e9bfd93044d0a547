package scenario

import (
	"errors"
	"fmt"

	"halflife.dev/cluster/kube"
)

// strangers is how many pods were let in as they were, because it was not heard in time whose they are: the machine was busy.
func (t *T) strangers() float64 {
	var sum float64
	for _, h := range t.mine() {
		sum += h.counted(`halflife_admissions_total{result="no_owner"}`)
	}
	return sum
}

// lag is how long the metrics may take to tell of what has happened.
const lag = 2 * Interval

// stranger takes one more pod for a stranger, if halflife tells of so many since the scenario began.
func (t *T) stranger() bool {
	if t.met >= t.strangers()-t.strange {
		return false
	}
	t.met++
	return true
}

// remake deletes a pod of an app that asks for what its owner's template does, not for that CPU, so that it is made again: once
// for each stranger. False: there is none to blame on that.
func (t *T) remake(app, cpu string) bool {
	for _, p := range t.Pods(app) {
		got := podRequest(p, "app", "cpu")
		if got != cpu && t.asWritten(p, got) && t.stranger() {
			t.Notef("%s in %s was made again: it was let in unknown", p.Name(), t.NS)
			t.Check(t.Delete(t.path("pods", p.Name()) + "?gracePeriodSeconds=30"))
			return true
		}
	}
	return false
}

// asWritten: the template of a pod's highest owner asks for that CPU now, or for none. (A pod of an earlier template may ask for
// another.)
func (t *T) asWritten(pod kube.Object, cpu string) bool {
	top := pod
	for {
		refs := top.List("metadata", "ownerReferences")
		if len(refs) == 0 || plural(refs[0].Text("kind")) == "" {
			break
		}
		up, err := t.Get(t.path(plural(refs[0].Text("kind")), refs[0].Text("name")))
		if err != nil {
			return false // it has gone, and the pod goes with it
		}
		top = up
	}
	if inner := top.Object("spec", "jobTemplate"); inner != nil {
		top = inner
	}
	asks := request(top, "app", "cpu")
	return asks == cpu || asks == ""
}

// comeWith waits until so many pods of an app run, which admission gave that CPU, and whatever else is asked.
func (t *T) comeWith(what, app, cpu string, pods int, more ...func() error) {
	t.Eventually(what, soon, func() error {
		err := t.podsAsk(app, "app", "cpu", cpu, pods)
		for _, ask := range more {
			err = errors.Join(err, ask())
		}
		if err != nil {
			t.remake(app, cpu)
		}
		return err
	})
}

// cameWith waits for the only pod of an app, with an image of that tag, and gives it: it asks for that CPU as soon as it is there.
func (t *T) cameWith(what, app, tag, cpu string) kube.Object {
	var pod kube.Object
	t.Eventually(what, soon, func() (err error) {
		if pod, err = t.podWith(app, tag); err != nil {
			return err
		}
		got := podRequest(pod, "app", "cpu")
		if got == cpu {
			return nil
		}
		err = fmt.Errorf("%s in %s asks for '%s' of CPU, not '%s'", pod.Name(), t.NS, got, cpu)
		t.Eventually(what+": halflife tells of a stranger", lag, func() error {
			if t.remake(app, cpu) {
				return nil
			}
			return err
		})
		return err
	})
	return pod
}
