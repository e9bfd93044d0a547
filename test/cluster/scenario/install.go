package scenario

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
)

func init() {
	alone = append(alone, scenario{"install", install})
}

const (
	hooks       = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/halflife"
	certificate = "/api/v1/namespaces/" + ownNamespace + "/secrets/halflife-certificate"
)

// The server takes the base and each overlay; two replicas of serve, under the permissions that the overlay grants, share
// one certificate and vouch for it in the webhooks, also after somebody lost the Secret.
func install(t *T) {
	for _, plural := range []string{"servicemonitors", "prometheusrules"} {
		t.Apply(operatorCRD(plural))
	}
	defer func() {
		for _, plural := range []string{"servicemonitors", "prometheusrules"} {
			_, _ = t.ctl.Run("", "delete", "crd", plural+".monitoring.coreos.com", "--wait=false")
		}
	}()
	t.Ctl("wait", "--for=condition=Established", "--timeout=300s", "crd", "servicemonitors.monitoring.coreos.com",
		"prometheusrules.monitoring.coreos.com")
	for _, folder := range []string{"", "/overlays/admission", "/overlays/read-only", "/overlays/monitoring", "/overlays/in-place"} {
		t.Ctl("apply", "--dry-run=server", "-k", t.Root+"/manifests"+folder)
	}
	defer t.installBase()
	t.readOnly()
	t.serve()
}

// installBase leaves things as NewWorld did.
func (t *T) installBase() {
	_, _ = t.ctl.Run("", "delete", "mutatingwebhookconfiguration", "halflife", "--ignore-not-found")
	_, _ = t.ctl.Run("", "-n", ownNamespace, "delete", "deployment", "halflife-serve", "--ignore-not-found", "--wait=false")
	_, _ = t.ctl.Run("", "apply", "-k", t.Root+"/manifests")
	_, _ = t.ctl.Run("", "-n", ownNamespace, "scale", "deployment", "halflife", "--replicas=0")
}

func operatorCRD(plural string) M {
	kind := map[string]string{"servicemonitors": "ServiceMonitor", "prometheusrules": "PrometheusRule"}[plural]
	return M{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": M{"name": plural + ".monitoring.coreos.com"},
		"spec": M{"group": "monitoring.coreos.com", "scope": "Namespaced",
			"names": M{"kind": kind, "plural": plural, "singular": strings.ToLower(kind)},
			"versions": L{M{"name": "v1", "served": true, "storage": true,
				"schema": M{"openAPIV3Schema": M{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}
}

func (t *T) mayBecome(want string, args ...string) {
	t.Eventually("can-i "+strings.Join(args, " ")+": "+want, soon, func() error {
		out, err := t.ctl.Run("", append([]string{"auth", "can-i", "-A"}, args...)...)
		if strings.TrimSpace(out) != want {
			return fmt.Errorf("the answer is '%s' (%v)", strings.TrimSpace(out), err)
		}
		return nil
	})
}

// Applied over the base, read-only takes away what writes workloads, and leaves the rest.
func (t *T) readOnly() {
	as := "--as=" + account
	t.mayBecome("yes", "patch", "deployments.apps", as)
	t.Ctl("apply", "-k", t.Root+"/manifests/overlays/read-only")
	t.Ctl("-n", ownNamespace, "scale", "deployment", "halflife", "--replicas=0")
	t.mayBecome("no", "patch", "deployments.apps", as)
	t.mayBecome("no", "patch", "cronjobs.batch", as)
	t.mayBecome("yes", "list", "deployments.apps", as)
	t.mayBecome("yes", "create", "recommendations.halflife.dev", as)
}

func (t *T) serve() {
	t.Ctl("apply", "-k", t.Root+"/manifests/overlays/admission")
	t.Ctl("-n", ownNamespace, "scale", "deployment", "halflife", "halflife-serve", "--replicas=0")
	as := "--as=system:serviceaccount:" + ownNamespace + ":halflife-serve"
	t.mayBecome("yes", "list", "recommendations.halflife.dev", as)
	for _, verb := range []string{"create", "patch", "update", "delete"} {
		t.mayBecome("no", verb, "recommendations.halflife.dev", as)
		t.mayBecome("no", verb, "deployments.apps", as)
		t.mayBecome("no", verb, "pods", as)
	}
	var replicas []*Halflife
	for i := 0; i < 2; i++ {
		h, err := t.StartServe(fmt.Sprintf("serve-%d", i), "--serve-listen=127.0.0.1:0", "--webhook-certificate=self")
		t.Check(err)
		defer h.Terminate()
		replicas = append(replicas, h)
	}
	t.trusted(replicas)
	t.Check(t.Delete(certificate))
	_, err := t.Merge(hooks, M{"metadata": M{"labels": M{"touched": "yes"}}})
	t.Check(err)
	t.trusted(replicas)
	for _, h := range replicas {
		log, err := os.ReadFile(h.Log)
		t.Check(err)
		if text := string(log); strings.Contains(text, "forbidden") || strings.Contains(text, "HTTP 403") {
			t.Fatalf("a permission is missing:\n%s", h.Said("", 40))
		}
	}
}

// trusted waits until what every replica shows is trusted by what stands in every webhook, and is the Secret's.
func (t *T) trusted(replicas []*Halflife) {
	t.Eventually("the replicas are trusted", soon, func() error {
		secret, err := t.Get(certificate)
		if err != nil {
			return err
		}
		configuration, err := t.Get(hooks)
		if err != nil {
			return err
		}
		for _, hook := range configuration.List("webhooks") {
			bundle, _ := base64.StdEncoding.DecodeString(hook.Text("clientConfig", "caBundle"))
			roots := x509.NewCertPool()
			if !roots.AppendCertsFromPEM(bundle) || hook.Text("clientConfig", "caBundle") != secret.Text("data", "ca.crt") {
				return fmt.Errorf("webhook %s has another caBundle than the Secret", hook.Text("name"))
			}
			for _, h := range replicas {
				door, err := h.Door()
				if err != nil {
					return err
				}
				c, err := tls.Dial("tcp", door, &tls.Config{RootCAs: roots, ServerName: "halflife-serve." + ownNamespace + ".svc"})
				if err != nil {
					return err
				}
				c.Close()
			}
		}
		return nil
	})
}
