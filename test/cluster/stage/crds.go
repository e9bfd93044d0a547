package stage

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
)

// KruiseKinds are the kinds of OpenKruise that InstallKruise installs.
var KruiseKinds = []CustomKind{
	CloneSet,
	{"apps.kruise.io", "v1beta1", "StatefulSet", "statefulsets"},
	{"apps.kruise.io", "v1beta1", "DaemonSet", "daemonsets"},
}

//go:embed crds/openkruise.yaml
var kruiseCRD string

//go:embed crds/keda.yaml
var kedaCRD string

//go:embed crds/vpa.yaml
var vpaCRD string

const vpaPlural = "verticalpodautoscalers"

// InstallKruise installs the CustomResourceDefinitions of OpenKruise.
func (t *T) InstallKruise() {
	for _, c := range KruiseKinds {
		single := strings.ToLower(c.Kind)
		text := strings.NewReplacer("CloneSet", c.Kind, "clonesets", c.Plural, "cloneset", single, "[clone]", "[kruise-"+single+"]").
			Replace(kruiseCRD)
		t.CtlIn(text, "apply", "-f", "-")
		t.Served(c.Resource())
	}
}

// InstallKEDA installs the CustomResourceDefinition of KEDA.
func (t *T) InstallKEDA() {
	t.CtlIn(kedaCRD, "apply", "-f", "-")
	t.Served("scaledobjects.keda.sh")
}

// InstallVPA installs the CustomResourceDefinitions of the Vertical Pod Autoscaler.
func (t *T) InstallVPA() {
	t.Eventually("VerticalPodAutoscalers are installed", Soon, func() error {
		_, err := t.Kubectl.Run(vpaCRD, "apply", "-f", "-")
		return err
	})
	t.Served(vpaPlural + ".autoscaling.k8s.io")
}

// NewVPA makes a VerticalPodAutoscaler in that mode for the Deployment of.
func (t *T) NewVPA(name, of, mode string) M {
	return M{"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": t.Meta(name), "spec": M{
		"targetRef":    M{"apiVersion": "apps/v1", "kind": "Deployment", "name": of},
		"updatePolicy": M{"updateMode": mode}}}
}

// OwnCRDs names halflife's own definitions.
var OwnCRDs = []string{"clusterprofiles.halflife.dev", "profiles.halflife.dev", "recommendations.halflife.dev"}

// Served waits until the API server serves these definitions.
func (t *T) Served(crds ...string) { t.Check(t.World.served(crds...)) }

// served asks by itself: kubectl does not wait for a definition that was just made.
func (w *World) served(crds ...string) error {
	deadline := time.Now().Add(Scaled(Soon))
	for _, name := range crds {
		for {
			crd, err := w.Get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name)
			if err == nil && crd.Condition("Established").Text("status") == "True" {
				break
			}
			if w.stopped() || time.Now().After(deadline) {
				return fmt.Errorf("the API server does not serve %s: %w", name, err)
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	return nil
}
