package scenario

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// policyOfPage is what the page's files may load: nothing but what comes from the same address.
const policyOfPage = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// uiScenario is what the scenario ui made.
type uiScenario struct {
	*stage.T
	other                *stage.T // its second namespace
	admin, tenant, blind *stage.Person
	lister               *stage.Person // may list recommendations of one namespace, and no profiles
}

// The page, in the cluster and as kubectl halflife ui: it shows each person what kubectl shows the same person, and says what
// right is missing for the rest. It answers nobody else, and whatever an object holds arrives as text.
func ui(t *stage.T) {
	t.Namespace()
	s := &uiScenario{T: t, other: t.In("other")}
	s.begin()
	defer s.people()()
	defer s.lead()()
	s.guarded()
	s.shown()
	s.served()
	s.inert()
}

// begin has a learner, a replica, and in each namespace a workload that a ClusterProfile selects and one that a Profile does.
func (s *uiScenario) begin() {
	t := s.T
	t.Check(t.InstallWebhooks())
	t.StartOwn(append([]string{"--interval=5s", "--checkpoint-interval=10s"}, stage.RESTSettings...)...)
	replica, err := t.StartServe(t.Name+"-serve", stage.RESTSettings...)
	t.Replica = replica
	t.Check(err)
	t.RouteWebhooks(replica)
	spec := retuning(t, "Rollout")
	spec["selector"] = M{"matchLabels": M{"app": "web"}}
	t.Profile(spec)
	for _, in := range []*stage.T{t, s.other} {
		own := stage.QuickProfile("Recommend")
		own["selector"] = M{"matchLabels": M{"app": "own"}}
		own["priority"] = 5
		in.Apply(M{"apiVersion": "halflife.dev/v1alpha1", "kind": "Profile", "metadata": M{"name": "own", "namespace": in.NS}, "spec": own})
		in.Apply(in.NewHPA("web", M{"type": "Utilization", "averageUtilization": ownersTarget}))
		in.Apply(in.NewDeployment("web", 2, stage.App()))
		in.Apply(in.NewDeployment("own", 1, stage.App()))
	}
}

// people makes those who ask, and returns what takes their rights elsewhere away.
func (s *uiScenario) people() func() {
	t := s.T
	nodes := M{"apiGroups": L{""}, "resources": L{"nodes"}, "verbs": L{"list"}}
	kinds := M{"apiGroups": L{"halflife.dev"}, "resources": L{"recommendations", "profiles", "clusterprofiles"}, "verbs": L{"get", "list"}}
	t.Account("auditor")
	end := t.ClusterRole("auditor", nodes, kinds)
	s.admin = t.NewPerson("admin", t.Plane.Kubeconfig, t.Token("auditor", "--duration=2h"))
	t.Account("tenant")
	t.Ctl("-n", t.NS, "create", "rolebinding", "tenant", "--clusterrole=view", "--serviceaccount="+t.NS+":tenant")
	t.Account("lister", stage.ReadRule("get", "list"))
	t.Account("blind")
	s.tenant, s.lister, s.blind = t.PersonOf("tenant"), t.PersonOf("lister"), t.PersonOf("blind")
	return end
}

// lead leads the API server's proxy to the learner, for all but blind, and returns what ends it.
func (s *uiScenario) lead() func() {
	t := s.T
	l := listenOutside(t)
	if l == nil {
		t.Fatalf("this machine has no address that the API server would lead to")
	}
	address, err := t.Learner.RESTAddress()
	t.Check(err)
	go passOn(l, address)
	reach(t, l)
	t.Ctl("-n", stage.OwnNamespace, "create", "rolebinding", t.NS, "--role=halflife-rest-proxy", "--serviceaccount="+t.NS+":tenant",
		"--serviceaccount="+t.NS+":lister")
	return func() {
		_, _ = t.Kubectl.Run("", "-n", stage.OwnNamespace, "delete", "rolebinding", t.NS)
		_ = t.Delete(learnerPod)
		l.Close()
	}
}

// --- who is answered ---

// guarded: only who knows the path is answered, from its own origin, for what the page itself asks; and nothing stays.
func (s *uiScenario) guarded() {
	t := s.T
	page := s.admin.OpenPage("-n", t.NS)
	address, err := url.Parse(page.URL)
	t.Check(err)
	random := strings.Split(address.Path, "/")[1]
	if !net.ParseIP(address.Hostname()).IsLoopback() || len(random) != 32 || address.Path != "/"+random+"/ui" {
		t.Fatalf("it serves %s", page.URL)
	}
	other := s.admin.OpenPage()
	if strings.Contains(other.URL, random) {
		t.Fatalf("two pages have the same path: %s, %s", page.URL, other.URL)
	}
	origin, list := "http://"+address.Host, "/api/v1/workloads"
	for _, row := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{"GET", "/ui", nil, 200},
		{"HEAD", "/ui/main.js", nil, 200},
		{"GET", list, []string{"Origin", origin, "Sec-Fetch-Site", "same-origin"}, 200},
		{"GET", "/ui", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200}, // a link
		{"GET", "/ui", []string{"Host", "evil.example:" + address.Port()}, 403},
		{"GET", list, []string{"Host", "evil.example:" + address.Port()}, 403},
		{"GET", list, []string{"Host", "127.0.0.1"}, 403},
		{"GET", list, []string{"Origin", "http://evil.example"}, 403},
		{"GET", list, []string{"Origin", "null"}, 403},
		{"GET", list, []string{"Origin", strings.TrimSuffix(other.Root(), "/"+strings.Split(other.Root(), "/")[3])}, 403}, // another port
		{"GET", list, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"GET", list, []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"POST", list, nil, 405}, {"PUT", "/ui", nil, 405}, {"DELETE", list, nil, 405}, {"PATCH", list, nil, 405},
		{"OPTIONS", list, []string{"Access-Control-Request-Method", "GET"}, 405},
		{"POST", "/api/v1/namespaces/" + t.NS + "/render", nil, 405},
		{"GET", "/admission", nil, 404}, {"GET", "/openapi.yaml", nil, 404}, {"GET", "/metrics", nil, 404},
		{"GET", "/api/v1/../../openapi.yaml", nil, 404}, {"GET", "/api/v1/../namespaces/kube-system/secrets", nil, 404},
		{"GET", "/api/v1/namespaces/" + stage.OwnNamespace + "/secrets", nil, 404}, // of the API server, not of halflife
		{"GET", "/apis/apps/v1/deployments", nil, 404},
	} {
		answer, err := page.Ask(row.method, row.path, row.headers...)
		t.Check(err)
		if answer.Code != row.want || answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Fatalf("%s %s with %q: HTTP %d, not %d: %v %s", row.method, row.path, row.headers, answer.Code, row.want, answer.Header, answer.Body)
		}
		if row.want == 405 && answer.Header.Get("Allow") != "GET, HEAD" {
			t.Fatalf("%s is refused with Allow '%s'", row.method, answer.Header.Get("Allow"))
		}
	}
	for _, path := range []string{"", "/", "/ui", "/api/v1/workloads", "/" + strings.Repeat("0", 32) + "/ui"} {
		answer, err := page.AskAt("GET", origin+path)
		t.Check(err)
		if answer.Code != 404 || strings.Contains(answer.Body, random) {
			t.Fatalf("without the random part %s: HTTP %d: %s", path, answer.Code, answer.Body)
		}
	}
	s.leaves(page, random)
	s.leaves(other, "")
}

// leaves: the browser's file is the person's alone, no argument has the path, and Ctrl-C ends all of it.
func (s *uiScenario) leaves(page *stage.Page, random string) {
	t := s.T
	if info, err := os.Stat(page.Browse); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the browser's file is %v (%v)", info, err)
	}
	if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", page.ID())); random != "" && strings.Contains(string(line)+page.Browse, random) {
		t.Fatalf("others see the path: %s %s", line, page.Browse)
	}
	if code := page.Interrupt(); code != 0 {
		t.Fatalf("Ctrl-C ends it with %d:\n%s", code, page.Tail(3000))
	}
	if _, err := page.Ask("GET", "/ui"); err == nil {
		t.Fatalf("it serves after its end")
	}
	if _, err := os.Stat(page.Browse); !os.IsNotExist(err) {
		t.Fatalf("the browser's file stays (%v)", err)
	}
	if files := s.admin.Left(); random == "" && len(files) > 0 {
		t.Fatalf("it left %q", files)
	}
}

// --- in the cluster ---

// served: run and serve have the page for everybody, its data for who has a token, and say how to get on without.
func (s *uiScenario) served() {
	t := s.T
	list, file := "/api/v1/namespaces/"+t.NS+"/workloads", "/ui/main.js"
	for _, h := range t.Halflives() {
		for _, row := range []struct {
			token, path string
			code        int
			says        string // in the body
		}{
			{s.tenant.Token, "/ui", 200, "ui/main.js"}, {"", "/ui", 200, "ui/main.js"}, {s.tenant.Token, file, 200, ""}, {"", file, 200, ""},
			{"", "/ui/none.js", 404, "begins at /ui"},
			{s.tenant.Token, list, 200, `"web"`},
			{"", list, 401, "Authorization: Bearer TOKEN"}, {"x.y.z", list, 401, "is it expired"},
			{s.tenant.Token, "/api/v1/workloads", 403, "list recommendations.halflife.dev in all namespaces"},
			{s.tenant.Token, "/api/v1/namespaces/" + s.other.NS + "/workloads", 403, "list recommendations.halflife.dev in the namespace"},
			{s.tenant.Token, "/api/v1/nodes", 403, "permission to list nodes"},
			{s.tenant.Token, "/api/v1/changes", 403, "list recommendations.halflife.dev in all namespaces"},
			{s.tenant.Token, "/api/v1/report", 403, "list recommendations.halflife.dev in all namespaces"},
			{s.blind.Token, list, 403, "list recommendations.halflife.dev"},
		} {
			answer, err := t.Ask(h, row.token, "GET", row.path, "")
			t.Check(err)
			if answer.Code != row.code || !strings.Contains(answer.Body, row.says) {
				t.Fatalf("halflife %s answers %s with HTTP %d: %s", h.Command, row.path, answer.Code, answer.Body)
			}
			if row.code == 401 && answer.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Fatalf("halflife %s: a 401 without WWW-Authenticate: %v", h.Command, answer.Header)
			}
			page := strings.HasPrefix(row.path, "/ui") && row.code == 200
			if got := answer.Header.Get("Content-Security-Policy"); page && got != policyOfPage {
				t.Fatalf("halflife %s: the policy of %s is '%s'", h.Command, row.path, got)
			}
			if answer.Header.Get("X-Content-Type-Options") != "nosniff" || answer.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Fatalf("halflife %s: the headers of %s are %v", h.Command, row.path, answer.Header)
			}
		}
	}
}

// secretsOf has the token as halflife would write it by mistake: as it is, and the part that only its holder knows.
func (s *uiScenario) secretsOf(p *stage.Person) []string {
	return []string{p.Token, p.Token[strings.LastIndexByte(p.Token, '.')+1:], base64.StdEncoding.EncodeToString([]byte(p.Token))}
}

// quiet: no answer of a page has the token that it was started with.
func (s *uiScenario) quiet(p *stage.Person, answer stage.Answer) {
	for _, secret := range s.secretsOf(p) {
		if strings.Contains(answer.Body+fmt.Sprint(answer.Header), secret) {
			s.Fatalf("the page of %s tells the token: %s", p.Name, kube.Object{"body": answer.Body})
		}
	}
}
