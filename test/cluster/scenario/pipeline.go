package scenario

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
)

// Renderer are the rules that `halflife render` needs in a namespace when it asks the cluster alone; beside them it lists
// clusterprofiles.
func Renderer() []M {
	list := L{"list"}
	return []M{
		{"apiGroups": L{"halflife.dev"}, "resources": L{"recommendations", "profiles"}, "verbs": list},
		{"apiGroups": L{""}, "resources": L{"limitranges"}, "verbs": list},
		{"apiGroups": L{"autoscaling"}, "resources": L{"horizontalpodautoscalers"}, "verbs": list},
		{"apiGroups": L{"autoscaling.k8s.io"}, "resources": L{"verticalpodautoscalers"}, "verbs": list},
		{"apiGroups": L{"keda.sh"}, "resources": L{"scaledobjects"}, "verbs": list},
		{"apiGroups": L{""}, "resources": L{"namespaces"}, "verbs": L{"get"}},
	}
}

// Pipeline makes an account that may ask by REST and render by the cluster, and gives its token and its kubeconfig.
// Further rules are of the whole cluster.
func (t *T) Pipeline(name string, everywhere ...M) (token, kubeconfig string) {
	const group = "rbac.authorization.k8s.io"
	t.Account(name, append(Renderer(), Reader("get", "list"))...)
	whole := M{"name": t.NS + "-" + name, "labels": M{"e2e": t.Name}}
	rules := append([]M{{"apiGroups": L{"halflife.dev"}, "resources": L{"clusterprofiles"}, "verbs": L{"list"}}}, everywhere...)
	t.Apply(M{"apiVersion": group + "/v1", "kind": "ClusterRole", "metadata": whole, "rules": rules})
	t.Apply(M{"apiVersion": group + "/v1", "kind": "ClusterRoleBinding", "metadata": whole,
		"roleRef":  M{"apiGroup": group, "kind": "ClusterRole", "name": whole["name"]},
		"subjects": L{M{"kind": "ServiceAccount", "name": name, "namespace": t.NS}}})
	token = t.Token(name)
	kubeconfig = filepath.Join(t.Dir, t.NS+"-"+name+".kubeconfig")
	t.Check(t.Plane.KubeconfigFor(kubeconfig, token))
	return token, kubeconfig
}

// Ran is what a run of the program printed.
type Ran struct {
	Code     int
	Out, Err string
}

// Program runs the program under test as a person or a pipeline does; env are NAME=value.
func (t *T) Program(env []string, stdin string, args ...string) Ran {
	return t.run(t.Binary(), env, stdin, args...)
}

func (t *T) run(path string, env []string, stdin string, args ...string) Ran {
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return Ran{cmd.ProcessState.ExitCode(), out.String(), said.String()}
}

// Did is what it printed; a run that failed ends the scenario.
func (t *T) Did(r Ran) string {
	if r.Code != 0 {
		t.Fatalf("exit code %d: %s%s", r.Code, r.Err, r.Out)
	}
	return r.Out
}

// Render lets h render manifests as curl would, and gives the answer.
func (t *T) Render(h *Halflife, token, manifests string) Answer {
	answer, err := t.Ask(h, token, "POST", "/api/v1/namespaces/"+t.NS+"/render", manifests, "Content-Type", "application/yaml")
	t.Check(err)
	if answer.Code != 200 {
		t.Fatalf("render: HTTP %d: %s", answer.Code, answer.Body)
	}
	return answer
}

// Told is one resource of one container in an answer of REST.
type Told struct{ State, Request, Original, Target, Reason string }

// Tell asks h by REST what a workload deploys with; query is "" or "?…".
func (t *T) Tell(h *Halflife, token, workload, query, container, resource string) (Told, error) {
	answer, err := t.Ask(h, token, "GET", "/api/v1/namespaces/"+t.NS+"/workloads/"+workload+query, "")
	if err == nil && answer.Code != 200 {
		err = fmt.Errorf("%s: HTTP %d: %s", workload, answer.Code, answer.Body)
	}
	if err != nil {
		return Told{}, err
	}
	deploy := answer.Object().Object("deploy")
	of := deploy.Named(container, "containers").Object(resource)
	return Told{deploy.Text("state"), of.Text("request"), of.Text("original"), of.Text("target"), of.Text("reason")}, nil
}

// Agree waits until the one that learns and the replica both tell that a workload's CPU deploys with this, for that reason.
func (t *T) Agree(token, workload, query, request, reason string, limit time.Duration) {
	t.Eventually(fmt.Sprintf("%s deploys with %s (%s)", workload, request, reason), limit, func() error {
		for _, h := range t.mine() {
			told, err := t.Tell(h, token, workload, query, "app", "cpu")
			if err != nil {
				return err
			}
			if told.Request != request || told.Reason != reason {
				return fmt.Errorf("halflife %s tells %+v", h.command, told)
			}
		}
		return nil
	})
}

// podWith is the only pod of an app, once it runs an image of that tag.
func (t *T) podWith(app, tag string) (kube.Object, error) {
	list := t.Pods(app)
	if len(list) != 1 {
		return nil, fmt.Errorf("%s has %d pods", app, len(list))
	}
	p := list[0]
	if image := container(p.Object("spec"), "app").Text("image"); !strings.HasSuffix(image, ":"+tag) {
		return nil, fmt.Errorf("pod %s runs image %s", p.Name(), image)
	}
	if phase := p.Text("status", "phase"); phase != "Running" {
		return nil, fmt.Errorf("pod %s is %s", p.Name(), phase)
	}
	return p, nil
}

// The four ways in which a manifest comes to run, and where the profile of each sets requests: what was rendered is admitted
// as well.
var fourWays = []struct{ name, at string }{
	{"rest", "pod"}, {"cli", "workload"}, {"at-pod", "pod"}, {"at-workload", "workload"},
}

// ways deploys in each of them.
type ways struct {
	t                 *T
	token, kubeconfig string
}

func (t *T) ways() ways {
	token, kubeconfig := t.Pipeline("ci")
	return ways{t, token, kubeconfig}
}

// rendered are manifests as they are applied.
func (w ways) rendered(way, manifests string) string {
	switch way {
	case "rest":
		return w.t.Render(w.t.halflife, w.token, manifests).Body
	case "cli":
		return w.t.Did(w.t.Program([]string{"KUBECONFIG=" + w.kubeconfig}, manifests, "render", "-f", "-"))
	}
	return manifests
}

func (w ways) deploy(way, manifests string) {
	w.t.CtlIn(w.rendered(way, manifests), "apply", "-f", "-")
}

// profilesAt makes a profile at Pod and one at Workload, each for the workloads with its label at: half of the CPU at first,
// and memory left alone although there is a factor for it.
func (t *T) profilesAt(change func(spec M)) {
	for label, priority := range map[string]int{"Pod": 0, "Workload": 10} {
		spec := onDeploy(label)
		spec["resources"], spec["priority"] = M{"memory": M{"enabled": false}}, priority
		spec["selector"] = M{"matchLabels": M{"at": lower(label)}}
		change(spec)
		t.ProfileNamed("e2e-"+t.Name+"-"+lower(label), spec)
	}
}

// noteTable notes what each way came to.
func (t *T) noteTable(rows [][]string) {
	const line = "%-26s %-12s %-12s %-12s %-12s"
	t.Notef(line, "situation", "REST", "CLI", "at Pod", "at Workload")
	for _, row := range rows {
		t.Notef(line, row[0], row[1], row[2], row[3], row[4])
	}
}
