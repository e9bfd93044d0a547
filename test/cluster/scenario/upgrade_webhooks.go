package scenario

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/stage"
)

// beforeRotate is the last commit whose replicas made the certificate themselves.
const beforeRotate = "ce796b3da49450129448b9e2cbcd4a7d26eeec7b"

// formerRights let a replica of the version before do what its manifests let it do.
const formerRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: halflife-former}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [create, get, update]}
- {apiGroups: [admissionregistration.k8s.io], resources: [mutatingwebhookconfigurations], verbs: [get, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: halflife-former}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: halflife-former}
subjects:
- {kind: ServiceAccount, name: halflife-serve, namespace: halflife}
`

// A replica of the version before, which made the certificate itself, admits while the manifests of this version are
// applied and halflife rotate begins; then a replica of this version takes its place. Every pod is admitted.
func upgradeWebhooks(t *stage.T) {
	former, err := programs.OpenSSLAt(t.Root, beforeRotate, os.Stderr)
	if errors.Is(err, programs.ErrNoHistory) {
		t.Notef("SKIPPED: %v", err)
		return
	}
	t.Check(err)
	port := t.FreePort()
	now := overlayAt(t, port)
	apply(t, strings.ReplaceAll(now, "halflife-serve\n      namespace: halflife\n", "halflife-serve\n      namespace: halflife\n      path: /admission\n"))
	t.Check(t.Delete(stage.CertificatePath))
	t.Check(t.NameThisMachine())
	_, err = t.Kubectl.Run(formerRights, "apply", "-f", "-")
	t.Check(err)
	removeRights := func() {
		_, _ = t.Kubectl.Run("", "delete", "clusterrole,clusterrolebinding", "halflife-former", "--ignore-not-found")
	}
	defer removeRights()
	before, err := t.StartVersion(former, "serve", t.Name+"-former", t.RESTSettingsAt(port)...)
	t.Check(err)
	defer before.Stop()
	t.HalvedNamespace("Pod")
	l := t.NewLoad()
	defer l.Stop()
	askForPods(t, l, "1")
	certificate := certificateText(t)

	t.Ctl("apply", "set-last-applied", "-f", t.Root+"/manifests/components/admission/webhook.yaml") // as docs/install.md has it
	removeRights()
	apply(t, now)
	t.Check(t.StartRotate())
	if is := certificateText(t); is != certificate {
		t.Fatalf("the upgrade has changed the certificate")
	}
	replica, err := t.StartServe(t.Name+"-serve", stage.RESTSettings...)
	t.Check(err)
	t.Replica = replica
	l.CheckSoFar(t)
	t.RouteWebhooks(replica)
	before.Stop()
	l.End(t)
	configuration, err := t.Get(stage.WebhooksPath)
	t.Check(err)
	if path := configuration.List("webhooks")[0].Text("clientConfig", "service", "path"); path != "/admission" {
		t.Fatalf("the path is '%s'", path)
	}
}

// overlayAt is the admission overlay as kubectl applies it, with webhooks that lead to a port of this machine.
func overlayAt(t *stage.T, port int) string {
	text := t.Ctl("kustomize", t.Root+"/manifests/overlays/admission")
	at := strings.Index(text, "kind: MutatingWebhookConfiguration")
	if at < 0 || !strings.Contains(text[at:], "port: 443") || !strings.Contains(text[at:], "timeoutSeconds: 2") {
		t.Fatalf("the overlay has no webhooks:\n%s", text)
	}
	hooks := strings.ReplaceAll(text[at:], "port: 443", fmt.Sprintf("port: %d", port))
	return text[:at] + strings.ReplaceAll(hooks, "timeoutSeconds: 2", "timeoutSeconds: 30")
}

// apply applies the overlay without its pods.
func apply(t *stage.T, text string) {
	_, err := t.Kubectl.Run(text, "apply", "-f", "-")
	t.Check(err)
	t.Ctl("-n", stage.OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
}

func certificateText(t *stage.T) string {
	secret, err := t.Get(stage.CertificatePath)
	t.Check(err)
	return secret.Text("data", "tls.crt") + secret.Text("data", "ca.key")
}
