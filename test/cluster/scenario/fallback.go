package scenario

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"halflife.dev/cluster/stage"
)

// Whatever state halflife is in, pods and workloads are created and changed, unchanged by it, and within the two seconds
// that the webhooks give it.
func fallback(t *stage.T) {
	t.Namespace()
	t.Check(t.InstallWebhooks())
	installed, err := t.Get(stage.WebhooksPath)
	t.Check(err)
	h, err := t.StartServe(t.Name, stage.RESTSettings...)
	t.Check(err)
	defer h.Stop()
	t.Replica = h
	pod, workload := stage.OnDeployProfile("Pod"), stage.OnDeployProfile("Workload")
	workload["selector"] = M{"matchLabels": M{"app": "at-workload"}}
	workload["priority"] = 10
	t.Profile(pod)
	t.ProfileNamed("e2e-fallback-workload", workload)
	t.RouteWebhooks(h)
	t.Eventually("with halflife there, they are changed", stage.Soon, func() error { return deployed(t, true, time.Minute) })
	var asInstalled L
	for i, hook := range installed.List("webhooks") {
		asInstalled = append(asInstalled, M{"op": "replace", "path": fmt.Sprintf("/webhooks/%d/timeoutSeconds", i), "value": hook.Int("timeoutSeconds")})
	}
	_, err = t.Patch(stage.WebhooksPath, asInstalled)
	t.Check(err)
	now := time.Now()
	good := func(handle http.HandlerFunc) func() *stage.Stub {
		return func() *stage.Stub { return stage.NewStub(t, now.Add(-time.Hour), now.Add(time.Hour), handle) }
	}
	h.Stop()
	t.Replica = nil
	for _, c := range []struct {
		how   string
		full  bool // Deployments as well
		begin func() *stage.Stub
		limit time.Duration
	}{
		{"down", true, nil, time.Second},
		{"slow", true, good(func(w http.ResponseWriter, _ *http.Request) { time.Sleep(3 * time.Second) }), 2 * time.Second},
		{"silent", false, func() *stage.Stub { return silent(t) }, 2 * time.Second},
		{"no TLS", false, func() *stage.Stub { return plain(t) }, time.Second},
		{"expired certificate", true, func() *stage.Stub {
			return stage.NewStub(t, now.Add(-48*time.Hour), now.Add(-time.Hour), func(http.ResponseWriter, *http.Request) {})
		}, time.Second},
		{"another's certificate", false, func() *stage.Stub {
			s := good(func(http.ResponseWriter, *http.Request) {})()
			other, err := stage.NewSigner(now)
			t.Check(err)
			t.RouteWebhooksTo(s.Port, other.PEM)
			return s
		}, time.Second},
		{"HTTP 500", false, good(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }), time.Second},
		{"HTTP 503", false, good(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(503)
		}), time.Second},
		{"nothing", false, good(func(http.ResponseWriter, *http.Request) {}), time.Second},
		{"HTML", true, good(garbage("<html>it works</html>")), time.Second},
		{"another kind", false, good(garbage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}`)), time.Second},
		{"no response", false, good(garbage(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`)), time.Second},
		{"another's uid", false, good(garbage(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"x","allowed":true}}`)), time.Second},
		{"broken off", false, good(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4096")
			_, _ = io.WriteString(w, `{"apiVersion":"admission.k8s.io/v1",`)
		}), time.Second},
	} {
		var s *stage.Stub
		if c.begin != nil {
			s = c.begin()
		}
		// The API server reads where the webhooks lead from its own cache: the change is there when it has come to us.
		if s != nil {
			t.Eventually("the API server has come to the stub", stage.Soon, func() error {
				createPod(t, "comes")
				if s.Met.Load() == 0 {
					return fmt.Errorf("not yet")
				}
				return nil
			})
		}
		took := createPod(t, "alone")
		if c.full {
			t.Check(deployed(t, false, c.limit+stage.Scaled(promptly)))
		}
		if took > c.limit+stage.Scaled(promptly) {
			t.Fatalf("%s: a pod was created after %s", c.how, took)
		}
		if s != nil {
			s.Close()
		}
		t.Notef("%-22s a pod was created after %.2f s", c.how, took.Seconds())
	}
}

func garbage(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

// silent takes connections and never says a word.
func silent(t *stage.T) *stage.Stub {
	return stage.NewListener(t, func(c net.Conn) { time.AfterFunc(10*time.Second, func() { c.Close() }) })
}

// plain speaks HTTP without TLS.
func plain(t *stage.T) *stage.Stub {
	return stage.NewListener(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
		c.Close()
	})
}

// createPod makes a bare pod, and tells how long that took; it must ask for what its owner wrote.
func createPod(t *stage.T, name string) time.Duration {
	began := stage.Begin()
	made, err := t.Post(t.Path("pods", ""), stage.BarePod(t.Meta(name)))
	took := began.Took()
	t.Check(err)
	t.CheckUnchanged("pod "+name, made.Object("spec"), made)
	t.Check(t.Delete(t.Path("pods", name) + "?gracePeriodSeconds=0"))
	return took
}

// deployed makes two Deployments, scales one, and waits for their pods: is what they ask for halved or not? Each step may
// take that long.
func deployed(t *stage.T, halved bool, limit time.Duration) error {
	want := map[bool]string{true: "1", false: "2"}[halved]
	defer t.Ctl("-n", t.NS, "delete", "deployment", "--all", "--cascade=foreground")
	for _, name := range []string{"at-pod", "at-workload"} {
		began := stage.Begin()
		if _, err := t.Post(t.Path("deployments", ""), t.NewDeployment(name, 1, stage.App())); err != nil {
			return err
		}
		if took := began.Took(); took > limit {
			return fmt.Errorf("deployment %s was created after %s", name, took)
		}
		if _, err := t.Merge(t.Path("deployments", name), M{"metadata": M{"labels": M{"touched": "yes"}}}); err != nil {
			return err
		}
	}
	for _, name := range []string{"at-pod", "at-workload"} {
		t.Eventually(name+" runs", stage.Soon, func() error {
			if list := t.Pods(name); len(list) != 1 || list[0].Text("status", "phase") != "Running" {
				return fmt.Errorf("it has %d pods", len(list))
			}
			return nil
		})
		if err := t.PodsAsk(name, "app", "cpu", want, 1); err != nil { // for good: a pod stays what it came as
			return err
		}
	}
	return nil
}
