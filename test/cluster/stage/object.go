package stage

import (
	"fmt"
	"strings"

	"halflife.dev/cluster/kube"
)

// Workload reads an object of the scenario's namespace by the plural of its kind ("deployments", "cronjobs").
func (t *T) Workload(plural, name string) kube.Object {
	o, err := t.Get(t.Path(plural, name))
	t.Check(err)
	return o
}

// Path returns the path of an object in the scenario's namespace, or with an empty name that of the list.
func (t *T) Path(plural, name string) string {
	group := "/apis/apps/v1"
	switch plural {
	case "cronjobs", "jobs":
		group = "/apis/batch/v1"
	case "pods", "limitranges", "resourcequotas", "events", "configmaps":
		group = "/api/v1"
	case "rollouts":
		group = "/apis/" + ArgoRollout.APIVersion()
	case "clonesets":
		group = "/apis/" + CloneSet.APIVersion()
	case "horizontalpodautoscalers":
		group = "/apis/autoscaling/v2"
	case vpaPlural:
		group = "/apis/autoscaling.k8s.io/v1"
	case "profiles", "recommendations":
		group = APIPath
	}
	return strings.TrimSuffix(fmt.Sprintf("%s/namespaces/%s/%s/%s", group, t.NS, plural, name), "/")
}

// Create makes an object in the scenario's namespace.
func (t *T) Create(plural string, object M) kube.Object {
	o, err := t.Post(t.Path(plural, ""), object)
	t.Check(err)
	return o
}

// Plural returns the plural of a kind of Kubernetes that has pods.
func Plural(kind string) string {
	switch kind {
	case "ReplicaSet":
		return "replicasets"
	case "CronJob":
		return "cronjobs"
	case "Job":
		return "jobs"
	}
	return map[string]string{"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}[kind]
}

// Meta makes the metadata of an object in the scenario's namespace.
func (t *T) Meta(name string) M {
	return M{"name": name, "namespace": t.NS, "labels": M{"app": name}}
}

// CheckGeneration ends the scenario unless an object has that generation.
func (t *T) CheckGeneration(plural, name string, want int64) {
	w := t.Workload(plural, name)
	if got := w.Generation(); got != want {
		t.Fatalf("generation of %s is %d, not %d: %s", name, got, want, w.Object("spec", "template", "metadata", "annotations"))
	}
}

// CheckLimits checks that the limits of the usual container are unchanged, and that the template records the original.
func (t *T) CheckLimits(plural, name string) {
	w := t.Workload(plural, name)
	limits := FindContainer(w.Object("spec", "template", "spec"), "app").Object("resources", "limits")
	if limits.Text("cpu") != "4" || limits.Text("memory") != "2Gi" || len(limits) != 2 {
		t.Fatalf("the limits of %s are %s", name, limits)
	}
	notes := w.Object("spec", "template", "metadata", "annotations")
	if !strings.Contains(notes.Text(OriginalsAnnotation), `"2"`) || notes.Text(AppliedAnnotation) == "" {
		t.Fatalf("the annotations of %s's template are %s", name, notes)
	}
}

// FindContainer finds a container in a pod spec, native sidecars included.
func FindContainer(podSpec kube.Object, name string) kube.Object {
	if c := podSpec.Named(name, "containers"); c != nil {
		return c
	}
	return podSpec.Named(name, "initContainers")
}

// Requested returns what a container in the template of a workload asks for.
func Requested(workload kube.Object, name, resource string) string {
	return PodRequested(workload.Object("spec", "template"), name, resource)
}

// PodRequested returns what a container of a pod or of a pod template asks for.
func PodRequested(pod kube.Object, name, resource string) string {
	return FindContainer(pod.Object("spec"), name).Text("resources", "requests", resource)
}

// RequestOf returns the request of CPU in the template of a Deployment.
func (t *T) RequestOf(name string) (string, error) {
	d, err := t.Get(fmt.Sprintf("/apis/apps/v1/namespaces/%s/deployments/%s", t.NS, name))
	return Requested(d, "app", "cpu"), err
}

// HasAnnotations says whether an object, or its template, has annotations of halflife.
func HasAnnotations(o kube.Object) bool {
	return strings.Contains(o.String(), OriginalsAnnotation) || strings.Contains(o.String(), AppliedAnnotation)
}

// SetImage deploys another image, with that request of CPU.
func (t *T) SetImage(plural, name, image, cpu string) {
	_, err := t.Patch(t.Path(plural, name), L{
		M{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image},
		M{"op": "replace", "path": "/spec/template/spec/containers/0/resources/requests/cpu", "value": cpu}})
	t.Check(err)
}
