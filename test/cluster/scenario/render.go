package scenario

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// Manifests of all kinds come back as they were but for the requests and our annotations, the same by the kubeconfig, by a
// server and by REST; what is broken tells where and why, and prints nothing.
func render(t *stage.T) {
	t.Namespace()
	t.Profile(stage.OnDeployProfile("Workload"))
	t.Account("ci")
	t.Ctl("create", "clusterrolebinding", t.NS, "--clusterrole=view", "--serviceaccount="+t.NS+":ci")
	defer func() { _, _ = t.Kubectl.Run("", "delete", "clusterrolebinding", t.NS) }()
	r := &rendering{T: t, token: t.Token("ci"), dir: filepath.Join(t.Dir, "render")}
	t.Check(os.MkdirAll(r.dir, 0o755))
	t.Eventually("the profile is known at the door", stage.Soon, func() error {
		told, err := t.AskDeploy(t.Learner, r.token, "deploy/web", "?original=cpu:2&container=app", "app", "cpu")
		if err == nil && told.Request != "1" {
			err = fmt.Errorf("it tells %+v", told)
		}
		return err
	})
	client, err := t.RESTClient(t.Learner)
	t.Check(err)
	// The certificate is of the Service's name, which this machine does not know: a way to it without TLS.
	proxy := httptest.NewServer(&httputil.ReverseProxy{Transport: client.Transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "https", Host: "halflife." + stage.OwnNamespace + ".svc"})
		}})
	defer proxy.Close()
	r.server = proxy.URL
	r.files()
	for name, text := range r.manifests() {
		r.real(name, text)
	}
	r.left()
	r.large()
}

type rendering struct {
	*stage.T
	token, server, dir string
}

// rendered is what came of one file: the text, or where it is broken.
type rendered struct {
	text  string
	place string // "LINE:COLUMN"; "": it is not broken
	left  string // reasons, where objects were left
}

var (
	placeOfCLI  = regexp.MustCompile(`:(\d+):(\d+): \S`)
	placeOfREST = regexp.MustCompile(`line (\d+), column (\d+): \S`)
)

func (r *rendering) byProgram(path string, more ...string) rendered {
	ran := r.Program([]string{"KUBECONFIG=" + r.Plane.Kubeconfig}, "", append([]string{"render", "-f", path, "-n", r.NS}, more...)...)
	if ran.Code == 0 {
		return rendered{text: ran.Out}
	}
	at := placeOfCLI.FindStringSubmatch(strings.TrimPrefix(ran.Err[max(0, strings.Index(ran.Err, path)):], path))
	if ran.Code != 1 || ran.Out != "" || at == nil {
		r.Fatalf("%s %v: exit code %d, %d bytes on stdout, and said: %s", path, more, ran.Code, len(ran.Out), ran.Err)
	}
	return rendered{place: at[1] + ":" + at[2]}
}

func (r *rendering) byREST(path, text string) rendered {
	kind := "application/yaml"
	if strings.HasSuffix(path, ".json") {
		kind = "application/json"
	}
	answer, err := r.Ask(r.Learner, r.token, "POST", "/api/v1/namespaces/"+r.NS+"/render", text, "Content-Type", kind)
	r.Check(err)
	if answer.Code == 200 {
		return rendered{text: answer.Body, left: answer.Header.Get("X-Halflife-Reason")}
	}
	problem := answer.Object()
	at := placeOfREST.FindStringSubmatch(problem.Text("detail"))
	if answer.Code != 400 || problem.Text("type") != "https://halflife.dev/problems/invalid-body" || at == nil {
		r.Fatalf("%s: HTTP %d: %.500s", path, answer.Code, answer.Body)
	}
	return rendered{place: at[1] + ":" + at[2]}
}

// allWays renders a file in all ways, which must agree.
func (r *rendering) allWays(path, text string) rendered {
	rest := r.byREST(path, text)
	token := filepath.Join(r.dir, "token")
	r.Check(os.WriteFile(token, []byte(r.token), 0o600))
	for what, o := range map[string]rendered{
		"the kubeconfig": r.byProgram(path),
		"--server":       r.byProgram(path, "--server", r.server, "--token-file", token),
	} {
		if o.text != rest.text || o.place != rest.place {
			r.Fatalf("%s: by %s: '%s' and %d bytes; by REST: '%s' and %d bytes:\n%.2000s", path, what, o.place, len(o.text),
				rest.place, len(rest.text), difference(rest.text, o.text))
		}
	}
	return rest
}

// files goes through all that lies in test/data/render.
func (r *rendering) files() {
	paths, err := filepath.Glob(filepath.Join(r.Root, "test", "data", "render", "*.in.*"))
	r.Check(err)
	broken := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		r.Check(err)
		o := r.allWays(path, string(text))
		if (o.place != "") != strings.HasPrefix(filepath.Base(path), "bad-") {
			r.Fatalf("%s: broken at '%s'", path, o.place)
		}
		if o.place != "" {
			broken++
		} else if wrong := unexpected(string(text), o.text); wrong != "" {
			r.Fatalf("%s: %s", path, wrong)
		}
	}
	if broken == 0 || broken == len(paths) {
		r.Fatalf("%d of %d files are broken", broken, len(paths))
	}
	r.Notef("%d files the same in all ways, %d broken ones told by line and column", len(paths)-broken, broken)
}

var ours = regexp.MustCompile(`halflife\.dev/|annotations|resources|requests|cpu|memory|^metadata:|^[\s{}]*,?$`)

// unexpected is the first line that changed and should not have; "": none.
func unexpected(in, out string) string {
	for _, line := range strings.Split(difference(in, out), "\n") {
		if line != "" && !ours.MatchString(strings.TrimSpace(line[1:])) {
			return "changed unexpectedly: " + line
		}
	}
	return ""
}

// difference is the lines that are in one of two texts alone, in their order, each behind - or +. What is rendered only
// gains lines and changes some, so that a look ahead finds the next that both have.
func difference(in, out string) string {
	var b strings.Builder
	a, c := strings.SplitAfter(in, "\n"), strings.SplitAfter(out, "\n")
	const ahead = 12
	for i, k := 0, 0; i < len(a) || k < len(c); {
		if i < len(a) && k < len(c) && a[i] == c[k] {
			i, k = i+1, k+1
			continue
		}
		di, dk := nextCommon(a[i:min(len(a), i+ahead)], c[k:min(len(c), k+ahead)])
		for ; di > 0; di-- {
			fmt.Fprintf(&b, "-%s\n", strings.TrimRight(a[i], "\r\n"))
			i++
		}
		for ; dk > 0; dk-- {
			fmt.Fprintf(&b, "+%s\n", strings.TrimRight(c[k], "\r\n"))
			k++
		}
	}
	return b.String()
}

// nextCommon is how many lines of each to leave behind to come to one that both have, as few as can be.
func nextCommon(a, c []string) (int, int) {
	for sum := 1; sum < len(a)+len(c); sum++ {
		for i := 0; i <= sum && i < len(a); i++ {
			if k := sum - i; k < len(c) && a[i] == c[k] {
				return i, k
			}
		}
	}
	return len(a), len(c)
}

// manifests are of real kinds, so that the API server may judge them as well.
func (r *rendering) manifests() map[string]string {
	const plain = `# the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME   # its name
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata:
      labels: {app: NAME}
    spec:
      containers:
      # the only one
      - name: app
        image: "registry.invalid/app:1"
        args:
        - |
          cpu: 2
            # no comment
          requests: {}
        - 'it''s'
        resources:
          requests:
            cpu: "2"       # two whole cores
            memory: 1Gi
          limits: {cpu: 4, memory: 2Gi}
`
	const service = "---\n# not ours\napiVersion: v1\nkind: Service\nmetadata: {name: NAME}\nspec: {ports: [{port: 80}], selector: {app: NAME}}\n"
	object := r.NewDeployment("NAME", 2, stage.Container{Name: "app", Requests: M{"cpu": "2", "memory": "1Gi"}})
	compact := kube.Object(object).String()
	indented, err := json.MarshalIndent(object, "", "\t")
	r.Check(err)
	list, err := json.Marshal(M{"apiVersion": "v1", "kind": "List", "items": L{object, r.NewWorkload("StatefulSet", "NAME", 1,
		stage.Container{Name: "app", Requests: M{"cpu": "2", "memory": "1Gi"}})}})
	r.Check(err)
	anchored := strings.Replace(strings.Replace(plain, "selector: {matchLabels: {app: NAME}}", "selector: {matchLabels: &l {app: NAME}}", 1),
		"labels: {app: NAME}", "labels: *l", 1)
	limits := strings.Replace(plain, "          requests:\n            cpu: \"2\"       # two whole cores\n            memory: 1Gi\n", "", 1)
	all := map[string]string{
		"plain.yaml":    plain,
		"crlf.yaml":     strings.ReplaceAll(plain, "\n", "\r\n"),
		"bom.yaml":      "\ufeff" + plain,
		"anchors.yaml":  anchored,
		"flow.yaml":     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME}\nspec: {selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: app, image: registry.invalid/app, resources: {requests: {cpu: 2, memory: 1Gi}}}]}}}\n",
		"compact.json":  compact,
		"indented.json": string(indented) + "\n",
		"list.json":     string(list) + "\n",
		"no-end.yaml":   strings.TrimSuffix(plain, "\n"),
		"two.yaml":      plain + service,
		"limits.yaml":   limits, // its effective request is 4 cores and 2Gi
	}
	for name, text := range all {
		all[name] = strings.ReplaceAll(text, "NAME", "render-"+strings.SplitN(name, ".", 2)[0])
	}
	return all
}

// real renders a manifest, judges it by its lines and by its sense, and shows both texts to the API server.
func (r *rendering) real(name, text string) {
	path := filepath.Join(r.dir, name)
	r.Check(os.WriteFile(path, []byte(text), 0o644))
	o := r.allWays(path, text)
	if o.place != "" || o.left != "" || o.text == text {
		r.Fatalf("%s: broken at '%s', left for '%s', %d bytes came from %d", name, o.place, o.left, len(o.text), len(text))
	}
	if strings.HasSuffix(name, ".yaml") && name != "flow.yaml" {
		if wrong := unexpected(text, o.text); wrong != "" {
			r.Fatalf("%s: %s", name, wrong)
		}
	}
	if strings.Count(text, "\r\n") > 0 && strings.Count(o.text, "\n") != strings.Count(o.text, "\r\n") {
		r.Fatalf("%s: not all lines end as they did:\n%q", name, o.text)
	}
	before, after := r.parsed(text), r.parsed(o.text)
	if len(before) != len(after) {
		r.Fatalf("%s: %d objects became %d", name, len(before), len(after))
	}
	for i := range before {
		r.judge(name, before[i], after[i])
	}
	r.Check(os.WriteFile(path, []byte(o.text), 0o644))
	if again := r.allWays(path, o.text); again.text != o.text {
		r.Fatalf("%s: rendered again it changes:\n%s", name, difference(o.text, again.text))
	}
	r.CtlIn(text, "-n", r.NS, "apply", "--dry-run=server", "-f", "-")
	r.CtlIn(o.text, "-n", r.NS, "apply", "--dry-run=server", "-f", "-")
}

// parsed is what kubectl makes of a text.
func (r *rendering) parsed(text string) []kube.Object {
	out := r.CtlIn(text, "-n", r.NS, "create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-")
	var objects []kube.Object
	for in := json.NewDecoder(strings.NewReader(out)); in.More(); {
		var o kube.Object
		r.Check(in.Decode(&o))
		if o.Text("kind") == "List" {
			objects = append(objects, o.List("items")...)
		} else {
			objects = append(objects, o)
		}
	}
	return objects
}

// judge sees that half of what was asked for is, and that nothing else changed.
func (r *rendering) judge(name string, before, after kube.Object) {
	if before.Text("kind") != "Service" {
		was := stage.FindContainer(before.Object("spec", "template", "spec"), "app")
		now := stage.FindContainer(after.Object("spec", "template", "spec"), "app")
		cpu, memory := "1", "512Mi"
		if was.Object("resources", "requests") == nil {
			cpu, memory = "2", "1Gi" // half of the limits
		}
		if now.Text("resources", "requests", "cpu") != cpu || now.Text("resources", "requests", "memory") != memory {
			r.Fatalf("%s: requests are %s", name, now.Text("resources", "requests"))
		}
		if was.Object("resources", "requests") == nil {
			delete(now.Object("resources"), "requests")
		} else {
			now.Object("resources")["requests"] = was.At("resources", "requests")
		}
		r.withoutNotes(name, before.Object("metadata"), after.Object("metadata"))
		r.withoutNotes(name, before.Object("spec", "template", "metadata"), after.Object("spec", "template", "metadata"))
	}
	if !reflect.DeepEqual(before, after) {
		r.Fatalf("%s: something else changed: %s became %s", name, before, after)
	}
}

// withoutNotes takes away what was added to the annotations.
func (r *rendering) withoutNotes(name string, before, after kube.Object) {
	notes := after.Object("annotations")
	for _, key := range []string{"original-resources", "applied-resources", "utilization-basis"} {
		if notes.Text("halflife.dev/"+key) == "" {
			r.Fatalf("%s: there is no annotation %s in %s", name, key, after)
		}
		delete(notes, "halflife.dev/"+key)
	}
	if before["annotations"] == nil {
		delete(after, "annotations")
	}
}

// left are manifests that cannot be edited safely: the same bytes come back, and REST says why.
func (r *rendering) left() {
	plain := r.manifests()["plain.yaml"]
	twice := strings.Replace(plain, "          limits: {cpu: 4, memory: 2Gi}\n", "          requests: {cpu: 3}\n", 1)
	merged := strings.Replace(plain, "          requests:\n            cpu: \"2\"       # two whole cores\n", "          requests:\n            <<: *r\n", 1)
	merged = "x-requests: &r {cpu: 2}\n" + merged
	templated := strings.Replace(plain, "replicas: 2", "replicas: {{ .Values.replicas }}", 1)
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: app, image: x, resources: {requests: {cpu: 2}}}]}\n"
	for _, one := range []struct{ name, text, reason string }{
		{"twice.yaml", twice, "NotEditable"},
		{"merged.yaml", merged, "NotEditable"},
		{"templated.yaml", templated, "Templated"},
		{"conditional.yaml", "{{- if .Values.web }}\n" + plain + "{{- end }}\n", "Templated"},
		{"pod.yaml", pod, "NoTarget"},
		{"elsewhere.yaml", strings.Replace(plain, "metadata:\n", "metadata:\n  namespace: default\n", 1), ""},
		{"nothing.yaml", "", ""},
		{"comment.yaml", "# nothing\n", ""},
	} {
		path := filepath.Join(r.dir, one.name)
		r.Check(os.WriteFile(path, []byte(one.text), 0o644))
		o := r.byREST(path, one.text)
		if one.name != "elsewhere.yaml" { // --server asks there, REST may not
			o = r.allWays(path, one.text)
		}
		if o.text != one.text || (one.reason != "" && o.left != one.reason) {
			r.Fatalf("%s: left for '%s', not '%s'; broken at '%s'\n%s", one.name, o.left, one.reason, o.place, difference(one.text, o.text))
		}
	}
}

// large goes through with much text beside the manifest, and with many documents.
func (r *rendering) large() {
	const line = "    what nobody reads: 0123456789 \U0001f6d2\n"
	manifest := r.manifests()["plain.yaml"]
	much := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: much}\ndata:\n  text: |\n" + strings.Repeat(line, (10<<20)/len(line)) + "---\n"
	many := strings.Repeat("---\n"+manifest, 10000)
	for name, text := range map[string]string{"much.yaml": much + manifest, "many.yaml": many} {
		path := filepath.Join(r.dir, name)
		r.Check(os.WriteFile(path, []byte(text), 0o644))
		o := r.allWays(path, text)
		one := r.byREST("plain.yaml", manifest).text
		want := much + one
		if name == "many.yaml" {
			want = strings.Repeat("---\n"+one, 10000)
		}
		if o.text != want {
			r.Fatalf("%s: %.2000s", name, difference(want, o.text))
		}
		r.Notef("%s: %.1f MB the same in all ways", name, float64(len(text))/1e6)
		r.Check(os.Remove(path))
	}
}
