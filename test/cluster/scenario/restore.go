package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
)

func init() {
	without = append(without, scenario{"restore-changed", restoreChanged}, scenario{"restore-full", restoreFull},
		scenario{"restore-quota", restoreQuota})
	shared = append(shared, scenario{"restore", restoreAll}, scenario{"adopt", adopt})
	doored = append(doored, scenario{"restore-doors", restoreDoors})
	alone = append(alone, scenario{"uninstall", uninstall})
}

// command runs halflife as the cluster's administrator does and gives what it said; it must end with that exit code.
func (t *T) command(want int, args ...string) string {
	cmd := exec.Command(t.Binary(), args...)
	cmd.Env = append(os.Environ(), "HALFLIFE_KUBECONFIG="+t.Plane.Kubeconfig)
	said, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Fatalf("halflife %s: exit %d, not %d (%v):\n%s", strings.Join(args, " "), got, want, err, said)
	}
	return string(said)
}

func (t *T) says(said string, parts ...string) {
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Fatalf("it does not say '%s':\n%s", part, said)
		}
	}
}

// spec of a workload, byte by byte.
func (t *T) spec(plural, name string) string { return t.Workload(plural, name).Object("spec").String() }

// carries says whether an object, or its template, still has annotations of halflife.
func carries(o kube.Object) bool {
	return strings.Contains(o.String(), originals) || strings.Contains(o.String(), applied)
}

// lower leaves a Deployment as halflife does, where none runs.
func (t *T) lower(name, cpu string) {
	notes := M{originals: `{"app":{"requests":{"cpu":"2","memory":"1Gi"},"limits":{"cpu":"4","memory":"2Gi"}}}`,
		applied: fmt.Sprintf(`{"app":{"requests":{"cpu":"%s"}}}`, cpu), "halflife.dev/utilization-basis": "request"}
	ops := L{M{"op": "replace", "path": "/spec/template/spec/containers/0/resources/requests/cpu", "value": cpu}}
	for key, note := range notes {
		key = strings.ReplaceAll(key, "/", "~1")
		ops = append(ops, M{"op": "add", "path": "/metadata/annotations/" + key, "value": note},
			M{"op": "add", "path": "/spec/template/metadata/annotations/" + key, "value": note})
	}
	_, err := t.Patch(t.path("deployments", name)+"?fieldManager=halflife", ops)
	t.Check(err)
	_, err = t.Post(t.path("recommendations", ""), M{"apiVersion": "halflife.dev/v1alpha1", "kind": "Recommendation",
		"metadata": M{"name": "deployment-" + name, "namespace": t.NS, "labels": M{"app": name}}, "spec": M{
			"targetRef":  M{"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
			"profileRef": M{"kind": "ClusterProfile", "name": "gone"}, "dimension": "Workload"}})
	t.Check(err)
	t.Eventually(name+" runs lowered", soon, func() error { return t.podsAsk(name, "app", "cpu", cpu, 2) })
}

// The controller runs, everything is restored: each spec is to the byte as it was before halflife, and stays so while it
// is held; resumed, it is lowered again.
func restoreAll(t *T) {
	t.Namespace()
	objects := map[string]string{"deployments": "web", "statefulsets": "db", "daemonsets": "agent", "cronjobs": "nightly"}
	before := map[string]string{}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		t.Apply(t.workload(kind, objects[plural(kind)], 3, app(usedCPU, usedMemory)))
	}
	t.Apply(cron(t, "nightly"))
	for plural, name := range objects {
		before[plural] = t.spec(plural, name)
	}
	t.Profile(quick("Rollout"))
	cpu, _ := targets(usedCPU, usedMemory)
	for _, name := range []string{"web", "db", "agent"} {
		t.Eventually(name+" is lowered", soon, func() error { return t.podsAsk(name, "app", "cpu", cpu, 3) })
	}
	said := t.command(0, "restore", "-n", t.NS, "--timeout", "5m")
	t.says(said, "deployment/web restored: app cpu "+cpu+" -> 2", "statefulset/db restored", "daemonset/agent restored")
	back := func() {
		for plural, name := range objects {
			if now := t.spec(plural, name); now != before[plural] {
				t.Fatalf("%s %s was\n%s\nand is\n%s", plural, name, before[plural], now)
			}
		}
	}
	back()
	t.RecIn("deployment-web", "Held", soon)
	t.Cycles(t.halflife, 1)
	back()
	t.says(t.command(0, "restore", "-n", t.NS), "0 restored, 0 left, 0 failed, 0 not begun")
	t.says(t.command(0, "resume", "deploy/web", "-n", t.NS), "deployment-web resumed (it was held: halflife restore)")
	t.Eventually("resumed, it is lowered again", soon, func() error { return t.podsAsk("web", "app", "cpu", cpu, 3) })
	t.Check(t.podsAsk("db", "app", "cpu", "2", 3))
}

// The controller is gone, and half of the objects were changed by others: what they changed stands, the rest is back.
func restoreChanged(t *T) {
	t.Namespace()
	before := map[string]string{}
	names := []string{"alone", "scaled", "image", "request", "deleted", "paused"}
	for _, name := range names {
		t.Apply(t.deployment(name, 2, app(usedCPU, usedMemory)))
		before[name] = t.spec("deployments", name)
		t.lower(name, "454m")
	}
	ctl := func(args ...string) { t.Ctl(append([]string{"-n", t.NS}, args...)...) }
	ctl("scale", "deployment/scaled", "--replicas=3")
	ctl("set", "image", "deployment/image", "app=registry.invalid/app:2")
	ctl("set", "resources", "deployment/request", "-c", "app", "--requests=cpu=700m")
	ctl("delete", "deployment", "deleted")
	ctl("rollout", "pause", "deployment/paused")
	said := t.command(0, "restore", "--all", "-l", "app in ("+strings.Join(names, ",")+")", "--timeout", "5m")
	t.says(said, "deployment/alone restored: app cpu 454m -> 2", "deployment/scaled restored", "deployment/image restored",
		"deployment/request left; left: app cpu is 700m, not the 454m that halflife set: its owner's value stands",
		"deployment/paused restored: app cpu 454m -> 2;", "left: its rollout is paused")
	if now := t.spec("deployments", "alone"); now != before["alone"] {
		t.Fatalf("alone was\n%s\nand is\n%s", before["alone"], now)
	}
	for name, want := range map[string]string{"scaled": "2", "image": "2", "request": "700m", "paused": "2"} {
		if got := request(t.Workload("deployments", name), "app", "cpu"); got != want {
			t.Fatalf("%s asks for %s, not %s", name, got, want)
		}
	}
	ctl("rollout", "resume", "deployment/paused")
	t.Eventually("what was paused follows", soon, func() error { return t.podsAsk("paused", "app", "cpu", "2", 2) })
}

// A cluster that has no room for the restored pods: the first workload's stay Pending while its old ones serve, the next
// is not begun; with room the same command ends it.
func restoreFull(t *T) {
	t.Namespace()
	room := func(cpu string) M { return M{"cpu": cpu, "memory": "64Gi", "ephemeral-storage": "64Gi", "pods": "100"} }
	const node = "/api/v1/nodes/e2e-restore-full"
	taint := M{"key": "e2e", "value": t.Name, "effect": "NoSchedule"}
	_, err := t.Post("/api/v1/nodes", M{"apiVersion": "v1", "kind": "Node", "metadata": M{"name": "e2e-restore-full",
		"labels": M{"e2e": t.Name}, "annotations": M{"kwok.x-k8s.io/node": "fake"}}, "spec": M{"taints": L{taint}},
		"status": M{"capacity": room("64"), "allocatable": room("64")}})
	t.Check(err)
	defer func() { _ = t.Delete(node) }()
	t.Eventually("the small node is ready", soon, func() error {
		n, err := t.Get(node)
		if err != nil || n.Condition("Ready").Text("status") != "True" || len(n.List("spec", "taints")) > 1 {
			return fmt.Errorf("not yet (%v)", err)
		}
		return nil
	})
	before := map[string]string{}
	for _, name := range []string{"a", "b"} {
		o := t.deployment(name, 2, app(usedCPU, usedMemory))
		pod := o["spec"].(M)["template"].(M)["spec"].(M)
		pod["nodeSelector"] = M{"e2e": t.Name}
		pod["tolerations"] = L{M{"key": "e2e", "operator": "Exists"}}
		t.Apply(o)
		before[name] = t.spec("deployments", name)
		t.lower(name, "500m")
	}
	resize := func(cpu string) {
		_, err := t.Merge(node+"/status", M{"status": M{"capacity": room(cpu), "allocatable": room(cpu)}})
		t.Check(err)
	}
	resize("2500m")
	said := t.command(1, "restore", "-n", t.NS, "--budget", "1", "--timeout", "5s")
	t.says(said, "deployment/a failed: stands still for 5 s", "stay Pending", "Insufficient cpu",
		"1 failed, 1 not begun", "the same command again goes on from here")
	if got := request(t.Workload("deployments", "b"), "app", "cpu"); got != "500m" {
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
	t.command(0, "restore", "-n", t.NS, "--budget", "1", "--timeout", "5m")
	for _, name := range []string{"a", "b"} {
		if now := t.spec("deployments", name); now != before[name] {
			t.Fatalf("%s was\n%s\nand is\n%s", name, before[name], now)
		}
		t.Check(t.podsAsk(name, "app", "cpu", "2", 2))
	}
}

// A quota that refuses the restored pods: the reason is told in the server's own words, the old ones serve, and with the
// quota raised the same command ends it.
func restoreQuota(t *T) {
	t.Namespace()
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	before := t.spec("deployments", "web")
	t.lower("web", "500m")
	quota := func(cpu string) {
		t.Apply(M{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": t.meta("small"),
			"spec": M{"hard": M{"requests.cpu": cpu}}})
	}
	quota("2")
	t.Eventually("the quota counts", soon, func() error {
		q, err := t.Get("/api/v1/namespaces/" + t.NS + "/resourcequotas/small")
		if err != nil || q.Text("status", "used", "requests.cpu") != "1" {
			return fmt.Errorf("used is '%s' (%v)", q.Text("status", "used", "requests.cpu"), err)
		}
		return nil
	})
	said := t.command(1, "restore", "deploy/web", "-n", t.NS, "--timeout", "5s")
	t.says(said, "deployment/web failed: stands still for 5 s", "exceeded quota: small", "1 failed")
	t.Eventually("the old pods serve", soon, func() error { return t.podsAsk("web", "app", "cpu", "500m", 2) })
	quota("20")
	t.command(0, "restore", "deploy/web", "-n", t.NS, "--timeout", "5m")
	if now := t.spec("deployments", "web"); now != before {
		t.Fatalf("it was\n%s\nand is\n%s", before, now)
	}
	t.Check(t.podsAsk("web", "app", "cpu", "2", 2))
}

// unresizable makes a pod's node an old one, that resizes none: its kubelet does not tell what its containers have. Gives
// the pod's name.
func (t *T) unresizable(pod kube.Object) string {
	var statuses L
	for _, s := range pod.List("status", "containerStatuses") {
		delete(s, "resources")
		statuses = append(statuses, s)
	}
	_, err := t.Merge(t.path("pods", pod.Name())+"/status", M{"status": M{"containerStatuses": statuses}})
	t.Check(err)
	return pod.Name()
}

// Behind the doors: what admission lowered as it was written, or in its pods alone, is taken back while the API server
// asks admission of each write; a pod is resized where its node does that,
// else told, and rolled when asked to.
func restoreDoors(t *T) {
	t.Namespace()
	profile := quick("OnDeploy")
	profile["apply"].(M)["at"] = "Workload"
	profile["selector"] = M{"matchLabels": M{"app": "template"}}
	t.ProfileNamed("e2e-restore-doors-template", profile)
	pods := quick("OnDeploy")
	pods["selector"] = M{"matchLabels": M{"app": "pods"}}
	t.ProfileNamed("e2e-restore-doors-pods", pods)
	cpu, _ := targets(usedCPU, usedMemory)
	for _, name := range []string{"template", "pods"} {
		o := t.deployment(name, 2, app(usedCPU, usedMemory))
		t.Apply(o)
		t.RecIn("deployment-"+name, "Ready", soon)
		t.Eventually(name+" is lowered at its next deploy", soon, func() error {
			err := t.podsAsk(name, "app", "cpu", cpu, 2)
			if err != nil && t.podsAsk(name, "app", "cpu", "2", 2) == nil {
				t.Ctl("-n", t.NS, "set", "env", "deployment/"+name, fmt.Sprintf("TRY=%d", time.Now().UnixNano()))
			} else if err != nil {
				t.remake(name, cpu)
			}
			return err
		})
	}
	two := t.Pods("pods")
	resizable, old := two[0].Name(), t.unresizable(two[1])
	said := t.command(0, "restore", "-n", t.NS, "--timeout", "5m")
	t.says(said, "deployment/template restored: app cpu "+cpu+" -> 2", "pod '"+resizable+"' app cpu "+cpu+" -> 2",
		"; left: pod '"+old+"' runs on with it")
	pod, err := t.Get(t.path("pods", resizable))
	t.Check(err)
	if got := podRequest(pod, "app", "cpu"); got != "2" || carries(pod) {
		t.Fatalf("the pod that was resized asks for %s: %s", got, pod)
	}
	w := t.Workload("deployments", "template")
	if got := request(w, "app", "cpu"); got != "2" || carries(w) {
		t.Fatalf("the template asks for %s: %s", got, w)
	}
	t.Ctl("-n", t.NS, "label", "deployment", "template", "touched=yes")
	t.Check(t.podsAsk("template", "app", "cpu", "2", 2))
	t.says(t.command(0, "restore", "-n", t.NS, "--restart", "--timeout", "5m"), "deployment/pods restored: restarted")
	t.Check(t.podsAsk("pods", "app", "cpu", "2", 2))
	for _, pod := range t.Pods("pods") {
		if carries(pod) {
			t.Fatalf("it still carries annotations of halflife: %s", pod)
		}
	}
}

// Everything restored and everything deleted: the workload is as before halflife, and no object of it is left anywhere,
// so that deploys go on as if it had never been there.
func uninstall(t *T) {
	t.Namespace()
	t.Ctl("apply", "-k", t.Root+"/manifests/overlays/in-place")
	t.Ctl("-n", ownNamespace, "scale", "deployment", "halflife", "halflife-serve", "--replicas=0")
	h := t.own()
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	before := t.spec("deployments", "web")
	t.Profile(quick("Rollout"))
	cpu, _ := targets(usedCPU, usedMemory)
	t.Eventually("it is lowered", soon, func() error { return t.podsAsk("web", "app", "cpu", cpu, 2) })
	t.command(0, "restore", "--all", "--timeout", "5m")
	if now := t.spec("deployments", "web"); now != before {
		t.Fatalf("it was\n%s\nand is\n%s", before, now)
	}
	h.Stop()
	t.halflife = nil
	defer t.reinstall()
	t.Ctl("delete", "-k", t.Root+"/manifests/overlays/in-place", "--ignore-not-found", "--timeout=300s")
	for _, kinds := range []string{"crds", "clusterroles,clusterrolebindings", "roles,rolebindings,serviceaccounts -A",
		"mutatingwebhookconfigurations,validatingwebhookconfigurations", "namespaces", "apiservices", "secrets,configmaps,leases -A"} {
		args := append([]string{"get", "-o", "name"}, strings.Fields(kinds)...)
		for _, line := range strings.Fields(t.Ctl(args...)) {
			if strings.Contains(line, "halflife") {
				t.Fatalf("%s is left", line)
			}
		}
	}
	w := t.Workload("deployments", "web")
	if carries(w) {
		t.Fatalf("it still speaks of halflife: %s", w)
	}
	t.Ctl("-n", t.NS, "rollout", "restart", "deployment/web")
	t.Eventually("deploys go on", soon, func() error { return t.podsAsk("web", "app", "cpu", "2", 2) })
	t.says(t.command(0, "restore", "--all"), "halflife's kinds are not installed")
}

// reinstall leaves things as NewWorld did, for those who come after.
func (t *T) reinstall() {
	_, _ = t.ctl.Run("", "apply", "-k", t.Root+"/manifests")
	_, _ = t.ctl.Run("", "apply", "-f", t.Root+"/manifests/components/in-place/rbac.yaml")
	_, _ = t.ctl.Run("", "-n", ownNamespace, "scale", "deployment", "halflife", "--replicas=0")
	_, _ = t.ctl.Run("", "wait", "--for=condition=Established", "--timeout=300s", "crd",
		"clusterprofiles.halflife.dev", "profiles.halflife.dev", "recommendations.halflife.dev")
}

// A Deployment goes and comes back under another name: what was learned goes on there, told by who asks, and by its own
// Recommendation; the old one goes.
func adopt(t *T) {
	t.Namespace()
	t.Profile(quick("Recommend"))
	t.Apply(t.deployment("old", 2, app(usedCPU, usedMemory)))
	t.RecIn("deployment-old", "Ready", soon)
	t.command(1, "adopt", "deploy/old", "deploy/new", "-n", t.NS)
	t.Ctl("-n", t.NS, "delete", "deployment", "old")
	t.Apply(t.deployment("new", 2, app(usedCPU, usedMemory)))
	t.RecIn("deployment-new", "Ready", soon)
	t.Eventually("the old pods are gone", soon, func() error {
		if n := len(t.Pods("old")); n > 0 {
			return fmt.Errorf("%d are there", n)
		}
		return nil
	})
	t.says(t.command(0, "adopt", "deploy/old", "deploy/new", "-n", t.NS), "deployment-new adopted deployment-old: 1 containers")
	t.Eventually("the old recommendation goes", soon, func() error {
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
