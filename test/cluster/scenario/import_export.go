package scenario

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// vpaMemory is a container as VPA's own code has learned it: its checkpoint's status, and the percentiles that VPA makes of it.
type vpaMemory struct {
	Status M                  `json:"status"`
	CPU    map[string]float64 `json:"cpu"`
	Memory map[string]float64 `json:"memory"`
}

// goPeer is a command of go's in the module that has VPA's code.
func goPeer(root, verb string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", append([]string{verb, "-trimpath"}, args...)...)
	cmd.Dir = filepath.Join(root, "test", "cluster", "peer")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd
}

// BuildPeer compiles what import-vpa runs, ahead of it: that takes minutes, the first time.
func BuildPeer(root string) error {
	if out, err := goPeer(root, "build", "-o", os.DevNull, "./checkpoint").CombinedOutput(); err != nil {
		return fmt.Errorf("build checkpoint: %w\n%s", err, out)
	}
	return nil
}

func vpaMemories(t *stage.T, count int) []vpaMemory {
	seed := time.Now().UnixNano()
	out, err := goPeer(t.Root, "run", "./checkpoint", "-count", fmt.Sprint(count), "-seed", fmt.Sprint(seed)).Output()
	t.Check(err)
	var all []vpaMemory
	t.Check(json.Unmarshal(out, &all))
	t.Notef("%d checkpoints by VPA's own code, seed %d", len(all), seed)
	return all
}

// stored is what the database of the halflife that learns has of a deployment; nil: nothing yet.
func stored(t *stage.T, ns, name string) kube.Object {
	out, err := exec.Command(t.Binary(), "explain", "--database", filepath.Join(t.Learner.Dir, "halflife.db"), "-n", ns, "-o", "json",
		"deploy/"+name).Output()
	if err != nil {
		return nil
	}
	return kube.Parse(string(out))
}

// sameBucket compares percentiles with VPA's: the edges of its buckets, but for the last bits of how each computes them.
func sameBucket(t *stage.T, of kube.Object, what string, want map[string]float64) {
	has := map[string]float64{}
	for _, p := range of.List("percentiles") {
		if value, ok := p.At("value").(float64); ok {
			has[fmt.Sprint(p.Int("percentile"))] = value
		}
	}
	for name, vpa := range want {
		if value, ok := has[name]; !ok || math.Abs(value-vpa) > 1e-9*vpa {
			t.Fatalf("P%s of %s is %v, VPA has %v", name, what, has[name], vpa)
		}
	}
	if len(want) == 0 {
		t.Fatalf("VPA tells no percentile of %s", what)
	}
}

// Checkpoints that VPA's own code saved become histories whose P50, P90 and P95 are VPA's; another time they are known; one that is
// damaged is refused, and the others are not held up by it.
func importVPA(t *stage.T) {
	const deployments, containers = 3, 6
	t.Namespace()
	t.Profile(stage.QuickProfile("Recommend"))
	t.InstallVPA()
	memories := vpaMemories(t, deployments*containers)
	for d := range deployments {
		name := fmt.Sprintf("web-%d", d)
		var boxes []stage.Container
		for c := range containers {
			b := stage.App()
			b.Name = fmt.Sprintf("c%d", c)
			boxes = append(boxes, b)
		}
		t.Apply(t.NewDeployment(name, 0, boxes...))
		t.Apply(t.NewVPA("vpa-"+name, name, "Off"))
		for c := range containers {
			t.Apply(M{"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscalerCheckpoint",
				"metadata": t.Meta(fmt.Sprintf("vpa-%s-c%d", name, c)), "spec": M{"vpaObjectName": "vpa-" + name, "containerName": fmt.Sprintf("c%d", c)},
				"status": memories[d*containers+c].Status})
		}
	}
	broken := M{"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscalerCheckpoint", "metadata": t.Meta("broken"),
		"spec": M{"vpaObjectName": "vpa-web-0", "containerName": "c0"}, "status": M{"version": "v3", "cpuHistogram": M{"bucketWeights": M{"999": 1}}}}
	t.Apply(broken)
	said := t.Command(1, "import", "vpa", "-n", t.NS)
	t.CheckSays(said, "bucket '999' is not one of 0 to 175", fmt.Sprintf("%d joined, 0 known already, 1 refused", deployments*containers))
	t.Ctl("-n", t.NS, "delete", "verticalpodautoscalercheckpoints", "broken")
	for d := range deployments {
		name := fmt.Sprintf("web-%d", d)
		histograms := stored(t, t.NS, name).Object("histograms")
		for c := range containers {
			m := memories[d*containers+c]
			sameBucket(t, histograms.Object(fmt.Sprintf("c%d/cpu", c)), name+" cpu", m.CPU)
			sameBucket(t, histograms.Object(fmt.Sprintf("c%d/memory", c)), name+" memory", m.Memory)
			samples := histograms.Int(fmt.Sprintf("c%d/cpu", c), "samples")
			if want := kube.Object(m.Status).Int("totalSamplesCount"); samples != want {
				t.Fatalf("%s c%d has %d samples, VPA %d", name, c, samples, want)
			}
		}
		t.RecIn("deployment-"+name, "Ready", stage.Soon)
	}
	t.CheckSays(t.Command(0, "import", "vpa", "deploy/web-1", "-n", t.NS), fmt.Sprintf("0 joined, %d known already", containers))
}

// otherNamespace is a second one of the scenario, which its profile selects as well.
func otherNamespace(t *stage.T, suffix string) string {
	name := t.NS + "-" + suffix
	_, err := t.Post("/api/v1/namespaces", M{"apiVersion": "v1", "kind": "Namespace", "metadata": M{"name": name, "labels": M{"e2e": t.Name}}})
	t.Check(err)
	return name
}

// A namespace is copied to another name and deleted: its histories outlive it, and go on in the copy.
func namespaceCopy(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Recommend")
	t.Profile(profile)
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.RecIn("deployment-web", "Ready", stage.Soon)
	t.Eventually("it is stored", stage.Soon, func() error {
		if stored(t, t.NS, "web") == nil {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	before := stored(t, t.NS, "web").Int("histograms", "app/cpu", "samples")
	old, copied := t.NS, otherNamespace(t, "copy")
	t.Ctl("delete", "namespace", old, "--wait=false")
	t.NS = copied
	t.Apply(t.NewDeployment("web", 0, stage.App())) // it never had pods, so the import makes its Recommendation
	file := filepath.Join(t.Dir, t.Name+".histories")
	t.Eventually("the old namespace is gone", stage.Soon, func() error {
		_, err := t.Get("/api/v1/namespaces/" + old)
		if kube.Code(err) != 404 {
			return fmt.Errorf("it is still there (%v)", err)
		}
		return nil
	})
	t.Command(0, "export", "-n", old, "--database", filepath.Join(t.Learner.Dir, "halflife.db"), "-o", file)
	t.CheckSays(t.Command(0, "import", file, "--namespace", old+"="+copied), copied+" Deployment/web app: joined")
	if after := stored(t, copied, "web").Int("histograms", "app/cpu", "samples"); after < before || before == 0 {
		t.Fatalf("the copy has %d samples of %d", after, before)
	}
	t.RecIn("deployment-web", "Ready", stage.Soon)
	t.CheckSays(t.Command(0, "import", file, "--namespace", old+"="+copied), "known")
	torn := filepath.Join(t.Dir, t.Name+".torn")
	text, err := os.ReadFile(file)
	t.Check(err)
	t.Check(os.WriteFile(torn, text[:len(text)-30], 0o600))
	t.CheckSays(t.Command(1, "import", torn, "-n", old+"="+copied), "nothing was imported", "copy it again")
}

// Histories leave by the REST API of the learner and enter by the API server, each with no more than its right: who may read
// recommendations exports, who may create and patch them imports, also for a workload that never had pods.
func exportImport(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Recommend"))
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.RecIn("deployment-web", "Ready", stage.Soon)
	source := t.NS
	client, err := t.RESTClient(t.Learner)
	t.Check(err)
	// The certificate is of the Service's name, which this machine does not know: a way to it without TLS.
	server := httptest.NewServer(&httputil.ReverseProxy{Transport: client.Transport, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(&url.URL{Scheme: "https", Host: "halflife." + stage.OwnNamespace + ".svc"})
	}})
	defer server.Close()
	t.Account("taker", stage.ReadRule("get", "list"))
	t.Account("stranger")
	token := func(name string) string {
		path := filepath.Join(t.Dir, t.Name+"-"+name)
		t.Check(os.WriteFile(path, []byte(t.Token(name)), 0o600))
		return path
	}
	file, taker := filepath.Join(t.Dir, t.Name+".histories"), token("taker")
	export := []string{"export", "-n", source, "--server", server.URL, "-o", file, "--token-file"}
	t.CheckSays(t.Command(1, append(export, token("stranger"))...), "HTTP 403")
	t.CheckSays(t.Command(0, append(export, taker)...), "1 history of 1 workload")
	text, err := os.ReadFile(file)
	t.Check(err)
	if !strings.HasPrefix(string(text), "halflife-histories\t1\t") {
		t.Fatalf("the file begins with %.40q", text)
	}
	target := otherNamespace(t, "to")
	t.NS = target
	t.Apply(t.NewDeployment("web", 0, stage.App())) // it never had pods, so the import makes its Recommendation
	t.Account("giver", stage.ReadRule("get", "patch", "create"))
	t.Account("patcher", stage.ReadRule("get", "patch"))
	t.Account("onlooker", stage.ReadRule("get"))
	as := func(name string) []string {
		path := filepath.Join(t.Dir, t.Name+"-"+name+".kubeconfig")
		t.Check(t.Plane.KubeconfigFor(path, t.Token(name)))
		return []string{"import", file, "-n", source + "=" + target, "--kubeconfig", path}
	}
	t.CheckSays(t.Command(1, as("onlooker")...), "HTTP 403")
	t.CheckSays(t.Command(1, as("patcher")...), "make the Recommendation of Deployment 'web'", "HTTP 403")
	t.CheckSays(t.Command(0, as("giver")...), target+" Deployment/web app: joined")
	t.RecIn("deployment-web", "Ready", stage.Soon)
	t.CheckSays(t.Command(0, append(export, taker)...), "1 history") // it has learned more since
	t.CheckSays(t.Command(0, as("giver")...), "known")
}
