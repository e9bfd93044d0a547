package scenario

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
)

func init() {
	alone = append(alone, scenario{"fallback", fallback})
}

// Whatever state halflife is in, pods and workloads are created and changed, unchanged by it, and within the two seconds
// that the webhooks give it.
func fallback(t *T) {
	t.Namespace()
	t.Check(t.InstallDoors())
	installed, err := t.Get(hooks)
	t.Check(err)
	h, err := t.StartServe(t.Name, Doored...)
	t.Check(err)
	defer h.Stop()
	t.replica = h
	pod, workload := onDeploy("Pod"), onDeploy("Workload")
	workload["selector"] = M{"matchLabels": M{"app": "at-workload"}}
	workload["priority"] = 10
	t.Profile(pod)
	t.ProfileNamed("e2e-fallback-workload", workload)
	t.OpenDoors(h)
	t.Eventually("with halflife there, they are changed", soon, func() error { return t.deployed(true, time.Minute) })
	var asInstalled L
	for i, hook := range installed.List("webhooks") {
		asInstalled = append(asInstalled, M{"op": "replace", "path": fmt.Sprintf("/webhooks/%d/timeoutSeconds", i), "value": hook.Int("timeoutSeconds")})
	}
	_, err = t.Patch(hooks, asInstalled)
	t.Check(err)
	now := time.Now()
	good := func(handle http.HandlerFunc) func() *stub {
		return func() *stub { return newStub(t, now.Add(-time.Hour), now.Add(time.Hour), handle) }
	}
	h.Stop()
	t.replica = nil
	for _, c := range []struct {
		how   string
		full  bool // Deployments as well
		begin func() *stub
		limit time.Duration
	}{
		{"down", true, nil, time.Second},
		{"slow", true, good(func(w http.ResponseWriter, _ *http.Request) { time.Sleep(3 * time.Second) }), 2 * time.Second},
		{"silent", false, t.silent, 2 * time.Second},
		{"no TLS", false, t.plain, time.Second},
		{"expired certificate", true, func() *stub {
			return newStub(t, now.Add(-48*time.Hour), now.Add(-time.Hour), func(http.ResponseWriter, *http.Request) {})
		}, time.Second},
		{"another's certificate", false, func() *stub {
			s := good(func(http.ResponseWriter, *http.Request) {})()
			other, err := newSigner(now)
			t.Check(err)
			t.leadTo(s.port, other.pem)
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
		var s *stub
		if c.begin != nil {
			s = c.begin()
		}
		// The API server reads where the webhooks lead from its own cache: the change is there when it has come to us.
		if s != nil {
			t.Eventually("the API server has come to the stub", soon, func() error {
				t.create("comes")
				if s.met.Load() == 0 {
					return fmt.Errorf("not yet")
				}
				return nil
			})
		}
		took := t.create("alone")
		if c.full {
			t.Check(t.deployed(false, c.limit+promptly))
		}
		if took > c.limit+promptly {
			t.Fatalf("%s: a pod was created after %s", c.how, took)
		}
		if s != nil {
			s.close()
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
func (t *T) silent() *stub {
	return newListener(t, func(c net.Conn) { time.AfterFunc(10*time.Second, func() { c.Close() }) })
}

// plain speaks HTTP without TLS.
func (t *T) plain() *stub {
	return newListener(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
		c.Close()
	})
}

// create makes a bare pod, and tells how long that took; it must ask for what its owner wrote.
func (t *T) create(name string) time.Duration {
	began := time.Now()
	made, err := t.Post(t.path("pods", ""), bare(t.meta(name)))
	took := time.Since(began)
	t.Check(err)
	t.unchanged("pod "+name, made.Object("spec"), made)
	t.Check(t.Delete(t.path("pods", name) + "?gracePeriodSeconds=0"))
	return took
}

func bare(meta M) M {
	pod := template(meta["name"].(string), app(usedCPU, usedMemory))
	return M{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod["spec"]}
}

func (t *T) unchanged(what string, podSpec, object kube.Object) {
	got := container(podSpec, "app").Text("resources", "requests", "cpu")
	if notes := object.Object("metadata", "annotations"); got != "2" || strings.Contains(notes.String(), "halflife.dev/applied") {
		t.Fatalf("%s asks for %s, annotated %s", what, got, notes)
	}
}

// deployed makes two Deployments, scales one, and waits for their pods: is what they ask for halved or not? Each step may
// take that long.
func (t *T) deployed(halved bool, limit time.Duration) error {
	want := map[bool]string{true: "1", false: "2"}[halved]
	defer t.Ctl("-n", t.NS, "delete", "deployment", "--all", "--cascade=foreground")
	for _, name := range []string{"at-pod", "at-workload"} {
		began := time.Now()
		if _, err := t.Post(t.path("deployments", ""), t.deployment(name, 1, app(usedCPU, usedMemory))); err != nil {
			return err
		}
		if took := time.Since(began); took > limit {
			return fmt.Errorf("deployment %s was created after %s", name, took)
		}
		if _, err := t.Merge(t.path("deployments", name), M{"metadata": M{"labels": M{"touched": "yes"}}}); err != nil {
			return err
		}
	}
	for _, name := range []string{"at-pod", "at-workload"} {
		t.Eventually(name+" runs", soon, func() error {
			if list := t.Pods(name); len(list) != 1 || list[0].Text("status", "phase") != "Running" {
				return fmt.Errorf("it has %d pods", len(list))
			}
			return nil
		})
		if err := t.podsAsk(name, "app", "cpu", want, 1); err != nil { // for good: a pod stays what it came as
			return err
		}
	}
	return nil
}
