package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// specOf of a workload, byte by byte.
func specOf(t *stage.T, plural, name string) string {
	return t.Workload(plural, name).Object("spec").String()
}

// setLowered leaves a Deployment as halflife does, where none runs.
func setLowered(t *stage.T, name, cpu string) {
	notes := M{stage.OriginalsAnnotation: `{"app":{"requests":{"cpu":"2","memory":"1Gi"},"limits":{"cpu":"4","memory":"2Gi"}}}`,
		stage.AppliedAnnotation: fmt.Sprintf(`{"app":{"requests":{"cpu":"%s"}}}`, cpu), "halflife.dev/utilization-basis": "request"}
	ops := L{M{"op": "replace", "path": "/spec/template/spec/containers/0/resources/requests/cpu", "value": cpu}}
	for key, note := range notes {
		key = strings.ReplaceAll(key, "/", "~1")
		ops = append(ops, M{"op": "add", "path": "/metadata/annotations/" + key, "value": note},
			M{"op": "add", "path": "/spec/template/metadata/annotations/" + key, "value": note})
	}
	_, err := t.Patch(t.Path("deployments", name)+"?fieldManager=halflife", ops)
	t.Check(err)
	_, err = t.Post(t.Path("recommendations", ""), M{"apiVersion": "halflife.dev/v1alpha1", "kind": "Recommendation",
		"metadata": M{"name": "deployment-" + name, "namespace": t.NS, "labels": M{"app": name}}, "spec": M{
			"targetRef":  M{"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
			"profileRef": M{"kind": "ClusterProfile", "name": "gone"}, "dimension": "Workload"}})
	t.Check(err)
	t.Eventually(name+" runs lowered", stage.Soon, func() error { return t.PodsAsk(name, "app", "cpu", cpu, 2) })
}

// The controller runs, everything is restored: each spec is to the byte as it was before halflife, and stays so while it
// is held; resumed, it is lowered again.
func restoreAll(t *stage.T) {
	t.Namespace()
	objects := map[string]string{"deployments": "web", "statefulsets": "db", "daemonsets": "agent", "cronjobs": "nightly"}
	before := map[string]string{}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		t.Apply(t.NewWorkload(kind, objects[stage.Plural(kind)], 3, stage.App()))
	}
	t.Apply(t.NewCronJob("nightly"))
	for plural, name := range objects {
		before[plural] = specOf(t, plural, name)
	}
	t.Profile(stage.QuickProfile("Rollout"))
	cpu, _ := stage.Targets()
	for _, name := range []string{"web", "db", "agent"} {
		t.Eventually(name+" is lowered", stage.Soon, func() error { return t.PodsAsk(name, "app", "cpu", cpu, 3) })
	}
	said := t.Command(0, "restore", "-n", t.NS, "--timeout", "5m")
	t.CheckSays(said, "deployment/web restored: app cpu "+cpu+" -> 2", "statefulset/db restored", "daemonset/agent restored")
	back := func() {
		for plural, name := range objects {
			if now := specOf(t, plural, name); now != before[plural] {
				t.Fatalf("%s %s was\n%s\nand is\n%s", plural, name, before[plural], now)
			}
		}
	}
	back()
	t.RecIn("deployment-web", "Held", stage.Soon)
	t.Cycles(t.Learner, 1)
	back()
	t.CheckSays(t.Command(0, "restore", "-n", t.NS), "nothing to restore: no workload in namespace '"+t.NS+"'")
	t.CheckSays(t.Command(0, "resume", "deploy/web", "-n", t.NS), "deployment-web resumed (it was held: halflife restore)")
	t.Eventually("resumed, it is lowered again", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 3) })
	t.Check(t.PodsAsk("db", "app", "cpu", "2", 3))
}

// The controller is gone, and half of the objects were changed by others: what they changed stands, the rest is back.
func restoreChanged(t *stage.T) {
	t.Namespace()
	before := map[string]string{}
	names := []string{"alone", "scaled", "image", "request", "deleted", "paused"}
	for _, name := range names {
		t.Apply(t.NewDeployment(name, 2, stage.App()))
		before[name] = specOf(t, "deployments", name)
		setLowered(t, name, "454m")
	}
	ctl := func(args ...string) { t.Ctl(append([]string{"-n", t.NS}, args...)...) }
	ctl("scale", "deployment/scaled", "--replicas=3")
	ctl("set", "image", "deployment/image", "app=registry.invalid/app:2")
	ctl("set", "resources", "deployment/request", "-c", "app", "--requests=cpu=700m")
	ctl("delete", "deployment", "deleted")
	ctl("rollout", "pause", "deployment/paused")
	said := t.Command(0, "restore", "--all", "-l", "app in ("+strings.Join(names, ",")+")", "--timeout", "5m")
	t.CheckSays(said, "deployment/alone restored: app cpu 454m -> 2", "deployment/scaled restored", "deployment/image restored",
		"deployment/request left; left: app cpu is 700m, not the 454m that halflife set: its owner's value stands",
		"deployment/paused restored: app cpu 454m -> 2;", "left: its rollout is paused")
	if now := specOf(t, "deployments", "alone"); now != before["alone"] {
		t.Fatalf("alone was\n%s\nand is\n%s", before["alone"], now)
	}
	for name, want := range map[string]string{"scaled": "2", "image": "2", "request": "700m", "paused": "2"} {
		if got := stage.Requested(t.Workload("deployments", name), "app", "cpu"); got != want {
			t.Fatalf("%s asks for %s, not %s", name, got, want)
		}
	}
	ctl("rollout", "resume", "deployment/paused")
	t.Eventually("what was paused follows", stage.Soon, func() error { return t.PodsAsk("paused", "app", "cpu", "2", 2) })
}

// A cluster that has no room for the restored pods: the first workload's stay Pending while its old ones serve, the next
// is not begun; with room the same command ends it.
func restoreFull(t *stage.T) {
	t.Namespace()
	room := func(cpu string) M { return M{"cpu": cpu, "memory": "64Gi", "ephemeral-storage": "64Gi", "pods": "100"} }
	const node = "/api/v1/nodes/e2e-restore-full"
	taint := M{"key": "e2e", "value": t.Name, "effect": "NoSchedule"}
	_, err := t.Post("/api/v1/nodes", M{"apiVersion": "v1", "kind": "Node", "metadata": M{"name": "e2e-restore-full",
		"labels": M{"e2e": t.Name}, "annotations": M{"kwok.x-k8s.io/node": "fake"}}, "spec": M{"taints": L{taint}},
		"status": M{"capacity": room("64"), "allocatable": room("64")}})
	t.Check(err)
	defer func() { _ = t.Delete(node) }()
	t.Eventually("the small node is ready", stage.Soon, func() error {
		n, err := t.Get(node)
		if err != nil || n.Condition("Ready").Text("status") != "True" || len(n.List("spec", "taints")) > 1 {
			return fmt.Errorf("not yet (%v)", err)
		}
		return nil
	})
	before := map[string]string{}
	for _, name := range []string{"a", "b"} {
		o := t.NewDeployment(name, 2, stage.App())
		pod := o["spec"].(M)["template"].(M)["spec"].(M)
		pod["nodeSelector"] = M{"e2e": t.Name}
		pod["tolerations"] = L{M{"key": "e2e", "operator": "Exists"}}
		t.Apply(o)
		before[name] = specOf(t, "deployments", name)
		setLowered(t, name, "500m")
	}
	resize := func(cpu string) {
		_, err := t.Merge(node+"/status", M{"status": M{"capacity": room(cpu), "allocatable": room(cpu)}})
		t.Check(err)
	}
	resize("2500m")
	said := t.Command(1, "restore", "-n", t.NS, "--budget", "1", "--timeout", "5s")
	t.CheckSays(said, "deployment/a failed: no progress for 5 s", "still Pending: ", "Insufficient cpu",
		"1 failed, 1 not begun", "run the same command again to continue")
	if got := stage.Requested(t.Workload("deployments", "b"), "app", "cpu"); got != "500m" {
		t.Fatalf("b was begun: it asks for %s", got)
	}
	serving := 0
	for _, p := range t.Pods("a") {
		if p.Text("status", "phase") == "Running" {
			serving++
		}
	}
	if serving < 2 {
		t.Fatalf("only %d of a serve", serving)
	}
	resize("64")
	t.Command(0, "restore", "-n", t.NS, "--budget", "1", "--timeout", "5m")
	for _, name := range []string{"a", "b"} {
		if now := specOf(t, "deployments", name); now != before[name] {
			t.Fatalf("%s was\n%s\nand is\n%s", name, before[name], now)
		}
		t.Check(t.PodsAsk(name, "app", "cpu", "2", 2))
	}
}

// A quota that refuses the restored pods: the reason is told in the server's own words, the old ones serve, and with the
// quota raised the same command ends it.
func restoreQuota(t *stage.T) {
	t.Namespace()
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	before := specOf(t, "deployments", "web")
	setLowered(t, "web", "500m")
	quota := func(cpu string) {
		t.Apply(M{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": t.Meta("small"),
			"spec": M{"hard": M{"requests.cpu": cpu}}})
	}
	quota("2")
	t.Eventually("the quota counts", stage.Soon, func() error {
		q, err := t.Get("/api/v1/namespaces/" + t.NS + "/resourcequotas/small")
		if err != nil || q.Text("status", "used", "requests.cpu") != "1" {
			return fmt.Errorf("used is '%s' (%v)", q.Text("status", "used", "requests.cpu"), err)
		}
		return nil
	})
	said := t.Command(1, "restore", "deploy/web", "-n", t.NS, "--timeout", "5s")
	t.CheckSays(said, "deployment/web failed: no progress for 5 s", "exceeded quota: small", "1 failed")
	t.Eventually("the old pods serve", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", "500m", 2) })
	quota("20")
	t.Command(0, "restore", "deploy/web", "-n", t.NS, "--timeout", "5m")
	if now := specOf(t, "deployments", "web"); now != before {
		t.Fatalf("it was\n%s\nand is\n%s", before, now)
	}
	t.Check(t.PodsAsk("web", "app", "cpu", "2", 2))
}

// unresizable makes a pod's node an old one, that resizes none: its kubelet does not tell what its containers have. Gives
// the pod's name.
func unresizable(t *stage.T, pod kube.Object) string {
	var statuses L
	for _, s := range pod.List("status", "containerStatuses") {
		delete(s, "resources")
		statuses = append(statuses, s)
	}
	_, err := t.Merge(t.Path("pods", pod.Name())+"/status", M{"status": M{"containerStatuses": statuses}})
	t.Check(err)
	return pod.Name()
}

// With webhooks: what admission lowered as it was written, or in its pods alone, is taken back while the API server asks
// admission of each write; a pod is resized where its node does that, else told, and rolled when asked to.
func restoreAdmitted(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("OnDeploy")
	profile["apply"].(M)["at"] = "Workload"
	profile["selector"] = M{"matchLabels": M{"app": "template"}}
	t.ProfileNamed("e2e-restore-doors-template", profile)
	pods := stage.QuickProfile("OnDeploy")
	pods["selector"] = M{"matchLabels": M{"app": "pods"}}
	t.ProfileNamed("e2e-restore-doors-pods", pods)
	cpu, _ := stage.Targets()
	for _, name := range []string{"template", "pods"} {
		o := t.NewDeployment(name, 2, stage.App())
		t.Apply(o)
		t.RecIn("deployment-"+name, "Ready", stage.Soon)
		t.Eventually(name+" is lowered at its next deploy", stage.Soon, func() error {
			err := t.PodsAsk(name, "app", "cpu", cpu, 2)
			if err != nil {
				t.Redeploy(name)
			}
			return err
		})
	}
	two := t.Pods("pods")
	resizable, old := two[0].Name(), unresizable(t, two[1])
	said := t.Command(0, "restore", "-n", t.NS, "--timeout", "5m")
	t.CheckSays(said, "deployment/template restored: app cpu "+cpu+" -> 2", "pod '"+resizable+"' app cpu "+cpu+" -> 2",
		"; left: pod '"+old+"' keeps halflife's value")
	pod, err := t.Get(t.Path("pods", resizable))
	t.Check(err)
	if got := stage.PodRequested(pod, "app", "cpu"); got != "2" || stage.HasAnnotations(pod) {
		t.Fatalf("the pod that was resized asks for %s: %s", got, pod)
	}
	w := t.Workload("deployments", "template")
	if got := stage.Requested(w, "app", "cpu"); got != "2" || stage.HasAnnotations(w) {
		t.Fatalf("the template asks for %s: %s", got, w)
	}
	t.Ctl("-n", t.NS, "label", "deployment", "template", "touched=yes")
	t.Check(t.PodsAsk("template", "app", "cpu", "2", 2))
	t.CheckSays(t.Command(0, "restore", "-n", t.NS, "--restart", "--timeout", "5m"), "deployment/pods restored: restarted")
	t.Check(t.PodsAsk("pods", "app", "cpu", "2", 2))
	for _, pod := range t.Pods("pods") {
		if stage.HasAnnotations(pod) {
			t.Fatalf("it still carries annotations of halflife: %s", pod)
		}
	}
}

// Everything restored and everything deleted: the workload is as before halflife, and no object of it is left anywhere,
// so that deploys go on as if it had never been there.
func uninstall(t *stage.T) {
	t.Namespace()
	t.Ctl("apply", "-k", t.Root+"/manifests/overlays/in-place")
	t.Ctl("-n", stage.OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
	restoreLast(t, lowerWeb(t))
	defer reinstall(t)
	removeManifests(t)
	checkNothingLeft(t)
	w := t.Workload("deployments", "web")
	if stage.HasAnnotations(w) {
		t.Fatalf("it still speaks of halflife: %s", w)
	}
	t.Ctl("-n", t.NS, "rollout", "restart", "deployment/web")
	t.Eventually("deploys go on", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", "2", 2) })
	t.CheckSays(t.Command(0, "restore", "--all"), "halflife's CRDs are not installed")
}

// lowerWeb starts a halflife that lowers a workload, and gives what the workload was before.
func lowerWeb(t *stage.T) string {
	t.StartOwn()
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	before := specOf(t, "deployments", "web")
	t.Profile(stage.QuickProfile("Rollout"))
	cpu, _ := stage.Targets()
	t.Eventually("it is lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	return before
}

// restoreLast restores everything, after which the workload is as before, and ends the halflife of the scenario.
func restoreLast(t *stage.T, before string) {
	t.Command(0, "restore", "--all", "--timeout", "5m")
	if now := specOf(t, "deployments", "web"); now != before {
		t.Fatalf("it was\n%s\nand is\n%s", before, now)
	}
	t.Learner.Stop()
	t.Learner = nil
}

// removeManifests takes away what NewWorld applied, and its overlay.
func removeManifests(t *stage.T) {
	t.Ctl("delete", "-k", t.Root+"/manifests/overlays/in-place", "--ignore-not-found", "--timeout=300s")
}

// checkNothingLeft looks for what has halflife's name.
func checkNothingLeft(t *stage.T) {
	for _, kinds := range []string{"crds", "clusterroles,clusterrolebindings", "roles,rolebindings,serviceaccounts -A",
		"mutatingwebhookconfigurations,validatingwebhookconfigurations", "validatingadmissionpolicies,validatingadmissionpolicybindings", "namespaces", "apiservices", "secrets,configmaps,leases -A"} {
		args := append([]string{"get", "-o", "name"}, strings.Fields(kinds)...)
		for _, line := range strings.Fields(t.Ctl(args...)) {
			if strings.Contains(line, "halflife") {
				t.Fatalf("%s is left", line)
			}
		}
	}
}

// reinstall leaves the cluster as NewWorld did, for those who come after.
func reinstall(t *stage.T) {
	_, _ = t.Kubectl.Run("", "apply", "-k", t.Root+"/manifests")
	_, _ = t.Kubectl.Run("", "apply", "-f", t.Root+"/manifests/components/in-place/rbac.yaml")
	_, _ = t.Kubectl.Run("", "-n", stage.OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
	t.Served(stage.OwnCRDs...)
}

// A Deployment goes and comes back under another name: what was learned goes on there, told by who asks, and by its own
// Recommendation; the old one goes.
func adopt(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Recommend"))
	t.Apply(t.NewDeployment("old", 2, stage.App()))
	t.RecIn("deployment-old", "Ready", stage.Soon)
	t.Command(1, "adopt", "deploy/old", "deploy/new", "-n", t.NS)
	t.Ctl("-n", t.NS, "delete", "deployment", "old")
	t.Apply(t.NewDeployment("new", 2, stage.App()))
	t.RecIn("deployment-new", "Ready", stage.Soon)
	t.Eventually("the old pods are gone", stage.Soon, func() error {
		if n := len(t.Pods("old")); n > 0 {
			return fmt.Errorf("%d are there", n)
		}
		return nil
	})
	t.CheckSays(t.Command(0, "adopt", "deploy/old", "deploy/new", "-n", t.NS), "deployment-new adopted deployment-old: 1 container")
	t.Eventually("the old recommendation goes", stage.Soon, func() error {
		if _, err := t.Rec("deployment-old"); kube.Code(err) != 404 {
			return fmt.Errorf("it is still there (%v)", err)
		}
		return nil
	})
	rec, err := t.Rec("deployment-new")
	t.Check(err)
	if !strings.HasPrefix(rec.Annotation("halflife.dev/adopted"), "deployment-old: ") || rec.Annotation("halflife.dev/adopt") != "" {
		t.Fatalf("its annotations are %s", rec.Object("metadata", "annotations"))
	}
}
