package scenario

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

// scanner runs halflife scan with the token of an account.
type scanner struct {
	*stage.T
	account, kubeconfig string
}

func newScanner(t *stage.T, account string) *scanner {
	s := &scanner{t, account, filepath.Join(t.Dir, t.NS+"-"+account+".kubeconfig")}
	t.Account(account)
	t.Check(t.Plane.KubeconfigFor(s.kubeconfig, t.Token(account)))
	return s
}

func (s *scanner) user() string { return "system:serviceaccount:" + s.NS + ":" + s.account }

// bind gives the account the ClusterRole of docs/scan.md: in its namespace, or in the whole cluster.
func (s *scanner) bind(whole bool) {
	const group = "rbac.authorization.k8s.io"
	role := M{"apiGroup": group, "kind": "ClusterRole", "name": s.applyRole()}
	subjects := L{M{"kind": "ServiceAccount", "name": s.account, "namespace": s.NS}}
	meta := s.Meta(s.account)
	kind := "RoleBinding"
	if whole {
		kind = "ClusterRoleBinding"
		meta = M{"name": s.NS + "-" + s.account}
	}
	s.Apply(M{"apiVersion": group + "/v1", "kind": kind, "metadata": meta, "roleRef": role, "subjects": subjects})
}

// applyRole applies the ClusterRole of docs/scan.md, by a name of the scenario's own, and returns that name: scenarios that
// look for what halflife leaves behind run on the same control plane.
func (s *scanner) applyRole() string {
	page, err := os.ReadFile(filepath.Join(s.Root, "docs/scan.md"))
	s.Check(err)
	_, block, found := strings.Cut(string(page), "\n```yaml\n")
	block, _, _ = strings.Cut(block, "\n```")
	name := s.NS + "-reader"
	if block = strings.Replace(block, "name: halflife-scan", "name: "+name, 1); !found || !strings.Contains(block, name) {
		s.Fatalf("docs/scan.md has no ClusterRole 'halflife-scan'")
	}
	path := filepath.Join(s.Dir, s.NS+"-role.yaml")
	s.Check(os.WriteFile(path, []byte(block), 0o644))
	s.Ctl("apply", "-f", path)
	return name
}

func (s *scanner) run(args ...string) stage.ProgramResult {
	return s.Program([]string{"HALFLIFE_KUBECONFIG=" + s.kubeconfig, "LC_ALL=C.UTF-8"}, "", append([]string{"scan"}, args...)...)
}

// rows are the containers of an answer by JSON, by workload.
func (s *scanner) rows(r stage.ProgramResult) map[string]kube.Object {
	rows := map[string]kube.Object{}
	for _, row := range kube.Parse(s.MustSucceed(r)).List("containers") {
		if row.Text("namespace") == s.NS {
			rows[row.Text("workload")] = row
		}
	}
	return rows
}

// waitMeasured waits until scan tells usage of so many pods of each workload. Before there is any it fails, and says so.
func (s *scanner) waitMeasured(want map[string]int64) {
	s.Eventually("all pods are measured", stage.Soon, func() error {
		r := s.run("-n", s.NS, "-o", "json")
		if r.Code == 1 && r.Out == "" && strings.Contains(r.Err, "no pod of a workload has usage yet") {
			return fmt.Errorf("%s", r.Err)
		}
		rows := s.rows(r)
		for workload, pods := range want {
			if got := rows[workload].Int("samples"); got != pods {
				return fmt.Errorf("%d of %d pods of %s", got, pods, workload)
			}
		}
		return nil
	})
}

// A table of a cluster without anything of halflife: the numbers are those that run recommends under the same usage, WHY
// says what would hold a change, and a person sees what its rights allow. Nothing is written.
func scan(t *stage.T) {
	t.Namespace()
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.Apply(t.NewDeployment("scaled", 2, stage.App()))
	t.Apply(t.NewHPA("scaled", M{"type": "Utilization", "averageUtilization": 60}))
	left := t.NewDeployment("left", 1, stage.App())
	left["metadata"].(M)["annotations"] = M{"halflife.dev/apply": "Never"}
	t.Apply(left)
	t.Apply(t.NewWorkload("StatefulSet", "db", 2, stage.AppUsing(310, 300*stage.Mi)))
	other := t.In("other")
	other.Apply(other.NewDeployment("web", 1, stage.App()))

	all, own := newScanner(t, "all"), newScanner(t, "own")
	all.bind(true)
	own.bind(false)
	mark := t.Audit.Mark()
	cpu, _ := stage.Targets()
	web := func(r stage.ProgramResult) error {
		row := all.rows(r)["deployment/web"]
		if got := row.Text("cpu", "then"); got != cpu || row.Int("samples") != 2 {
			return fmt.Errorf("CPU is '%s', not '%s', of %d samples", got, cpu, row.Int("samples"))
		}
		return nil
	}
	all.waitMeasured(map[string]int64{"deployment/web": 2, "deployment/scaled": 2, "deployment/left": 1, "statefulset/db": 2})
	t.Check(web(all.run("-A", "-o", "json")))
	t.Check(web(own.run("-n", t.NS, "-o", "json")))

	rows := all.rows(all.run("-n", t.NS, "-o", "json"))
	for workload, why := range map[string]string{"deployment/web": "Lowered", "deployment/scaled": "HPAHold",
		"deployment/left": "OptedOut", "statefulset/db": "Lowered"} {
		if got := rows[workload].Text("cpu", "why"); got != why {
			t.Fatalf("%s is %s, not %s: %s", workload, got, why, rows[workload])
		}
		if rows[workload].Text("memory", "then") != "" {
			t.Fatalf("one reading promises memory of %s: %s", workload, rows[workload])
		}
	}
	if want, got := model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(310), 2000)), rows["statefulset/db"].Text("cpu", "then"); got != want {
		t.Fatalf("CPU of the StatefulSet becomes '%s', not '%s'", got, want)
	}
	if said := all.run("-n", t.NS); said.Err != "" {
		t.Fatalf("with all rights of docs/scan.md it says: %s", said.Err)
	}
	if said := own.run("-n", t.NS); said.Err != "" {
		t.Fatalf("with these rights in one namespace it says: %s", said.Err)
	}
	denied := own.run("-n", other.NS)
	if denied.Code != 1 || denied.Out != "" {
		t.Fatalf("another's namespace: exit %d, %s", denied.Code, denied.Out)
	}
	t.CheckSays(denied.Err, "is forbidden")
	if r := all.run("-n", t.NS, "--fail-over", "20%"); r.Code != 3 {
		t.Fatalf("--fail-over 20%%: exit %d", r.Code)
	}
	for _, s := range []*scanner{all, own} {
		asked := t.Audit.Since(mark, s.user())
		if writes := stage.Writes(asked); len(writes) > 0 {
			t.Fatalf("%d writes, the first %s", len(writes), writes[0].URI)
		}
	}
	t.Notef("%s", strings.ReplaceAll(all.MustSucceed(own.run("-n", t.NS)), "\n", "\n    "))
}

// The past from a real Prometheus: scan and run have the same numbers from the same series, by its address and through the
// API server's service proxy.
func scanPrometheus(t *stage.T) {
	t.Namespace()
	profile := stage.QuickProfile("Recommend")
	profile["apply"].(M)["minHistory"] = "12h"
	t.Profile(profile)
	t.Apply(t.NewDeployment("web", 1, stage.AppUsing(310, 300*stage.Mi)))
	s := newScanner(t, "scanner")
	s.bind(true)
	s.waitMeasured(map[string]int64{"deployment/web": 1})
	prometheus := newSecured(t, toldOften)
	prometheus.start()
	h := t.StartOwn(append(prometheus.settings(), "--interval=1h")...)
	t.Eventually("the day is loaded", stage.Soon, func() error {
		if h.Counter("halflife_backfill_targets_total") == 0 {
			return fmt.Errorf("no target is; %s", h.Said("backfill", 5))
		}
		return nil
	})
	rec := t.RecIn("deployment-web", "Ready", stage.Soon)
	file := filepath.Join(t.Dir, t.NS+"-profile.yaml")
	t.Check(os.WriteFile(file, []byte(kube.Object(M{"kind": "ClusterProfile", "metadata": M{"name": "same"}, "spec": profile}).String()), 0o644))

	var settings []string
	for _, flag := range prometheus.settings() {
		flag = strings.Replace(flag, "--prometheus-url=", "--prometheus=", 1)
		settings = append(settings, strings.Replace(flag, "--prometheus-history=", "--since=", 1))
	}
	args := []string{"-n", t.NS, "-o", "json", "--profile", file}
	equal(t, rec, s.rows(s.run(append(args, settings...)...))["deployment/web"])

	address := prometheus.open()
	r := s.run(append(args, "--prometheus=auto", "--prometheus-step=5m", "--since=36h")...)
	t.CheckSays(r.Err, "took service "+t.NS+"/prometheus-operated (Prometheus operator)")
	equal(t, rec, s.rows(r)["deployment/web"])
	t.Notef("asked at %s through the API server", address)
}

// equal ends the scenario unless a row of scan has the numbers of a Recommendation.
func equal(t *stage.T, rec, row kube.Object) {
	container := rec.Named("app", "status", "containers")
	for _, resource := range []string{"cpu", "memory"} {
		is, want := row.Object(resource), container.Object(resource)
		if is.Text("then") != want.Text("target") || is.Text("used") != want.Text("model") {
			t.Fatalf("scan says %s, run says %s: %s", is, want, row)
		}
		t.Notef("%-6s used %s, then %s, as run says", resource, is.Text("used"), is.Text("then"))
	}
}

// open starts a copy of the data without TLS at an address of this machine, behind a service of the operator's name.
func (p *secured) open() string {
	ip, port := ownAddress(p.t), p.t.FreePort()
	address, data := fmt.Sprintf("%s:%d", ip, port), filepath.Join(p.dir, "data-open")
	p.t.Check(os.CopyFS(data, os.DirFS(filepath.Join(p.dir, "data"))))
	p.t.Check(p.t.Plane.StartAt("prometheus-open", filepath.Join(p.bin, "prometheus"), port,
		"--config.file="+filepath.Join(p.dir, "prometheus.yml"), "--storage.tsdb.path="+data,
		"--web.listen-address=0.0.0.0:"+fmt.Sprint(port)))
	t := p.t
	// The API server proxies to addresses of pods alone.
	pod := M{"apiVersion": "v1", "kind": "Pod", "metadata": t.Meta("prometheus"), "spec": M{"schedulerName": "none",
		"containers": L{M{"name": "prometheus", "image": "registry.invalid/prometheus:1"}}}}
	t.Apply(pod)
	_, err := t.Merge(t.Path("pods", "prometheus")+"/status", M{"status": M{"podIP": ip, "podIPs": L{M{"ip": ip}}}})
	t.Check(err)
	t.Apply(M{"apiVersion": "v1", "kind": "Service", "metadata": t.Meta("prometheus-operated"),
		"spec": M{"clusterIP": "None", "ports": L{M{"name": "web", "port": 9090, "targetPort": port}}}})
	t.Apply(M{"apiVersion": "v1", "kind": "Endpoints", "metadata": t.Meta("prometheus-operated"), "subsets": L{M{
		"addresses": L{M{"ip": ip, "targetRef": M{"kind": "Pod", "namespace": t.NS, "name": "prometheus"}}},
		"ports":     L{M{"name": "web", "port": port}}}}})
	return address
}

// ownAddress is an address of this machine that is not its loopback's, to which the API server never proxies.
func ownAddress(t *stage.T) string {
	addresses, err := net.InterfaceAddrs()
	t.Check(err)
	for _, a := range addresses {
		if n, is := a.(*net.IPNet); is && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Fatalf("this machine has no address but its loopback's")
	return ""
}

// scanFleet reads all of a fleet, and bounds what that costs.
func scanFleet(t *stage.T) {
	const seconds, cpuSeconds, mib = 10, 3, 64
	cmd := exec.Command(t.Binary(), "scan", "-n", t.NS, "-o", "json")
	cmd.Env = append(os.Environ(), "HALFLIFE_KUBECONFIG="+t.Plane.Kubeconfig)
	stdout, err := cmd.StdoutPipe()
	t.Check(err)
	began := time.Now()
	t.Check(cmd.Start())
	// It prints at its end, and more than a pipe holds: its peak is read while it waits to print the rest.
	first := make([]byte, 1)
	_, err = io.ReadFull(stdout, first)
	t.Check(err)
	peak := peakMemory(t, cmd.Process.Pid)
	rest, err := io.ReadAll(stdout)
	t.Check(err)
	t.Check(cmd.Wait())
	took := time.Since(began)
	out := append(first, rest...)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Notef("scan of %d pods: %.2f s, CPU %.2f s, %.1f MiB", fleetSize*fleetPods, took.Seconds(), cpu.Seconds(), float64(peak)/stage.Mi)
	right := 0
	for _, row := range kube.Parse(string(out)).List("containers") {
		var i int
		if _, err := fmt.Sscanf(row.Text("workload"), "deployment/fleet-%d", &i); err != nil {
			continue
		}
		used, _ := fleetUsage(i)
		want := model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(used), 2000))
		if got := row.Text("cpu", "then"); got != want {
			t.Fatalf("%s: CPU becomes %s, not %s", row.Text("workload"), got, want)
		}
		right++
	}
	if right != fleetSize {
		t.Fatalf("%d of %d Deployments", right, fleetSize)
	}
	if took > stage.Scaled(seconds*time.Second) || cpu > stage.Scaled(cpuSeconds*time.Second) || peak > mib*stage.Mi {
		t.Fatalf("more than %d s, %d s of CPU or %d MiB", seconds, cpuSeconds, mib)
	}
}

// peakMemory is the most memory that a running process had, in bytes. What wait4 tells has that of the parent in it.
func peakMemory(t *stage.T, pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	t.Check(err)
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	_, err = fmt.Sscanf(after, "%d", &kib)
	t.Check(err)
	return kib << 10
}
