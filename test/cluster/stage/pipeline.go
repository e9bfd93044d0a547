package stage

import "path/filepath"

// RenderRules are the rules that `halflife render` needs in a namespace when it asks the cluster alone. It also lists
// clusterprofiles.
func RenderRules() []M {
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

// Pipeline makes an account that may ask by REST and render by the cluster, and returns its token and its kubeconfig.
// The further rules apply to the whole cluster.
func (t *T) Pipeline(name string, everywhere ...M) (token, kubeconfig string) {
	const group = "rbac.authorization.k8s.io"
	t.Account(name, append(RenderRules(), ReadRule("get", "list"))...)
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

// Way is one in which a manifest comes to run; At says where its profile sets requests.
type Way struct{ Name, At string }

// FourWays are all ways in which a manifest comes to run. What was rendered is admitted as well.
var FourWays = []Way{
	{"rest", "pod"}, {"cli", "workload"}, {"at-pod", "pod"}, {"at-workload", "workload"},
}

// Ways deploys manifests in each way.
type Ways struct {
	T                 *T
	Token, Kubeconfig string
}

// NewWays makes the account that deploys.
func (t *T) NewWays() Ways {
	token, kubeconfig := t.Pipeline("ci")
	return Ways{t, token, kubeconfig}
}

// Rendered returns manifests as that way applies them.
func (w Ways) Rendered(way, manifests string) string {
	switch way {
	case "rest":
		return w.T.Render(w.T.Learner, w.Token, manifests).Body
	case "cli":
		return w.T.MustSucceed(w.T.Program([]string{"KUBECONFIG=" + w.Kubeconfig}, manifests, "render", "-f", "-"))
	}
	return manifests
}

// Deploy deploys manifests in that way.
func (w Ways) Deploy(way, manifests string) {
	w.T.CtlIn(w.Rendered(way, manifests), "apply", "-f", "-")
}

// NoteTable adds a table to the notes: each row has a situation, and what each way came to.
func (t *T) NoteTable(rows [][]string) {
	const line = "%-26s %-12s %-12s %-12s %-12s"
	t.Notef(line, "situation", "REST", "CLI", "at Pod", "at Workload")
	for _, row := range rows {
		t.Notef(line, row[0], row[1], row[2], row[3], row[4])
	}
}
