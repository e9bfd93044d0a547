package scenario

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
)

func init() {
	shared = append(shared, scenario{"kruise-late", kruiseLate}, scenario{"scaled-to-zero", scaledToZero})
}

//go:embed crds/openkruise.yaml
var kruiseCRD string

var kruise = []custom{
	cloneSet,
	{"apps.kruise.io", "v1beta1", "StatefulSet", "statefulsets"},
	{"apps.kruise.io", "v1beta1", "DaemonSet", "daemonsets"},
}

func (t *T) installKruise() {
	for _, c := range kruise {
		single := strings.ToLower(c.kind)
		text := strings.NewReplacer("CloneSet", c.kind, "clonesets", c.plural, "cloneset", single, "[clone]", "[kruise-"+single+"]").
			Replace(kruiseCRD)
		t.CtlIn(text, "apply", "-f", "-")
		t.established(c.resource())
	}
}

// clone makes an object of a kind of OpenKruise, and what its controller would: its pods, and a status that says that it is
// done.
func (t *T) clone(c custom, name string, strategy M) {
	o := c.object(t, name)
	o["spec"].(M)["updateStrategy"] = strategy
	made, err := t.Post(fmt.Sprintf("/apis/%s/namespaces/%s/%s", c.apiVersion(), t.NS, c.plural), o)
	t.Check(err)
	for i := range 2 {
		pod := template(name, app(usedCPU, usedMemory))
		meta := pod["metadata"].(M)
		meta["name"], meta["namespace"] = fmt.Sprintf("%s-%s-%d", strings.ToLower(c.kind), name, i), t.NS
		meta["ownerReferences"] = L{M{"apiVersion": c.apiVersion(), "kind": c.kind, "name": name, "uid": made.UID(), "controller": true}}
		t.Create("pods", M{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod["spec"]})
	}
	_, err = t.Merge(fmt.Sprintf("/apis/%s/namespaces/%s/%s/%s/status", c.apiVersion(), t.NS, c.plural, name), M{"status": M{
		"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
		"currentNumberScheduled": 2, "desiredNumberScheduled": 2, "numberAvailable": 2, "updatedNumberScheduled": 2}})
	t.Check(err)
}

// kruiseAsks is an error unless a template of a kind of others asks for that.
func (t *T) kruiseAsks(c custom, name, cpu string) error {
	o, err := t.Get(fmt.Sprintf("/apis/%s/namespaces/%s/%s/%s", c.apiVersion(), t.NS, c.plural, name))
	if err == nil && request(o, "app", "cpu") != cpu {
		err = errors.New("it asks for " + request(o, "app", "cpu"))
	}
	return err
}

// The kinds of OpenKruise are installed while halflife runs: they are targets without a word of anybody. Where a change would
// stick (InPlaceOnly) or go only so far (a partition) it is not made. Uninstalled, they are no trouble; installed again they are seen
// again.
func kruiseLate(t *T) {
	t.Namespace()
	t.Profile(quick("Rollout"))
	t.installKruise()
	for _, c := range kruise {
		t.clone(c, "web", M{"rollingUpdate": M{"podUpdatePolicy": "InPlaceIfPossible"}})
	}
	t.clone(cloneSet, "stuck", M{"type": "InPlaceOnly"})
	t.clone(kruise[1], "stuck", M{"rollingUpdate": M{"podUpdatePolicy": "InPlaceOnly"}})
	t.clone(cloneSet, "parted", M{"partition": "50%"})
	cpu, _ := targets(usedCPU, usedMemory)
	for _, c := range kruise {
		t.Eventually(c.kind+" is patched", soon, func() error { return t.kruiseAsks(c, "web", cpu) })
	}
	for _, name := range []string{"cloneset.apps.kruise.io-stuck", "statefulset.apps.kruise.io-stuck"} {
		r := t.RecWhen(name, "Immutable", soon, func(r kube.Object) error {
			return condition(r, "Applied", "False", "its updateStrategy is InPlaceOnly")
		})
		status := r.Named("app", "status", "containers").Object("cpu")
		if status.Text("reason") != "Immutable" || status.Text("target") != cpu {
			t.Fatalf("%s: %s", name, status)
		}
	}
	t.blocked("cloneset.apps.kruise.io-parted", "its rollout stops at a partition")
	for _, name := range []string{"stuck", "parted"} {
		t.Check(t.kruiseAsks(cloneSet, name, "2"))
	}

	for _, c := range kruise {
		t.Ctl("delete", "crd", c.resource())
	}
	t.Eventually("halflife knows that they went", soon, func() error {
		return t.halflife.Says("kruise.io", "the server has it no more", len(kruise))
	})
	if t.halflife.Says("kruise.io", "watch fails", 1) == nil {
		t.Fatalf("a kind that went is a failure")
	}
	t.installKruise()
	t.clone(cloneSet, "again", M{})
	t.Eventually("installed again, it is patched", soon, func() error { return t.kruiseAsks(cloneSet, "again", cpu) })
}

// A Deployment that is scaled to 0 keeps what was learned of it and is not stale; what is judged is its template, also one that no pod
// ever had. It is patched when it runs again.
func scaledToZero(t *T) {
	t.Namespace()
	profile := quick("Recommend")
	t.Profile(profile)
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	before := t.RecIn("deployment-web", "Ready", soon)
	t.Ctl("-n", t.NS, "scale", "deployment", "web", "--replicas=0")
	t.image("deployments", "web", "registry.invalid/app:2", "1500m")
	cpu, memory := targets(usedCPU, usedMemory)
	asleep := func(r kube.Object) error {
		got := r.Named("app", "status", "containers").Object("cpu")
		if r.Text("status", "state") != "Ready" || got.Text("original") != "1500m" || got.Text("current") != "1500m" || got.Text("target") != cpu {
			return fmt.Errorf("%s: %s", r.Text("status", "state"), got)
		}
		return nil
	}
	t.RecWhen("deployment-web", "judged by its template", soon, asleep)
	profile = quick("Rollout")
	t.Profile(profile)
	t.blocked("deployment-web", "it has 0 of at least 1 replicas")
	t.Cycles(t.halflife, 2)
	r, err := t.Rec("deployment-web")
	t.Check(err)
	t.Check(asleep(r))
	if r.Text("status", "firstSample") != before.Text("status", "firstSample") {
		t.Fatalf("its history began anew")
	}
	t.Ctl("-n", t.NS, "scale", "deployment", "web", "--replicas=2")
	t.Eventually("it runs with its target", soon, func() error {
		if err := t.podsAsk("web", "app", "cpu", cpu, 2); err != nil {
			return err
		}
		return t.podsAsk("web", "app", "memory", memory, 2)
	})
}
