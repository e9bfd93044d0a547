package scenario

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/stage"
)

// A tenant's profiles name 31 made-up kinds each: another namespace is read and decided all the same, and each profile that
// names too many says so and changes nothing. With the excess taken out, it goes on.
func tenantKinds(t *stage.T) {
	const profiles, kinds, most = 20, 31, 16
	t.Namespace()
	hostile := t.In("hostile")
	profile := func(number, kinds int) M {
		targets := L{M{"apiVersion": "apps/v1", "kind": "Deployment"}}
		for k := range kinds {
			targets = append(targets, M{"apiVersion": "made-up.example/v1", "kind": fmt.Sprintf("Made%d", number*kinds+k)})
		}
		spec := stage.QuickProfile("InPlace")
		spec["targets"] = targets
		return M{"apiVersion": "halflife.dev/v1alpha1", "kind": "Profile",
			"metadata": M{"name": fmt.Sprintf("p%d", number), "namespace": hostile.NS}, "spec": spec}
	}
	for i := range profiles {
		hostile.Apply(profile(i, kinds))
	}
	path := "/namespaces/" + hostile.NS + "/profiles/p19"
	said := waitDegraded(t, path, "TooManyKinds")
	if !strings.Contains(said, "Made589.made-up.example") || !strings.Contains(said, fmt.Sprintf("at most %d kinds", most)) {
		t.Fatalf("the profile says: %s", said)
	}
	t.Profile(stage.QuickProfile("InPlace"))
	t.Apply(t.NewDeployment("web", 1, stage.App()))
	cpu, memory := stage.Targets()
	t.WaitResized("web", 1, cpu, memory)
	for i := range profiles - 1 {
		hostile.Ctl("-n", hostile.NS, "delete", "hlp", fmt.Sprintf("p%d", i))
	}
	hostile.Apply(profile(19, most))
	if said := waitDegraded(t, path, "KindNotFound"); !strings.Contains(said, "made-up.example") {
		t.Fatalf("the profile says: %s", said)
	}
	hostile.Apply(hostile.NewDeployment("web", 1, stage.App()))
	hostile.WaitResized("web", 1, cpu, memory)
}
