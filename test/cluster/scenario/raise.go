package scenario

import (
	"fmt"

	"halflife.dev/cluster/stage"
)

// Memory that climbs past the request is asked for at once, in that pod alone, whatever the cooldown says; never more than
// the original; and it stands.
func raise(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("InPlace")
	profile["apply"].(M)["raise"] = M{"after": "1m", "most": "100"}
	t.Profile(profile)
	t.Apply(t.NewWorkload("StatefulSet", "db", 3, stage.App()))
	cpu, memory := stage.Targets()
	t.WaitResized("db", 3, cpu, memory)
	t.UseMemory("db-0", 400*stage.Mi)
	t.UseMemory("db-1", 1500*stage.Mi)
	asks := func(pod, want string) {
		t.Eventually(pod+" asks for "+want, stage.Soon, func() error {
			p, err := t.Get(t.Path("pods", pod))
			if err != nil {
				return err
			}
			if got := stage.PodRequested(p, "app", "memory"); got != want {
				return fmt.Errorf("it asks for %s", got)
			}
			if want != memory && p.Annotation("halflife.dev/raised") == "" {
				return fmt.Errorf("it does not tell that it was raised: %s", p.Object("metadata", "annotations"))
			}
			return nil
		})
	}
	asks("db-0", "440Mi")
	asks("db-1", "1Gi")
	asks("db-2", memory)
	t.Cycles(t.Learner, 2)
	asks("db-0", "440Mi")
	asks("db-1", "1Gi")
	rec, err := t.Rec("statefulset-db")
	t.Check(err)
	if got := rec.Named("app", "status", "applied", "containers").Text("memory"); got != memory {
		t.Fatalf("the setting became %s", got)
	}
}
