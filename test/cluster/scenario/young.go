package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
)

func init() {
	doored = append(doored, scenario{"first-kinds", firstKinds}, scenario{"too-young", tooYoung})
}

// full has one of each: an init container, a native sidecar, two containers.
func full() []box {
	return []box{
		{name: "setup", init: true, requests: M{"cpu": "500m", "memory": "64Mi"}, cpu: 137, memory: 150 * mi},
		{name: "proxy", sidecar: true, requests: M{"cpu": "200m", "memory": "128Mi"}, cpu: 25, memory: 40 * mi},
		app(usedCPU, usedMemory),
		{name: "log", requests: M{"cpu": "300m", "memory": "256Mi"}, cpu: 77, memory: 90 * mi},
	}
}

// at labels a workload, and its pods, for profilesAt.
func at(object M, label string) M {
	object["metadata"].(M)["labels"].(M)["at"] = label
	return object
}

// onDeploys makes the profiles at Pod and at Workload, and waits until the webhooks go by them.
func (t *T) onDeploys(change func(spec M)) {
	t.profilesAt(change)
	t.Eventually("the webhooks know both profiles", soon, func() error {
		for label, want := range map[string]string{"pod": "2", "workload": "1"} {
			probe := at(t.deployment("probe", 0, app(usedCPU, usedMemory)), label)
			made, err := t.Post(t.path("deployments", "")+"?dryRun=All", probe)
			if err == nil && request(made, "app", "cpu") != want {
				err = fmt.Errorf("at %s the template asks for %s", label, request(made, "app", "cpu"))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// asks is an error unless every pod of an app runs and asks for these amounts of CPU, by container.
func (t *T) asks(app string, pods int, cpu map[string]string) error {
	for name, want := range cpu {
		if err := t.podsAsk(app, name, "cpu", want, pods); err != nil {
			return err
		}
	}
	return nil
}

// comeWithAll waits until an app's pods run with these amounts of CPU, by container.
func (t *T) comeWithAll(what, app string, pods int, cpu map[string]string) {
	t.comeWith(what, app, cpu["app"], pods, func() error { return t.asks(app, pods, cpu) })
}

// Each kind, at Pod and at Workload: half of the CPU at first, what was learned once it is; an init container and memory are
// left alone, also where the profile has a factor for memory but does not ask for it. A bare pod is nobody's.
func firstKinds(t *T) {
	t.Namespace()
	t.onDeploys(func(M) {})
	greedy := onDeploy("Pod")
	greedy["priority"], greedy["selector"] = 20, M{"matchLabels": M{"at": "memory"}}
	t.ProfileNamed("e2e-first-kinds-memory", greedy)

	static := map[string]string{"app": "1", "proxy": "100m", "log": "150m", "setup": "500m"}
	learned := map[string]string{"setup": "500m"}
	for _, b := range full()[1:] {
		original := map[string]int64{"proxy": 200, "app": 2000, "log": 300}[b.name]
		learned[b.name] = model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(b.cpu), original))
	}
	all := map[string]M{}
	pods := map[string]int{"Deployment": 2, "StatefulSet": 2, "DaemonSet": 3}
	for kind, replicas := range pods {
		for _, label := range []string{"pod", "workload"} {
			name := lower(kind) + "-" + label
			all[name] = at(t.workload(kind, name, replicas, full()...), label)
			t.Apply(all[name])
		}
	}
	t.Apply(at(t.deployment("memory", 2, app(usedCPU, usedMemory)), "memory"))
	bare := M{"apiVersion": "v1", "kind": "Pod", "metadata": at(M{"metadata": t.meta("bare")}, "pod")["metadata"],
		"spec": template("bare", full()...)["spec"]}
	t.Apply(bare)
	for _, label := range []string{"pod", "workload"} {
		name := "cronjob-" + label
		t.Apply(at(M{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": t.meta(name), "spec": M{
			"schedule": "0 0 1 1 *", "jobTemplate": M{"spec": job(name, "30m", 1, full()...)}}}, label))
		t.Ctl("-n", t.NS, "create", "job", name+"-1", "--from=cronjob/"+name)
	}

	untouched := func(app string, n int) {
		for _, b := range full() {
			t.Check(t.podsAsk(app, b.name, "memory", b.requests["memory"].(string), n))
		}
	}
	for kind, replicas := range pods {
		for _, label := range []string{"pod", "workload"} {
			name := lower(kind) + "-" + label
			t.comeWithAll(name+" starts with half", name, replicas, static)
			untouched(name, replicas)
		}
	}
	for _, label := range []string{"pod", "workload"} {
		t.comeWithAll("the run of cronjob-"+label, "cronjob-"+label, 1, static)
		untouched("cronjob-"+label, 1)
	}
	t.comeWith("memory, where it is asked for", "memory", "1", 2, func() error { return t.podsAsk("memory", "app", "memory", "512Mi", 2) })
	t.Check(t.asks("bare", 1, map[string]string{"app": "2", "proxy": "200m", "log": "300m", "setup": "500m"}))
	inner := t.Workload("cronjobs", "cronjob-workload").Object("spec", "jobTemplate", "spec", "template")
	if got := podRequest(inner, "app", "cpu"); got != "1" {
		t.Fatalf("the CronJob's template at Workload asks for %s", got)
	}
	if notes := inner.Object("metadata", "annotations"); !strings.Contains(notes.Text(originals), `"2"`) {
		t.Fatalf("the CronJob's template at Workload remembers %s", notes)
	}

	for kind, replicas := range pods {
		for _, label := range []string{"pod", "workload"} {
			name := lower(kind) + "-" + label
			t.RecIn(name[:len(lower(kind))]+"-"+name, "Ready", soon)
			container(kube.Object(all[name]).Object("spec", "template", "spec"), "app")["image"] = "registry.invalid/app:2"
			t.onceToldAtAdmission(name, all[name], label, learned["app"])
			t.Apply(all[name])
			t.comeWithAll(name+" goes on with what was learned", name, replicas, learned)
			untouched(name, replicas)
		}
	}
	t.Notef("static %v, learned %v", static, learned)
}

// onceToldAtAdmission waits until the webhooks know what was published a moment ago.
func (t *T) onceToldAtAdmission(what string, object M, label, cpu string) {
	t.Eventually(what+": the webhooks know it", soon, func() error { return t.toldAtAdmission(object, label, cpu) })
}

// toldAtAdmission is an error unless a deploy of an object would get that CPU now: at Workload its template, at Pod a pod
// like those that it has.
func (t *T) toldAtAdmission(object M, label, cpu string) error {
	kind, name := object["kind"].(string), object["metadata"].(M)["name"].(string)
	spec := kube.Object(object).Object("spec", "template", "spec")
	if label == "workload" {
		made, err := t.Patch(t.path(plural(kind), name)+"?dryRun=All",
			L{M{"op": "replace", "path": "/spec/template/spec/containers", "value": spec["containers"]}})
		if err == nil && request(made, "app", "cpu") != cpu {
			err = fmt.Errorf("the template would ask for %s", request(made, "app", "cpu"))
		}
		return err
	}
	live := t.Pods(name)
	if len(live) == 0 {
		return fmt.Errorf("it has no pods")
	}
	probe := M{"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": M{"generateName": "probe-", "namespace": t.NS,
		"labels": live[0].At("metadata", "labels"), "ownerReferences": live[0].At("metadata", "ownerReferences")}}
	made, err := t.Post(t.path("pods", "")+"?dryRun=All", probe)
	if err == nil && podRequest(made, "app", "cpu") != cpu {
		err = fmt.Errorf("a pod would ask for %s", podRequest(made, "app", "cpu"))
	}
	return err
}

// Static before, dynamic after, static again where the profile wants more history than there is.
func tooYoung(t *T) {
	t.Namespace()
	young := func(minHistory string) {
		t.onDeploys(func(spec M) { spec["apply"].(M)["minHistory"] = minHistory })
	}
	learned := model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(usedCPU), 2000))
	young("0s")
	all := map[string]M{}
	for _, label := range []string{"pod", "workload"} {
		all[label] = at(t.deployment("at-"+label, 1, app(usedCPU, usedMemory)), label)
		t.Apply(all[label])
	}
	for i, step := range []struct{ what, state, cpu string }{
		{"before anything is known", "", "1"}, {"learned", "Ready", learned},
		{"too young again", "Learning", "1"}, {"old enough", "Ready", learned},
	} {
		switch step.state {
		case "Learning":
			young("1h")
		case "Ready":
			young("0s")
		}
		for label, object := range all {
			if step.state != "" {
				t.RecIn("deployment-at-"+label, step.state, soon)
				container(kube.Object(object).Object("spec", "template", "spec"), "app")["image"] = fmt.Sprintf("registry.invalid/app:%d", i+1)
				t.onceToldAtAdmission(step.what, object, label, step.cpu)
				t.Apply(object)
			}
			t.comeWith(step.what+" at "+label, "at-"+label, step.cpu, 1)
			t.Check(t.podsAsk("at-"+label, "app", "memory", "1Gi", 1))
		}
		t.Notef("%-26s %s", step.what, step.cpu)
	}
}
