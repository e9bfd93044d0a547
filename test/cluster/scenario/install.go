package scenario

import (
	"fmt"
	"os"
	"strings"

	"halflife.dev/cluster/stage"
)

// The server takes the base and each overlay; two replicas of serve, under the permissions that the overlay grants, share
// one certificate, which halflife rotate vouches for in the webhooks, also after somebody emptied the Secret.
func install(t *stage.T) {
	for _, plural := range []string{"servicemonitors", "prometheusrules"} {
		t.Apply(operatorCRD(plural))
	}
	defer func() {
		for _, plural := range []string{"servicemonitors", "prometheusrules"} {
			_, _ = t.Kubectl.Run("", "delete", "crd", plural+".monitoring.coreos.com", "--wait=false")
		}
	}()
	t.Served("servicemonitors.monitoring.coreos.com", "prometheusrules.monitoring.coreos.com")
	for _, folder := range []string{"", "/overlays/admission", "/overlays/read-only", "/overlays/monitoring", "/overlays/grafana", "/overlays/in-place"} {
		t.Ctl("apply", "--dry-run=server", "-k", t.Root+"/manifests"+folder)
	}
	defer installBase(t)
	readOnly(t)
	serveReplicas(t)
}

// installBase leaves the cluster as NewWorld did.
func installBase(t *stage.T) {
	_, _ = t.Kubectl.Run("", "delete", "mutatingwebhookconfiguration", "halflife", "--ignore-not-found")
	_, _ = t.Kubectl.Run("", "-n", stage.OwnNamespace, "delete", "deployment", "halflife-serve", "--ignore-not-found", "--wait=false")
	_, _ = t.Kubectl.Run("", "apply", "-k", t.Root+"/manifests")
	_, _ = t.Kubectl.Run("", "-n", stage.OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
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

func mayBecome(t *stage.T, want string, args ...string) {
	t.Eventually("can-i "+strings.Join(args, " ")+": "+want, stage.Soon, func() error {
		out, err := t.Kubectl.Run("", append([]string{"auth", "can-i", "-A"}, args...)...)
		if strings.TrimSpace(out) != want {
			return fmt.Errorf("the answer is '%s' (%v)", strings.TrimSpace(out), err)
		}
		return nil
	})
}

// Applied over the base, read-only takes away what writes workloads, and leaves the rest.
func readOnly(t *stage.T) {
	as := "--as=" + stage.LearnerUser
	mayBecome(t, "yes", "patch", "deployments.apps", as)
	t.Ctl("apply", "-k", t.Root+"/manifests/overlays/read-only")
	t.Ctl("-n", stage.OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
	mayBecome(t, "no", "patch", "deployments.apps", as)
	mayBecome(t, "no", "patch", "cronjobs.batch", as)
	mayBecome(t, "yes", "list", "deployments.apps", as)
	mayBecome(t, "yes", "create", "recommendations.halflife.dev", as)
}

func serveReplicas(t *stage.T) {
	t.Ctl("apply", "-k", t.Root+"/manifests/overlays/admission")
	t.Ctl("-n", stage.OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
	as := "--as=system:serviceaccount:" + stage.OwnNamespace + ":halflife-serve"
	mayBecome(t, "yes", "list", "recommendations.halflife.dev", as)
	for _, verb := range []string{"create", "patch", "update", "delete"} {
		mayBecome(t, "no", verb, "recommendations.halflife.dev", as)
		mayBecome(t, "no", verb, "deployments.apps", as)
		mayBecome(t, "no", verb, "pods", as)
	}
	t.Check(t.StartRotate())
	var replicas []*stage.Halflife
	for i := 0; i < 2; i++ {
		h, err := t.StartServe(fmt.Sprintf("serve-%d", i), "--serve-listen=127.0.0.1:0", "--webhook-certificate=self")
		t.Check(err)
		defer h.Terminate()
		replicas = append(replicas, h)
	}
	t.WaitWebhooksTrust(replicas)
	t.Check(t.EmptySecret())
	_, err := t.Merge(stage.WebhooksPath, M{"metadata": M{"labels": M{"touched": "yes"}}})
	t.Check(err)
	t.WaitWebhooksTrust(replicas)
	for _, h := range replicas {
		log, err := os.ReadFile(h.Log)
		t.Check(err)
		if text := string(log); strings.Contains(text, "forbidden") || strings.Contains(text, "HTTP 403") {
			t.Fatalf("a permission is missing:\n%s", h.Said("", 40))
		}
	}
}
