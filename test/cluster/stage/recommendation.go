package stage

import (
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
)

// Rec reads a recommendation of the scenario's namespace.
func (t *T) Rec(name string) (kube.Object, error) {
	return t.Get(fmt.Sprintf("%s/namespaces/%s/recommendations/%s", APIPath, t.NS, name))
}

// RecIn waits until a recommendation is in a state, and returns it.
func (t *T) RecIn(name, state string, limit time.Duration) kube.Object {
	return t.RecWhen(name, "state "+state, limit, func(r kube.Object) error {
		if got := r.Text("status", "state"); got != state {
			return fmt.Errorf("state is '%s': %s", got, r.Object("status"))
		}
		return nil
	})
}

// RecWhen waits until judge accepts a recommendation, and returns it.
func (t *T) RecWhen(name, what string, limit time.Duration, judge func(kube.Object) error) kube.Object {
	var last kube.Object
	t.Eventually(name+": "+what, limit, func() error {
		r, err := t.Rec(name)
		if err != nil {
			return err
		}
		last = r
		return judge(r)
	})
	return last
}

// CheckCondition returns an error unless a condition has that status and its message contains that text.
func CheckCondition(o kube.Object, kind, status, message string) error {
	c := o.Condition(kind)
	if c.Text("status") != status || !strings.Contains(c.Text("message"), message) {
		return fmt.Errorf("condition %s is not %s with '%s': %v", kind, status, message, o.At("status", "conditions"))
	}
	return nil
}

// WaitHeld waits until a recommendation tells that it is not applied, for that reason.
func (t *T) WaitHeld(rec, reason, message string) kube.Object {
	return t.RecWhen(rec, "held by "+reason, Soon, func(r kube.Object) error {
		c := r.Condition("Applied")
		if c.Text("status") != "False" || c.Text("reason") != reason {
			return fmt.Errorf("condition Applied is %s, state %s", c, r.Text("status", "state"))
		}
		return CheckCondition(r, "Applied", "False", message)
	})
}

// WaitApplied waits until the condition Applied of a recommendation has that status and reason.
func (t *T) WaitApplied(rec, status, reason, message string) kube.Object {
	return t.RecWhen(rec, "Applied "+status+" "+reason, Soon, func(r kube.Object) error {
		if got := r.Condition("Applied").Text("reason"); got != reason {
			return fmt.Errorf("reason is %s, not %s: %s", got, reason, r.Condition("Applied"))
		}
		return CheckCondition(r, "Applied", status, message)
	})
}

// WaitGuarded waits until the guard holds a recommendation for that cause.
func (t *T) WaitGuarded(rec, cause, message string) kube.Object {
	r := t.RecWhen(rec, "Guarded: "+cause, Soon, func(r kube.Object) error {
		if got := r.Condition("Guarded").Text("reason"); got != cause {
			return fmt.Errorf("reason is '%s': %v", got, r.At("status", "conditions"))
		}
		return CheckCondition(r, "Guarded", "True", message)
	})
	if r.Text("status", "state") != "Held" || r.Text("status", "guard", "cause") != cause || r.Text("status", "guard", "until") == "" {
		t.Fatalf("status is %s", r.Object("status"))
	}
	return r
}

// CheckUnguarded ends the scenario unless a recommendation is Ready and the guard does not hold it.
func (t *T) CheckUnguarded(rec string) {
	r, err := t.Rec(rec)
	t.Check(err)
	if r.Text("status", "state") != "Ready" || r.Condition("Guarded").Text("status") != "" {
		t.Fatalf("%s is %s", rec, r.Object("status"))
	}
}

// WaitRolloutBlocked waits until a recommendation tells that a change waits for a rollout.
func (t *T) WaitRolloutBlocked(rec, message string) {
	t.RecWhen(rec, "RolloutBlocked", Soon, func(r kube.Object) error {
		if got := r.Condition("Applied").Text("reason"); got != "RolloutBlocked" {
			return fmt.Errorf("reason is %s", got)
		}
		return CheckCondition(r, "Applied", "False", message)
	})
}
