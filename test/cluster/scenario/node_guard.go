package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// A program that ends by itself after it was lowered is given what its owner asks for, and left alone.
func nodeGuard(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("InPlace")
	profile["apply"].(M)["guard"] = M{"watch": "10m", "restarts": 1}
	t.Profile(profile)
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.Burner{Requests: M{"cpu": "100m", "memory": "200Mi"},
		Steps: []string{"cpu=0.02,mem=60Mi,for=50,exit=1"}}))
	t.WaitLowered("web", "100m", 1)
	t.WaitGuarded("deployment-web", "Restarts", "")
	t.Eventually("it has its owner's again", stage.Soon, func() error { return t.HasRequests("web", "100m", "200Mi") })
	if kills := t.RecIn("deployment-web", "Held", stage.Soon).Int("status", "oomKills"); kills != 0 {
		t.Fatalf("%d kills are counted of a program that ended by itself", kills)
	}
}

// What did harm is taken back, and the node has no room to give it back: that is said until it has.
func nodeGuardDeferred(t *stage.T) {
	t.Namespace()
	t.StartOwn()
	profile := stage.QuickProfile("InPlace")
	profile["selector"] = M{"matchLabels": M{"app": "web"}}
	profile["apply"].(M)["guard"] = M{"watch": "10m", "restarts": 1}
	t.Profile(profile)
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.Burner{Requests: M{"cpu": "60m", "memory": "300Mi"},
		Steps: []string{"cpu=0.01,mem=40Mi,for=90,exit=1"}}))
	t.WaitOnePod("web")
	t.WaitLowered("web", "60m", 1)
	t.Apply(t.NewBurnerWorkload("ReplicaSet", "filler", 1, stage.Burner{Requests: M{"memory": "350Mi"}, Steps: []string{"mem=10Mi"}}))
	t.WaitOnePod("filler")
	t.WaitGuarded("deployment-web", "Restarts", "given back to 0 of 1 pods, 1 wait for room on their nodes")
	rec := t.WaitApplied("deployment-web", "False", "Deferred", "1 of 1 pods wait for room")
	t.Notef("%s", rec.Condition("Guarded").Text("message"))
	t.Check(t.Delete(t.Path("replicasets", "filler")))
	t.Eventually("it has its owner's again", stage.Soon, func() error { return t.HasRequests("web", "60m", "300Mi") })
	t.RecWhen("deployment-web", "nothing waits any more", stage.Soon, func(r kube.Object) error {
		if said := r.Condition("Guarded").Text("message"); strings.Contains(said, "given back") {
			return fmt.Errorf("%s", said)
		}
		return nil
	})
}
