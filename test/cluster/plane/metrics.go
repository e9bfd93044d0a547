package plane

import (
	"fmt"
	"time"

	"halflife.dev/cluster/kube"
)

// Scrape is how often metrics-server reads usage: the least that it takes.
const Scrape = 10 * time.Second

const metricsGroup = "metrics.k8s.io"

// startMetrics starts metrics-server and registers its API; usage itself appears two scrapes later.
func (pl *Plane) startMetrics() error {
	pl.has(&pl.Metrics, pl.process("metrics-server", pl.Set.Path("metrics-server"),
		"--kubeconfig="+pl.Kubeconfig, "--authentication-kubeconfig="+pl.Kubeconfig,
		"--authorization-kubeconfig="+pl.Kubeconfig, "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", pl.metricsPort), "--cert-dir="+pl.path("metrics-server-certs"),
		"--kubelet-insecure-tls", "--kubelet-use-node-status-port", "--kubelet-preferred-address-types=InternalIP",
		"--metric-resolution="+Scrape.String(), "--kubelet-request-timeout=5s"))
	if err := pl.start(pl.Metrics); err != nil {
		return err
	}
	return pl.RegisterMetricsAPI()
}

// RegisterMetricsAPI leads the aggregator to metrics-server.
func (pl *Plane) RegisterMetricsAPI() error { return pl.registerMetricsAPI("v1beta1", pl.metricsPort) }

// registerMetricsAPI leads the aggregator to the server of a version of the metrics API on that port of loopback. Without
// a pod network that is by an external name.
func (pl *Plane) registerMetricsAPI(version string, port int) error {
	c, err := pl.Client()
	if err != nil {
		return err
	}
	service := map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "metrics-server", "namespace": "kube-system"},
		"spec":     map[string]any{"type": "ExternalName", "externalName": "localhost"},
	}
	api := map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": version + "." + metricsGroup},
		"spec": map[string]any{
			"group": metricsGroup, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100,
			"insecureSkipTLSVerify": true,
			"service":               map[string]any{"name": "metrics-server", "namespace": "kube-system", "port": port},
		},
	}
	for path, object := range map[string]map[string]any{
		"/api/v1/namespaces/kube-system/services":     service,
		"/apis/apiregistration.k8s.io/v1/apiservices": api,
	} {
		if _, err := c.Post(path, object); err != nil && kube.Code(err) != 409 {
			return err
		}
	}
	return nil
}

// RemoveMetricsAPI takes the API of metrics-server away, as in a cluster that has none.
func (pl *Plane) RemoveMetricsAPI() error { return pl.removeMetricsAPI("v1beta1") }

func (pl *Plane) removeMetricsAPI(version string) error {
	c, err := pl.Client()
	if err != nil {
		return err
	}
	return c.Delete("/apis/apiregistration.k8s.io/v1/apiservices/" + version + "." + metricsGroup)
}

// WaitForMetrics waits until metrics-server tells the usage of the nodes.
func (pl *Plane) WaitForMetrics() error {
	c, err := pl.Client()
	if err != nil {
		return err
	}
	return ready(pl.Metrics, patience, func() error {
		list, err := c.Get("/apis/metrics.k8s.io/v1beta1/nodes")
		if err != nil {
			return err
		}
		if got := len(list.List("items")); got != pl.nodes {
			return fmt.Errorf("the usage of %d nodes of %d", got, pl.nodes)
		}
		return nil
	})
}
