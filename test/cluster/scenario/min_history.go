package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// full has one of each: an init container, a native sidecar, two containers.
func full() []stage.Container {
	return []stage.Container{
		{Name: "setup", Init: true, Requests: M{"cpu": "500m", "memory": "64Mi"}, CPU: 137, Memory: 150 * stage.Mi},
		{Name: "proxy", Sidecar: true, Requests: M{"cpu": "200m", "memory": "128Mi"}, CPU: 25, Memory: 40 * stage.Mi},
		stage.App(),
		{Name: "log", Requests: M{"cpu": "300m", "memory": "256Mi"}, CPU: 77, Memory: 90 * stage.Mi},
	}
}

// at labels a workload, and its pods, for ProfilesAt.
func at(object M, label string) M {
	object["metadata"].(M)["labels"].(M)["at"] = label
	return object
}

// onDeploys makes the profiles at Pod and at Workload, and waits until the webhooks go by them.
func onDeploys(t *stage.T, change func(spec M)) {
	t.ProfilesAt(change)
	t.Eventually("the webhooks know both profiles", stage.Soon, func() error {
		for label, want := range map[string]string{"pod": "2", "workload": "1"} {
			probe := at(t.NewDeployment("probe", 0, stage.App()), label)
			made, err := t.Post(t.Path("deployments", "")+"?dryRun=All", probe)
			if err == nil && stage.Requested(made, "app", "cpu") != want {
				err = fmt.Errorf("at %s the template asks for %s", label, stage.Requested(made, "app", "cpu"))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// podsAskAll is an error unless every pod of an app runs and asks for these amounts of CPU, by container.
func podsAskAll(t *stage.T, app string, pods int, cpu map[string]string) error {
	for name, want := range cpu {
		if err := t.PodsAsk(app, name, "cpu", want, pods); err != nil {
			return err
		}
	}
	return nil
}

// waitAdmittedAll waits until an app's pods run with these amounts of CPU, by container.
func waitAdmittedAll(t *stage.T, what, app string, pods int, cpu map[string]string) {
	t.WaitAdmitted(what, app, cpu["app"], pods, func() error { return podsAskAll(t, app, pods, cpu) })
}

// Each kind, at Pod and at Workload: half of the CPU at first, what was learned once it is; an init container and memory are
// left alone, also where the profile has a factor for memory but does not ask for it. A bare pod is nobody's.
func firstKinds(t *stage.T) {
	t.Namespace()
	onDeploys(t, func(M) {})
	greedy := stage.OnDeployProfile("Pod")
	greedy["priority"], greedy["selector"] = 20, M{"matchLabels": M{"at": "memory"}}
	t.ProfileNamed("e2e-first-kinds-memory", greedy)

	static := map[string]string{"app": "1", "proxy": "100m", "log": "150m", "setup": "500m"}
	learned := map[string]string{"setup": "500m"}
	for _, b := range full()[1:] {
		original := map[string]int64{"proxy": 200, "app": 2000, "log": 300}[b.Name]
		learned[b.Name] = model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(b.CPU), original))
	}
	all := map[string]M{}
	pods := map[string]int{"Deployment": 2, "StatefulSet": 2, "DaemonSet": 3}
	for kind, replicas := range pods {
		for _, label := range []string{"pod", "workload"} {
			name := strings.ToLower(kind) + "-" + label
			all[name] = at(t.NewWorkload(kind, name, replicas, full()...), label)
			t.Apply(all[name])
		}
	}
	t.Apply(at(t.NewDeployment("memory", 2, stage.App()), "memory"))
	bare := M{"apiVersion": "v1", "kind": "Pod", "metadata": at(M{"metadata": t.Meta("bare")}, "pod")["metadata"],
		"spec": stage.PodTemplate("bare", full()...)["spec"]}
	t.Apply(bare)
	for _, label := range []string{"pod", "workload"} {
		name := "cronjob-" + label
		t.Apply(at(M{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": t.Meta(name), "spec": M{
			"schedule": "0 0 1 1 *", "jobTemplate": M{"spec": stage.JobSpec(name, "30m", 1, full()...)}}}, label))
		t.Ctl("-n", t.NS, "create", "job", name+"-1", "--from=cronjob/"+name)
	}

	untouched := func(app string, n int) {
		for _, b := range full() {
			t.Check(t.PodsAsk(app, b.Name, "memory", b.Requests["memory"].(string), n))
		}
	}
	for kind, replicas := range pods {
		for _, label := range []string{"pod", "workload"} {
			name := strings.ToLower(kind) + "-" + label
			waitAdmittedAll(t, name+" starts with half", name, replicas, static)
			untouched(name, replicas)
		}
	}
	for _, label := range []string{"pod", "workload"} {
		waitAdmittedAll(t, "the run of cronjob-"+label, "cronjob-"+label, 1, static)
		untouched("cronjob-"+label, 1)
	}
	t.WaitAdmitted("memory, where it is asked for", "memory", "1", 2, func() error {
		return t.PodsAsk("memory", "app", "memory", "512Mi", 2)
	})
	t.Check(podsAskAll(t, "bare", 1, map[string]string{"app": "2", "proxy": "200m", "log": "300m", "setup": "500m"}))
	inner := t.Workload("cronjobs", "cronjob-workload").Object("spec", "jobTemplate", "spec", "template")
	if got := stage.PodRequested(inner, "app", "cpu"); got != "1" {
		t.Fatalf("the CronJob's template at Workload asks for %s", got)
	}
	if notes := inner.Object("metadata", "annotations"); !strings.Contains(notes.Text(stage.OriginalsAnnotation), `"2"`) {
		t.Fatalf("the CronJob's template at Workload remembers %s", notes)
	}

	for kind, replicas := range pods {
		for _, label := range []string{"pod", "workload"} {
			name := strings.ToLower(kind) + "-" + label
			t.RecIn(name[:len(strings.ToLower(kind))]+"-"+name, "Ready", stage.Soon)
			stage.FindContainer(kube.Object(all[name]).Object("spec", "template", "spec"), "app")["image"] = "registry.invalid/app:2"
			t.WaitAtAdmission(name, all[name], label, learned["app"])
			t.Apply(all[name])
			waitAdmittedAll(t, name+" goes on with what was learned", name, replicas, learned)
			untouched(name, replicas)
		}
	}
	t.Notef("static %v, learned %v", static, learned)
}

// Static before, dynamic after. Where the profile wants more history than there is, static again; or with apply.early what
// was learned, with a margin.
func tooYoung(t *stage.T) {
	t.Namespace()
	young := func(minHistory string, early M) {
		onDeploys(t, func(spec M) {
			apply := spec["apply"].(M)
			if apply["minHistory"] = minHistory; early != nil {
				apply["early"] = early
			}
		})
	}
	const margin = 2 // in 8760h it has not begun to fall
	withMargin := model.CPUDefault
	withMargin.Thousandths *= margin
	cpu := func(p model.Policy) string { return model.CPU.Text(p.Target(model.CPU.Model(stage.UsedCPU), 2000)) }
	learned, early := cpu(model.CPUDefault), cpu(withMargin)
	young("0s", nil)
	all := map[string]M{}
	for _, label := range []string{"pod", "workload"} {
		all[label] = at(t.NewDeployment("at-"+label, 1, stage.App()), label)
		t.Apply(all[label])
	}
	for i, step := range []struct {
		what, state, cpu, minHistory string
		early                        M
	}{
		{"before anything is known", "", "1", "0s", nil}, {"learned", "Ready", learned, "0s", nil},
		{"too young again", "Learning", "1", "1h", nil},
		{"too young, and early", "Learning", early, "8760h", M{"enabled": true, "after": "0s", "multiplier": fmt.Sprint(margin)}},
		{"old enough", "Ready", learned, "0s", nil},
	} {
		young(step.minHistory, step.early)
		for label, object := range all {
			if step.state != "" {
				t.RecIn("deployment-at-"+label, step.state, stage.Soon)
				app := stage.FindContainer(kube.Object(object).Object("spec", "template", "spec"), "app")
				app["image"] = fmt.Sprintf("registry.invalid/app:%d", i+1)
				t.WaitAtAdmission(step.what, object, label, step.cpu)
				t.Apply(object)
			}
			t.WaitAdmitted(step.what+" at "+label, "at-"+label, step.cpu, 1)
			t.Check(t.PodsAsk("at-"+label, "app", "memory", "1Gi", 1))
		}
		t.Notef("%-26s %s", step.what, step.cpu)
	}
}
