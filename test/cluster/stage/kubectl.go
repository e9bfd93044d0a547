package stage

import (
	"slices"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
)

// Ctl runs kubectl and returns its output. A failure ends the scenario.
func (t *T) Ctl(args ...string) string { return t.CtlIn("", args...) }

// CtlIn is Ctl with an input.
func (t *T) CtlIn(stdin string, args ...string) string {
	run := t.Kubectl.Run
	if slices.Contains(args, "apply") {
		run = t.apply
	}
	out, err := run(stdin, args...)
	t.Check(err)
	return out
}

// apply runs kubectl apply, and again what was given up: it comes to the same.
func (w *World) apply(stdin string, args ...string) (string, error) {
	for began := time.Now(); ; {
		out, err := w.Kubectl.Run(stdin, args...)
		if !isGivenUp(err) || w.stopped() || time.Since(began) > Scaled(Soon) {
			return out, err
		}
	}
}

// isGivenUp says whether a busy machine took longer than limits that nothing here sets: kubectl's for the schema that it
// validates by, when it has sent nothing yet, or the API server's for one write, which is 34 s.
func isGivenUp(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "error validating data: Get ") ||
		strings.Contains(err.Error(), "Timeout: request did not complete within requested timeout"))
}

// CtlFails runs kubectl, which must fail, and returns its message.
func (t *T) CtlFails(stdin string, args ...string) string {
	out, err := t.Kubectl.Run(stdin, args...)
	if err == nil {
		t.Fatalf("kubectl %s did not fail: %s", strings.Join(args, " "), out)
	}
	return err.Error()
}

// Apply applies an object as its owner does, with kubectl.
func (t *T) Apply(object M) { t.CtlIn(kube.Object(object).String(), "apply", "-f", "-") }
