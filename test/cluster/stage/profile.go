package stage

import (
	"fmt"
	"strings"
)

// Profile makes or changes a ClusterProfile that selects the scenario's namespace alone.
func (t *T) Profile(spec M) { t.ProfileNamed("e2e-"+t.Name, spec) }

// ProfileNamed is Profile under another name, for more than one.
func (t *T) ProfileNamed(name string, spec M) {
	full := M{"namespaceSelector": M{"matchLabels": M{"e2e": t.Name}}}
	for k, v := range spec {
		full[k] = v
	}
	t.Apply(M{"apiVersion": "halflife.dev/v1alpha1", "kind": "ClusterProfile",
		"metadata": M{"name": name, "labels": M{"e2e": t.Name}}, "spec": full})
}

// QuickProfile makes a profile whose recommendations are Ready with the first sample and whose changes wait for nothing.
func QuickProfile(mode string) M {
	return M{
		"resources": M{"memory": M{"enabled": true}},
		"apply": M{"mode": mode, "minHistory": "0s", "cooldown": "0s", "minChangePercent": 5, "minReplicas": 1,
			"maxDecreasePercent": 100, "budget": M{"workloads": 0, "coresPerHour": 0}},
	}
}

// OnDeployProfile makes a quick profile that sets requests at that place, and halves them before anything is learned.
func OnDeployProfile(at string) M {
	p := QuickProfile("OnDeploy")
	p["overcommit"] = "StaticThenDynamic"
	p["static"] = M{"cpu": "0.5", "memory": "0.5"}
	p["apply"].(M)["at"] = at
	return p
}

// HalvingProfile makes a profile that halves CPU and memory for as long as the scenario lasts.
func HalvingProfile(at string) M {
	p := OnDeployProfile(at)
	p["apply"].(M)["minHistory"] = "24h"
	return p
}

// GuardedProfile makes a quick profile that watches each change for that long.
func GuardedProfile(mode, watch string) M {
	profile := QuickProfile(mode)
	profile["apply"].(M)["guard"] = M{"watch": watch}
	return profile
}

// ProfilesAt makes a profile at Pod and one at Workload, each for the workloads with its label at. Both halve CPU before
// anything is learned, and leave memory alone although they have a factor for it.
func (t *T) ProfilesAt(change func(spec M)) {
	for label, priority := range map[string]int{"Pod": 0, "Workload": 10} {
		spec := OnDeployProfile(label)
		spec["resources"], spec["priority"] = M{"memory": M{"enabled": false}}, priority
		spec["selector"] = M{"matchLabels": M{"at": strings.ToLower(label)}}
		change(spec)
		t.ProfileNamed("e2e-"+t.Name+"-"+strings.ToLower(label), spec)
	}
}

// TargetKind makes an entry of a profile's targets.
func TargetKind(apiVersion, kind string) M { return M{"apiVersion": apiVersion, "kind": kind} }

// WaitMatched waits until a profile tells that it matches that many workloads.
func (t *T) WaitMatched(profile string, want int64) {
	t.Eventually(fmt.Sprintf("%s matches %d", profile, want), Soon, func() error {
		p, err := t.Get(APIPath + profile)
		if err == nil && (p.Int("status", "targets", "matched") != want || p.At("status", "targets") == nil) {
			err = fmt.Errorf("its status is %s", p.Object("status"))
		}
		return err
	})
}
