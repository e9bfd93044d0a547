package stage

import (
	"slices"
	"strings"

	"halflife.dev/cluster/kube"
)

// Ctl runs kubectl and returns its output. A failure ends the scenario.
func (t *T) Ctl(args ...string) string { return t.CtlIn("", args...) }

// CtlIn is Ctl with an input. An apply that was given up is run again: it comes to the same.
func (t *T) CtlIn(stdin string, args ...string) (out string) {
	run := func() (err error) {
		out, err = t.Kubectl.Run(stdin, args...)
		return err
	}
	if !slices.Contains(args, "apply") {
		t.Check(run())
		return out
	}
	t.Eventually("kubectl apply", Soon, func() error {
		err := run()
		if !isGivenUp(err) {
			t.Check(err)
		}
		return err
	})
	return out
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
