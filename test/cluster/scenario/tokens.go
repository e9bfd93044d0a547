package scenario

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"halflife.dev/cluster/stage"
)

const (
	verdicts  = 10 * time.Second // for how long halflife takes the API server's word, which itself takes its own for 10 s
	promptly  = 5 * time.Second  // beyond that, on a machine that is shared
	apiserver = 10 * time.Second
)

// Who may with kubectl may by REST, where he may, and no longer than he may; REST tells nobody else what there is.
func tokens(t *stage.T) {
	t.Namespace()
	other := t.NS + "-other"
	_, err := t.Post("/api/v1/namespaces", M{"apiVersion": "v1", "kind": "Namespace",
		"metadata": M{"name": other, "labels": M{"e2e": t.Name}}})
	t.Check(err)
	t.Profile(stage.QuickProfile("Recommend"))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.Apply(t.NewDeployment("hidden", 1, stage.App()))
	elsewhere := t.NewDeployment("web", 1, stage.App())
	elsewhere["metadata"].(M)["namespace"] = other
	t.Apply(elsewhere)
	t.Account("ci", stage.ReadRule("get"))
	t.Account("lister", stage.ReadRule("list"))
	one := stage.ReadRule("get")
	one["resourceNames"] = L{"deployment-web"}
	t.Account("one", one)
	t.Account("nobody")
	t.Account("viewer")
	t.Ctl("-n", t.NS, "create", "rolebinding", "viewer", "--clusterrole=view", "--serviceaccount="+t.NS+":viewer")
	token := map[string]string{"": "", "garbage": "garbage"}
	for _, name := range []string{"ci", "lister", "one", "nobody", "viewer"} {
		token[name] = t.Token(name)
	}
	token["forged"] = forged(token["ci"])
	token["another's audience"] = t.Token("ci", "--audience=https://another.example.com")
	t.RecIn("deployment-web", "Ready", stage.Soon)
	t.RecIn("deployment-hidden", "Ready", stage.Soon)
	t.Eventually("the other namespace has a recommendation", stage.Soon, func() error {
		_, err := t.Get(stage.APIPath + "/namespaces/" + other + "/recommendations/deployment-web")
		return err
	})
	loud, err := t.StartServe("tokens", append(stage.RESTSettings, "--log-level=debug")...)
	t.Check(err)
	defer loud.Stop()
	for _, h := range []*stage.Halflife{t.Learner, t.Replica, loud} {
		checkAccess(t, h, token, other)
	}
	revoked(t, token)
	neverLogged(t, token, loud)
}

// forged is a token whose signature is of other bytes.
func forged(token string) string {
	at := strings.LastIndexByte(token, '.') + 1
	first := "A"
	if token[at:at+1] == "A" {
		first = "B"
	}
	return token[:at] + first + token[at+1:]
}

// checkAccess compares who gets what. What is refused must be refused alike whether it is there or not.
func checkAccess(t *stage.T, h *stage.Halflife, token map[string]string, other string) {
	mine, theirs := "/api/v1/namespaces/"+t.NS+"/workloads", "/api/v1/namespaces/"+other+"/workloads"
	render := "/api/v1/namespaces/" + t.NS + "/render"
	for _, c := range []struct {
		who, method string
		paths       []string // answered alike
		want        int
	}{
		{"ci", "GET", []string{mine + "/deploy/web"}, 200},
		{"ci", "GET", []string{mine + "/deployments.apps/hidden"}, 200},
		{"ci", "GET", []string{mine + "/deploy/missing"}, 404},
		{"ci", "GET", []string{mine}, 403},
		{"ci", "GET", []string{"/api/v1/workloads"}, 403},
		{"ci", "GET", []string{theirs + "/deploy/web", theirs + "/deploy/missing", "/api/v1/namespaces/no-such/workloads/deploy/web"}, 403},
		{"ci", "GET", []string{theirs + "/deploy/web/explain", theirs + "/deploy/missing/histogram?resource=cpu"}, 403},
		{"ci", "POST", []string{render}, 200},
		{"ci", "POST", []string{"/api/v1/namespaces/" + other + "/render"}, 403},
		{"one", "GET", []string{mine + "/deploy/web"}, 200},
		{"one", "GET", []string{mine + "/deploy/hidden", mine + "/deploy/missing", mine}, 403},
		{"one", "POST", []string{render}, 403},
		{"lister", "GET", []string{mine}, 200},
		{"lister", "GET", []string{mine + "/deploy/web", mine + "/deploy/missing", theirs}, 403},
		{"lister", "GET", []string{"/api/v1/workloads"}, 403},
		{"viewer", "GET", []string{mine}, 200},
		{"viewer", "GET", []string{mine + "/deploy/hidden"}, 200},
		{"viewer", "GET", []string{theirs, theirs + "/deploy/web"}, 403},
		{"viewer", "GET", []string{"/api/v1/workloads", "/api/v1/summary"}, 403},
		{"nobody", "GET", []string{mine, mine + "/deploy/web", mine + "/deploy/missing"}, 403},
		{"garbage", "GET", []string{mine, mine + "/deploy/web", mine + "/deploy/missing", theirs + "/deploy/web"}, 401},
		{"forged", "GET", []string{mine + "/deploy/web", mine + "/deploy/missing"}, 401},
		{"another's audience", "GET", []string{mine + "/deploy/web", mine + "/deploy/missing"}, 401},
		{"", "GET", []string{mine + "/deploy/web", mine + "/deploy/missing"}, 401},
		{"", "GET", []string{"/openapi.yaml"}, 200},
	} {
		first := ""
		for i, path := range c.paths {
			answer, err := t.Ask(h, token[c.who], c.method, path, manifest(c.method), "Content-Type", "application/yaml")
			t.Check(err)
			if i == 0 {
				first = answer.Body
			}
			if answer.Code != c.want || answer.Body != first {
				t.Fatalf("%s: '%s' asks %s: HTTP %d, not %d alike with '%s': %s", h.Command, c.who, path, answer.Code, c.want,
					first, answer.Body)
			}
			if c.want == 401 && answer.Header.Get("WWW-Authenticate") == "" {
				t.Fatalf("a 401 without WWW-Authenticate")
			}
		}
	}
}

func manifest(method string) string {
	if method != "POST" {
		return ""
	}
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: app}]}}}\n"
}

// revoked takes tokens back in every way there is, all at once, and waits until each stops working. The API server keeps its
// own word for a while: what counts is how long after it halflife goes on.
func revoked(t *stage.T, token map[string]string) {
	t.Ctl("-n", t.NS, "create", "secret", "generic", "bound")
	t.Create("pods", M{"apiVersion": "v1", "kind": "Pod", "metadata": t.Meta("bound"),
		"spec": M{"serviceAccountName": "ci", "terminationGracePeriodSeconds": 0,
			"containers": L{M{"name": "job", "image": "registry.invalid/job:1"}}}})
	t.Account("leaver", stage.ReadRule("get"))
	token["of a Secret"] = t.Token("ci", "--bound-object-kind=Secret", "--bound-object-name=bound")
	token["of a Pod"] = t.Token("ci", "--bound-object-kind=Pod", "--bound-object-name=bound")
	token["leaver"] = t.Token("leaver")
	path := "/api/v1/namespaces/" + t.NS + "/workloads/deploy/web"
	ask := func(h *stage.Halflife, who string) int {
		answer, err := t.Ask(h, token[who], "GET", path, "")
		t.Check(err)
		return answer.Code
	}
	cases := map[string]int{"of a Secret": 401, "of a Pod": 401, "leaver": 401, "viewer": 403}
	t.Eventually("they are all allowed", stage.Soon, func() error {
		for who := range cases {
			for _, h := range []*stage.Halflife{t.Learner, t.Replica} {
				if got := ask(h, who); got != 200 {
					return fmt.Errorf("'%s' gets %d", who, got)
				}
			}
		}
		return nil
	})
	gone := stage.Begin()
	t.Ctl("-n", t.NS, "delete", "serviceaccount/leaver", "secret/bound", "rolebinding/viewer")
	t.Ctl("-n", t.NS, "delete", "pod/bound", "--now")
	type stop struct {
		who, where string
		after      time.Duration
	}
	stops, failures := make(chan stop, 16), make(chan string, 16)
	var wait sync.WaitGroup
	for who, want := range cases {
		for _, h := range []*stage.Halflife{t.Learner, t.Replica} {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for {
					answer, err := t.Ask(h, token[who], "GET", path, "")
					if err == nil && answer.Code == want {
						stops <- stop{who, h.Command, gone.Took()}
						return
					}
					if err != nil || answer.Code != 200 || gone.Took() > verdicts+apiserver+stage.Scaled(promptly) {
						failures <- fmt.Sprintf("'%s' at %s: HTTP %d after %s, not %d: %v", who, h.Command, answer.Code,
							gone.Took(), want, err)
						return
					}
					time.Sleep(250 * time.Millisecond)
				}
			}()
		}
	}
	wait.Wait()
	close(stops)
	close(failures)
	for text := range failures {
		t.Fatalf("%s", text)
	}
	for s := range stops {
		if s.who == "viewer" && s.after > verdicts+stage.Scaled(promptly) { // the API server keeps no word on who may what
			t.Fatalf("a permission taken away counted %s at %s", s.after, s.where)
		}
		t.Notef("'%s' stopped working at %s after %.1f s", s.who, s.where, s.after.Seconds())
	}
}

// neverLogged looks for the tokens in all that the programs have said, also one that says all it does.
func neverLogged(t *stage.T, token map[string]string, loud *stage.Halflife) {
	for _, h := range append(t.Halflives(), loud) {
		text, err := os.ReadFile(h.Log)
		t.Check(err)
		for who, secret := range token {
			if secret != "" && who != "garbage" && strings.Contains(string(text), secret[strings.LastIndexByte(secret, '.')+1:]) {
				t.Fatalf("the token of '%s' is in the log of %s", who, h.Command)
			}
		}
	}
}
