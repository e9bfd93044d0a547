package scenario

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// deserted is the stage of both scenarios: a learner, two replicas, and what their answers are to be.
type deserted struct {
	t        *stage.T
	learner  *stage.Halflife
	replicas []*stage.Halflife
	roots    []byte
	token    string
	want     map[string]string // of each workload: what a pod of it is to ask for
}

// The learner goes, for an hour. Replicas answer on, alike to the byte, from what was published: the target where it is
// Ready, the last good one where it is Stale, the owner's where it is held. What only the learner knows they fetch from
// it, or say why not.
func learnerGone(t *stage.T) {
	s := &deserted{t: t}
	defer s.end()
	url := s.begin()
	s.fetches(s.learner)
	s.otherwiseVouched(url)
	s.learnerEnds()
	s.hourPasses()
	was := s.alike()
	s.told()
	s.explained("cannot be asked")
	s.newPods()
	s.replicas[0].Terminate()
	t.Check(s.replicas[0].Start())
	t.Check(t.World.RouteWebhooks(s.replicas[0]))
	again := s.alike()
	for path, body := range was {
		if again[path] != body {
			t.Fatalf("started again, %s is answered\n%s\nand was\n%s", path, again[path], body)
		}
	}
	s.newPods()
}

// The learner goes, then the API server as well, for longer than a verdict about a caller is fresh.
func apiServerGone(t *stage.T) {
	s := &deserted{t: t}
	defer s.end()
	s.begin()
	s.learnerEnds()
	s.hourPasses()
	s.apiServerAway(s.alike())
}

// begin starts the learner, at the URL that it gives, and two replicas, and publishes a recommendation for each state.
func (s *deserted) begin() string {
	t := s.t
	t.Namespace()
	t.Check(t.EmptySecret()) // a path of another scenario's would be in force
	t.Check(t.InstallWebhooks())
	cert, key, ca := t.WriteCertificate(filepath.Join(t.Dir, "learner-gone-files"))
	s.learner = t.StartOwn("--serve-listen=127.0.0.1:0", "--tls-cert="+cert, "--tls-key="+key)
	address, err := s.learner.RESTAddress()
	t.Check(err)
	url := "--upstream-url=https://localhost" + address[strings.LastIndexByte(address, ':'):]
	for i := range 2 {
		h, err := t.StartServe(fmt.Sprintf("learner-gone-%d", i), append(stage.RESTSettings, url, "--upstream-ca="+ca)...)
		t.Check(err)
		s.replicas = append(s.replicas, h)
	}
	t.Replica = s.replicas[0]
	t.Profile(stage.OnDeployProfile("Pod"))
	young := stage.OnDeployProfile("Pod")
	young["apply"].(M)["minHistory"] = "24h"
	young["selector"] = M{"matchLabels": M{"app": "young"}}
	young["priority"] = 10
	t.ProfileNamed("e2e-learner-gone-young", young)
	t.RouteWebhooks(s.replicas[0])
	t.Account("ci", stage.ReadRule("get", "list"))
	s.token = t.Token("ci", "--duration=2h")
	secret, err := t.Secret()
	t.Check(err)
	s.roots = secret.PEM
	cpu, _ := stage.Targets()
	s.want = map[string]string{"ready": cpu, "stale": cpu, "held": "2", "young": "1", "missing": "1"}
	for _, name := range []string{"ready", "stale", "held", "young"} {
		t.Apply(t.NewDeployment(name, 1, stage.App()))
	}
	for name, state := range map[string]string{"ready": "Ready", "stale": "Ready", "held": "Ready", "young": "Learning"} {
		t.RecIn("deployment-"+name, state, stage.Soon)
	}
	t.Ctl("-n", t.NS, "annotate", "rec", "deployment-held", "halflife.dev/hold=an incident")
	t.RecIn("deployment-held", "Held", stage.Soon)
	return url
}

// end stops the replicas that the stage does not know of.
func (s *deserted) end() {
	for _, h := range s.replicas[min(1, len(s.replicas)):] {
		h.Stop()
	}
}

func (s *deserted) learnerEnds() {
	t := s.t
	code, _, err := s.learner.Terminate()
	t.Check(err)
	if code != 0 {
		t.Fatalf("the learner ended with code %d", code)
	}
	t.Learner = nil
}

// to asks replica i without the API server's help.
func (s *deserted) to(i int, method, path, body string) (stage.Answer, error) {
	return s.as(s.token, i, method, path, body)
}

func (s *deserted) as(token string, i int, method, path, body string) (stage.Answer, error) {
	address, err := s.replicas[i].RESTAddress()
	if err != nil {
		return stage.Answer{}, err
	}
	c := &stage.RESTCaller{Address: address, Roots: func() []byte { return s.roots }, Fresh: true}
	return c.Send(method, path, token, body)
}

func (s *deserted) path(rest string) string { return "/api/v1/namespaces/" + s.t.NS + rest }

// fetches: histograms and explanations come from the learner, over TLS, in the caller's name, as it tells them.
func (s *deserted) fetches(learner *stage.Halflife) {
	t := s.t
	for _, rest := range []string{"/histogram?resource=cpu", "/history", "/explain", "/explain?percentile=90"} {
		path := s.path("/workloads/deploy/ready" + rest)
		t.Eventually("the learner's own answer: "+rest, stage.Soon, func() error {
			answer, err := s.to(0, "GET", path, "")
			if err != nil {
				return err
			}
			if answer.Code != 200 || answer.Object() == nil || answer.Header.Get("ETag") == "" {
				t.Fatalf("%s: HTTP %d: %s", path, answer.Code, answer.Body)
			}
			other, err := s.to(1, "GET", path, "")
			if err == nil && other.Body != answer.Body {
				err = fmt.Errorf("the two differ") // a cycle lay between them
			}
			return err
		})
	}
	if answer, err := s.to(0, "GET", s.path("/workloads/deploy/missing/explain"), ""); err != nil || answer.Code != 404 {
		t.Fatalf("of what is missing: HTTP %d (%v): %s", answer.Code, err, answer.Body)
	}
}

// otherwiseVouched: a learner whose certificate nobody vouches for gets no token.
func (s *deserted) otherwiseVouched(url string) {
	t := s.t
	_, _, other := t.WriteCertificate(filepath.Join(t.Dir, "learner-gone-other"))
	h, err := t.StartServe("learner-gone-other", append(stage.RESTSettings, url, "--upstream-ca="+other)...)
	t.Check(err)
	defer h.Stop()
	s.replicas = append(s.replicas, h)
	defer func() { s.replicas = s.replicas[:2] }()
	t.Eventually("it shows its certificate", stage.Soon, func() error {
		_, err := s.to(2, "GET", "/openapi.yaml", "")
		return err
	})
	answer, err := s.to(2, "GET", s.path("/workloads/deploy/ready/explain"), "")
	t.Check(err)
	if answer.Code != 503 || !strings.Contains(strings.ToLower(answer.Body), "certificate") {
		t.Fatalf("HTTP %d: %s", answer.Code, answer.Body)
	}
}

// hourPasses writes what was published as it would stand an hour later: all times are of an hour ago, and one had turned
// Stale before, as one whose pods run on without samples does. (The learner writes no more, so nothing else changes.)
func (s *deserted) hourPasses() {
	t := s.t
	first := map[string]string{} // each has one; the last sample of what is young is not told
	for _, name := range []string{"ready", "stale", "held", "young"} {
		rec, err := t.Rec("deployment-" + name)
		t.Check(err)
		status := back(map[string]any(rec.Object("status")), time.Hour).(map[string]any)
		if name == "stale" {
			status["state"] = "Stale"
			for _, c := range kube.Object(status).List("containers") {
				c["state"] = "Stale"
			}
		}
		_, err = t.Merge(t.Path("recommendations", "deployment-"+name)+"/status", M{"status": status})
		t.Check(err)
		first[name] = kube.Object(status).Text("firstSample")
	}
	t.Eventually("the replicas have seen it", stage.Soon, func() error {
		for i := range s.replicas {
			for name, want := range first {
				answer, err := s.to(i, "GET", s.path("/workloads/deploy/"+name), "")
				if err == nil && answer.Object().Text("status", "firstSample") != want {
					err = fmt.Errorf("HTTP %d, without a first sample of %s: %s", answer.Code, want, answer.Body)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// back gives a document with every time in it moved into the past.
func back(v any, by time.Duration) any {
	switch v := v.(type) {
	case map[string]any:
		moved := M{}
		for key, value := range v {
			moved[key] = back(value, by)
		}
		return moved
	case []any:
		var moved L
		for _, value := range v {
			moved = append(moved, back(value, by))
		}
		return moved
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.Add(-by).UTC().Format(time.RFC3339)
		}
	}
	return v
}

// asked is something that every replica answers from what was published alone.
type asked struct{ method, path, body string }

func (s *deserted) everything() []asked {
	var manifests strings.Builder
	list := []asked{
		{"GET", s.path("/workloads"), ""}, {"GET", s.path("/workloads?state=Stale"), ""},
		{"GET", s.path("/workloads?limit=2"), ""}, {"GET", s.path("/workloads?fields=metadata.name,status.state"), ""},
		{"GET", s.path("/workloads?labelSelector=app%3Dready"), ""}, {"GET", "/openapi.yaml", ""},
	}
	for name := range s.want {
		at := s.path("/workloads/deploy/" + name)
		list = append(list, asked{"GET", at + "?original=cpu:2,memory:1Gi", ""}, asked{"GET", at + "?container=app&original=cpu:3", ""})
		if name != "missing" {
			list = append(list, asked{"GET", at, ""})
		}
		list = append(list, asked{"POST", "/admission", s.review(name)})
	}
	for _, name := range []string{"ready", "stale", "held", "young", "missing"} {
		manifests.WriteString(kube.Object(s.t.NewDeployment(name, 1, stage.App())).String() + "\n---\n")
	}
	return append(list, asked{"POST", s.path("/render"), manifests.String()},
		asked{"POST", s.path("/render?dryRun"), manifests.String()})
}

// review is what the API server would ask about a pod of a workload, here of the controller that a replica knows.
func (s *deserted) review(name string) string {
	pod := stage.BarePod(s.t.Meta(name + "-0"))
	pod["metadata"].(M)["ownerReferences"] = L{M{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": "u", "controller": true}}
	return kube.Object(M{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": M{
		"uid": "e2e-" + name, "kind": M{"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE", "namespace": s.t.NS,
		"dryRun": true, "userInfo": M{"username": "e2e"}, "object": pod}}).String()
}

// alike asks every replica everything; their answers must be the same bytes.
func (s *deserted) alike() map[string]string {
	t := s.t
	bodies := map[string]string{}
	for _, q := range s.everything() {
		t.Eventually("the replicas agree on "+q.path, stage.Soon, func() error {
			first, err := s.to(0, q.method, q.path, q.body)
			if err != nil {
				return err
			}
			second, err := s.to(1, q.method, q.path, q.body)
			if err != nil {
				return err
			}
			if first.Code != 200 {
				return fmt.Errorf("HTTP %d: %s", first.Code, first.Body)
			}
			if second.Code != first.Code || second.Body != first.Body || second.Header.Get("ETag") != first.Header.Get("ETag") {
				return fmt.Errorf("one says\n%s\nthe other\n%s", first.Body, second.Body)
			}
			bodies[q.method+" "+q.path+" "+q.body] = first.Body
			return nil
		})
	}
	t.Notef("%d questions, answered alike by two replicas", len(bodies))
	return bodies
}

// told: each state has its answer at a deploy, by REST and by render.
func (s *deserted) told() {
	t := s.t
	for name, want := range s.want {
		answer, err := s.to(0, "GET", s.path("/workloads/deploy/"+name+"?container=app&original=cpu:2"), "")
		t.Check(err)
		got := answer.Object().List("deploy", "containers")
		if len(got) == 0 {
			t.Fatalf("%s: %s", name, answer.Body)
		}
		if request := got[0].Text("cpu", "request"); request != want && !(want == "2" && request == "") {
			t.Fatalf("%s is to be deployed with '%s', not %s: %s", name, request, want, answer.Body)
		}
		manifest := kube.Object(t.NewDeployment(name, 1, stage.App())).String()
		answer, err = s.to(1, "POST", s.path("/render"), manifest)
		t.Check(err)
		var rendered kube.Object
		t.Check(json.Unmarshal([]byte(answer.Body), &rendered))
		if got := stage.Requested(rendered, "app", "cpu"); got != want {
			t.Fatalf("%s renders to %s, not %s", name, got, want)
		}
	}
}

// explained: what only the learner knows is refused with the reason, by each replica.
func (s *deserted) explained(why string) {
	for i := range s.replicas {
		for _, rest := range []string{"/histogram?resource=cpu", "/history", "/explain"} {
			answer, err := s.to(i, "GET", s.path("/workloads/deploy/ready"+rest), "")
			s.t.Check(err)
			if answer.Code != 503 || !strings.Contains(answer.Body, why) || answer.Header.Get("Retry-After") == "" {
				s.t.Fatalf("%s: HTTP %d: %s", rest, answer.Code, answer.Body)
			}
			if i == 0 {
				s.t.Notef("%s: 503, %s", rest, answer.Object().Text("detail"))
			}
		}
	}
}

// newPods: the API server is answered as well; pods that are made now ask for what their workload's state says.
func (s *deserted) newPods() {
	t := s.t
	t.Ctl("-n", t.NS, "delete", "pods", "--all", "--now")
	for _, name := range []string{"ready", "stale", "held", "young"} {
		t.WaitAdmitted("a new pod of "+name, name, s.want[name], 1)
	}
}

// apiServerAway: answers come from memory, marked with their age; who was allowed lately still is, and who is not known is
// told to come again.
func (s *deserted) apiServerAway(was map[string]string) {
	t := s.t
	t.Account("late")
	late := t.Token("late", "--duration=1h")
	t.Plane.APIServer.Stop()
	up := false
	defer func() {
		if !up {
			_ = t.Plane.StartAPIServer()
		}
	}()
	gone := time.Now()
	page := s.path("/workloads/deploy/ready")
	for i := range s.replicas {
		t.Eventually("answers tell their age", stage.Soon, func() error {
			answer, err := s.to(i, "GET", page, "")
			warned := strings.Join(answer.Header.Values("Warning"), ", ")
			if err == nil && (answer.Code != 200 || !strings.Contains(warned, "110 ") || answer.Header.Get("Age") == "") {
				err = fmt.Errorf("HTTP %d, Warning '%s', Age '%s'", answer.Code, warned, answer.Header.Get("Age"))
			}
			return err
		})
	}
	t.Notef("the API server away: answers told their age after %.1f s", time.Since(gone).Seconds())
	time.Sleep(max(0, verdicts+promptly-time.Since(gone))) // until no verdict is fresh
	for _, q := range s.everything() {
		for i := range s.replicas {
			answer, err := s.to(i, q.method, q.path, q.body)
			t.Check(err)
			if answer.Code != 200 || answer.Body != was[q.method+" "+q.path+" "+q.body] {
				t.Fatalf("without the API server, %s is answered with HTTP %d\n%s\nand was\n%s", q.path, answer.Code, answer.Body,
					was[q.method+" "+q.path+" "+q.body])
			}
			private := q.path != "/openapi.yaml" && q.path != "/admission"
			if warned := strings.Join(answer.Header.Values("Warning"), ", "); private && !strings.Contains(warned, "199 ") {
				t.Fatalf("%s: the Warning is '%s'", q.path, warned)
			}
		}
	}
	for i := range s.replicas {
		answer, err := s.as(late, i, "GET", page, "")
		t.Check(err)
		if answer.Code != 503 || answer.Header.Get("Retry-After") == "" {
			t.Fatalf("who is not known gets HTTP %d: %s", answer.Code, answer.Body)
		}
	}
	up = true
	t.Check(t.Plane.StartAPIServer())
	t.Eventually("the API server is back", stage.Soon, func() error {
		for i := range s.replicas {
			answer, err := s.to(i, "GET", page, "")
			if err != nil {
				return err
			}
			if answer.Code != 200 || len(answer.Header.Values("Warning")) > 0 {
				return fmt.Errorf("HTTP %d, Warning '%s'", answer.Code, answer.Header.Values("Warning"))
			}
			if answer, err = s.as(late, i, "GET", page, ""); err != nil || answer.Code != 403 {
				return fmt.Errorf("who has no permission gets HTTP %d (%v)", answer.Code, err)
			}
		}
		return nil
	})
}
