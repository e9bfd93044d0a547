package stage

import (
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

// WatcherToken makes a token that may read each recommendation of the scenario's namespace.
func (t *T) WatcherToken() string {
	t.Account("watcher", ReadRule("get"))
	return t.Token("watcher")
}

// RESTClient makes an HTTP client that leads to h and trusts its certificate by the name of its Service.
func (w *World) RESTClient(h *Halflife) (*http.Client, error) {
	address, err := h.RESTAddress()
	if err != nil {
		return nil, err
	}
	secret, err := w.Get(CertificatePath)
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
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}, nil
}

// Answer is what the REST API answered.
type Answer struct {
	Code   int
	Header http.Header
	Body   string
}

// Object parses the body; it is nil if the body is no object.
func (a Answer) Object() kube.Object { return kube.Parse(a.Body) }

// Ask sends one request to the REST API of h. An empty token is not sent; headers are name, value, ….
func (w *World) Ask(h *Halflife, token, method, path, body string, headers ...string) (Answer, error) {
	client, err := w.RESTClient(h)
	if err != nil {
		return Answer{}, err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequest(method, "https://halflife."+OwnNamespace+".svc"+path, strings.NewReader(body))
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

// WaitSelected waits until the replica knows that a workload of such labels, not there yet, gets this profile.
func (t *T) WaitSelected(workload, labels, profile string) {
	token := t.WatcherToken()
	query := "?original=cpu:2"
	if labels != "" {
		query += "&labels=" + labels
	}
	t.Eventually("profile "+profile+" is known", Soon, func() error {
		answer, err := t.Ask(t.Replica, token, "GET",
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

// Render has h render manifests, as curl would.
func (t *T) Render(h *Halflife, token, manifests string) Answer {
	answer, err := t.Ask(h, token, "POST", "/api/v1/namespaces/"+t.NS+"/render", manifests, "Content-Type", "application/yaml")
	t.Check(err)
	if answer.Code != 200 {
		t.Fatalf("render: HTTP %d: %s", answer.Code, answer.Body)
	}
	return answer
}

// DeployAnswer is what the REST API tells of one resource of one container.
type DeployAnswer struct{ State, Request, Original, Target, Reason string }

// AskDeploy asks h by REST what a workload deploys with; query is "" or "?…".
func (t *T) AskDeploy(h *Halflife, token, workload, query, container, resource string) (DeployAnswer, error) {
	answer, err := t.Ask(h, token, "GET", "/api/v1/namespaces/"+t.NS+"/workloads/"+workload+query, "")
	if err == nil && answer.Code != 200 {
		err = fmt.Errorf("%s: HTTP %d: %s", workload, answer.Code, answer.Body)
	}
	if err != nil {
		return DeployAnswer{}, err
	}
	deploy := answer.Object().Object("deploy")
	of := deploy.Named(container, "containers").Object(resource)
	return DeployAnswer{deploy.Text("state"), of.Text("request"), of.Text("original"), of.Text("target"), of.Text("reason")}, nil
}

// WaitAgree waits until the learner and the replica both tell that the CPU of a workload deploys with request, for that
// reason.
func (t *T) WaitAgree(token, workload, query, request, reason string, limit time.Duration) {
	t.Eventually(fmt.Sprintf("%s deploys with %s (%s)", workload, request, reason), limit, func() error {
		for _, h := range t.Halflives() {
			told, err := t.AskDeploy(h, token, workload, query, "app", "cpu")
			if err != nil {
				return err
			}
			if told.Request != request || told.Reason != reason {
				return fmt.Errorf("halflife %s tells %+v", h.Command, told)
			}
		}
		return nil
	})
}
