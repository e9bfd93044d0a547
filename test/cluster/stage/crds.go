package stage

import (
	_ "embed"
	"strings"
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
		t.waitEstablished(c.Resource())
	}
}

// InstallKEDA installs the CustomResourceDefinition of KEDA.
func (t *T) InstallKEDA() {
	t.CtlIn(kedaCRD, "apply", "-f", "-")
	t.Ctl("wait", "--for=condition=Established", "--timeout=300s", "crd", "scaledobjects.keda.sh")
}

// InstallVPA installs the CustomResourceDefinitions of the Vertical Pod Autoscaler.
func (t *T) InstallVPA() {
	t.Eventually("VerticalPodAutoscalers are installed", Soon, func() error {
		_, err := t.Kubectl.Run(vpaCRD, "apply", "-f", "-")
		return err
	})
	t.Ctl("wait", "--for=condition=Established", "--timeout=300s", "crd", vpaPlural+".autoscaling.k8s.io")
}

// NewVPA makes a VerticalPodAutoscaler in that mode for the Deployment of.
func (t *T) NewVPA(name, of, mode string) M {
	return M{"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": t.Meta(name), "spec": M{
		"targetRef":    M{"apiVersion": "apps/v1", "kind": "Deployment", "name": of},
		"updatePolicy": M{"updateMode": mode}}}
}
