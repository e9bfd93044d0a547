package scenario

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

const (
	apiServices   = "/apis/apiregistration.k8s.io/v1/apiservices"
	customV1      = "v1beta1.custom.metrics.k8s.io"
	customV2      = "v1beta2.custom.metrics.k8s.io"
	customPods    = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/%s/pods/*/halflife_pod_cpu_utilization"
	ownService    = "/api/v1/namespaces/" + stage.OwnNamespace + "/services/halflife"
	shareOfTarget = 0.5 // cores a pod is to use: half of a limit of one
)

// customMetrics are the settings of a halflife that serves custom.metrics.k8s.io, as its overlay has them.
var customMetrics = []string{"--custom-metrics-listen=127.0.0.1:0", "--webhook-certificate=self", "--interval=5s"}

// installCustomMetrics installs the overlay without its pod, as InstallWebhooks does, and leads its service to this machine.
func installCustomMetrics(t *stage.T) {
	t.Ctl("apply", "-k", t.Root+"/manifests/overlays/custom-metrics")
	t.Ctl("-n", stage.OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
	_, err := t.Merge(ownService, M{"spec": M{"type": "ExternalName", "externalName": "localhost"}})
	t.Check(err)
}

func removeCustomMetrics(t *stage.T) {
	component := t.Root + "/manifests/components/custom-metrics"
	_, _ = t.Kubectl.Run("", "delete", "-f", component+"/apiservice.yaml", "-f", component+"/rbac.yaml", "--ignore-not-found")
	_, _ = t.Kubectl.Run("", "-n", stage.OwnNamespace, "delete", "service", "halflife", "--ignore-not-found")
	_, _ = t.Kubectl.Run("", "apply", "-k", t.Root+"/manifests")
	_, _ = t.Kubectl.Run("", "-n", stage.OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
}

// serveCustomMetrics starts a halflife that serves the API, with more settings, and waits until the API server asks it. Only the port is
// written for it: halflife rotate writes what verifies its certificate.
func serveCustomMetrics(t *stage.T, more ...string) *stage.Halflife {
	installCustomMetrics(t)
	t.Check(t.StartRotate())
	h, err := t.StartHalflife(t.Name, append(slices.Clone(customMetrics), more...)...)
	t.Check(err)
	t.Learner = h
	address, err := h.RESTAddress() // the second address, for it has no REST API
	t.Check(err)
	_, port, err := net.SplitHostPort(address)
	t.Check(err)
	var number int
	_, err = fmt.Sscan(port, &number)
	t.Check(err)
	for _, name := range []string{customV1, customV2} {
		_, err := t.Merge(apiServices+"/"+name, M{"spec": M{"service": M{"port": number}}})
		t.Check(err)
	}
	t.Eventually("the API server finds the API available", stage.Soon, func() error {
		for _, name := range []string{customV1, customV2} {
			s, err := t.Get(apiServices + "/" + name)
			if err != nil {
				return err
			}
			if c := s.Condition("Available"); c.Text("status") != "True" {
				return fmt.Errorf("%s: %s", name, c)
			}
		}
		_, err := t.Get(fmt.Sprintf(customPods, "default"))
		return err
	})
	return h
}

// Two services under the same load: one whose requests halflife lowers, one whose requests stay. Their autoscalers go by
// what pods use of their limits, as halflife tells it, and come to the same numbers. E2E_LONG=1 plays more steps, down
// as well.
func hpaLimitBasis(t *stage.T) {
	defer removeCustomMetrics(t)
	serveCustomMetrics(t)
	t.Namespace()
	profile := func(name, mode string) {
		spec := stage.QuickProfile(mode)
		spec["selector"] = M{"matchLabels": M{"app": name}}
		spec["resources"] = M{"memory": M{"enabled": false}}
		spec["apply"].(M)["hpa"] = "LimitBasis"
		spec["apply"].(M)["cooldown"] = "1h" // one change, and no other while the load is played
		t.ProfileNamed("e2e-"+t.Name+"-"+name, spec)
	}
	names := []string{"lowered", "still"}
	profile("lowered", "Rollout")
	profile("still", "Recommend")
	for _, name := range names {
		b := stage.AppUsing(410, 300*stage.Mi)
		b.Requests, b.Limits = M{"cpu": "1", "memory": "1Gi"}, M{"cpu": "1", "memory": "1Gi"}
		t.Apply(limitHPA(t, name, M{"type": "Resource", "resource": M{"name": "cpu", "target": M{"type": "Utilization", "averageUtilization": 50}}}))
		t.Apply(t.NewDeployment(name, 2, b))
	}
	t.WaitHeld("deployment-lowered", "HPAHold", "halflife_pod_cpu_utilization")
	for _, name := range names { // as the message says
		t.Apply(limitHPA(t, name, M{"type": "Pods", "pods": M{"metric": M{"name": "halflife_pod_cpu_utilization"},
			"target": M{"type": "AverageValue", "averageValue": fmt.Sprintf("%dm", int(1000*shareOfTarget))}}}))
	}
	t.Eventually("the request is lowered, and the other's is not", stage.Soon, func() error {
		lowered, err := t.RequestOf("lowered")
		if err != nil {
			return err
		}
		if still, err := t.RequestOf("still"); err != nil || still != "1" {
			return fmt.Errorf("the other asks for %s (%v)", still, err)
		}
		if lowered == "1" {
			return fmt.Errorf("it still asks for 1")
		}
		return t.PodsAsk("lowered", "app", "cpu", lowered, 2)
	})
	// Cores in all, and the replicas that are due: 5 % and more away from where another number would be, the autoscaler's
	// tolerance of a tenth counted.
	type step struct {
		cores float64
		want  int64
	}
	steps := []step{{2.35, 5}}
	if os.Getenv("E2E_LONG") != "" {
		steps = []step{{0.82, 2}, {2.35, 5}, {1.35, 3}, {2.9, 6}, {0.82, 2}}
	}
	for _, s := range steps {
		began := time.Now()
		settled := t.PlayLoad(names, s.cores)
		t.Notef("%.2f cores: %d replicas lowered, %d still, settled within %.0f s", s.cores, settled["lowered"], settled["still"],
			time.Since(began).Seconds())
		if settled["lowered"] != settled["still"] || settled["lowered"] != s.want {
			t.Fatalf("%.2f cores: %v, not %d", s.cores, settled, s.want)
		}
	}
}

func limitHPA(t *stage.T, name string, metric M) M {
	return M{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": t.Meta(name), "spec": M{
		"minReplicas": 2, "maxReplicas": 10,
		"scaleTargetRef": M{"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
		"metrics":        L{metric}, "behavior": M{"scaleDown": M{"stabilizationWindowSeconds": 0}},
	}}
}

// Where the API is another service's, halflife does not start with it, says whose it is, and writes nothing.
func customMetricsTaken(t *stage.T) {
	defer removeCustomMetrics(t)
	t.Ctl("apply", "-k", t.Root+"/manifests/overlays/custom-metrics")
	t.Ctl("-n", stage.OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
	_, err := t.Merge(apiServices+"/"+customV2, M{"spec": M{"service": M{"name": "prometheus-adapter", "namespace": "monitoring"}}})
	t.Check(err)
	const says = "APIService '" + customV2 + "' belongs to service 'monitoring/prometheus-adapter', not to 'halflife/halflife'"
	h, err := t.StartHalflife(t.Name, customMetrics...)
	if err == nil {
		h.Stop()
		t.Fatalf("it started")
	}
	if !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "code 1") {
		t.Fatalf("it says: %v", err)
	}
	kubeconfig := filepath.Join(t.Dir, "halflife-"+t.Name, "kubeconfig")
	check := exec.Command(t.Binary(), "check", "--kubeconfig="+kubeconfig, "--namespace="+stage.OwnNamespace, "--database=",
		"--custom-metrics-listen=:6443")
	out, err := check.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "FAIL  custom metrics API: "+says) {
		t.Fatalf("check (%v) says:\n%s", err, out)
	}
	for _, name := range []string{customV1, customV2} {
		s, err := t.Get(apiServices + "/" + name)
		t.Check(err)
		if bundle := s.Text("spec", "caBundle"); bundle != "" {
			t.Fatalf("%s has a caBundle", name)
		}
	}
	_, err = t.Merge(apiServices+"/"+customV2, M{"spec": M{"service": M{"name": "halflife", "namespace": stage.OwnNamespace}}})
	t.Check(err)
	out, _ = exec.Command(t.Binary(), "check", "--kubeconfig="+kubeconfig, "--namespace="+stage.OwnNamespace, "--database=",
		"--custom-metrics-listen=:6443").CombinedOutput()
	if !strings.Contains(string(out), "ok    custom metrics API: the APIService names halflife") || strings.Contains(string(out), "needed for custom metrics") {
		t.Fatalf("given back, check says:\n%s", out)
	}
}

// Nobody but the API server's front proxy is answered, whatever he shows; through the API server, who may.
func frontProxy(t *stage.T) {
	defer removeCustomMetrics(t)
	h := serveCustomMetrics(t)
	t.Namespace()
	address, err := h.RESTAddress()
	t.Check(err)
	secret, err := t.Get(stage.CertificatePath)
	t.Check(err)
	bundle, _ := base64.StdEncoding.DecodeString(secret.Text("data", "ca.crt"))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	ask := func(pair string, headers ...string) (int, kube.Object) {
		config := &tls.Config{RootCAs: roots, ServerName: "halflife." + stage.OwnNamespace + ".svc"}
		if pair != "" {
			c, err := tls.LoadX509KeyPair(filepath.Join(t.Plane.Dir, pair+".crt"), filepath.Join(t.Plane.Dir, pair+".key"))
			t.Check(err)
			config.Certificates = []tls.Certificate{c}
		}
		client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		req, _ := http.NewRequest("GET", "https://"+address+fmt.Sprintf(customPods, t.NS), nil)
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := client.Do(req)
		t.Check(err)
		defer res.Body.Close()
		data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		t.Check(err)
		return res.StatusCode, kube.Parse(string(data))
	}
	for _, c := range []struct {
		what, pair string
		headers    []string
		code       int
		kind       string
	}{
		{"no certificate", "", []string{"X-Remote-User", "admin"}, 401, "Status"},
		{"a cluster administrator's, signed by the same CA", "admin", []string{"X-Remote-User", "admin"}, 403, "Status"},
		{"the front proxy's, for nobody", "proxy", nil, 401, "Status"},
		{"the front proxy's", "proxy", []string{"X-Remote-User", "system:kube-controller-manager"}, 200, "MetricValueList"},
	} {
		code, body := ask(c.pair, c.headers...)
		if code != c.code || body.Text("kind") != c.kind {
			t.Fatalf("%s: HTTP %d %s", c.what, code, body)
		}
	}
	// Through the API server: who may not is refused by it, whose right it is gets an answer.
	t.Account("reader", M{"apiGroups": L{"custom.metrics.k8s.io"}, "resources": L{"pods/halflife_pod_cpu_utilization"}, "verbs": L{"get"}})
	t.Account("nobody")
	for account, want := range map[string]string{"reader": "MetricValueList", "nobody": "is forbidden"} {
		out, err := t.Kubectl.Run("", "get", "--raw", fmt.Sprintf(customPods, t.NS),
			"--as=system:serviceaccount:"+t.NS+":"+account)
		if said := fmt.Sprint(out, err); !strings.Contains(said, want) {
			t.Fatalf("%s: %s", account, said)
		}
	}
}
