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
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"halflife.dev/cluster/kube"
)

func init() {
	alone = append(alone, scenario{"custom-metrics-taken", customMetricsTaken}, scenario{"front-proxy", frontProxy})
	alone = append(alone, scenario{"hpa-limit-basis", hpaLimitBasis})
}

const (
	apiServices   = "/apis/apiregistration.k8s.io/v1/apiservices"
	customV1      = "v1beta1.custom.metrics.k8s.io"
	customV2      = "v1beta2.custom.metrics.k8s.io"
	customPods    = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/%s/pods/*/halflife_pod_cpu_utilization"
	ownService    = "/api/v1/namespaces/" + ownNamespace + "/services/halflife"
	hpaSync       = 5 * time.Second // of the plane's controller manager
	settledSyncs  = 3
	shareOfTarget = 0.5 // cores a pod is to use: half of a limit of one
)

// customMetrics are the settings of a halflife that serves custom.metrics.k8s.io, as its overlay has them.
var customMetrics = []string{"--custom-metrics-listen=127.0.0.1:0", "--webhook-certificate=self", "--interval=5s"}

// installCustomMetrics installs the overlay without its pod, as InstallDoors does, and leads its service to this machine.
func (t *T) installCustomMetrics() {
	t.Ctl("apply", "-k", t.Root+"/manifests/overlays/custom-metrics")
	t.Ctl("-n", ownNamespace, "scale", "deployment", "halflife", "--replicas=0")
	_, err := t.Merge(ownService, M{"spec": M{"type": "ExternalName", "externalName": "localhost"}})
	t.Check(err)
}

func (t *T) removeCustomMetrics() {
	component := t.Root + "/manifests/components/custom-metrics"
	_, _ = t.ctl.Run("", "delete", "-f", component+"/apiservice.yaml", "-f", component+"/rbac.yaml", "--ignore-not-found")
	_, _ = t.ctl.Run("", "-n", ownNamespace, "delete", "service", "halflife", "--ignore-not-found")
	_, _ = t.ctl.Run("", "apply", "-k", t.Root+"/manifests")
	_, _ = t.ctl.Run("", "-n", ownNamespace, "scale", "deployment", "halflife", "--replicas=0")
}

// serveCustomMetrics starts a halflife that serves the API, and waits until the API server asks it. Only the port is
// written for it: who vouches for its certificate it writes itself.
func (t *T) serveCustomMetrics() *Halflife {
	t.installCustomMetrics()
	h, err := t.StartHalflife(t.Name, customMetrics...)
	t.Check(err)
	t.halflife = h
	address, err := h.Door() // the second address of two
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
	t.Eventually("the API server finds the API available", soon, func() error {
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
func hpaLimitBasis(t *T) {
	defer t.removeCustomMetrics()
	t.serveCustomMetrics()
	t.Namespace()
	profile := func(name, mode string) {
		spec := quick(mode)
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
		b := app(410, 300*mi)
		b.requests, b.limits = M{"cpu": "1", "memory": "1Gi"}, M{"cpu": "1", "memory": "1Gi"}
		t.Apply(t.limitHPA(name, M{"type": "Resource", "resource": M{"name": "cpu", "target": M{"type": "Utilization", "averageUtilization": 50}}}))
		t.Apply(t.deployment(name, 2, b))
	}
	t.held("deployment-lowered", "HPAHold", "halflife_pod_cpu_utilization")
	for _, name := range names { // as the message says
		t.Apply(t.limitHPA(name, M{"type": "Pods", "pods": M{"metric": M{"name": "halflife_pod_cpu_utilization"},
			"target": M{"type": "AverageValue", "averageValue": fmt.Sprintf("%dm", int(1000*shareOfTarget))}}}))
	}
	t.Eventually("the request is lowered, and the other's is not", soon, func() error {
		lowered, err := t.requestOf("lowered")
		if err != nil {
			return err
		}
		if still, err := t.requestOf("still"); err != nil || still != "1" {
			return fmt.Errorf("the other asks for %s (%v)", still, err)
		}
		if lowered == "1" {
			return fmt.Errorf("it still asks for 1")
		}
		return t.podsAsk("lowered", "app", "cpu", lowered, 2)
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
		settled := t.playLoad(names, s.cores)
		t.Notef("%.2f cores: %d replicas lowered, %d still, settled within %.0f s", s.cores, settled["lowered"], settled["still"],
			time.Since(began).Seconds())
		if settled["lowered"] != settled["still"] || settled["lowered"] != s.want {
			t.Fatalf("%.2f cores: %v, not %d", s.cores, settled, s.want)
		}
	}
}

func (t *T) requestOf(name string) (string, error) {
	d, err := t.Get(fmt.Sprintf("/apis/apps/v1/namespaces/%s/deployments/%s", t.NS, name))
	return request(d, "app", "cpu"), err
}

func (t *T) limitHPA(name string, metric M) M {
	return M{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": t.meta(name), "spec": M{
		"minReplicas": 2, "maxReplicas": 10,
		"scaleTargetRef": M{"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
		"metrics":        L{metric}, "behavior": M{"scaleDown": M{"stabilizationWindowSeconds": 0}},
	}}
}

// playLoad shares so many cores among the pods of each service, as they come and go, until each autoscaler has wanted one
// number for three syncs; gives those numbers.
func (t *T) playLoad(names []string, cores float64) map[string]int64 {
	settled := map[string]int64{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	var failed error
	for _, name := range names {
		wait.Add(1)
		go func() {
			defer wait.Done()
			n, err := t.settle(name, cores)
			mu.Lock()
			defer mu.Unlock()
			settled[name] = n
			if err != nil {
				failed = fmt.Errorf("%s: %w", name, err)
			}
		}()
	}
	wait.Wait()
	t.Check(failed)
	return settled
}

func (t *T) settle(name string, cores float64) (int64, error) {
	deadline := time.Now().Add(2 * soon)
	var wanted int64
	var since time.Time
	var last error
	for time.Now().Before(deadline) && !t.stopped() {
		desired, err := t.loadOnce(name, cores)
		if err != nil || desired != wanted {
			wanted, since, last = desired, time.Now(), err
		}
		if wanted > 0 && time.Since(since) >= settledSyncs*hpaSync {
			return wanted, nil
		}
		time.Sleep(time.Second)
	}
	return 0, fmt.Errorf("wants %d since %s: %v", wanted, since.Format(time.TimeOnly), last)
}

// loadOnce gives each pod its share. An error where the autoscaler does not see all of it yet: replicas are then still
// of the load before.
func (t *T) loadOnce(name string, cores float64) (int64, error) {
	list, err := t.Get(fmt.Sprintf("/api/v1/namespaces/%s/pods?labelSelector=app=%s", t.NS, name))
	if err != nil {
		return 0, err
	}
	var running []kube.Object
	for _, p := range list.List("items") {
		if p.Text("status", "phase") == "Running" && p.Text("metadata", "deletionTimestamp") == "" {
			running = append(running, p)
		}
	}
	if len(running) == 0 {
		return 0, fmt.Errorf("no pod runs")
	}
	each := int64(cores * 1000 / float64(len(running)))
	for _, p := range running {
		want := fmt.Sprintf("%dm", each)
		const key = "usage.halflife.dev/cpu.app"
		if p.Text("metadata", "annotations", key) == want {
			continue
		}
		_, err := t.Merge(fmt.Sprintf("/api/v1/namespaces/%s/pods/%s", t.NS, p.Name()), M{"metadata": M{"annotations": M{key: want}}})
		if err != nil && kube.Code(err) != 404 {
			return 0, err
		}
	}
	h, err := t.Get(fmt.Sprintf("/apis/autoscaling/v2/namespaces/%s/horizontalpodautoscalers/%s", t.NS, name))
	if err != nil {
		return 0, err
	}
	return seenBy(h, len(running), each)
}

// seenBy is how many replicas an autoscaler wants, once what it sees is what is used.
func seenBy(h kube.Object, running int, each int64) (int64, error) {
	var desired int64
	_, _ = fmt.Sscan(h.Text("status", "desiredReplicas"), &desired)
	metrics := h.List("status", "currentMetrics")
	if len(metrics) != 1 {
		return 0, fmt.Errorf("it sees nothing: %s", h.Object("status"))
	}
	source := "pods"
	if metrics[0].Text("type") == "Resource" {
		source = "resource"
	}
	value, err := resource.ParseQuantity(metrics[0].Text(source, "current", "averageValue"))
	if err != nil {
		return 0, fmt.Errorf("its average is %s", metrics[0])
	}
	if got := value.MilliValue(); got*100 < each*95 || got*100 > each*105 || int64(running) != desired {
		return 0, fmt.Errorf("%d run, %d are wanted; it sees %dm of %dm", running, desired, got, each)
	}
	return desired, nil
}

// Where the API is another service's, halflife does not start with it, says whose it is, and writes nothing.
func customMetricsTaken(t *T) {
	defer t.removeCustomMetrics()
	t.Ctl("apply", "-k", t.Root+"/manifests/overlays/custom-metrics")
	t.Ctl("-n", ownNamespace, "scale", "deployment", "halflife", "--replicas=0")
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
	check := exec.Command(t.Binary(), "check", "--kubeconfig="+kubeconfig, "--namespace="+ownNamespace, "--database=",
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
	_, err = t.Merge(apiServices+"/"+customV2, M{"spec": M{"service": M{"name": "halflife", "namespace": ownNamespace}}})
	t.Check(err)
	out, _ = exec.Command(t.Binary(), "check", "--kubeconfig="+kubeconfig, "--namespace="+ownNamespace, "--database=",
		"--custom-metrics-listen=:6443").CombinedOutput()
	if !strings.Contains(string(out), "ok    custom metrics API: leads to halflife") || strings.Contains(string(out), "needed for custom metrics") {
		t.Fatalf("given back, check says:\n%s", out)
	}
}

// Nobody but the API server's front proxy is answered, whatever he shows; through the API server, who may.
func frontProxy(t *T) {
	defer t.removeCustomMetrics()
	h := t.serveCustomMetrics()
	t.Namespace()
	address, err := h.Door()
	t.Check(err)
	secret, err := t.Get(certificate)
	t.Check(err)
	bundle, _ := base64.StdEncoding.DecodeString(secret.Text("data", "ca.crt"))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	ask := func(pair string, headers ...string) (int, kube.Object) {
		config := &tls.Config{RootCAs: roots, ServerName: "halflife." + ownNamespace + ".svc"}
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
		out, err := t.ctl.Run("", "get", "--raw", fmt.Sprintf(customPods, t.NS),
			"--as=system:serviceaccount:"+t.NS+":"+account)
		if said := fmt.Sprint(out, err); !strings.Contains(said, want) {
			t.Fatalf("%s: %s", account, said)
		}
	}
}
