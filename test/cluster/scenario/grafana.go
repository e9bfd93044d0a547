package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/stage"
)

// question is a query of a panel, as the dashboard has it.
type question struct{ where, expr string }

// questions reads the dashboards as Grafana's sidecar does: all ConfigMaps with its label.
func questions(t *stage.T) []question {
	var all []question
	list := kube.Parse(t.Ctl("get", "configmaps", "-A", "-l", "grafana_dashboard=1", "-o", "json"))
	for _, m := range list.List("items") {
		for file := range m.Object("data") {
			d := kube.Parse(m.Text("data", file))
			for _, panel := range d.List("panels") {
				for _, target := range panel.List("targets") {
					all = append(all, question{file + ", " + panel.Text("title") + ", " + target.Text("refId"), target.Text("expr")})
				}
			}
		}
	}
	return all
}

// scraper is a Prometheus that scrapes halflives each second, twice: as they are, and as those of cluster east.
type scraper struct {
	t    *stage.T
	port int
}

func (p *scraper) start(targets map[string]*stage.Halflife) {
	bin, err := programs.Debian("prometheus", os.Stderr)
	p.t.Check(err)
	dir := filepath.Join(p.t.Dir, "prometheus-"+p.t.Name)
	p.t.Check(os.MkdirAll(dir, 0o755))
	config := "global: {scrape_interval: 1s}\nscrape_configs:\n"
	for job, label := range map[string]string{"plain": "", "labelled": `, cluster: east`} {
		config += "- job_name: " + job + "\n  static_configs:\n"
		for pod, h := range targets {
			address, err := h.Address()
			p.t.Check(err)
			config += fmt.Sprintf("  - {targets: ['%s'], labels: {pod: %s%s}}\n", address, pod, label)
		}
	}
	file := filepath.Join(dir, "prometheus.yml")
	p.t.Check(os.WriteFile(file, []byte(config), 0o644))
	p.t.Check(p.t.Plane.StartAt("prometheus", filepath.Join(bin, "prometheus"), p.port, "--config.file="+file,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), fmt.Sprintf("--web.listen-address=127.0.0.1:%d", p.port)))
}

// get returns the member data of an answer.
func (p *scraper) get(path string, values url.Values) (kube.Object, error) {
	client := http.Client{Timeout: 10 * time.Second}
	res, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d%s?%s", p.port, path, values.Encode()))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err == nil && res.StatusCode != 200 {
		err = fmt.Errorf("HTTP %d: %s", res.StatusCode, data)
	}
	return kube.Parse(string(data)), err
}

// ask returns the values of an expression, for those clusters.
func (p *scraper) ask(expr, clusters string) ([]float64, error) {
	expr = strings.NewReplacer("$cluster", clusters, "$__rate_interval", "5m", "$__range", "1h").Replace(expr)
	answer, err := p.get("/api/v1/query", url.Values{"query": {expr}})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	var values []float64
	for _, one := range answer.List("data", "result") {
		pair, _ := one.At("value").([]any)
		if len(pair) != 2 {
			return nil, fmt.Errorf("%s: %s", expr, one)
		}
		value, err := strconv.ParseFloat(fmt.Sprint(pair[1]), 64)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// unanswered returns an error unless all questions have finite values for those clusters.
func (p *scraper) unanswered(all []question, clusters string) error {
	var missing []string
	for _, q := range all {
		values, err := p.ask(q.expr, clusters)
		if err != nil {
			return fmt.Errorf("%s: %w", q.where, err)
		}
		finite := len(values) > 0
		for _, v := range values {
			finite = finite && !math.IsNaN(v) && !math.IsInf(v, 0)
		}
		if !finite {
			missing = append(missing, fmt.Sprintf("%s: %v", q.where, values))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%d of %d have no answer for cluster '%s':\n%s", len(missing), len(all), clusters, strings.Join(missing, "\n"))
	}
	return nil
}

// Each query of the dashboards, as the overlay installs them, has an answer of a real Prometheus that scrapes a controller
// and a replica: whether they have a label cluster or not. For another cluster it has none, so that each heeds the variable.
func grafana(t *stage.T) {
	t.Namespace()
	t.Ctl("apply", "-k", t.Root+"/manifests/overlays/grafana", "-l", "grafana_dashboard=1")
	defer func() { _, _ = t.Kubectl.Run("", "delete", "configmaps", "-A", "-l", "grafana_dashboard=1") }()
	all := questions(t)
	if len(all) < 60 {
		t.Fatalf("%d queries", len(all))
	}

	defer removeCustomMetrics(t)
	installCustomMetrics(t) // before halflife rotate starts
	t.Check(t.InstallWebhooks())
	replica, err := t.StartServe(t.Name+"-serve", stage.RESTSettings...)
	t.Replica = replica
	t.Check(err)
	t.RouteWebhooks(replica)
	p := &scraper{t, t.FreePort()}
	h := serveCustomMetrics(t, "--watcher-listen=127.0.0.1:0", fmt.Sprintf("--prometheus-url=http://127.0.0.1:%d", p.port))
	p.start(map[string]*stage.Halflife{"halflife-0": h, "halflife-serve-0": replica})
	t.Eventually("both are scraped", stage.Soon, func() error {
		if values, err := p.ask("count_over_time(halflife_watches_failing[1m]) > 2", ""); err != nil || len(values) != 4 {
			return fmt.Errorf("%d targets (%v)", len(values), err)
		}
		return nil
	})

	makeWork(t)
	for _, clusters := range []string{".*", "east|west", ""} {
		t.Eventually("all queries are answered", stage.Soon, func() error { return p.unanswered(all, clusters) })
	}
	for _, q := range all {
		values, err := p.ask(q.expr, "west")
		t.Check(err)
		if len(values) > 0 {
			t.Fatalf("%s tells of another cluster: %v", q.where, values)
		}
	}
	choices, err := p.get("/api/v1/label/cluster/values", url.Values{"match[]": {"halflife_recommendations"}})
	t.Check(err)
	if got, _ := json.Marshal(choices.At("data")); string(got) != `["east"]` {
		t.Fatalf("the variable offers %s", got)
	}
	countOnce(t, p, h)
	t.Notef("%d queries, three times", len(all))
}

// makeWork has workloads of which one is lowered, one held for as long as it is there, and one short of CPU and killed, with
// utilizations of their pods.
func makeWork(t *stage.T) {
	for _, mode := range []string{"Rollout", "Recommend"} {
		spec := stage.QuickProfile(mode)
		spec["apply"].(M)["hpa"] = "LimitBasis"
		apps := map[string][]string{"Rollout": {"web"}, "Recommend": {"held", "short"}}[mode]
		spec["selector"] = M{"matchExpressions": []M{{"key": "app", "operator": "In", "values": apps}}}
		t.ProfileNamed("e2e-"+t.Name+"-"+strings.ToLower(mode), spec)
	}
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.Apply(t.NewDeployment("held", 1, stage.App()))
	short := stage.AppUsing(410, 300*stage.Mi)
	short.Requests = M{"cpu": "100m", "memory": "1Gi"}
	t.Apply(t.NewDeployment("short", 1, short))
	cpu, _ := stage.Targets()
	t.Eventually("web is lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	t.Check(t.ReportOOMKill(t.Pods("short")[0], false))
	t.RecIn("deployment-short", "Ready", stage.Soon)
}

// countOnce compares the panels of what is saved with what the controller tells: the replica tells it as well, and Prometheus
// has both twice.
func countOnce(t *stage.T, p *scraper, h *stage.Halflife) {
	for _, name := range []string{"halflife_saved_cpu_cores", "halflife_saving_cpu_cores", "halflife_saving_memory_bytes"} {
		t.Eventually(name+" counts once", stage.Soon, func() error {
			want := h.Counter(name)
			values, err := p.ask("sum(max by (cluster) ("+name+`{cluster=~"$cluster"}))`, "east")
			if err != nil || len(values) != 1 || want <= 0 || math.Abs(values[0]-want) > want/1e6 {
				return fmt.Errorf("%v, not %g (%v)", values, want, err)
			}
			return nil
		})
	}
}
