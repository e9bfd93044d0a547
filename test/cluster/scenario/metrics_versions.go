package scenario

import (
	"fmt"
	"os/exec"
	"strings"

	"halflife.dev/cluster/stage"
)

// Usage is read in v1 of the metrics API where it is served, else in v1beta1; the rights are those of the group. What is
// learned does not depend on it, nor on a change of what is served.
func metricsVersions(t *stage.T) {
	t.Namespace()
	v1, err := t.Plane.StartMetricsV1()
	t.Check(err)
	stopped := false
	defer func() {
		if !stopped {
			_ = v1.Stop()
		}
		_ = t.Plane.RegisterMetricsAPI()
	}()
	t.Eventually("check names v1", stage.Soon, func() error { return checkNames(t, t.Plane.Kubeconfig, "v1") })
	mark := t.Audit.Mark()
	h := t.StartOwn()
	t.Profile(stage.QuickProfile("Rollout"))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	cpu, _ := stage.Targets()
	t.Eventually("by v1 it is lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	t.Check(checkNames(t, h.Kubeconfig, "v1"))
	t.CheckVersionsRead(mark, "v1")

	mark = t.Audit.Mark()
	t.Check(t.Plane.RemoveMetricsAPI())
	t.Cycles(h, 3)
	t.CheckVersionsRead(mark, "v1")
	t.Check(t.Plane.RegisterMetricsAPI())
	t.Eventually("metrics-server is reached again", stage.Soon, func() error {
		_, err := t.Get("/apis/metrics.k8s.io/v1beta1/namespaces/" + t.NS + "/pods")
		return err
	})
	stopped = true
	t.Check(v1.Stop())
	t.Eventually("check names v1beta1", stage.Soon, func() error { return checkNames(t, h.Kubeconfig, "v1beta1") })
	t.Cycles(h, 2) // one of them finds out that v1 is gone
	mark = t.Audit.Mark()
	t.Cycles(h, 3)
	t.CheckVersionsRead(mark, "v1beta1")
	t.RecIn("deployment-web", "Ready", stage.Soon)
	t.Check(h.Alive())
}

func checkNames(t *stage.T, kubeconfig, version string) error {
	said, _ := exec.Command(t.Binary(), "check", "--kubeconfig", kubeconfig, "--namespace", stage.OwnNamespace, "--database=").CombinedOutput()
	if !strings.Contains(string(said), "ok    metrics API metrics.k8s.io/"+version+"\n") {
		return fmt.Errorf("it says:\n%s", said)
	}
	return nil
}
