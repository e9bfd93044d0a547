package scenario

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// A dedicated pool: who asks is told, by REST, by the command line and through kubectl, and nothing is changed by anybody,
// also where the profile has a static factor.
func queryOnly(t *stage.T) {
	t.Namespace()
	token, kubeconfig := t.Pipeline("ci")
	profile := func(minHistory string) {
		spec := stage.OnDeployProfile("Pod")
		spec["resources"] = M{"memory": M{"enabled": false}}
		spec["apply"].(M)["mode"], spec["apply"].(M)["minHistory"] = "Recommend", minHistory
		t.Profile(spec)
	}
	profile("1h")
	t.WaitAgree(token, "deploy/web", "?container=app&original=cpu:2", "2", "RecommendOnly", stage.Soon)
	told, err := t.AskDeploy(t.Replica, token, "deploy/web", "?container=app&original=cpu:2", "app", "cpu")
	if err != nil || told.Target != "1" {
		t.Fatalf("of a workload that is not there yet it recommends %+v (%v)", told, err)
	}
	manifest := kube.Object(t.NewDeployment("web", 2, stage.App())).String()
	t.CtlIn(manifest, "apply", "-f", "-")
	recommends(t, "Learning", "1")
	profile("0s")
	learned := model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(stage.UsedCPU), 2000))
	recommends(t, "Ready", learned)
	t.WaitAgree(token, "deploy/web", "", "2", "RecommendOnly", stage.Soon)
	for _, h := range t.Halflives() {
		answer := t.Render(h, token, manifest)
		if answer.Body != manifest || answer.Header.Get("X-Halflife-Reason") != "RecommendOnly" || answer.Header.Get("X-Halflife-Changed") != "0" {
			t.Fatalf("halflife %s renders %v: %s", h.Command, answer.Header, answer.Body)
		}
	}
	if got := t.MustSucceed(t.Program([]string{"KUBECONFIG=" + kubeconfig}, manifest, "render", "-f", "-")); got != manifest {
		t.Fatalf("the command line renders:\n%s", got)
	}
	t.Ctl("-n", t.NS, "rollout", "restart", "deployment/web")
	t.Eventually("new pods as their owner has them", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", "2", 2) })
	web := t.Workload("deployments", "web")
	notes := web.Object("spec", "template", "metadata", "annotations")
	if notes.Text(stage.AppliedAnnotation) != "" || stage.Requested(web, "app", "cpu") != "2" {
		t.Fatalf("the template became %s", web.Object("spec", "template"))
	}
	plugin(t, token, kubeconfig, learned)
}

// recommends waits until the recommendation, as kubectl has it and as REST tells it, is in a state and has that CPU as target.
func recommends(t *stage.T, state, cpu string) {
	t.RecWhen("deployment-web", state+" with "+cpu, stage.Soon, func(r kube.Object) error {
		of := r.Named("app", "status", "containers").Object("cpu")
		if r.Text("status", "state") != state || of.Text("target") != cpu || of.Text("reason") == "" {
			return fmt.Errorf("state %s, %s", r.Text("status", "state"), of)
		}
		return nil
	})
}

// plugin asks as a person does: kubectl halflife, with what a pipeline may, and what only the learner knows by way of the API
// server's proxy.
func plugin(t *stage.T, token, kubeconfig, cpu string) {
	dir := filepath.Join(t.Dir, "plugin-"+t.Name)
	t.Check(os.MkdirAll(dir, 0o755))
	t.Check(os.Symlink(t.Binary(), filepath.Join(dir, "kubectl-halflife")))
	env := []string{"KUBECONFIG=" + kubeconfig, "HOME=" + dir, "PATH=" + dir + ":" + os.Getenv("PATH"), "HALFLIFE_TOKEN=" + token,
		"LC_ALL=C.UTF-8"}
	var said string
	plugin := func(args ...string) string {
		r := t.Execute(t.Kubectl.Path, env, "", append(append([]string{"halflife"}, args...), "-n", t.NS)...)
		said = r.Err
		return t.MustSucceed(r)
	}
	for _, c := range []struct{ args, want string }{
		{"get", "deployment-web"}, {"get deploy/web", cpu}, {"get deployments.apps/web -o wide", "RecommendOnly"},
		{"get deploy/web -o name", "recommendation.halflife.dev/deployment-web"}, {"get -l app=web -o yaml", `target: "` + cpu + `"`},
	} {
		if got := plugin(strings.Fields(c.args)...); !strings.Contains(got, c.want) {
			t.Fatalf("kubectl halflife %s does not say '%s':\n%s", c.args, c.want, got)
		}
	}
	got := kube.Parse(plugin("get", "deploy/web", "-o", "json")).Named("app", "status", "containers").Object("cpu")
	if got.Text("target") != cpu || got.Text("original") != "2" {
		t.Fatalf("kubectl halflife get -o json has %s", got)
	}
	l := listenOutside(t)
	if l == nil {
		t.Notef("kubectl halflife get; this machine has no address that the API server would lead to, so no explain")
		return
	}
	defer l.Close()
	defer func() { _ = t.Delete(learnerPod) }()
	t.Ctl("-n", stage.OwnNamespace, "create", "rolebinding", t.NS, "--role=halflife-rest-proxy", "--serviceaccount="+t.NS+":ci")
	defer func() { _, _ = t.Kubectl.Run("", "-n", stage.OwnNamespace, "delete", "rolebinding", t.NS) }()
	address, err := t.Learner.RESTAddress()
	t.Check(err)
	go passOn(l, address)
	reach(t, l)
	text := plugin("explain", "deploy/web")
	for _, want := range []string{"Deployment web in namespace " + t.NS, "Ready", cpu, "┤", "percentile", "multiplier", "RecommendOnly"} {
		if !strings.Contains(text, want) {
			t.Fatalf("kubectl halflife explain does not say '%s':\n%s%s", want, said, text)
		}
	}
	told := plugin("explain", "deploy/web", "--container", "app", "--resource", "cpu", "--multiplier", "2")
	if twice := model.CPU.Text(2 * model.CPU.Model(stage.UsedCPU)); !strings.Contains(told, twice) {
		t.Fatalf("with a multiplier of 2 it does not come to %s:\n%s", twice, told)
	}
	t.Notef("kubectl halflife get and explain, through the API server's proxy")
}

// learnerPod is a pod of the Service halflife.
const learnerPod = "/api/v1/namespaces/" + stage.OwnNamespace + "/pods/learner"

// listenOutside listens on an address of this machine that is not loopback, which the API server leads nobody to; nil: there
// is none.
func listenOutside(t *stage.T) net.Listener {
	addresses, err := net.InterfaceAddrs()
	t.Check(err)
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok && network.IP.To4() != nil && network.IP.IsGlobalUnicast() {
			l, err := net.Listen("tcp", net.JoinHostPort(network.IP.String(), "0"))
			t.Check(err)
			return l
		}
	}
	return nil
}

// reach makes the API server's proxy to the service halflife lead to l: a pod of that Service gets its address.
func reach(t *stage.T, l net.Listener) {
	outside := l.Addr().(*net.TCPAddr)
	deployment, err := t.Get("/apis/apps/v1/namespaces/" + stage.OwnNamespace + "/deployments/halflife")
	t.Check(err)
	template := deployment.Object("spec", "template")
	spec := template.Object("spec")
	delete(spec, "volumes") // it keeps nothing
	delete(spec.List("containers")[0], "volumeMounts")
	spec.List("containers")[0]["ports"] = L{M{"name": "http", "containerPort": 8080}, M{"name": "https", "containerPort": outside.Port}}
	_, err = t.Post(filepath.Dir(learnerPod), M{"apiVersion": "v1", "kind": "Pod", "spec": spec,
		"metadata": M{"name": "learner", "labels": template.At("metadata", "labels")}})
	t.Check(err)
	t.Eventually("the service halflife leads to this machine", stage.Soon, func() error {
		pod, err := t.Get(learnerPod)
		if err == nil && pod.Text("status", "phase") != "Running" {
			err = fmt.Errorf("its pod is %s", pod.Text("status", "phase"))
		}
		if ip := outside.IP.String(); err == nil && pod.Text("status", "podIP") != ip {
			_, err = t.Merge(learnerPod+"/status", M{"status": M{"podIP": ip, "podIPs": L{M{"ip": ip}}}})
		}
		if err == nil {
			_, err = t.Text("/api/v1/namespaces/" + stage.OwnNamespace + "/services/https:halflife:https/proxy/openapi.yaml")
		}
		return err
	})
}

// passOn leads each connection of l to an address.
func passOn(l net.Listener, to string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			in.Close()
			continue
		}
		pass := func(a, b net.Conn) {
			_, _ = io.Copy(a, b)
			a.Close()
		}
		go pass(in, out)
		go pass(out, in)
	}
}
