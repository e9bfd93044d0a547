package scenario

import (
	"fmt"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
)

// box is one container: what its owner asks for, and what it uses (millicores, bytes).
type box struct {
	name     string
	requests M
	limits   M
	cpu      int64
	memory   int64
	sidecar  bool // a native one: an init container that goes on
	init     bool // one that runs to completion; it uses nothing
}

const mi = 1 << 20

// app is the usual container: requests two cores and 1Gi, limits four and 2Gi.
func app(cpu, memory int64) box {
	return box{name: "app", requests: M{"cpu": "2", "memory": "1Gi"}, limits: M{"cpu": "4", "memory": "2Gi"},
		cpu: cpu, memory: memory}
}

// template is the pod template of an app. Usages must be such that a scrape's jitter changes no bucket.
func template(name string, boxes ...box) M {
	notes := M{}
	var containers, init L
	for _, b := range boxes {
		c := M{"name": b.name, "image": "registry.invalid/" + b.name + ":1", "resources": resources(b)}
		switch {
		case b.init:
			init = append(init, c)
			continue
		case b.sidecar:
			c["restartPolicy"] = "Always"
			init = append(init, c)
		default:
			containers = append(containers, c)
		}
		if !model.CPU.Safe(b.cpu) || !model.Memory.Safe(b.memory) {
			panic(failure{fmt.Sprintf("usage %dm, %d B is too near the edge of a bucket", b.cpu, b.memory)})
		}
		notes["usage.halflife.dev/cpu."+b.name] = model.CPU.Text(b.cpu)
		notes["usage.halflife.dev/memory."+b.name] = model.Memory.Text(b.memory)
	}
	spec := M{"containers": containers, "terminationGracePeriodSeconds": 0}
	if init != nil {
		spec["initContainers"] = init
	}
	return M{"metadata": M{"labels": M{"app": name}, "annotations": notes}, "spec": spec}
}

func resources(b box) M {
	r := M{}
	if b.requests != nil {
		r["requests"] = b.requests
	}
	if b.limits != nil {
		r["limits"] = b.limits
	}
	return r
}

// workload is an object of one of the kinds that keep pods running.
func (t *T) workload(kind, name string, replicas int, boxes ...box) M {
	spec := M{"selector": M{"matchLabels": M{"app": name}}, "template": template(name, boxes...)}
	if kind != "DaemonSet" {
		spec["replicas"] = replicas
	}
	if kind == "StatefulSet" {
		spec["serviceName"] = name
		spec["podManagementPolicy"] = "Parallel"
	}
	return M{"apiVersion": "apps/v1", "kind": kind, "metadata": t.meta(name), "spec": spec}
}

func (t *T) deployment(name string, replicas int, boxes ...box) M {
	return t.workload("Deployment", name, replicas, boxes...)
}

func (t *T) meta(name string) M {
	return M{"name": name, "namespace": t.NS, "labels": M{"app": name}}
}

// job is the spec of a Job whose pods run that long.
func job(name, runsFor string, pods int, boxes ...box) M {
	tmpl := template(name, boxes...)
	tmpl["spec"].(M)["restartPolicy"] = "Never"
	tmpl["metadata"].(M)["annotations"].(M)["usage.halflife.dev/runs-for"] = runsFor
	return M{"parallelism": pods, "completions": pods, "template": tmpl}
}

// plural of the kinds that are used here.
func plural(kind string) string {
	switch kind {
	case "ReplicaSet":
		return "replicasets"
	case "CronJob":
		return "cronjobs"
	case "Job":
		return "jobs"
	}
	return map[string]string{"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}[kind]
}

// container finds one in a pod spec, native sidecars included.
func container(podSpec kube.Object, name string) kube.Object {
	if c := podSpec.Named(name, "containers"); c != nil {
		return c
	}
	return podSpec.Named(name, "initContainers")
}

// request is what a container of a workload's template asks for now.
func request(workload kube.Object, name, resource string) string {
	return podRequest(workload.Object("spec", "template"), name, resource)
}

// podRequest is what a container of a pod, or of a template as it lies in an object, asks for.
func podRequest(pod kube.Object, name, resource string) string {
	return container(pod.Object("spec"), name).Text("resources", "requests", resource)
}

// podsAsk is an error unless all pods of an app run and ask for that.
func (t *T) podsAsk(app, name, resource, want string, pods int) error {
	list := t.Pods(app)
	if len(list) != pods {
		return fmt.Errorf("%d pods of %d", len(list), pods)
	}
	for _, p := range list {
		if got := podRequest(p, name, resource); got != want {
			return fmt.Errorf("pod %s asks for %s %s, not %s", p.Name(), resource, got, want)
		}
		if p.Text("status", "phase") != "Running" {
			return fmt.Errorf("pod %s is %s", p.Name(), p.Text("status", "phase"))
		}
	}
	return nil
}

// expected are the numbers of one container's resource under a constant usage.
type expected struct {
	original, model, target, lower, upper string
}

func expect(r model.Resource, p model.Policy, usage, original int64) expected {
	m := r.Model(usage)
	return expected{
		original: r.Text(original), model: r.Text(m), target: r.Text(p.Target(m, original)),
		lower: r.Text(r.Lower(usage)), upper: r.Text(r.Upper(usage)),
	}
}

// compare is an error that names the first number that is not as expected; original "" is absent.
func (e expected) compare(status kube.Object) error {
	for _, f := range []struct{ name, want string }{
		{"original", e.original}, {"model", e.model}, {"target", e.target}, {"lower", e.lower}, {"upper", e.upper},
	} {
		if got := status.Text(f.name); got != f.want {
			return fmt.Errorf("%s is '%s', not '%s' in %s", f.name, got, f.want, status)
		}
	}
	return nil
}

// quick is a profile whose recommendations are Ready with the first sample and whose changes wait for nothing.
func quick(mode string) M {
	return M{
		"resources": M{"memory": M{"enabled": true}},
		"apply": M{"mode": mode, "minHistory": "0s", "cooldown": "0s", "minChangePercent": 5, "minReplicas": 1,
			"maxDecreasePercent": 100, "budget": M{"workloads": 0, "coresPerHour": 0}},
	}
}
