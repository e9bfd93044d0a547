package stage

import "strings"

// Namespace makes the scenario's namespace, with a label that its profile selects.
func (t *T) Namespace(annotations ...string) {
	t.NS = "e2e-" + t.Name
	notes := M{}
	for i := 0; i+1 < len(annotations); i += 2 {
		notes[annotations[i]] = annotations[i+1]
	}
	_, err := t.Post("/api/v1/namespaces", M{"apiVersion": "v1", "kind": "Namespace",
		"metadata": M{"name": t.NS, "labels": M{"e2e": t.Name}, "annotations": notes}})
	t.Check(err)
}

// In makes another namespace of the scenario and returns a T for it. The namespace goes with the scenario.
func (t *T) In(name string) *T {
	other := *t
	other.NS = "e2e-" + t.Name + "-" + name
	_, err := t.Post("/api/v1/namespaces", M{"apiVersion": "v1", "kind": "Namespace",
		"metadata": M{"name": other.NS, "labels": M{"e2e": t.Name}}})
	t.Check(err)
	return &other
}

// KeepCycles runs a workload with a profile in another namespace. Halflife reads usage only while there is one: a scenario
// that loses its last workload would wait for cycles that do not come.
func (t *T) KeepCycles() {
	in := t.In("beside")
	in.Apply(in.NewDeployment("beside", 1, App()))
	in.Apply(M{"apiVersion": "halflife.dev/v1alpha1", "kind": "Profile", "metadata": M{"name": "beside", "namespace": in.NS},
		"spec": QuickProfile("Recommend")})
}

// cleanUp removes what the scenario made, so that those after it are not slowed down.
func (t *T) cleanUp() {
	mine := "?labelSelector=e2e%3D" + t.Name
	_ = t.Delete(APIPath + "/clusterprofiles" + mine)
	_ = t.Delete("/api/v1/nodes" + mine)
	list, _ := t.Get("/api/v1/namespaces" + mine)
	for _, n := range list.List("items") {
		_ = t.Delete("/api/v1/namespaces/" + n.Name())
	}
}

// Account makes a ServiceAccount in the scenario's namespace that may do there what the rules say, and nothing else.
func (t *T) Account(name string, rules ...M) {
	const group = "rbac.authorization.k8s.io"
	t.Apply(M{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": t.Meta(name)})
	if len(rules) == 0 {
		return
	}
	t.Apply(M{"apiVersion": group + "/v1", "kind": "Role", "metadata": t.Meta(name), "rules": rules})
	t.Apply(M{"apiVersion": group + "/v1", "kind": "RoleBinding", "metadata": t.Meta(name),
		"roleRef":  M{"apiGroup": group, "kind": "Role", "name": name},
		"subjects": L{M{"kind": "ServiceAccount", "name": name, "namespace": t.NS}}})
}

// ClusterRole lets an Account do what the rules say in the whole cluster, until what it returns is called.
func (t *T) ClusterRole(account string, rules ...M) func() {
	const group = "rbac.authorization.k8s.io"
	name := t.NS + "-" + account
	meta := M{"name": name, "labels": M{"e2e": t.Name}}
	t.Apply(M{"apiVersion": group + "/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules})
	t.Apply(M{"apiVersion": group + "/v1", "kind": "ClusterRoleBinding", "metadata": meta,
		"roleRef":  M{"apiGroup": group, "kind": "ClusterRole", "name": name},
		"subjects": L{M{"kind": "ServiceAccount", "name": account, "namespace": t.NS}}})
	return func() {
		_ = t.Delete("/apis/" + group + "/v1/clusterrolebindings/" + name)
		_ = t.Delete("/apis/" + group + "/v1/clusterroles/" + name)
	}
}

// Token makes a token of an Account, as a pipeline gets it.
func (t *T) Token(account string, args ...string) string {
	return strings.TrimSpace(t.Ctl(append([]string{"-n", t.NS, "create", "token", account}, args...)...))
}

// ReadRule makes the rule of a pipeline that uses recommendations by these verbs.
func ReadRule(verbs ...any) M {
	return M{"apiGroups": L{"halflife.dev"}, "resources": L{"recommendations"}, "verbs": L(verbs)}
}
