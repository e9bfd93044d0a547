package stage

import (
	"strings"

	"halflife.dev/cluster/kube"
)

var (
	// CloneSet is a kind of OpenKruise.
	CloneSet = CustomKind{"apps.kruise.io", "v1beta1", "CloneSet", "clonesets"}
	// ArgoRollout is the kind Rollout of Argo Rollouts.
	ArgoRollout = CustomKind{"argoproj.io", "v1alpha1", "Rollout", "rollouts"}
)

// CustomKind is a kind with a pod template that Kubernetes does not bring. No controller makes its pods here.
type CustomKind struct{ Group, Version, Kind, Plural string }

// APIVersion returns group and version, as an object spells them.
func (c CustomKind) APIVersion() string { return c.Group + "/" + c.Version }

// Resource returns the name of the CustomResourceDefinition.
func (c CustomKind) Resource() string { return c.Plural + "." + c.Group }

// Install makes the CustomResourceDefinition, which stays: scenarios side by side may install the same kind.
func (c CustomKind) Install(t *T) {
	crd := kube.Object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": M{"name": c.Resource()},
		"spec": M{"group": c.Group, "scope": "Namespaced",
			"names": M{"kind": c.Kind, "plural": c.Plural, "singular": strings.ToLower(c.Kind)},
			"versions": L{M{"name": c.Version, "served": true, "storage": true, "subresources": M{"status": M{}},
				"schema": M{"openAPIV3Schema": M{"type": "object", "properties": M{
					"spec":   M{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
					"status": M{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}}}
	t.Eventually(c.Resource()+" is installed", Soon, func() error {
		_, err := t.Kubectl.Run(crd.String(), "apply", "-f", "-")
		return err
	})
	t.Served(c.Resource())
}

// NewObject makes an object of the kind, with two replicas of the usual container.
func (c CustomKind) NewObject(t *T, name string) M {
	o := t.NewDeployment(name, 2, App())
	o["apiVersion"], o["kind"] = c.APIVersion(), c.Kind
	return o
}
