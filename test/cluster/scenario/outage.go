package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// What halflife stands on goes away, part by part. It never exits, patches nothing meanwhile, and recovers by itself.
func outage(t *stage.T) {
	t.Namespace()
	t.Check(t.Plane.RemoveMetricsAPI())
	defer func() { _ = t.Plane.RegisterMetricsAPI() }()
	h := t.StartOwn()
	t.Profile(stage.QuickProfile("Rollout"))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.Apply(t.NewDeployment("doomed", 2, stage.App()))
	t.RecIn("deployment-web", "NoData", stage.Soon)
	t.Eventually("the profile tells that usage cannot be read", stage.Soon, func() error {
		p, err := t.Get(stage.APIPath + "/clusterprofiles/e2e-outage")
		if err == nil && !strings.Contains(strings.ToLower(p.Text("status", "conditions")), "metrics") {
			err = fmt.Errorf("its conditions are %s", p.Text("status", "conditions"))
		}
		return err
	})
	t.Check(t.Plane.RegisterMetricsAPI())
	cpu, _ := stage.Targets()
	t.Eventually("with usage it is lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	t.RecIn("deployment-doomed", "Ready", stage.Soon)

	t.Plane.Metrics.Stop()
	gone := time.Now()
	restarted := false
	defer func() {
		if !restarted {
			_ = t.Plane.Metrics.Start(false)
		}
	}()
	t.Cycles(h, 2) // it has seen that there is none
	mark := t.Audit.Mark()
	t.Ctl("-n", t.NS, "set", "resources", "deployment/web", "-c", "app", "--requests=cpu=1,memory=512Mi")
	apiServerAway(t, h)
	historyAway(t, h)
	t.RecIn("deployment-web", "Stale", 2*stage.Soon)
	if away := time.Since(gone); away < 10*stage.Interval {
		t.Fatalf("stale after only %s", away)
	}
	for _, r := range stage.Writes(t.Audit.Since(mark, stage.LearnerUser)) {
		if r.Object.Resource == "deployments" {
			t.Fatalf("patched without usage: %s %s", r.Verb, r.URI)
		}
	}
	if got := stage.Requested(t.Workload("deployments", "web"), "app", "cpu"); got != "1" {
		t.Fatalf("the owner's request of 1 became %s", got)
	}
	t.Notef("metrics-server gone for %.0f s", time.Since(gone).Seconds())
	restarted = true
	t.Check(t.Plane.Metrics.Start(false))
	t.RecIn("deployment-web", "Ready", stage.Soon)
	t.Eventually("it is lowered again", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	t.RecIn("deployment-born", "Ready", stage.Soon)
	t.Check(h.Alive())
}

// apiServerAway restarts the API server under halflife's feet.
func apiServerAway(t *stage.T, h *stage.Halflife) {
	t.Plane.APIServer.Stop()
	t.Check(t.Plane.StartAPIServer())
	if _, err := h.Page("/readyz"); err != nil {
		t.Fatalf("not ready after the API server's restart: %v", err)
	}
	t.Cycles(h, 2)
	t.Apply(t.NewDeployment("after", 1, stage.App()))
	t.RecIn("deployment-after", "NoData", stage.Soon)
}

// historyAway makes every version that halflife has seen too old: it sleeps, things happen, the API server starts afresh
// and etcd forgets. Its watches then end with 410.
func historyAway(t *stage.T, h *stage.Halflife) {
	h.Signal(syscall.SIGSTOP)
	defer h.Signal(syscall.SIGCONT)
	t.Ctl("-n", t.NS, "delete", "deployment", "doomed")
	t.Apply(t.NewDeployment("born", 1, stage.App()))
	t.Plane.APIServer.Stop()
	t.Check(t.Plane.StartAPIServer())
	t.Check(compact(t))
	h.Signal(syscall.SIGCONT)
	t.RecIn("deployment-born", "NoData", stage.Soon)
	t.Check(h.Alive())
}

// compact makes etcd forget all but the present.
func compact(t *stage.T) error {
	var now struct{ Header struct{ Revision string } }
	if err := etcd(t.Plane.EtcdURL, "/v3/kv/range", M{"key": "AA=="}, &now); err != nil {
		return err
	}
	return etcd(t.Plane.EtcdURL, "/v3/kv/compaction", M{"revision": now.Header.Revision, "physical": true}, &M{})
}

func etcd(server, path string, ask M, answer any) error {
	res, err := http.Post(server+path, "application/json", bytes.NewReader([]byte(kube.Object(ask).String())))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		return fmt.Errorf("etcd %s: HTTP %d: %s (%v)", path, res.StatusCode, data, err)
	}
	return json.Unmarshal(data, answer)
}
