package scenario

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
)

// Doored are the settings of a halflife that is called: by pipelines, and by the API server at its webhooks.
var Doored = []string{"--serve-listen=127.0.0.1:0", "--webhook-certificate=self"}

const serveService = "/api/v1/namespaces/" + ownNamespace + "/services/halflife-serve"

// InstallDoors installs the admission overlay without its pods. Its Service becomes a name for this machine, as there is
// no pod network.
func (w *World) InstallDoors() error {
	if _, err := w.Get(hooks); kube.Code(err) != 404 {
		return err // it is there
	}
	if _, err := w.ctl.Run("", "apply", "-k", w.Root+"/manifests/overlays/admission"); err != nil {
		return err
	}
	if _, err := w.ctl.Run("", "-n", ownNamespace, "scale", "deployment", "halflife", "halflife-serve", "--replicas=0"); err != nil {
		return err
	}
	_, err := w.Merge(serveService, M{"spec": M{"type": "ExternalName", "externalName": "localhost"}})
	return err
}

// waited is for how many seconds the API server waits for a webhook here: as long as it may, for a machine may have much
// else to do, and what was not answered in time would stay as its owner wrote it. How the overlay has it, fallback shows.
const waited = 30

// OpenDoors leads the API server to where h listens: the webhooks stay as the overlay has them, but for that. Returns once
// the API server has really called h. A halflife that was started again listens elsewhere: open its doors again.
func (w *World) OpenDoors(h *Halflife) error {
	if err := w.InstallDoors(); err != nil {
		return err
	}
	deadline := time.Now().Add(soon)
	for {
		err := w.lead(h)
		if err == nil {
			err = w.knock()
		}
		if err == nil || time.Now().After(deadline) || w.stopped() {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// lead sets the port of each webhook, and how long it is waited for. A replica writes the caBundle itself; one that learns has no right to, so it is
// written for it.
func (w *World) lead(h *Halflife) error {
	door, err := h.Door()
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(door)
	if err != nil {
		return err
	}
	configuration, err := w.Get(hooks)
	if err != nil {
		return err
	}
	var patch L
	for i := range configuration.List("webhooks") {
		webhook := fmt.Sprintf("/webhooks/%d/", i)
		at := webhook + "clientConfig/"
		var number int
		if _, err := fmt.Sscan(port, &number); err != nil {
			return err
		}
		patch = append(patch, M{"op": "replace", "path": at + "service/port", "value": number},
			M{"op": "replace", "path": webhook + "timeoutSeconds", "value": waited})
		if h.command != "serve" {
			secret, err := w.Get(certificate)
			if err != nil {
				return err
			}
			patch = append(patch, M{"op": "add", "path": at + "caBundle", "value": secret.Text("data", "ca.crt")})
		}
	}
	_, err = w.Patch(hooks, patch)
	return err
}

// knock creates a pod that is not kept, and is an error unless the webhook of pods was called and answered.
func (w *World) knock() error {
	before, err := w.answered("pods.halflife.dev")
	if err != nil {
		return err
	}
	_, err = w.Post("/api/v1/namespaces/default/pods?dryRun=All", M{"apiVersion": "v1", "kind": "Pod",
		"metadata": M{"generateName": "knock-"}, "spec": M{"containers": L{M{"name": "knock", "image": "registry.invalid/knock:1"}}}})
	if err != nil && !strings.Contains(err.Error(), "serviceaccount \"default\" not found") {
		return err
	}
	after, err := w.answered("pods.halflife.dev")
	if err == nil && after == before {
		err = fmt.Errorf("the API server got no answer of the webhook")
	}
	return err
}

// answered is how often the API server called a webhook and was answered, by its own count.
func (w *World) answered(webhook string) (int64, error) {
	page, err := w.Text("/metrics")
	if err != nil {
		return 0, err
	}
	var sum int64
	for in := bufio.NewScanner(strings.NewReader(page)); in.Scan(); {
		line := in.Text()
		if strings.HasPrefix(line, "apiserver_admission_webhook_request_total{") && strings.Contains(line, `code="200"`) &&
			strings.Contains(line, `name="`+webhook+`"`) {
			var count float64
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &count); err != nil {
				return 0, err
			}
			sum += int64(count)
		}
	}
	return sum, nil
}

// CloseDoors leaves things as NewWorld did.
func (w *World) CloseDoors() {
	_, _ = w.ctl.Run("", "delete", "mutatingwebhookconfiguration", "halflife", "--ignore-not-found")
	_, _ = w.ctl.Run("", "-n", ownNamespace, "delete", "deployment,service,poddisruptionbudget", "halflife-serve", "--ignore-not-found")
	_, _ = w.ctl.Run("", "apply", "-k", w.Root+"/manifests")
	_, _ = w.ctl.Run("", "-n", ownNamespace, "scale", "deployment", "halflife", "--replicas=0")
}

// OpenDoors is World's; they are closed with the scenario's end, if not before.
func (t *T) OpenDoors(h *Halflife) {
	t.opened = true
	t.Check(t.World.OpenDoors(h))
}

// CloseDoors is World's.
func (t *T) CloseDoors() {
	t.opened = false
	t.World.CloseDoors()
}

// Account makes a ServiceAccount in the scenario's namespace that may do what the rules say there, and nothing else.
func (t *T) Account(name string, rules ...M) {
	const group = "rbac.authorization.k8s.io"
	t.Apply(M{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": t.meta(name)})
	if len(rules) == 0 {
		return
	}
	t.Apply(M{"apiVersion": group + "/v1", "kind": "Role", "metadata": t.meta(name), "rules": rules})
	t.Apply(M{"apiVersion": group + "/v1", "kind": "RoleBinding", "metadata": t.meta(name),
		"roleRef":  M{"apiGroup": group, "kind": "Role", "name": name},
		"subjects": L{M{"kind": "ServiceAccount", "name": name, "namespace": t.NS}}})
}

// Reader is the rule of a pipeline that reads recommendations.
func Reader(verbs ...any) M {
	return M{"apiGroups": L{"halflife.dev"}, "resources": L{"recommendations"}, "verbs": L(verbs)}
}

// Token of an Account, as a pipeline gets it.
func (t *T) Token(account string, args ...string) string {
	return strings.TrimSpace(t.Ctl(append([]string{"-n", t.NS, "create", "token", account}, args...)...))
}

// Caller is a client of h's REST API that trusts its certificate, by the name of its Service.
func (w *World) Caller(h *Halflife) (*http.Client, error) {
	door, err := h.Door()
	if err != nil {
		return nil, err
	}
	secret, err := w.Get(certificate)
	if err != nil {
		return nil, err
	}
	bundle, _ := base64.StdEncoding.DecodeString(secret.Text("data", "ca.crt"))
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("there is no certificate in ca.crt of the Secret")
	}
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, door)
		},
	}}, nil
}

// Answer is one of the REST API.
type Answer struct {
	Code   int
	Header http.Header
	Body   string
}

// Object is the body's; nil where it is none.
func (a Answer) Object() kube.Object { return kube.Parse(a.Body) }

// Ask sends one request to h's REST API; token "" sends none; headers are name, value, ….
func (w *World) Ask(h *Halflife, token, method, path, body string, headers ...string) (Answer, error) {
	client, err := w.Caller(h)
	if err != nil {
		return Answer{}, err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequest(method, "https://halflife."+ownNamespace+".svc"+path, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	return Answer{res.StatusCode, res.Header, string(data)}, err
}

// Watcher is a token that may read each recommendation of the scenario's namespace.
func (t *T) Watcher() string {
	t.Account("watcher", Reader("get"))
	return t.Token("watcher")
}

// Selected waits until whoever admits knows that a workload of such labels, not there yet, gets this profile.
func (t *T) Selected(workload, labels, profile string) {
	token := t.Watcher()
	query := "?original=cpu:2"
	if labels != "" {
		query += "&labels=" + labels
	}
	t.Eventually("profile "+profile+" is known", soon, func() error {
		answer, err := t.Ask(t.replica, token, "GET",
			"/api/v1/namespaces/"+t.NS+"/workloads/"+workload+query, "")
		if err == nil && answer.Code != 200 {
			err = fmt.Errorf("HTTP %d: %s", answer.Code, answer.Body)
		}
		if err == nil && answer.Object().Text("profile", "name") != profile {
			err = fmt.Errorf("the profile is '%s'", answer.Object().Text("profile", "name"))
		}
		return err
	})
}
