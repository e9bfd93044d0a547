package stage

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
)

const (
	// WebhooksPath is the path of halflife's webhook configuration.
	WebhooksPath = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/halflife"
	// CertificatePath is the path of the Secret with the certificate that halflife rotate makes.
	CertificatePath = "/api/v1/namespaces/" + OwnNamespace + "/secrets/halflife-certificate"
)

// RESTSettings are the settings of a halflife that serves the REST API and the webhooks.
var RESTSettings = []string{"--serve-listen=127.0.0.1:0", "--webhook-certificate=self"}

const serveService = "/api/v1/namespaces/" + OwnNamespace + "/services/halflife-serve"

// InstallWebhooks installs the admission overlay without its pods, and starts halflife rotate. Its Service becomes a name for this machine, as there is
// no pod network.
func (w *World) InstallWebhooks() error {
	if _, err := w.Get(WebhooksPath); err == nil {
		return w.StartRotate()
	} else if kube.Code(err) != 404 {
		return err
	}
	if _, err := w.apply("", "apply", "-k", w.Root+"/manifests/overlays/admission"); err != nil {
		return err
	}
	if _, err := w.Kubectl.Run("", "-n", OwnNamespace, "scale", "deployment", "--all", "--replicas=0"); err != nil {
		return err
	}
	if err := w.NameThisMachine(); err != nil {
		return err
	}
	return w.StartRotate()
}

// NameThisMachine makes the replicas' Service a name for this machine.
func (w *World) NameThisMachine() error {
	_, err := w.Merge(serveService, M{"spec": M{"type": "ExternalName", "externalName": "localhost"}})
	return err
}

// EmptySecret takes away what halflife rotate has written into the Secret, as somebody who replaces it by the shipped one.
func (w *World) EmptySecret() error {
	_, err := w.Merge(CertificatePath, M{"data": nil})
	return err
}

// waited is for how many seconds the API server waits for a webhook here: as long as it may, for a machine may have much
// else to do, and what was not answered in time would stay as its owner wrote it. How the overlay has it, fallback shows.
const waited = 30

// RouteWebhooks makes the API server call h. It changes only address and timeout of the webhooks, and returns once the API
// server has really called h. A halflife that was started again listens elsewhere: route the webhooks again.
func (w *World) RouteWebhooks(h *Halflife) error {
	if err := w.InstallWebhooks(); err != nil {
		return err
	}
	deadline := time.Now().Add(Soon)
	for {
		err := w.route(h)
		if err == nil {
			err = w.probe()
		}
		if err == nil || time.Now().After(deadline) || w.stopped() {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// route sets port and timeout of each webhook.
func (w *World) route(h *Halflife) error {
	address, err := h.RESTAddress()
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	configuration, err := w.Get(WebhooksPath)
	if err != nil {
		return err
	}
	var patch L
	for i := range configuration.List("webhooks") {
		webhook := fmt.Sprintf("/webhooks/%d/", i)
		at := webhook + "clientConfig/"
		var number int
		if _, err := fmt.Sscan(port, &number); err != nil {
			return err
		}
		patch = append(patch, M{"op": "replace", "path": at + "service/port", "value": number},
			M{"op": "replace", "path": webhook + "timeoutSeconds", "value": waited})
	}
	_, err = w.Patch(WebhooksPath, patch)
	return err
}

// probe creates a pod that is not kept, and is an error unless the webhook of pods was called and answered.
func (w *World) probe() error {
	before, err := w.answered("pods.halflife.dev")
	if err != nil {
		return err
	}
	_, err = w.Post("/api/v1/namespaces/default/pods?dryRun=All", M{"apiVersion": "v1", "kind": "Pod",
		"metadata": M{"generateName": "knock-"}, "spec": M{"containers": L{M{"name": "knock", "image": "registry.invalid/knock:1"}}}})
	if err != nil && !strings.Contains(err.Error(), "serviceaccount \"default\" not found") {
		return err
	}
	after, err := w.answered("pods.halflife.dev")
	if err == nil && after == before {
		err = fmt.Errorf("the API server got no answer of the webhook")
	}
	return err
}

// answered is how often the API server called a webhook and was answered, by its own count.
func (w *World) answered(webhook string) (int64, error) {
	page, err := w.Text("/metrics")
	if err != nil {
		return 0, err
	}
	var sum int64
	for in := bufio.NewScanner(strings.NewReader(page)); in.Scan(); {
		line := in.Text()
		if strings.HasPrefix(line, "apiserver_admission_webhook_request_total{") && strings.Contains(line, `code="200"`) &&
			strings.Contains(line, `name="`+webhook+`"`) {
			var count float64
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &count); err != nil {
				return 0, err
			}
			sum += int64(count)
		}
	}
	return sum, nil
}

// removeWebhooks leaves the cluster as NewWorld did.
func (w *World) removeWebhooks() {
	_, _ = w.Kubectl.Run("", "delete", "mutatingwebhookconfiguration", "halflife", "--ignore-not-found")
	_, _ = w.Kubectl.Run("", "-n", OwnNamespace, "delete", "deployment,service,poddisruptionbudget", "halflife-serve", "--ignore-not-found")
	_, _ = w.apply("", "apply", "-k", w.Root+"/manifests")
	_, _ = w.Kubectl.Run("", "-n", OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
}

// RouteWebhooks is World.RouteWebhooks. The webhooks go with the scenario.
func (t *T) RouteWebhooks(h *Halflife) {
	t.webhooks = true
	t.Check(t.World.RouteWebhooks(h))
}

// removeWebhooks is World.removeWebhooks.
func (t *T) removeWebhooks() {
	t.webhooks = false
	t.World.removeWebhooks()
}

// RESTSettingsAt returns the RESTSettings with a fixed port, and more settings.
func (t *T) RESTSettingsAt(port int, more ...string) []string {
	return append([]string{fmt.Sprintf("--serve-listen=127.0.0.1:%d", port), "--webhook-certificate=self"}, more...)
}

// RouteWebhooksTo makes the API server call a port of this machine and trust that authority. halflife rotate would trust its
// own again, so it ends.
func (t *T) RouteWebhooksTo(port int, roots []byte) {
	t.StopRotate()
	configuration, err := t.Get(WebhooksPath)
	t.Check(err)
	var patch L
	for i := range configuration.List("webhooks") {
		at := fmt.Sprintf("/webhooks/%d/clientConfig/", i)
		patch = append(patch, M{"op": "replace", "path": at + "service/port", "value": port},
			M{"op": "add", "path": at + "caBundle", "value": base64.StdEncoding.EncodeToString(roots)})
	}
	_, err = t.Patch(WebhooksPath, patch)
	t.Check(err)
}

// DryDeployment returns the CPU that the template of a new Deployment would ask for.
func (t *T) DryDeployment() (string, error) {
	made, err := t.Post(t.Path("deployments", "")+"?dryRun=All", t.NewDeployment("probe", 0, App()))
	return Requested(made, "app", "cpu"), err
}

// DryPodOf returns the CPU that a new pod of an owner would ask for.
func (t *T) DryPodOf(owner kube.Object) (string, error) {
	meta := t.Meta(owner.Name() + "-x")
	meta["ownerReferences"] = L{M{"apiVersion": owner.Text("apiVersion"), "kind": owner.Text("kind"), "name": owner.Name(),
		"uid": owner.UID(), "controller": true}}
	made, err := t.Post(t.Path("pods", "")+"?dryRun=All", BarePod(meta))
	return PodRequested(made, "app", "cpu"), err
}

// HalvedNamespace makes the scenario's namespace with a HalvingProfile, and waits until admission goes by it.
func (t *T) HalvedNamespace(at string) {
	t.Namespace()
	t.Profile(HalvingProfile(at))
	probe := t.Create("statefulsets", t.NewWorkload("StatefulSet", "probe", 0, App()))
	t.Eventually("the profile is known", Soon, func() error {
		got, err := "", error(nil)
		if at == "Pod" {
			got, err = t.DryPodOf(probe)
		} else {
			got, err = t.DryDeployment()
		}
		if err == nil && got != "1" {
			err = fmt.Errorf("what is admitted asks for %s", got)
		}
		return err
	})
}

// Admissions returns how many objects the replica has admitted with that result.
func (t *T) Admissions(result string) float64 {
	page, err := t.Replica.Page("/metrics")
	t.Check(err)
	_, after, found := strings.Cut(page, `halflife_admissions_total{result="`+result+`"} `)
	var count float64
	if _, err := fmt.Sscan(after, &count); !found || err != nil {
		t.Fatalf("halflife_admissions_total says nothing of '%s' (%v)", result, err)
	}
	return count
}

// WaitAtAdmission waits until a deploy of an object would get that CPU.
func (t *T) WaitAtAdmission(what string, object M, label, cpu string) {
	t.Eventually(what+": the webhooks know it", Soon, func() error { return t.toldAtAdmission(object, label, cpu) })
}

// toldAtAdmission is an error unless a deploy of an object would get that CPU now: at Workload its template, at Pod a pod
// like those that it has.
func (t *T) toldAtAdmission(object M, label, cpu string) error {
	kind, name := object["kind"].(string), object["metadata"].(M)["name"].(string)
	spec := kube.Object(object).Object("spec", "template", "spec")
	if label == "workload" {
		made, err := t.Patch(t.Path(Plural(kind), name)+"?dryRun=All",
			L{M{"op": "replace", "path": "/spec/template/spec/containers", "value": spec["containers"]}})
		if err == nil && Requested(made, "app", "cpu") != cpu {
			err = fmt.Errorf("the template would ask for %s", Requested(made, "app", "cpu"))
		}
		return err
	}
	live := t.Pods(name)
	if len(live) == 0 {
		return fmt.Errorf("it has no pods")
	}
	probe := M{"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": M{"generateName": "probe-", "namespace": t.NS,
		"labels": live[0].At("metadata", "labels"), "ownerReferences": live[0].At("metadata", "ownerReferences")}}
	made, err := t.Post(t.Path("pods", "")+"?dryRun=All", probe)
	if err == nil && PodRequested(made, "app", "cpu") != cpu {
		err = fmt.Errorf("a pod would ask for %s", PodRequested(made, "app", "cpu"))
	}
	return err
}
