package scenario

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	core "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/v1/resource"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// ways to apply, in each of which containers that read requests must read what their owner wrote.
var readWays = []struct {
	name    string
	profile M
	deploy  func(t *stage.T, manifest M)
}{
	{"pod", stage.OnDeployProfile("Pod"), applied},
	{"workload", stage.OnDeployProfile("Workload"), applied},
	{"rollout", stage.QuickProfile("Rollout"), applied},
	{"in-place", stage.QuickProfile("InPlace"), applied},
	{"render", stage.OnDeployProfile("Workload"), renderedAndApplied},
}

func applied(t *stage.T, manifest M) { t.Apply(manifest) }

// renderedAndApplied deploys as a pipeline does that renders by the program.
func renderedAndApplied(t *stage.T, manifest M) {
	path := filepath.Join(t.Dir, "web.json")
	t.Check(os.WriteFile(path, []byte(kube.Object(manifest).String()), 0o600))
	ran := t.Program([]string{"KUBECONFIG=" + t.Plane.Kubeconfig}, "", "render", "-f", path, "-n", t.NS)
	t.CtlIn(t.MustSucceed(ran), "apply", "-f", "-")
}

// reading lists what containers of a pod read of requests, by Kubernetes' own code.
func reading(t *stage.T, spec kube.Object) map[string]string {
	pod := &core.Pod{}
	t.Check(json.Unmarshal([]byte(spec.String()), &pod.Spec))
	read := map[string]string{}
	note := func(what string, ref *core.ResourceFieldSelector, own string) {
		if ref == nil {
			return
		}
		if ref.ContainerName != "" {
			own = ref.ContainerName
		}
		value, err := resource.ExtractResourceValueByContainerName(ref, pod, own)
		t.Check(err)
		read[what] = value
	}
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		for _, v := range c.Env {
			if v.ValueFrom != nil {
				note(c.Name+" "+v.Name, v.ValueFrom.ResourceFieldRef, c.Name)
			}
		}
	}
	for _, v := range pod.Spec.Volumes {
		if v.DownwardAPI != nil {
			for _, f := range v.DownwardAPI.Items {
				note(v.Name+" "+f.Path, f.ResourceFieldRef, "")
			}
		}
	}
	return read
}

func readField(resource, divisor, container string) M {
	ref := M{"resource": resource, "divisor": divisor}
	if container != "" {
		ref["containerName"] = container
	}
	return M{"resourceFieldRef": ref}
}

// readers makes a Deployment of two containers; of the first, a variable of each and a file read the requests.
func readers(t *stage.T) M {
	side := stage.AppUsing(stage.UsedCPU, stage.UsedMemory)
	side.Name = "side"
	manifest := t.NewDeployment("web", 2, stage.App(), side)
	spec := kube.Object(manifest).Object("spec", "template", "spec")
	stage.FindContainer(spec, "app")["env"] = L{M{"name": "CPUS", "valueFrom": readField("requests.cpu", "1m", "")}}
	stage.FindContainer(spec, "side")["env"] = L{M{"name": "OF_APP", "valueFrom": readField("requests.cpu", "1m", "app")}}
	file := readField("requests.memory", "1Mi", "app")
	file["path"] = "memory"
	spec["volumes"] = L{M{"name": "info", "downwardAPI": M{"items": L{file}}}}
	return manifest
}

// readByContainer deploys, learns and deploys again: the neighbour is lowered, and whatever is read stays bit by bit.
func readByContainer(t *stage.T, way string) {
	t.Namespace()
	for _, w := range readWays {
		if w.name != way {
			continue
		}
		t.Profile(w.profile)
		manifest := readers(t)
		want := reading(t, kube.Object(manifest).Object("spec", "template", "spec"))
		if len(want) != 3 || want["app CPUS"] != "2000" || want["info memory"] != "1024" {
			t.Fatalf("the owner's containers read %v", want)
		}
		w.deploy(t, manifest)
		t.RecIn("deployment-web", "Ready", stage.Soon)
		kube.Object(manifest).Object("spec", "template", "metadata", "labels")["e2e"] = "again"
		w.deploy(t, manifest)
		cpu, memory := stage.Targets()
		t.Eventually("the neighbour is lowered", stage.Soon, func() error {
			if err := t.PodsAsk("web", "side", "cpu", cpu, 2); err != nil {
				return err
			}
			return t.PodsAsk("web", "side", "memory", memory, 2)
		})
		rec := t.RecWhen("deployment-web", "the reader is named", stage.Soon, func(r kube.Object) error {
			return stage.CheckCondition(r, "RequestRead", "True", "of container 'app'")
		})
		for _, r := range []string{"cpu", "memory"} {
			if got := rec.Named("app", "status", "containers").Text(r, "reason"); got != "ReadByContainer" {
				t.Fatalf("reason of %s is '%s', not ReadByContainer", r, got)
			}
		}
		t.Cycles(t.Learner, 2)
		for _, p := range t.Pods("web") {
			if got := reading(t, p.Object("spec")); !maps.Equal(got, want) {
				t.Fatalf("containers of pod %s read %v, not %v", p.Name(), got, want)
			}
		}
	}
}

// readByContainerLater begins to read what halflife has lowered: the owner's requests come back.
func readByContainerLater(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Rollout"))
	manifest := readers(t)
	spec := kube.Object(manifest).Object("spec", "template", "spec")
	for _, name := range []string{"app", "side"} {
		stage.FindContainer(spec, name)["env"] = L{}
	}
	delete(spec, "volumes")
	t.Apply(manifest)
	cpu, _ := stage.Targets()
	t.Eventually("it is lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	_, err := t.Patch(t.Path("deployments", "web"), L{M{"op": "add", "path": "/spec/template/spec/containers/0/env",
		"value": L{M{"name": "CPUS", "valueFrom": readField("requests.cpu", "1m", "")}}}})
	t.Check(err)
	t.Eventually("the owner's request is back", stage.Soon, func() error {
		for _, p := range t.Pods("web") {
			if got := reading(t, p.Object("spec"))["app CPUS"]; got != "2000" {
				return fmt.Errorf("pod %s reads %s", p.Name(), got)
			}
		}
		return t.PodsAsk("web", "app", "cpu", "2", 2)
	})
	t.WaitHeld("deployment-web", "ReadByContainer", "condition RequestRead names")
}
