package scenario

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/stage"
)

const (
	blockSeconds  = 300 // usage is constant for so long, and so long is the step of a back-fill
	blocks        = 12 * 24
	scrapeSeconds = 30
	past          = "web-7d7f4c499d-gvh4r" // a pod that is long gone
)

// The usage of a block: cores, bytes.
func pastUsage(block int) (cpu, memory float64) {
	return 0.02 * float64(1+block*7%31), float64(30*stage.Mi) * float64(1+block*5%23)
}

// series is told a share of the usage, so many seconds after the others are.
type series struct {
	labels string
	share  float64
	late   int64
}

func labelsOf(ns, path, more string) string {
	return fmt.Sprintf(`{namespace="%s",pod="%s",container="app",metrics_path="/metrics/%s"%s}`, ns, past, path, more)
}

// toldOnce is what cAdvisor told of a pod that is gone, by cores, and the kubelet beside it, ten times as much: only one of
// them may count.
func toldOnce(ns string) (cpu, memory []series) {
	cadvisor, resource := labelsOf(ns, "cadvisor", ""), labelsOf(ns, "resource", "")
	cpu = []series{
		{labels: labelsOf(ns, "cadvisor", `,cpu="cpu00"`), share: 0.75},
		{labels: labelsOf(ns, "cadvisor", `,cpu="cpu01"`), share: 0.25},
		{labels: resource, share: 10},
		{labels: strings.Replace(cadvisor, `container="app"`, `container="POD"`, 1), share: 3},
	}
	return cpu, []series{{labels: cadvisor, share: 1}, {labels: resource, share: 10}}
}

// toldOften is the same pod by a pair of Prometheus, of which one has two targets for its kubelet, with a cgroup around
// the container's that has half as much more, the process before a restart, and rows of the pod.
func toldOften(ns string) (cpu, memory []series) {
	const slice = "/kubepods.slice/kubepods-pod8e0b0b0e_7c1d_4f6a_9b3e_0123456789ab.slice"
	scrapes := []series{
		{`replica="a",job="kubelet"`, 1, 0}, {`replica="a",job="cadvisor"`, 1, 0}, {`replica="b",job="kubelet"`, 1, 13},
	}
	cgroups := map[string]float64{"/crio-7.scope": 1.5, "/crio-7.scope/container": 1, "/crio-6.scope/container": 0.5}
	for _, scrape := range scrapes {
		for id, share := range cgroups {
			labels := func(more string) string {
				return labelsOf(ns, "cadvisor", fmt.Sprintf(`,id="%s%s",%s%s`, slice, id, scrape.labels, more))
			}
			cpu = append(cpu, series{labels(`,cpu="cpu00"`), 0.75 * share, scrape.late})
			cpu = append(cpu, series{labels(`,cpu="cpu01"`), 0.25 * share, scrape.late})
			memory = append(memory, series{labels(""), share, scrape.late})
		}
		pod := labelsOf(ns, "cadvisor", fmt.Sprintf(`,id="%s",%s`, slice, scrape.labels))
		pod = strings.Replace(pod, `container="app",`, "", 1)
		cpu, memory = append(cpu, series{pod, 3, scrape.late}), append(memory, series{pod, 3, scrape.late})
	}
	return cpu, memory
}

// openMetrics is a day of these series. The last block ends at end.
func openMetrics(cpus, memories []series, end int64) string {
	begin := end - blocks*blockSeconds
	var out strings.Builder
	out.WriteString("# TYPE container_cpu_usage_seconds counter\n")
	for _, s := range cpus {
		total := 0.0
		for at := begin + scrapeSeconds/2; at < end; at += scrapeSeconds {
			cpu, _ := pastUsage(int((at - begin) / blockSeconds))
			total += cpu * s.share * scrapeSeconds
			fmt.Fprintf(&out, "container_cpu_usage_seconds_total%s %g %d\n", s.labels, total, at+s.late)
		}
	}
	out.WriteString("# TYPE container_memory_working_set_bytes gauge\n")
	for _, s := range memories {
		for at := begin + scrapeSeconds/2; at < end; at += scrapeSeconds {
			_, memory := pastUsage(int((at - begin) / blockSeconds))
			fmt.Fprintf(&out, "container_memory_working_set_bytes%s %g %d\n", s.labels, memory*s.share, at+s.late)
		}
	}
	out.WriteString("# EOF\n")
	return out.String()
}

// livePercentile is what samples taken each minute of that day give: each weighs half of one a day later.
func livePercentile(r model.Resource, p float64, value func(block int) float64) float64 {
	type weighed struct{ edge, weight float64 }
	var all []weighed
	total := 0.0
	for minute := range blocks * blockSeconds / 60 {
		w := math.Exp2(float64(minute) / (24 * 60))
		all = append(all, weighed{r.EdgeOf(value(minute * 60 / blockSeconds)), w})
		total += w
	}
	sort.Slice(all, func(i, k int) bool { return all[i].edge < all[k].edge })
	sum := 0.0
	for _, one := range all {
		if sum += one.weight; sum >= p/100*total {
			return one.edge
		}
	}
	return all[len(all)-1].edge
}

// secured is a Prometheus that wants a client certificate, a user and a password, with a day of data.
type secured struct {
	t                    *stage.T
	port                 int
	bin, dir             string
	cert, key, ca, login string
}

func newSecured(t *stage.T, told func(ns string) (cpu, memory []series)) *secured {
	p := &secured{t: t, port: t.FreePort(), dir: filepath.Join(t.Dir, "prometheus-"+t.Name)}
	var err error
	p.bin, err = programs.Debian("prometheus", os.Stderr)
	t.Check(err)
	p.cert, p.key, p.ca = t.WriteCertificate(p.dir)
	p.login = p.write("password", "histories from before\n")
	p.write("prometheus.yml", "global: {scrape_interval: 30s}\n")
	// The password by bcrypt, of the least cost.
	p.write("web.yml", fmt.Sprintf(`tls_server_config: {cert_file: '%s', key_file: '%s', client_auth_type: RequireAndVerifyClientCert, client_ca_file: '%s'}
basic_auth_users: {halflife: $2a$04$5GzmbVeXPpagEcw7mgayS.FHqH9KLM.AtdCiHZ8gvn.MG5vwHqgvy}
`, p.cert, p.key, p.ca))
	end := time.Now().Unix() / blockSeconds * blockSeconds
	cpu, memory := told(t.NS)
	data := p.write("day.txt", openMetrics(cpu, memory, end))
	out, err := exec.Command(filepath.Join(p.bin, "promtool"), "tsdb", "create-blocks-from", "openmetrics", data,
		filepath.Join(p.dir, "data")).CombinedOutput()
	if err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	return p
}

func (p *secured) write(name, text string) string {
	path := filepath.Join(p.dir, name)
	p.t.Check(os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (p *secured) start() {
	p.t.Check(p.t.Plane.StartAt("prometheus", filepath.Join(p.bin, "prometheus"), p.port,
		"--config.file="+filepath.Join(p.dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(p.dir, "data"),
		"--web.config.file="+filepath.Join(p.dir, "web.yml"), fmt.Sprintf("--web.listen-address=127.0.0.1:%d", p.port)))
}

func (p *secured) settings() []string {
	return []string{
		fmt.Sprintf("--prometheus-url=https://localhost:%d", p.port), "--prometheus-step=5m", "--prometheus-history=36h",
		"--prometheus-ca=" + p.ca, "--prometheus-cert=" + p.cert, "--prometheus-key=" + p.key, "--prometheus-user=halflife",
		"--prometheus-password-file=" + p.login,
	}
}

// whatIf is the model of a resource by another percentile, from the database.
func whatIf(t *stage.T, h *stage.Halflife, resource string, percentile int) float64 {
	out, err := exec.Command(t.Binary(), "explain", "--database", filepath.Join(h.Dir, "halflife.db"), "-n", t.NS, "-o", "json",
		"--resource", resource, "--percentile", fmt.Sprint(percentile), "deploy/web").CombinedOutput()
	if err != nil {
		t.Fatalf("explain: %v\n%s", err, out)
	}
	number := kube.Parse(string(out)).Named("app", "explain", "containers").Object(resource)
	if text := number.Text("whatIf", "model"); text != "" {
		return quantityOf(t, text)
	}
	return quantityOf(t, number.Text("model"))
}

func quantityOf(t *stage.T, text string) float64 {
	for suffix, factor := range map[string]float64{"m": 1e-3, "Mi": 1 << 20, "Gi": 1 << 30, "Ki": 1 << 10} {
		if digits, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseFloat(digits, 64)
			t.Check(err)
			return n * factor
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	t.Check(err)
	return n
}

// A day that only Prometheus has seen, of a pod that is gone, becomes a history that equals the live stream's within one
// bucket: also when Prometheus comes late, halflife is killed before, and ends and starts again after; once.
func backfill(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Recommend")
	profile["apply"].(M)["minHistory"] = "12h"
	t.Profile(profile)
	t.Apply(t.NewDeployment("web", 1, stage.AppUsing(310, 300*stage.Mi)))
	prometheus := newSecured(t, toldOnce)

	h := t.StartOwn(prometheus.settings()...)
	t.RecIn("deployment-web", "Learning", stage.Soon)
	t.Eventually("it says that Prometheus is away", stage.Soon, func() error {
		if h.Counter("halflife_backfill_failures_total") == 0 {
			return fmt.Errorf("no slice failed yet")
		}
		return nil
	})
	h.Signal(syscall.SIGKILL)
	_, err := h.Wait(30 * time.Second)
	t.Check(err)

	prometheus.start()
	t.Check(h.Start())
	t.Eventually("the day is loaded", stage.Soon, func() error {
		if h.Counter("halflife_backfill_targets_total") == 0 {
			return fmt.Errorf("no target is; %s", h.Said("backfill", 5))
		}
		return nil
	})
	rec := t.RecIn("deployment-web", "Ready", stage.Soon)
	samples, err := strconv.Atoi(rec.Text("status", "samples"))
	t.Check(err)
	if samples < blocks-2 || samples > blocks+60 {
		t.Fatalf("%d samples, of %d points and what was learned live since", samples, blocks)
	}
	closeToLive(t, h)

	code, _, err := h.Terminate()
	t.Check(err)
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	t.StartAgain(h)
	if n := h.Counter("halflife_backfill_slices_total"); n != 0 {
		t.Fatalf("after a restart %g slices were asked for once more", n)
	}
	t.Notef("%d points and samples; the rest by explain, within a bucket", samples)
}

// The same day, told seven times over: one container is one series.
func backfillTwice(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Recommend")
	profile["apply"].(M)["minHistory"] = "12h"
	t.Profile(profile)
	t.Apply(t.NewDeployment("web", 1, stage.AppUsing(310, 300*stage.Mi)))
	prometheus := newSecured(t, toldOften)
	prometheus.start()
	h := t.StartOwn(prometheus.settings()...)
	t.Eventually("the day is loaded", stage.Soon, func() error {
		if h.Counter("halflife_backfill_targets_total") == 0 {
			return fmt.Errorf("no target is; %s", h.Said("backfill", 5))
		}
		return nil
	})
	t.RecIn("deployment-web", "Ready", stage.Soon)
	closeToLive(t, h)
}

// closeToLive compares percentiles with those of the live stream.
func closeToLive(t *stage.T, h *stage.Halflife) {
	for _, p := range []int{50, 75, 90, 95} {
		cpu := livePercentile(model.CPU, float64(p), func(b int) float64 { v, _ := pastUsage(b); return v })
		memory := livePercentile(model.Memory, float64(p), func(b int) float64 { _, v := pastUsage(b); return v })
		for resource, want := range map[string]float64{"cpu": cpu, "memory": memory} {
			r := model.CPU
			if resource == "memory" {
				r = model.Memory
			}
			got := whatIf(t, h, resource, p)
			if apart := r.Apart(got, want); apart > 1 {
				t.Fatalf("P%d of %s is %g, %d buckets from the live stream's %g", p, resource, got, apart, want)
			}
			t.Notef("P%-3d %-6s %14.3f, live %14.3f", p, resource, got, want)
		}
	}
}
