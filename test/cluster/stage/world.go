package stage

import (
	"context"
	"path/filepath"
	"sync"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/node"
	"halflife.dev/cluster/plane"
)

// World is what all scenarios of a control plane share.
type World struct {
	*kube.Client
	Plane   *plane.Plane
	Root    string // the repository
	Dir     string // of this run
	Audit   *Audit
	Node    *node.Node // nil: the nodes are not real
	Rotate  *Halflife  // keeps the certificate; nil: nothing that serves was started
	Kubectl kube.Tool
	Context context.Context // ends when the run is interrupted

	rotating sync.Mutex // protects Rotate
}

// M and L spell JSON.
type (
	M = map[string]any
	L = []any
)

const (
	// APIPath is the path of halflife's own kinds.
	APIPath = "/apis/halflife.dev/v1alpha1"
	// OwnNamespace is halflife's namespace.
	OwnNamespace = "halflife"
	// LearnerUser is the name of the learner at the API server.
	LearnerUser = "system:serviceaccount:halflife:halflife"
)

// NewWorld installs halflife's objects from manifests/ as a person does, but runs no pod of it: the scenarios start the
// program themselves, under its service account.
func NewWorld(ctx context.Context, pl *plane.Plane, root string) (*World, error) {
	c, err := pl.Client()
	if err != nil {
		return nil, err
	}
	w := &World{Client: c, Plane: pl, Root: root, Dir: pl.Dir, Kubectl: pl.Kubectl(), Context: ctx}
	w.Audit = &Audit{path: pl.AuditLog()}
	if _, err := w.apply("", "apply", "-k", filepath.Join(root, "manifests")); err != nil {
		return nil, err
	}
	if _, err := w.apply("", "apply", "-f", filepath.Join(root, "manifests/components/in-place/rbac.yaml")); err != nil {
		return nil, err
	}
	if _, err := w.Kubectl.Run("", "-n", OwnNamespace, "scale", "deployment", "--all", "--replicas=0"); err != nil {
		return nil, err
	}
	return w, w.served(OwnCRDs...)
}

func (w *World) stopped() bool { return w.Context.Err() != nil }
