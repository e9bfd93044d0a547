package scenario

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

const injectedCPU, injectedMemory = 77, 40 * stage.Mi

// injector is another webhook, which gives each pod of the scenario a container that its template has not. Webhooks are
// called by their configuration's name: a before halflife's, z after it, so that halflife is called again.
func injector(t *stage.T, order string) (stop func()) {
	server := httptest.NewTLSServer(http.HandlerFunc(inject))
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	name := order + "-" + t.NS
	t.Apply(M{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
		"metadata": M{"name": name},
		"webhooks": L{M{"name": "pods.injector.invalid",
			"clientConfig":      M{"url": server.URL, "caBundle": base64.StdEncoding.EncodeToString(ca)},
			"rules":             L{M{"apiGroups": L{""}, "apiVersions": L{"v1"}, "resources": L{"pods"}, "operations": L{"CREATE"}}},
			"namespaceSelector": M{"matchLabels": M{"e2e": t.Name}}, "objectSelector": M{"matchLabels": M{"app": "web"}},
			"admissionReviewVersions": L{"v1"}, "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 10}}})
	return func() {
		_, _ = t.Kubectl.Run("", "delete", "mutatingwebhookconfiguration", name, "--ignore-not-found")
		server.Close()
	}
}

func inject(out http.ResponseWriter, in *http.Request) {
	var review struct {
		Request struct {
			UID    string
			Object struct{ Spec kube.Object }
		}
	}
	if err := json.NewDecoder(in.Body).Decode(&review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	response := M{"uid": review.Request.UID, "allowed": true}
	if stage.FindContainer(review.Request.Object.Spec, "proxy") == nil {
		patch, _ := json.Marshal(L{M{"op": "add", "path": "/spec/containers/-", "value": M{"name": "proxy",
			"image": "registry.invalid/proxy:1", "resources": M{"requests": M{"cpu": "1", "memory": "128Mi"}}}}})
		response["patchType"], response["patch"] = "JSONPatch", patch
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(M{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

// A container that another webhook injects is set as well, by the static factor and then by what was learned, whoever is
// called first; and what was set is not set twice.
func injected(t *stage.T, order string) {
	t.HalvedNamespace("Pod")
	defer injector(t, order)()
	o := t.NewDeployment("web", 2, stage.App())
	notes := kube.Object(o).Object("spec", "template", "metadata", "annotations")
	notes["usage.halflife.dev/cpu.proxy"] = model.CPU.Text(injectedCPU)
	notes["usage.halflife.dev/memory.proxy"] = model.Memory.Text(injectedMemory)
	t.Apply(o)
	ask := func(what, cpu, memory, proxyCPU, proxyMemory string) {
		t.WaitAdmitted(what, "web", cpu, 2, func() error {
			for _, row := range [][3]string{{"app", "memory", memory}, {"proxy", "cpu", proxyCPU}, {"proxy", "memory", proxyMemory}} {
				if err := t.PodsAsk("web", row[0], row[1], row[2], 2); err != nil {
					return err
				}
			}
			return nil
		})
		for _, p := range t.Pods("web") {
			was := kube.Parse(p.Annotation(stage.OriginalsAnnotation))
			if was.Text("app", "requests", "cpu") != "2" || was.Text("proxy", "requests", "cpu") != "1" ||
				was.Text("proxy", "requests", "memory") != "128Mi" {
				t.Fatalf("%s: pod %s remembers %s", what, p.Name(), was)
			}
		}
	}
	ask("half of both", "1", "512Mi", "500m", "64Mi")
	t.Profile(stage.OnDeployProfile("Pod"))
	t.RecWhen("deployment-web", "the injected one is learned", stage.Soon, func(r kube.Object) error {
		c := r.Named("proxy", "status", "containers")
		if r.Text("status", "state") != "Ready" || c.Text("state") != "Ready" || !strings.Contains(c.String(), "NotInTemplate") {
			return fmt.Errorf("state %s, of proxy %s", r.Text("status", "state"), c)
		}
		return nil
	})
	token, _ := t.Pipeline("ci", stage.ReadRule("get"))
	learned := model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(injectedCPU), 1000))
	t.Eventually("who admits knows it, too", stage.Soon, func() error {
		for _, h := range t.Halflives() {
			if told, err := t.AskDeploy(h, token, "deploy/web", "", "proxy", "cpu"); err != nil || told.Target != learned {
				return fmt.Errorf("halflife %s tells %+v (%v)", h.Command, told, err)
			}
		}
		return nil
	})
	t.Ctl("-n", t.NS, "delete", "pods", "-l", "app=web")
	cpu, memory := stage.Targets()
	ask("what was learned of both", cpu, memory, learned,
		model.Memory.Text(model.MemoryDefault.Target(model.Memory.Model(injectedMemory), 128*stage.Mi)))
	t.CheckGeneration("deployments", "web", 1)
}
