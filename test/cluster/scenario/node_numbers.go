package scenario

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// What halflife must say of nodes, computed here from what the scenario made and what metrics-server told, and what it says.

// amounts are millicores and bytes.
type amounts [2]int64

var resourceNames = [2]string{"cpu", "memory"}

// nodeLoad is a workload whose pods are on one node.
type nodeLoad struct {
	ns, kind, name                  string
	pods                            int64
	original, requested, used       amounts // of one pod
	ended                           bool    // its pods have ended, and count no more
	asWhole, withoutOwner, withInit bool    // for who makes it
}

func (l *nodeLoad) times(one amounts) amounts { return amounts{l.pods * one[0], l.pods * one[1]} }

// above is how far the load is above its requests, in the resource in which that is more of the node; r is that resource.
func (l *nodeLoad) above(size amounts) (share float64, amount int64, r int) {
	used, asked := l.times(l.used), l.times(l.requested)
	for i := range size {
		if s := float64(used[i]-asked[i]) / float64(size[i]); s > share {
			share, amount, r = s, used[i]-asked[i], i
		}
	}
	return share, amount, r
}

// nodeRing has the samples that count: of 15 minutes up to the newest, at most 15 and a minute apart, where a scrape may
// come 10 seconds early. Where usage is read more often, the newest moves on.
func nodeRing(all []stage.NodeSample) []stage.NodeSample {
	var ring []stage.NodeSample
	for _, s := range all {
		if n := len(ring); n >= 2 && ring[n-1].At.Sub(ring[n-2].At) < 50*time.Second {
			ring[n-1] = s
		} else {
			ring = append(ring, s)
		}
	}
	ring = slices.DeleteFunc(ring, func(s stage.NodeSample) bool {
		return ring[len(ring)-1].At.Sub(s.At) >= 15*time.Minute
	})
	return ring[max(0, len(ring)-15):]
}

// nodeNumbers are shares in thousandths of the capacity, of CPU and of memory.
type nodeNumbers struct {
	samples, pressure       int64
	used                    amounts
	latest, mean, most, hot [2]int64
}

func nodeNumbersOf(ring []stage.NodeSample, size amounts, hotPercent int64) nodeNumbers {
	n := nodeNumbers{samples: int64(len(ring))}
	for i := range size {
		var sum int64
		for _, s := range ring {
			used := min([2]int64{s.CPU, s.Memory}[i], size[i])
			share := used * 1000 / size[i]
			n.used[i], n.latest[i], n.most[i], sum = used, share, max(n.most[i], share), sum+share
			if used*100 > size[i]*hotPercent {
				n.hot[i]++
			}
		}
		n.mean[i] = sum / n.samples
	}
	n.pressure = max(n.mean[0], n.mean[1])
	return n
}

// amountAt reads a quantity of the answer, in millicores or bytes; -1: there is none.
func amountAt(of kube.Object, r int, key string) int64 {
	q, err := resource.ParseQuantity(of.Text(key))
	switch {
	case err != nil:
		return -1
	case r == 0:
		return q.MilliValue()
	}
	return q.Value()
}

// thousandthsAt reads a number of per cent with one place, in thousandths; -1: there is none.
func thousandthsAt(of kube.Object, key string) int64 {
	percent, ok := of.At(key).(float64)
	if !ok {
		return -1
	}
	return int64(percent*10 + 0.5)
}

// compareNode returns an error that names the first number of a node that is not as computed.
func compareNode(item kube.Object, n *stage.PlayedNode, ring []stage.NodeSample, hotPercent int64, loads []*nodeLoad) error {
	size := amounts{n.CPU, n.Memory}
	cpu, memory := n.ForPods()
	forPods := amounts{cpu, memory}
	want := nodeNumbersOf(ring, size, hotPercent)
	type number struct {
		what      string
		got, want int64
	}
	list := []number{{"samples", item.Int("samples"), want.samples}, {"pressure", thousandthsAt(item, "pressurePercent"), want.pressure}}
	var pods int64
	for _, l := range loads {
		if !l.ended {
			pods += l.pods
		}
	}
	list = append(list, number{"pods", item.Int("pods"), pods}, number{"measuredPods", item.Int("measuredPods"), pods})
	for i, name := range resourceNames {
		var original, requested, used int64
		for _, l := range loads {
			if !l.ended {
				original, requested, used = original+l.times(l.original)[i], requested+l.times(l.requested)[i], used+l.times(l.used)[i]
			}
		}
		of := item.Object(name)
		list = append(list, number{name + " capacity", amountAt(of, i, "capacity"), size[i]},
			number{name + " allocatable", amountAt(of, i, "allocatable"), forPods[i]},
			number{name + " original", amountAt(of, i, "original"), original},
			number{name + " requested", amountAt(of, i, "requested"), requested},
			number{name + " podsUsed", amountAt(of, i, "podsUsed"), used},
			number{name + " used", amountAt(of, i, "used"), want.used[i]},
			number{name + " usedPercent", thousandthsAt(of, "usedPercent"), want.latest[i]},
			number{name + " meanPercent", thousandthsAt(of, "meanPercent"), want.mean[i]},
			number{name + " mostPercent", thousandthsAt(of, "mostPercent"), want.most[i]},
			number{name + " hotSamples", of.Int("hotSamples"), want.hot[i]})
	}
	for _, one := range list {
		if one.got != one.want {
			return fmt.Errorf("%s of node %s is %d, not %d, by %v: %s", one.what, n.Name, one.got, one.want, ring, item)
		}
	}
	return compareWorkloads(item, size, loads)
}

// compareNodeWithout is compareNode for a halflife that has missed so many of the samples, whichever: the machine stood still
// between two of its reads. At most two are tried.
func compareNodeWithout(missed int, item kube.Object, n *stage.PlayedNode, all []stage.NodeSample, hotPercent int64, loads []*nodeLoad) error {
	err := compareNode(item, n, nodeRing(all), hotPercent, loads)
	for i := 0; err != nil && missed > 0 && i < len(all)-1; i++ { // it has the last
		less := slices.Delete(slices.Clone(all), i, i+1)
		if compareNodeWithout(min(missed, 2)-1, item, n, less, hotPercent, loads) == nil {
			return nil
		}
	}
	return err
}

// furthestAbove are at most three loads.
func furthestAbove(size amounts, loads []*nodeLoad) []*nodeLoad {
	var list []*nodeLoad
	for _, l := range loads {
		if share, _, _ := l.above(size); share > 0 && !l.ended {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b *nodeLoad) int {
		x, _, _ := a.above(size)
		y, _, _ := b.above(size)
		return map[bool]int{true: -1, false: 1}[x > y]
	})
	return list[:min(3, len(list))]
}

func compareWorkloads(item kube.Object, size amounts, loads []*nodeLoad) error {
	got, want := item.List("workloads"), furthestAbove(size, loads)
	if len(got) != len(want) || item.At("workloads") == nil {
		return fmt.Errorf("node %s has these workloads above their requests, not %d: %s", item.Text("name"), len(want), item)
	}
	for i, l := range want {
		if got[i].Text("namespace") != l.ns || got[i].Text("kind") != l.kind || got[i].Text("name") != l.name {
			return fmt.Errorf("workload %d above its requests is %s, not %s/%s/%s", i, got[i], l.ns, l.kind, l.name)
		}
		for r, name := range resourceNames {
			of := got[i].Object(name)
			if amountAt(of, r, "requested") != l.times(l.requested)[r] || amountAt(of, r, "used") != l.times(l.used)[r] {
				return fmt.Errorf("%s of %s is %s, not %d of %d", name, l.name, of, l.times(l.used)[r], l.times(l.requested)[r])
			}
		}
	}
	return nil
}

// --- asking ---

// nodeServer is a halflife whose list of nodes is asked for.
type nodeServer struct {
	t       *stage.T
	url, ca string
	client  *http.Client
}

// startNodesLearner starts the scenario's own learner, which reads usage twice as often as metrics-server does, so that it
// misses no sample. A second call starts it again at the same address.
func startNodesLearner(t *stage.T, settings ...string) *nodeServer {
	cert, key, ca := t.WriteCertificate(filepath.Join(t.Dir, t.Name+"-files"))
	port := t.FreePort()
	t.StartOwn(append(settings, "--interval=5s", "--tls-cert="+cert, "--tls-key="+key, fmt.Sprintf("--serve-listen=127.0.0.1:%d", port))...)
	pem, err := os.ReadFile(ca)
	t.Check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &nodeServer{t: t, url: fmt.Sprintf("https://localhost:%d", port), ca: ca, client: &http.Client{Timeout: 30 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}}
}

// ask sends GET /api/v1/nodes; query is "" or "?…". An empty token is not sent.
func (s *nodeServer) ask(token, query string) (stage.Answer, error) {
	req, err := http.NewRequest("GET", s.url+"/api/v1/nodes"+query, nil)
	if err != nil {
		return stage.Answer{}, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return stage.Answer{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	return stage.Answer{Code: res.StatusCode, Header: res.Header, Body: string(data)}, err
}

// list gives the answer to who may see it.
func (s *nodeServer) list(token, query string) (kube.Object, error) {
	answer, err := s.ask(token, query)
	if err == nil && answer.Code != 200 {
		err = fmt.Errorf("GET /api/v1/nodes%s: HTTP %d: %s", query, answer.Code, answer.Body)
	}
	return answer.Object(), err
}

// command runs halflife nodes as a person with that token does.
func (s *nodeServer) command(token string, args ...string) stage.ProgramResult {
	return s.t.Program([]string{"HALFLIFE_TOKEN=" + token, "HOME=" + s.t.Dir}, "",
		append([]string{"nodes", "--server", s.url, "--server-ca", s.ca}, args...)...)
}

// --- the table ---

var gaps = regexp.MustCompile(`\s{2,}`)

// cellsOf splits a table into its cells.
func cellsOf(table string) [][]string {
	var rows [][]string
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		rows = append(rows, gaps.Split(strings.TrimSpace(line), -1))
	}
	return rows
}

func percentCell(of kube.Object, key string) string {
	if of.At(key) == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", of.At(key))
}

func askedCell(item kube.Object, r int, key string) string {
	of := item.Object(resourceNames[r])
	return fmt.Sprintf("%d%%", amountAt(of, r, key)*100/amountAt(of, r, "allocatable"))
}

func hotCell(item kube.Object) string {
	name, most := "cpu", item.Int("cpu", "hotSamples")
	if memory := item.Int("memory", "hotSamples"); memory > most {
		name, most = "memory", memory
	}
	if most == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d %s", most, item.Int("samples"), name)
}

// nodeRow is the row of a node in the table, as the answer of the REST API has it.
func nodeRow(item kube.Object, size amounts, loads []*nodeLoad, wide bool) []string {
	text := func(of kube.Object, path ...string) string {
		if said := of.Text(path...); said != "" {
			return said
		}
		return "-"
	}
	above := []string{}
	for _, l := range furthestAbove(size, loads) {
		_, amount, r := l.above(size)
		unit := map[int]string{0: fmt.Sprintf("%dm", amount), 1: fmt.Sprintf("%dMi", amount/stage.Mi)}[r]
		above = append(above, l.ns+"/"+l.kind+"/"+l.name+" +"+unit)
	}
	if len(above) == 0 {
		above = []string{"-"}
	}
	row := []string{item.Text("name"), percentCell(item, "pressurePercent"), percentCell(item.Object("cpu"), "meanPercent"),
		percentCell(item.Object("memory"), "meanPercent"), hotCell(item), askedCell(item, 0, "requested"),
		askedCell(item, 1, "requested"), strings.Join(above, ", ")}
	if !wide {
		return row
	}
	status := map[string]string{"true": "Ready", "false": "NotReady"}[item.Text("ready")]
	if item.Text("unschedulable") == "true" {
		status += ",Cordoned"
	}
	var taints []string
	all, _ := item.At("taints").([]any)
	for _, taint := range all {
		taints = append(taints, fmt.Sprint(taint))
	}
	if len(taints) == 0 {
		taints = []string{"-"}
	}
	return append(row, status, text(item, "cpu", "capacity"), text(item, "cpu", "used"), text(item, "memory", "capacity"),
		text(item, "memory", "used"), askedCell(item, 0, "original"), askedCell(item, 1, "original"), text(item, "pods"),
		text(item, "lastSample"), strings.Join(taints, ","))
}
