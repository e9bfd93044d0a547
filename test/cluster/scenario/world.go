package scenario

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/node"
	"halflife.dev/cluster/plane"
)

// World is what all scenarios of a run share.
type World struct {
	*kube.Client
	Plane *plane.Plane
	Root  string // the repository
	Dir   string // of this run
	Audit *Audit
	Node  *node.Node // where there is a real one
	ctl   kube.Kubectl
	ctx   context.Context
}

// M and L spell JSON.
type (
	M = map[string]any
	L = []any
)

const (
	api          = "/apis/halflife.dev/v1alpha1"
	ownNamespace = "halflife"
	account      = "system:serviceaccount:halflife:halflife"
)

// NewWorld installs halflife's objects from manifests/ as a person does, but runs no pod of it: the scenarios start the
// program themselves, under its service account.
func NewWorld(ctx context.Context, pl *plane.Plane, root string) (*World, error) {
	c, err := pl.Client()
	if err != nil {
		return nil, err
	}
	w := &World{Client: c, Plane: pl, Root: root, Dir: pl.Dir, ctl: pl.Kubectl(), ctx: ctx}
	w.Audit = &Audit{path: pl.AuditLog()}
	if _, err := w.ctl.Run("", "apply", "-k", filepath.Join(root, "manifests")); err != nil {
		return nil, err
	}
	if _, err := w.ctl.Run("", "apply", "-f", filepath.Join(root, "manifests/components/in-place/rbac.yaml")); err != nil {
		return nil, err
	}
	if _, err := w.ctl.Run("", "-n", ownNamespace, "scale", "deployment", "halflife", "--replicas=0"); err != nil {
		return nil, err
	}
	_, err = w.ctl.Run("", "wait", "--for=condition=Established", "--timeout=300s", "crd",
		"clusterprofiles.halflife.dev", "profiles.halflife.dev", "recommendations.halflife.dev")
	return w, err
}

func (w *World) stopped() bool { return w.ctx.Err() != nil }

// Ctl runs kubectl and ends the scenario when it fails.
func (t *T) Ctl(args ...string) string { return t.CtlIn("", args...) }

// CtlIn is Ctl with something on stdin.
func (t *T) CtlIn(stdin string, args ...string) string {
	out, err := t.ctl.Run(stdin, args...)
	t.Check(err)
	return out
}

// CtlFails runs kubectl, which must fail, and gives what it said.
func (t *T) CtlFails(stdin string, args ...string) string {
	out, err := t.ctl.Run(stdin, args...)
	if err == nil {
		t.Fatalf("kubectl %s did not fail: %s", strings.Join(args, " "), out)
	}
	return err.Error()
}

// Apply applies an object as its owner does, with kubectl. On a machine that has much else to do kubectl gives up on the schema
// that it validates by: nothing was sent then, and it is asked again.
func (t *T) Apply(object M) {
	t.Eventually("kubectl apply", soon, func() error {
		_, err := t.ctl.Run(kube.Object(object).String(), "apply", "-f", "-")
		if err != nil && !strings.Contains(err.Error(), "error validating data: Get ") {
			t.Check(err)
		}
		return err
	})
}

// Namespace makes the scenario's own namespace, labelled so that its profile can select it.
func (t *T) Namespace(annotations ...string) {
	t.NS = "e2e-" + t.Name
	notes := M{}
	for i := 0; i+1 < len(annotations); i += 2 {
		notes[annotations[i]] = annotations[i+1]
	}
	_, err := t.Post("/api/v1/namespaces", M{"apiVersion": "v1", "kind": "Namespace",
		"metadata": M{"name": t.NS, "labels": M{"e2e": t.Name}, "annotations": notes}})
	t.Check(err)
}

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

// cleanUp removes what the scenario made, so that those after it are not slowed down.
func (t *T) cleanUp() {
	mine := "?labelSelector=e2e%3D" + t.Name
	_ = t.Delete(api + "/clusterprofiles" + mine)
	list, _ := t.Get("/api/v1/namespaces" + mine)
	for _, n := range list.List("items") {
		_ = t.Delete("/api/v1/namespaces/" + n.Name())
	}
}

// Rec reads a recommendation of the scenario's namespace.
func (t *T) Rec(name string) (kube.Object, error) {
	return t.Get(fmt.Sprintf("%s/namespaces/%s/recommendations/%s", api, t.NS, name))
}

// RecIn waits until a recommendation is in a state.
func (t *T) RecIn(name, state string, limit time.Duration) kube.Object {
	return t.RecWhen(name, "state "+state, limit, func(r kube.Object) error {
		if got := r.Text("status", "state"); got != state {
			return fmt.Errorf("state is '%s': %s", got, r.Object("status"))
		}
		return nil
	})
}

// RecWhen waits until a recommendation is as judged.
func (t *T) RecWhen(name, what string, limit time.Duration, judge func(kube.Object) error) kube.Object {
	var last kube.Object
	t.Eventually(name+": "+what, limit, func() error {
		r, err := t.Rec(name)
		if err != nil {
			return err
		}
		last = r
		return judge(r)
	})
	return last
}

// Workload reads one of the scenario's namespace by the path of its kind ("deployments", "cronjobs").
func (t *T) Workload(plural, name string) kube.Object {
	o, err := t.Get(t.path(plural, name))
	t.Check(err)
	return o
}

func (t *T) path(plural, name string) string {
	group := "/apis/apps/v1"
	switch plural {
	case "cronjobs", "jobs":
		group = "/apis/batch/v1"
	case "pods", "limitranges", "resourcequotas", "events", "configmaps":
		group = "/api/v1"
	case "rollouts":
		group = "/apis/" + rollouts.apiVersion()
	case "clonesets":
		group = "/apis/" + cloneSet.apiVersion()
	case "horizontalpodautoscalers":
		group = "/apis/autoscaling/v2"
	case vpas:
		group = "/apis/autoscaling.k8s.io/v1"
	case "profiles", "recommendations":
		group = api
	}
	return strings.TrimSuffix(fmt.Sprintf("%s/namespaces/%s/%s/%s", group, t.NS, plural, name), "/")
}

// Create makes an object in the scenario's namespace.
func (t *T) Create(plural string, object M) kube.Object {
	o, err := t.Post(t.path(plural, ""), object)
	t.Check(err)
	return o
}

// Pods are those with a label app, that are not being deleted.
func (t *T) Pods(app string) []kube.Object {
	list, err := t.Get(t.path("pods", "") + "?labelSelector=app%3D" + app)
	t.Check(err)
	var live []kube.Object
	for _, p := range list.List("items") {
		if p.Text("metadata", "deletionTimestamp") == "" {
			live = append(live, p)
		}
	}
	return live
}

// Beside keeps a workload that has a profile in a namespace of its own: usage is read only while there is one, so that a
// scenario which loses its last would wait for cycles that do not come.
func (t *T) Beside() {
	in := t.In("beside")
	in.Apply(in.deployment("beside", 1, app(usedCPU, usedMemory)))
	in.Apply(M{"apiVersion": "halflife.dev/v1alpha1", "kind": "Profile", "metadata": M{"name": "beside", "namespace": in.NS},
		"spec": quick("Recommend")})
}

// Cycles waits until halflife has read usage n times more: its next n cycles have begun, and the one before the last is
// over.
func (t *T) Cycles(h *Halflife, n int) {
	mark := t.Audit.Mark()
	t.Eventually(fmt.Sprintf("%d cycles of halflife", n), soon+time.Duration(n)*Interval, func() error {
		if err := h.Alive(); err != nil {
			t.Fatalf("%v", err)
		}
		if got := t.Audit.CyclesSince(mark); got < n {
			return fmt.Errorf("only %d", got)
		}
		return nil
	})
}
