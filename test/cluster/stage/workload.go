package stage

import (
	"fmt"

	"halflife.dev/cluster/model"
)

// Container is one container of a workload.
type Container struct {
	Name     string
	Requests M
	Limits   M
	CPU      int64 // used, in millicores
	Memory   int64 // used, in bytes
	Sidecar  bool  // a native one: an init container that goes on
	Init     bool  // one that runs to completion; it uses nothing
}

// Mi is 2 to the power of 20.
const Mi = 1 << 20

// App makes the usual container with the usual usage.
func App() Container { return AppUsing(UsedCPU, UsedMemory) }

// AppUsing makes the usual container with that usage: it requests two cores and 1Gi, and is limited to four and 2Gi.
func AppUsing(cpu, memory int64) Container {
	return Container{Name: "app", Requests: M{"cpu": "2", "memory": "1Gi"}, Limits: M{"cpu": "4", "memory": "2Gi"},
		CPU: cpu, Memory: memory}
}

// PodTemplate makes the pod template of an app. Usages must be such that the jitter of a scrape changes no bucket.
func PodTemplate(name string, list ...Container) M {
	notes := M{}
	var containers, init L
	for _, b := range list {
		c := M{"name": b.Name, "image": "registry.invalid/" + b.Name + ":1", "resources": resources(b)}
		switch {
		case b.Init:
			init = append(init, c)
			continue
		case b.Sidecar:
			c["restartPolicy"] = "Always"
			init = append(init, c)
		default:
			containers = append(containers, c)
		}
		if !model.CPU.Safe(b.CPU) || !model.Memory.Safe(b.Memory) {
			panic(failure{fmt.Sprintf("usage %dm, %d B is too near the edge of a bucket", b.CPU, b.Memory)})
		}
		notes["usage.halflife.dev/cpu."+b.Name] = model.CPU.Text(b.CPU)
		notes["usage.halflife.dev/memory."+b.Name] = model.Memory.Text(b.Memory)
	}
	spec := M{"containers": containers, "terminationGracePeriodSeconds": 0}
	if init != nil {
		spec["initContainers"] = init
	}
	return M{"metadata": M{"labels": M{"app": name}, "annotations": notes}, "spec": spec}
}

func resources(b Container) M {
	r := M{}
	if b.Requests != nil {
		r["requests"] = b.Requests
	}
	if b.Limits != nil {
		r["limits"] = b.Limits
	}
	return r
}

// NewWorkload makes an object of a kind that keeps pods running.
func (t *T) NewWorkload(kind, name string, replicas int, list ...Container) M {
	spec := M{"selector": M{"matchLabels": M{"app": name}}, "template": PodTemplate(name, list...)}
	if kind != "DaemonSet" {
		spec["replicas"] = replicas
	}
	if kind == "StatefulSet" {
		spec["serviceName"] = name
		spec["podManagementPolicy"] = "Parallel"
	}
	return M{"apiVersion": "apps/v1", "kind": kind, "metadata": t.Meta(name), "spec": spec}
}

// NewDeployment makes a Deployment.
func (t *T) NewDeployment(name string, replicas int, list ...Container) M {
	return t.NewWorkload("Deployment", name, replicas, list...)
}

// JobSpec makes the spec of a Job whose pods run that long.
func JobSpec(name, runsFor string, pods int, list ...Container) M {
	tmpl := PodTemplate(name, list...)
	tmpl["spec"].(M)["restartPolicy"] = "Never"
	tmpl["metadata"].(M)["annotations"].(M)["usage.halflife.dev/runs-for"] = runsFor
	return M{"parallelism": pods, "completions": pods, "template": tmpl}
}

// NewCronJob makes a CronJob of the usual container, whose schedule never comes.
func (t *T) NewCronJob(name string) M {
	return M{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": t.Meta(name), "spec": M{
		"schedule": "0 0 30 2 *", "jobTemplate": M{"spec": JobSpec(name, "10m", 1, App())}}}
}
