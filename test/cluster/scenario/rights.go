package scenario

import (
	"os/exec"
	"strings"

	"halflife.dev/cluster/stage"
)

const (
	ownSecret  = "secret/halflife-certificate"
	ownHooks   = "mutatingwebhookconfiguration/halflife"
	otherHooks = "mutatingwebhookconfiguration/other"
)

// Only halflife rotate may write the Secret and the webhooks, and nothing else than those. Each request is sent with the
// token of the account, and the API server decides.
func rights(t *stage.T) {
	t.Check(t.InstallWebhooks())
	defer func() { _, _ = t.Kubectl.Run("", "delete", otherHooks, "--ignore-not-found") }()
	t.Ctl("-n", stage.OwnNamespace, "create", "secret", "generic", "other", "--from-literal=key=value")
	defer func() { _, _ = t.Kubectl.Run("", "-n", stage.OwnNamespace, "delete", "secret", "other") }()
	t.Apply(M{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
		"metadata": M{"name": "other"}})
	learner := t.StartOwn(stage.RESTSettings...)
	replica, err := t.StartServe(t.Name+"-serve", stage.RESTSettings...)
	t.Check(err)
	t.Replica = replica
	for _, h := range []*stage.Halflife{learner, replica} {
		as := actor{t, h}
		as.may("get", ownSecret)
		as.mayNot(patchOf(ownSecret)...)
		as.mayNot("get", "secret/other")
		as.mayNot("get", "secrets")
		as.mayNot("create", "secret", "generic", "made")
		as.mayNot(patchOf(ownHooks)...)
		as.mayNot("delete", ownHooks)
	}
	as := actor{t, t.Rotate}
	as.may("get", ownSecret)
	as.may("get", ownHooks)
	as.may(patchOf(ownHooks)...)
	as.mayNot("get", "secret/other")
	as.mayNot("get", "secrets")
	as.mayNot("create", "secret", "generic", "made")
	as.mayNot("delete", ownSecret)
	as.mayNot(patchOf(otherHooks)...)
	as.mayNot("delete", ownHooks)
	as.mayNot("get", "pods")
	as.mayNot("get", "recommendations.halflife.dev")
	as.mayNot(patchOf("deployment/halflife")...)
	checkTellsRights(t, learner)
}

func patchOf(object string) []string {
	return []string{"patch", object, "--type=merge", "-p", `{"metadata":{"labels":{"tried":"yes"}}}`}
}

// actor sends requests with the token of a halflife.
type actor struct {
	*stage.T
	h *stage.Halflife
}

func (a actor) try(args ...string) error {
	kubectl := a.Kubectl
	kubectl.Kubeconfig = a.h.Kubeconfig
	_, err := kubectl.Run("", append([]string{"-n", stage.OwnNamespace}, args...)...)
	return err
}

func (a actor) may(args ...string) {
	if err := a.try(args...); err != nil {
		a.Fatalf("halflife %s: %v", a.h.Command, err)
	}
}

func (a actor) mayNot(args ...string) {
	if err := a.try(args...); err == nil || !strings.Contains(err.Error(), "is forbidden: User") {
		a.Fatalf("halflife %s: %s is not forbidden: %v", a.h.Command, strings.Join(args, " "), err)
	}
}

// checkTellsRights looks for the lines of halflife check about the account of halflife rotate.
func checkTellsRights(t *stage.T, h *stage.Halflife) {
	said, _ := exec.Command(t.Binary(), "check", "--kubeconfig="+h.Kubeconfig, "--namespace="+stage.OwnNamespace,
		"--database=", "--webhook-certificate=self").CombinedOutput()
	for _, right := range []string{"get secrets 'halflife-certificate'", "update secrets 'halflife-certificate'",
		"get mutatingwebhookconfigurations 'halflife'", "patch mutatingwebhookconfigurations 'halflife'"} {
		if line := "ok    halflife-rotate may " + right; !strings.Contains(string(said), line) {
			t.Fatalf("check does not say '%s':\n%s", line, said)
		}
	}
}
