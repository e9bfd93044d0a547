package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// selfImage is what `make image` makes, by a name that no registry has.
const selfImage = "halflife.test/halflife:e2e"

// What differs from the manifests: the image, which no registry has, and intervals that a test can wait for.
const selfKustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [%s]
images:
- {name: halflife, newName: halflife.test/halflife, newTag: e2e}
patches:
- patch: |
    - {op: add, path: /spec/template/spec/containers/0/env, value: [
        {name: HALFLIFE_INTERVAL, value: 10s}, {name: HALFLIFE_STATUS_INTERVAL, value: 10s}, {name: HALFLIFE_CHECKPOINT_INTERVAL, value: 10s}]}
  target: {kind: Deployment, name: halflife}
`

// selfVolume gives halflife's claim what a storage driver would: a folder that belongs to its group.
func selfVolume(t *stage.T) {
	dir := filepath.Join(t.Dir, "volume")
	t.Check(os.MkdirAll(dir, 0o770))
	t.Check(os.Chown(dir, 65532, 65532))
	t.Apply(M{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": M{"name": "halflife"}, "spec": M{
		"capacity": M{"storage": "1Gi"}, "accessModes": L{"ReadWriteOnce"}, "hostPath": M{"path": dir}}})
}

// loadSelf makes halflife's image known to the node: of this architecture alone, or the index that a release has.
func loadSelf(t *stage.T, args ...string) {
	cmd := exec.Command(filepath.Join(t.Root, "deploy", "image"), args...)
	cmd.Env = append(os.Environ(), "IMAGE="+selfImage, "SOURCE_DATE_EPOCH=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Check(t.Node.Import(filepath.Join(t.Dir, "halflife.tar")))
}

// installSelf applies the manifests as a person does, with an overlay of his own.
func installSelf(t *stage.T) {
	loadSelf(t, "archive", t.Binary(), t.Dir)
	selfVolume(t)
	overlay := filepath.Join(t.Dir, "overlay")
	t.Check(os.MkdirAll(overlay, 0o755))
	base, err := filepath.Rel(overlay, filepath.Join(t.Root, "manifests"))
	t.Check(err)
	t.Check(os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), fmt.Appendf(nil, selfKustomization, base), 0o644))
	t.Ctl("apply", "-k", overlay)
}

// selfPod waits until halflife is ready by its own probes.
func selfPod(t *stage.T) kube.Object {
	var pod kube.Object
	path := "/api/v1/namespaces/" + stage.OwnNamespace + "/pods?labelSelector=app.kubernetes.io%2Fcomponent%3Dcontroller"
	t.Eventually("halflife is ready", stage.Soon, func() error {
		list, err := t.Get(path)
		if err != nil {
			return err
		}
		items := list.List("items")
		if len(items) != 1 {
			return fmt.Errorf("%d pods of halflife", len(items))
		}
		pod = items[0]
		if pod.Condition("Ready").Text("status") != "True" {
			return fmt.Errorf("pod %s: %v", pod.Name(), pod.At("status", "containerStatuses"))
		}
		return nil
	})
	return pod
}

// Installed by its manifests, halflife runs as they say, under its own account in a restricted namespace, finds the API
// server by the Service, learns what runs beside it, and resizes it. A successor goes on with what it knew.
func nodeSelf(t *stage.T) {
	t.Namespace()
	installSelf(t)
	pod := selfPod(t)
	confined(t, pod)
	t.Profile(stage.QuickProfile("InPlace"))
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.IdleBurner))
	before := t.WaitOnePod("web")
	t.WaitLowered("web", "250m", 1)
	t.CheckGoesOn("web", before)
	used := selfUsage(t, pod.Name())
	t.Notef("as a pod it uses %.4f cores and %.1f Mi; its manifest asks for 50m and 64Mi", used.CPU, used.Memory/stage.Mi)
	if used.Memory > 64*stage.Mi {
		t.Fatalf("it uses %.1f Mi, more than its manifest asks for", used.Memory/stage.Mi)
	}
	if got := pod.Named("halflife", "status", "containerStatuses").Int("restartCount"); got != 0 {
		t.Fatalf("it restarted %d times", got)
	}
	rec := t.RecIn("deployment-web", "Ready", stage.Soon)
	checkPlugin(t)
	model := rec.Named("app", "status", "containers").Text("memory", "model")
	t.Check(t.Delete("/api/v1/namespaces/" + stage.OwnNamespace + "/pods/" + pod.Name()))
	t.Eventually("a successor takes over", stage.Soon, func() error {
		if now := selfPod(t); now.UID() == pod.UID() {
			return fmt.Errorf("it is still the old one")
		}
		return nil
	})
	box := t.RecIn("deployment-web", "Ready", stage.Soon).Named("app", "status", "containers")
	if got := box.Text("memory", "model"); got != model {
		t.Fatalf("the model was %s and is %s", model, got)
	}
}

// checkPlugin runs the plug-in without a program halflife on the machine: it runs the one in the pod, which has its
// rights and reads its database.
func checkPlugin(t *stage.T) {
	plugin := func(args ...string) (string, error) {
		cmd := exec.Command(filepath.Join(t.Root, "deploy", "krew", "kubectl-halflife"), args...)
		cmd.Env = []string{"PATH=" + filepath.Dir(t.Kubectl.Path), "KUBECONFIG=" + t.Plane.Kubeconfig, "HOME=" + t.Kubectl.Home}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, row := range []struct {
		args []string
		says string
	}{
		{[]string{"version"}, "halflife "},
		{[]string{"get", "-n", t.NS, "deploy/web"}, "web"},
		{[]string{"explain", "-n", t.NS, "deploy/web", "--ascii"}, "target"},
		{[]string{"export", "-n", t.NS}, "web"},
		{[]string{"restore", "-n", t.NS, "deploy/web", "--dry-run"}, "web"},
	} {
		out, err := plugin(row.args...)
		if err != nil || !strings.Contains(out, row.says) {
			t.Fatalf("kubectl halflife %s: %v: %s", strings.Join(row.args, " "), err, out)
		}
	}
	if out, err := plugin("explain", "-n", t.NS, "deploy/absent"); err == nil {
		t.Fatalf("it explains a workload that is not there: %s", out)
	}
}

// confined checks by the kernel's word that halflife's process is what its security context says.
func confined(t *stage.T, pod kube.Object) {
	id := pod.Named("halflife", "status", "containerStatuses").Text("containerID")
	processes, err := t.Node.Slot().Cgroup("memory", id, "cgroup.procs")
	t.Check(err)
	if len(strings.Fields(processes)) != 1 {
		t.Fatalf("its container has processes '%s'", processes)
	}
	status, err := os.ReadFile(filepath.Join("/proc", processes, "status"))
	t.Check(err)
	is := map[string]string{}
	for _, line := range strings.Split(string(status), "\n") {
		name, value, _ := strings.Cut(line, ":")
		is[name] = strings.Join(strings.Fields(value), " ")
	}
	for name, want := range map[string]string{"Uid": "65532 65532 65532 65532", "Gid": "65532 65532 65532 65532",
		"CapEff": "0000000000000000", "CapBnd": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"} {
		if is[name] != want {
			t.Fatalf("%s of its process is '%s', not '%s'", name, is[name], want)
		}
	}
	mounts, err := os.ReadFile(filepath.Join("/proc", processes, "mounts"))
	t.Check(err)
	if !strings.HasPrefix(string(mounts), "overlay / overlay ro,") {
		t.Fatalf("its root is not read-only:\n%s", mounts)
	}
}

// selfUsage is what metrics-server tells of halflife's own pod.
func selfUsage(t *stage.T, pod string) stage.Sample {
	var s stage.Sample
	t.Eventually("halflife is measured", stage.Soon, func() error {
		m, err := t.Get("/apis/metrics.k8s.io/v1beta1/namespaces/" + stage.OwnNamespace + "/pods/" + pod)
		if err != nil {
			return err
		}
		usage := m.Named("halflife", "containers").Object("usage")
		s = stage.Sample{CPU: stage.Amount(usage.Text("cpu")), Memory: stage.Amount(usage.Text("memory"))}
		if s.Memory == 0 {
			return fmt.Errorf("usage %s", usage)
		}
		return nil
	})
	return s
}
