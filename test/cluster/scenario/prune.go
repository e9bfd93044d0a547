package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/stage"
)

// ownershipLabels are what deployment tools find their objects by.
var ownershipLabels = M{"app.kubernetes.io/instance": "shop", "app.kubernetes.io/managed-by": "Helm",
	"argocd.argoproj.io/instance": "shop", "applyset.kubernetes.io/part-of": "applyset-shop-v1", "kapp.k14s.io/app": "1700000000",
	"kustomize.toolkit.fluxcd.io/name": "shop", "objectset.rio.cattle.io/hash": "1f2e3d", "team.example.com/deploy": "shop"}

// prune deletes what has one of a tool's labels and is not what the tool deployed, as a sync with prune does.
func prune(t *stage.T, deployed string) {
	for key, value := range ownershipLabels {
		found := t.Ctl("-n", t.NS, "get", "deployments,recommendations.halflife.dev", "-l", fmt.Sprintf("%s=%s", key, value), "-o", "name")
		for _, name := range strings.Fields(found) {
			if name != deployed {
				t.Ctl("-n", t.NS, "delete", name)
			}
		}
	}
}

// A sync with prune finds no Recommendation, for it has none of the labels that mark whose an object is; and where somebody
// deletes it by another way, a person's hold comes back with it, from the database if need be.
func pruned(t *stage.T) {
	t.Namespace()
	learner := t.StartOwn("--ownership-labels=team.example.com/*")
	t.Profile(stage.QuickProfile("Rollout"))
	web := t.NewDeployment("web", 2, stage.App())
	for key, value := range ownershipLabels {
		web["metadata"].(M)["labels"].(M)[key] = value
	}
	web["metadata"].(M)["annotations"] = M{"halflife.dev/apply": "Never"}
	t.Apply(web)
	uid := t.RecIn("deployment-web", "Ready", stage.Soon).UID()
	hold := []string{"-n", t.NS, "annotate", "recommendation", "deployment-web", "halflife.dev/hold=black friday"}
	t.Ctl(hold...)
	t.RecIn("deployment-web", "Held", stage.Soon)
	prune(t, "deployment.apps/web")
	t.Cycles(learner, 2)
	rec := t.RecIn("deployment-web", "Held", stage.Soon)
	labels := rec.Object("metadata", "labels")
	if rec.UID() != uid || labels.Text("app") != "web" || len(labels) != 1 {
		t.Fatalf("it was deleted, or has labels of tools: %s", rec.Object("metadata"))
	}
	held := func() string {
		r := t.RecIn("deployment-web", "Held", stage.Soon)
		if r.Annotation("halflife.dev/hold") != "black friday" {
			t.Fatalf("it lost its hold: %s", r.Object("metadata"))
		}
		return r.UID()
	}
	t.Ctl("-n", t.NS, "annotate", "deployment", "web", "halflife.dev/apply-")
	t.Ctl("-n", t.NS, "delete", "recommendation", "deployment-web")
	again := held()
	learner.Stop()
	t.Ctl("-n", t.NS, "delete", "recommendation", "deployment-web")
	t.StartAgain(learner)
	if last := held(); again == uid || last == again {
		t.Fatalf("the recommendation was never made again: %s %s %s", uid, again, last)
	}
	t.Check(t.PodsAsk("web", "app", "cpu", "2", 2))
	t.CheckSays(t.Command(0, "resume", "deploy/web", "-n", t.NS), "deployment-web resumed (it was held: black friday)")
	cpu, _ := stage.Targets()
	t.Eventually("resumed, it is lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
}
