package scenario

import (
	"fmt"
	"os/exec"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// judged is a write of halflife's, and what the policy says of it; "": it lets it pass.
type judged struct {
	object string // below the path of the namespace, such as "deployments/web"
	op     string
	path   string
	value  any
	says   string
}

// ofTemplate are the writes that the policy judges in each pod template, at its path.
func ofTemplate(object, path string) []judged {
	app := path + "/spec/containers/0"
	return []judged{
		{object, "replace", app + "/resources/requests/cpu", "500m", ""},
		{object, "remove", app + "/resources/requests", nil, ""},
		{object, "add", path + "/metadata/annotations/halflife.dev~1original-resources", "{}", ""},
		{object, "replace", app + "/image", "registry.invalid/evil:1", "container app"},
		{object, "add", app + "/command", L{"sh"}, "container app"},
		{object, "add", app + "/args", L{"-c"}, "container app"},
		{object, "add", app + "/env", L{M{"name": "A", "value": "b"}}, "container app"},
		{object, "add", app + "/envFrom", L{M{"secretRef": M{"name": "s"}}}, "container app"},
		{object, "add", app + "/securityContext", M{"privileged": true}, "container app"},
		{object, "replace", app + "/resources/limits/cpu", "8", "resources other than requests of container app"},
		{object, "remove", app + "/resources/limits", nil, "resources other than requests of container app"},
		{object, "add", app + "/resources/requests/ephemeral-storage", "1Gi", "requests other than cpu and memory of container app"},
		{object, "add", path + "/spec/containers/-", M{"name": "more", "image": "registry.invalid/more:1"}, "the list of containers"},
		{object, "add", path + "/spec/initContainers", L{M{"name": "init", "image": "registry.invalid/init:1"}}, "the list of containers"},
		{object, "add", path + "/spec/volumes", L{M{"name": "v", "hostPath": M{"path": "/"}}}, "the spec of its pods"},
		{object, "add", path + "/spec/securityContext", M{"runAsUser": 0}, "the spec of its pods"},
		{object, "add", path + "/spec/hostNetwork", true, "the spec of its pods"},
		{object, "add", path + "/spec/hostPID", true, "the spec of its pods"},
		{object, "add", path + "/spec/hostIPC", true, "the spec of its pods"},
		{object, "add", path + "/spec/serviceAccountName", "admin", "the spec of its pods"},
		{object, "add", path + "/spec/nodeName", "n", "the spec of its pods"},
		{object, "add", path + "/metadata/annotations/a", "b", "the annotations of its pods"},
		{object, "add", path + "/metadata/labels/more", "b", "the metadata of its pods"},
		{object, "add", "/metadata/annotations/a", "b", "its annotations"},
		{object, "add", "/metadata/labels/more", "b", "its metadata"},
		{object, "add", "/metadata/finalizers", L{"halflife.dev/x"}, "its metadata"},
	}
}

// ofKinds are further writes, of members that one kind has.
func ofKinds(pod string) []judged {
	return []judged{
		{"deployments/web", "replace", "/spec/replicas", 9, "its spec"},
		{"deployments/web", "add", "/spec/paused", true, "its spec"},
		{"statefulsets/web", "replace", "/spec/replicas", 9, "its spec"},
		{"rollouts/web", "replace", "/spec/replicas", 9, "its spec"},
		{"cronjobs/web", "replace", "/spec/schedule", "* * * * *", "its spec"},
		{"cronjobs/web", "add", "/spec/jobTemplate/metadata/labels", M{"a": "b"}, "its job template"},
		{"cronjobs/web", "replace", "/spec/jobTemplate/spec/parallelism", 9, "the spec of its jobs"},
		{"horizontalpodautoscalers/web", "replace", "/spec/metrics/0/resource/target/averageUtilization", 90, ""},
		{"horizontalpodautoscalers/web", "add", "/metadata/annotations/halflife.dev~1original-targets", "{}", ""},
		{"horizontalpodautoscalers/web", "replace", "/spec/minReplicas", 1, "its spec"},
		{"horizontalpodautoscalers/web", "replace", "/spec/maxReplicas", 99, "its spec"},
		{"horizontalpodautoscalers/web", "replace", "/spec/scaleTargetRef/name", "other", "its spec"},
		{"horizontalpodautoscalers/web", "replace", "/spec/metrics/0/resource/name", "memory", "the resource of a metric"},
		{"horizontalpodautoscalers/web", "replace", "/spec/metrics/0/resource/target",
			M{"type": "AverageValue", "averageValue": "1"}, "the target of a metric"},
		{"horizontalpodautoscalers/web", "add", "/spec/metrics/-", M{"type": "Resource", "resource": M{"name": "memory",
			"target": M{"type": "Utilization", "averageUtilization": 90}}}, "the list of metrics"},
		{"scaledobjects/web", "replace", "/spec/triggers/1/metadata/value", "90", ""},
		{"scaledobjects/web", "replace", "/spec/triggers/0/metadata/desiredReplicas", "90", "the metadata of a trigger"},
		{"scaledobjects/web", "replace", "/spec/triggers/0/metadata/value", "90", "the metadata of a trigger"},
		{"scaledobjects/web", "replace", "/spec/maxReplicaCount", 99, "its spec"},
		{pod, "add", "/metadata/annotations/halflife.dev~1raised", "now", ""},
		{pod, "add", "/metadata/annotations/a", "b", "its annotations"},
		{pod, "add", "/metadata/labels/a", "b", "its metadata"},
		{pod, "remove", "/metadata/ownerReferences", nil, "its metadata"},
		{pod, "replace", "/spec/containers/0/image", "registry.invalid/evil:1", "container app"},
		{pod, "add", "/spec/activeDeadlineSeconds", 1, "its spec"},
		{pod + "/resize", "replace", "/spec/containers/0/resources/requests/cpu", "500m", ""},
		{pod + "/resize", "replace", "/spec/containers/0/resources/limits/cpu", "8", "resources other than requests of container app"},
	}
}

// policyRefuses sends writes as each account of halflife, which a role lets do everything here: the API server refuses
// what the policy says and nothing else, and refuses a person nothing.
func policyRefuses(t *stage.T) {
	t.Namespace()
	t.InstallKEDA()
	t.StartArgo()
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		t.Apply(annotated(t.NewWorkload(kind, "web", 1, stage.App())))
	}
	t.Apply(annotated(t.NewCronJob("web")))
	rollout := t.NewDeployment("web", 0, stage.App())
	rollout["apiVersion"], rollout["kind"] = stage.ArgoRollout.APIVersion(), stage.ArgoRollout.Kind
	t.Apply(annotated(rollout))
	t.Apply(t.NewHPA("web", M{"type": "Utilization", "averageUtilization": ownersTarget}))
	t.Apply(M{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": t.Meta("web"),
		"spec": M{"scaleTargetRef": M{"name": "web"}, "maxReplicaCount": 2, "triggers": L{
			M{"type": "cron", "metadata": M{"start": "0 6 * * *", "desiredReplicas": "2", "value": "1"}},
			M{"type": "cpu", "metricType": "Utilization", "metadata": M{"value": fmt.Sprint(ownersTarget)}}}}})
	var pod string
	t.Eventually("a pod runs", stage.Soon, func() error {
		for _, p := range t.Pods("web") {
			if p.Text("status", "phase") == "Running" {
				pod = "pods/" + p.Name()
				return nil
			}
		}
		return fmt.Errorf("none of %d", len(t.Pods("web")))
	})
	list := ofKinds(pod)
	for _, plural := range []string{"deployments", "statefulsets", "daemonsets", "rollouts"} {
		list = append(list, ofTemplate(plural+"/web", "/spec/template")...)
	}
	list = append(list, ofTemplate("cronjobs/web", "/spec/jobTemplate/spec/template")...)
	letWriteAll(t)
	for _, account := range []string{"halflife", "halflife-serve"} {
		as := t.WithToken(strings.TrimSpace(t.Ctl("-n", stage.OwnNamespace, "create", "token", account)))
		for _, j := range list {
			t.Check(j.check(t, t.Client, true))
			t.Check(j.check(t, as, j.says == ""))
		}
		_, err := as.Post(t.Path("pods", "")+"?dryRun=All", stage.BarePod(t.Meta("more")))
		t.Check(refusedByPolicy(err, "neither creates nor deletes"))
		err = as.Delete(t.Path("deployments", "web") + "?dryRun=All")
		t.Check(refusedByPolicy(err, "neither creates nor deletes"))
	}
	t.Notef("%d writes judged", len(list))
}

// annotated gives an object and its template an annotation of another's, so that more can be added.
func annotated(o M) M {
	o["metadata"].(M)["annotations"] = M{"owner": "team"}
	return o
}

// letWriteAll lets both accounts of halflife write everything that the policy judges in the scenario's namespace.
func letWriteAll(t *stage.T) {
	const group = "rbac.authorization.k8s.io"
	t.Apply(M{"apiVersion": group + "/v1", "kind": "Role", "metadata": t.Meta("all"), "rules": L{M{"verbs": L{"*"}, "resources": L{"*"},
		"apiGroups": L{"", "apps", "batch", "argoproj.io", "autoscaling", "keda.sh"}}}})
	var subjects L
	for _, account := range []string{"halflife", "halflife-serve"} {
		subjects = append(subjects, M{"kind": "ServiceAccount", "name": account, "namespace": stage.OwnNamespace})
	}
	t.Apply(M{"apiVersion": group + "/v1", "kind": "RoleBinding", "metadata": t.Meta("all"),
		"roleRef": M{"apiGroup": group, "kind": "Role", "name": "all"}, "subjects": subjects})
}

// check returns an error unless the API server answers a client's dry run of the write as it should.
func (j judged) check(t *stage.T, as *kube.Client, passes bool) error {
	plural, rest, _ := strings.Cut(j.object, "/")
	op := M{"op": j.op, "path": j.path}
	if j.op != "remove" {
		op["value"] = j.value
	}
	path := t.Path(plural, rest)
	if plural == "scaledobjects" {
		path = scaledObject(t, rest)
	}
	_, err := as.Patch(path+"?dryRun=All", L{op})
	if !passes {
		err = refusedByPolicy(err, j.says)
	}
	if err != nil {
		err = fmt.Errorf("%s %s of %s: %w", j.op, j.path, j.object, err)
	}
	return err
}

// refusedByPolicy returns an error unless err is the policy's refusal with that text.
func refusedByPolicy(err error, text string) error {
	if kube.Code(err) == 403 && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'halflife'") &&
		strings.Contains(err.Error(), text) {
		return nil
	}
	return fmt.Errorf("the policy does not refuse it with '%s': %v", text, err)
}

// policyExempts has a profile apply in namespaces that are exempt: the program changes nothing there, and the API server
// would refuse it, by which check knows the policy.
func policyExempts(t *stage.T) {
	said, _ := exec.Command(t.Binary(), "check", "--kubeconfig", t.Learner.Kubeconfig, "--namespace", stage.OwnNamespace,
		"--database=").CombinedOutput()
	if !strings.Contains(string(said), "ok    a policy of the API server bounds what halflife writes") {
		t.Fatalf("check does not find the policy:\n%s", said)
	}
	p := stage.QuickProfile("Rollout")
	p["namespaceSelector"] = M{"matchExpressions": L{M{"key": "kubernetes.io/metadata.name", "operator": "In",
		"values": L{"kube-system", stage.OwnNamespace}}}}
	p["selector"] = M{"matchLabels": M{"e2e": t.Name}}
	t.ProfileNamed("e2e-policy-exempts", p)
	as := t.WithToken(strings.TrimSpace(t.Ctl("-n", stage.OwnNamespace, "create", "token", "halflife")))
	home := t.NS
	defer func() { t.NS = home }()
	for _, ns := range []string{"kube-system", stage.OwnNamespace} {
		t.NS = ns
		o := annotated(t.NewDeployment("policy-exempts", 1, stage.App()))
		o["metadata"].(M)["labels"].(M)["e2e"] = t.Name
		restrict(kube.Object(o).Object("spec", "template", "spec"))
		t.Create("deployments", o)
		defer func() { _ = t.Delete("/apis/apps/v1/namespaces/" + ns + "/deployments/policy-exempts") }()
		t.WaitHeld("deployment-policy-exempts", "OptedOut", "exempt-namespaces")
		t.CheckGeneration("deployments", "policy-exempts", 1)
		_, err := as.Patch(t.Path("deployments", "policy-exempts")+"?dryRun=All",
			L{M{"op": "add", "path": "/metadata/annotations/halflife.dev~1applied-resources", "value": "{}"}})
		t.Check(refusedByPolicy(err, "exempt namespace"))
	}
}

// alterDeployments has a policy of the API server change each update of a Deployment in the scenario's namespace on which
// the condition holds, by one operation of a JSON patch. What it returns removes the policy.
func alterDeployments(t *stage.T, name, condition, operation string) func() {
	const kind = "admissionregistration.k8s.io/v1"
	t.Apply(M{"apiVersion": kind, "kind": "MutatingAdmissionPolicy", "metadata": M{"name": name}, "spec": M{
		"reinvocationPolicy": "Never", "failurePolicy": "Fail",
		"matchConstraints": M{
			"namespaceSelector": M{"matchLabels": M{"e2e": t.Name}},
			"resourceRules":     L{M{"apiGroups": L{"apps"}, "apiVersions": L{"v1"}, "operations": L{"UPDATE"}, "resources": L{"deployments"}}},
		},
		"matchConditions": L{M{"name": "when", "expression": condition}},
		"mutations":       L{M{"patchType": "JSONPatch", "jsonPatch": M{"expression": "[JSONPatch{" + operation + "}]"}}},
	}})
	t.Apply(M{"apiVersion": kind, "kind": "MutatingAdmissionPolicyBinding", "metadata": M{"name": name},
		"spec": M{"policyName": name}})
	return func() {
		_, _ = t.Kubectl.Run("", "delete", "mutatingadmissionpolicy,mutatingadmissionpolicybinding", name, "--ignore-not-found")
	}
}

// policyAltered has other admission alter what halflife writes: the policy refuses it, which is told, and the workload is
// left alone as a contested one.
func policyAltered(t *stage.T) {
	t.Namespace()
	defer alterDeployments(t, "e2e-alter", `request.userInfo.username == "`+stage.LearnerUser+`"`,
		`op: "add", path: "/metadata/labels/altered", value: "yes"`)()
	t.Apply(annotated(t.NewDeployment("probe", 0, stage.App())))
	as := t.WithToken(strings.TrimSpace(t.Ctl("-n", stage.OwnNamespace, "create", "token", "halflife")))
	t.Eventually("writes are altered", stage.Soon, func() error {
		_, err := as.Patch(t.Path("deployments", "probe")+"?dryRun=All",
			L{M{"op": "add", "path": "/metadata/annotations/halflife.dev~1applied-resources", "value": "{}"}})
		return refusedByPolicy(err, "its metadata")
	})
	t.Profile(stage.QuickProfile("Rollout"))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.RecWhen("deployment-web", "contested by admission", stage.Soon, func(r kube.Object) error {
		return stage.CheckCondition(r, "Contested", "True", "not its metadata; left alone until")
	})
	t.WaitHeld("deployment-web", "Contested", "")
	t.Cycles(t.Learner, 3)
	t.CheckGeneration("deployments", "web", 1)
	if twice := t.Learner.Says(t.NS, "left alone for a while", 2); twice == nil {
		t.Fatalf("it was tried again:\n%s", t.Learner.Said(t.NS, 20))
	}
}
