package scenario

import (
	"fmt"

	"halflife.dev/cluster/kube"
)

func init() {
	doored = append(doored, scenario{"first-deploy", firstDeploy})
}

// onDeploy is a quick profile that sets requests at that place, half of them before anything is learned.
func onDeploy(at string) M {
	p := quick("OnDeploy")
	p["overcommit"] = "StaticThenDynamic"
	p["static"] = M{"cpu": "0.5", "memory": "0.5"}
	p["apply"].(M)["at"] = at
	return p
}

// What is deployed for the first time gets the static coefficient: at Pod the pod alone, at Workload the template.
func firstDeploy(t *T) {
	t.Namespace()
	pod, workload := onDeploy("Pod"), onDeploy("Workload")
	workload["selector"] = M{"matchLabels": M{"at": "workload"}}
	workload["priority"] = 10
	t.Profile(pod)
	t.ProfileNamed("e2e-first-deploy-workload", workload)
	t.Account("ci", Reader("get", "list"))
	t.Eventually("both profiles are known", soon, func() error {
		for label, at := range map[string]string{"none": "2", "workload": "1"} {
			probe := t.deployment("probe", 0, app(usedCPU, usedMemory))
			probe["metadata"].(M)["labels"].(M)["at"] = label
			made, err := t.Post(t.path("deployments", "")+"?dryRun=All", probe)
			if err != nil {
				return err
			}
			if got := request(made, "app", "cpu"); got != at {
				return fmt.Errorf("with at=%s the template asks for %s, not %s", label, got, at)
			}
		}
		return nil
	})
	at := t.deployment("at-workload", 2, app(usedCPU, usedMemory))
	at["metadata"].(M)["labels"].(M)["at"] = "workload"
	t.Apply(at)
	t.Apply(t.deployment("at-pod", 2, app(usedCPU, usedMemory)))
	for _, name := range []string{"at-pod", "at-workload"} {
		t.Eventually(name+" runs with half", soon, func() error { return t.podsAsk(name, "app", "cpu", "1", 2) })
		t.Check(t.podsAsk(name, "app", "memory", "512Mi", 2))
		t.generation("deployments", name, 1)
	}
	t.unlimited("deployments", "at-workload")
	web := t.Workload("deployments", "at-pod")
	if got := request(web, "app", "cpu"); got != "2" || web.Object("spec", "template", "metadata", "annotations").Text(applied) != "" {
		t.Fatalf("the template at Pod is %s", web.Object("spec", "template"))
	}
	answer, err := t.Ask(t.halflife, t.Token("ci"), "GET", "/api/v1/namespaces/"+t.NS+"/workloads/deploy/at-pod?original=cpu:2", "")
	t.Check(err)
	if answer.Code != 200 {
		t.Fatalf("REST: HTTP %d: %s", answer.Code, answer.Body)
	}
	for _, p := range t.Pods("at-pod") {
		if notes := kube.Object(p).Object("metadata", "annotations"); notes.Text(applied) == "" || notes.Text(originals) == "" {
			t.Fatalf("the annotations of pod %s are %s", p.Name(), notes)
		}
	}
}
