package stage

import (
	"strings"

	"halflife.dev/cluster/kube"
)

// Ctl runs kubectl and returns its output. A failure ends the scenario.
func (t *T) Ctl(args ...string) string { return t.CtlIn("", args...) }

// CtlIn is Ctl with an input.
func (t *T) CtlIn(stdin string, args ...string) string {
	out, err := t.Kubectl.Run(stdin, args...)
	t.Check(err)
	return out
}

// CtlFails runs kubectl, which must fail, and returns its message.
func (t *T) CtlFails(stdin string, args ...string) string {
	out, err := t.Kubectl.Run(stdin, args...)
	if err == nil {
		t.Fatalf("kubectl %s did not fail: %s", strings.Join(args, " "), out)
	}
	return err.Error()
}

// Apply applies an object as its owner does, with kubectl. On a busy machine kubectl gives up on the schema that it
// validates by: it has sent nothing then, and Apply runs it again.
func (t *T) Apply(object M) {
	t.Eventually("kubectl apply", Soon, func() error {
		_, err := t.Kubectl.Run(kube.Object(object).String(), "apply", "-f", "-")
		if err != nil && !strings.Contains(err.Error(), "error validating data: Get ") {
			t.Check(err)
		}
		return err
	})
}
