package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/node"
)

func init() {
	ownNode = append(ownNode, scenario{"node-self", nodeSelf})
}

// selfImage is the release build with its libraries; it is as large as they are, so the archive is the run's.
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

// volume gives halflife's claim what a storage driver would: a folder that belongs to its group.
func (t *T) volume() {
	dir := filepath.Join(t.Dir, "volume")
	t.Check(os.MkdirAll(dir, 0o770))
	t.Check(os.Chown(dir, 65532, 65532))
	t.Apply(M{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": M{"name": "halflife"}, "spec": M{
		"capacity": M{"storage": "1Gi"}, "accessModes": L{"ReadWriteOnce"}, "hostPath": M{"path": dir}}})
}

// installSelf applies the manifests as a person does, with an overlay of his own.
func (t *T) installSelf() {
	archive := filepath.Join(t.Dir, "halflife.tar")
	t.Check(node.WriteImages(archive, t.Binary(), "/usr/bin/halflife", map[string][]string{selfImage: {"/usr/bin/halflife"}}))
	t.Check(t.Node.Import(archive))
	t.volume()
	overlay := filepath.Join(t.Dir, "overlay")
	t.Check(os.MkdirAll(overlay, 0o755))
	base, err := filepath.Rel(overlay, filepath.Join(t.Root, "manifests"))
	t.Check(err)
	t.Check(os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), fmt.Appendf(nil, selfKustomization, base), 0o644))
	t.Ctl("apply", "-k", overlay)
}

// selfPod waits until halflife is ready by its own probes.
func (t *T) selfPod() kube.Object {
	var pod kube.Object
	path := "/api/v1/namespaces/" + ownNamespace + "/pods?labelSelector=app.kubernetes.io%2Fcomponent%3Dcontroller"
	t.Eventually("halflife is ready", soon, func() error {
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
func nodeSelf(t *T) {
	t.Namespace()
	t.installSelf()
	pod := t.selfPod()
	t.confined(pod)
	t.Profile(quick("InPlace"))
	t.Apply(t.burning("Deployment", "web", 1, idler))
	before := t.oneRuns("web")
	t.lowered("web", "250m", 1)
	t.goesOn("web", before)
	used := t.selfUsage(pod.Name())
	t.Notef("as a pod it uses %.4f cores and %.1f Mi; its manifest asks for 50m and 64Mi", used.cpu, used.memory/mi)
	if used.memory > 64*mi {
		t.Fatalf("it uses %.1f Mi, more than its manifest asks for", used.memory/mi)
	}
	if got := pod.Named("halflife", "status", "containerStatuses").Int("restartCount"); got != 0 {
		t.Fatalf("it restarted %d times", got)
	}
	rec := t.RecIn("deployment-web", "Ready", soon)
	model := rec.Named("app", "status", "containers").Text("memory", "model")
	t.Check(t.Delete("/api/v1/namespaces/" + ownNamespace + "/pods/" + pod.Name()))
	t.Eventually("a successor takes over", soon, func() error {
		if now := t.selfPod(); now.UID() == pod.UID() {
			return fmt.Errorf("it is still the old one")
		}
		return nil
	})
	if got := t.RecIn("deployment-web", "Ready", soon).Named("app", "status", "containers").Text("memory", "model"); got != model {
		t.Fatalf("the model was %s and is %s", model, got)
	}
}

// confined checks by the kernel's word that halflife's process is what its security context says.
func (t *T) confined(pod kube.Object) {
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
func (t *T) selfUsage(pod string) sample {
	var s sample
	t.Eventually("halflife is measured", soon, func() error {
		m, err := t.Get("/apis/metrics.k8s.io/v1beta1/namespaces/" + ownNamespace + "/pods/" + pod)
		if err != nil {
			return err
		}
		usage := m.Named("halflife", "containers").Object("usage")
		s = sample{amount(usage.Text("cpu")), amount(usage.Text("memory"))}
		if s.memory == 0 {
			return fmt.Errorf("usage %s", usage)
		}
		return nil
	})
	return s
}
