package scenario

import (
	"errors"
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// clone makes an object of a kind of OpenKruise, and what its controller would: its pods, and a status that says that it is
// done.
func clone(t *stage.T, c stage.CustomKind, name string, strategy M) {
	o := c.NewObject(t, name)
	o["spec"].(M)["updateStrategy"] = strategy
	made, err := t.Post(fmt.Sprintf("/apis/%s/namespaces/%s/%s", c.APIVersion(), t.NS, c.Plural), o)
	t.Check(err)
	for i := range 2 {
		pod := stage.PodTemplate(name, stage.App())
		meta := pod["metadata"].(M)
		meta["name"], meta["namespace"] = fmt.Sprintf("%s-%s-%d", strings.ToLower(c.Kind), name, i), t.NS
		meta["ownerReferences"] = L{M{"apiVersion": c.APIVersion(), "kind": c.Kind, "name": name, "uid": made.UID(), "controller": true}}
		t.Create("pods", M{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod["spec"]})
	}
	_, err = t.Merge(fmt.Sprintf("/apis/%s/namespaces/%s/%s/%s/status", c.APIVersion(), t.NS, c.Plural, name), M{"status": M{
		"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
		"currentNumberScheduled": 2, "desiredNumberScheduled": 2, "numberAvailable": 2, "updatedNumberScheduled": 2}})
	t.Check(err)
}

// kruiseAsks is an error unless a template of a kind of others asks for that.
func kruiseAsks(t *stage.T, c stage.CustomKind, name, cpu string) error {
	o, err := t.Get(fmt.Sprintf("/apis/%s/namespaces/%s/%s/%s", c.APIVersion(), t.NS, c.Plural, name))
	if err == nil && stage.Requested(o, "app", "cpu") != cpu {
		err = errors.New("it asks for " + stage.Requested(o, "app", "cpu"))
	}
	return err
}

// The kinds of OpenKruise are installed while halflife runs: they are targets without a word of anybody. Where a change would
// stick (InPlaceOnly) or go only so far (a partition) it is not made. Uninstalled, they are no trouble; installed again they are seen
// again.
func kruiseLate(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Rollout"))
	t.InstallKruise()
	for _, c := range stage.KruiseKinds {
		clone(t, c, "web", M{"rollingUpdate": M{"podUpdatePolicy": "InPlaceIfPossible"}})
	}
	clone(t, stage.CloneSet, "stuck", M{"type": "InPlaceOnly"})
	clone(t, stage.KruiseKinds[1], "stuck", M{"rollingUpdate": M{"podUpdatePolicy": "InPlaceOnly"}})
	clone(t, stage.CloneSet, "parted", M{"partition": "50%"})
	cpu, _ := stage.Targets()
	for _, c := range stage.KruiseKinds {
		t.Eventually(c.Kind+" is patched", stage.Soon, func() error { return kruiseAsks(t, c, "web", cpu) })
	}
	for _, name := range []string{"cloneset.apps.kruise.io-stuck", "statefulset.apps.kruise.io-stuck"} {
		r := t.RecWhen(name, "Immutable", stage.Soon, func(r kube.Object) error {
			return stage.CheckCondition(r, "Applied", "False", "its updateStrategy is InPlaceOnly")
		})
		status := r.Named("app", "status", "containers").Object("cpu")
		if status.Text("reason") != "Immutable" || status.Text("target") != cpu {
			t.Fatalf("%s: %s", name, status)
		}
	}
	t.WaitRolloutBlocked("cloneset.apps.kruise.io-parted", "its rollout stops at a partition")
	for _, name := range []string{"stuck", "parted"} {
		t.Check(kruiseAsks(t, stage.CloneSet, name, "2"))
	}

	for _, c := range stage.KruiseKinds {
		t.Ctl("delete", "crd", c.Resource())
	}
	t.Eventually("halflife knows that they went", stage.Soon, func() error {
		return t.Learner.Says("kruise.io", "the server no longer has it", len(stage.KruiseKinds))
	})
	if t.Learner.Says("kruise.io", "watch fails", 1) == nil {
		t.Fatalf("a kind that went is a failure")
	}
	t.InstallKruise()
	clone(t, stage.CloneSet, "again", M{})
	t.Eventually("installed again, it is patched", stage.Soon, func() error { return kruiseAsks(t, stage.CloneSet, "again", cpu) })
}
