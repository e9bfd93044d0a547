package scenario

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"halflife.dev/cluster/plane"
	"halflife.dev/cluster/stage"
)

const (
	peerAccount  = "system:serviceaccount:peer:peer"
	peerInterval = 60 * time.Second // the recommender's own default
	peerCycles   = 5
)

// side is one column of the comparison.
type side struct {
	process  *plane.Process
	account  string
	cpu      float64 // seconds a cycle
	memory   float64 // MiB resident at the end, as /proc/PID/stat counts them
	own      float64 // of these, not backed by the program's and its libraries' files
	requests float64 // a cycle
	detail   string
}

// ComparePeer runs halflife and the VPA recommender (a built program, with the folder of its source for the CRDs) on the
// same pods at the same time and prints what each costs once both have said what they recommend.
func ComparePeer(w *stage.World, recommender, source string, out io.Writer) (err error) {
	return stage.Play(w, "peer", func(t *stage.T) {
		t.Namespace()
		t.Profile(stage.QuickProfile("Recommend"))
		createFleet(t)
		theirs := startPeer(t, recommender, source)
		defer theirs.Stop()
		ours := t.StartOwn("--interval", peerInterval.String(), "--status-interval", "10m", "--checkpoint-interval", "5m")
		t.Eventually("every recommendation of ours is right", 10*time.Minute, func() error { return fleetRight(t) })
		t.Eventually("every recommendation of theirs is there", 10*time.Minute, func() error { return peerReady(t) })

		sides := []*side{{process: ours.Process, account: stage.LearnerUser}, {process: theirs, account: peerAccount}}
		measurePeers(t, sides)
		print := func(what, unit string, of func(*side) float64) {
			fmt.Fprintf(out, "%-14s halflife %10.3f %-12s VPA recommender %10.3f %-12s ratio 1/%.1f\n", what, of(sides[0]), unit,
				of(sides[1]), unit, of(sides[1])/max(of(sides[0]), 0.001))
		}
		print("memory", "MiB", func(s *side) float64 { return s.memory })
		print("  anonymous", "MiB", func(s *side) float64 { return s.own })
		print("CPU", "s/cycle", func(s *side) float64 { return s.cpu })
		print("API requests", "1/cycle", func(s *side) float64 { return s.requests })
		for i, name := range []string{"halflife", "VPA recommender"} {
			fmt.Fprintf(out, "%s asked in %d cycles of %s: %s\n", name, peerCycles, peerInterval, sides[i].detail)
		}
	})
}

// measurePeers waits for some cycles of both and fills in what they cost.
func measurePeers(t *stage.T, sides []*side) {
	mark := t.Audit.Mark()
	before := make([]float64, len(sides))
	for i, s := range sides {
		before[i], _, _ = s.process.Usage()
	}
	until := time.Now().Add(peerCycles * peerInterval)
	t.Eventually("the cycles have passed", (peerCycles+1)*peerInterval, func() error {
		if left := time.Until(until); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	for i, s := range sides {
		cpu, resident, err := s.process.Usage()
		t.Check(err)
		asked := t.Audit.Since(mark, s.account)
		s.cpu = (cpu - before[i]) / peerCycles
		anonymous, err := s.process.Anonymous()
		t.Check(err)
		s.memory = float64(resident) / stage.Mi
		s.own = float64(anonymous) / stage.Mi
		s.requests = float64(len(asked)) / peerCycles
		s.detail = stage.Summary(asked)
	}
}

// startPeer installs the VPA's CRDs, a VPA that only recommends for each deployment of the fleet, and starts it.
func startPeer(t *stage.T, recommender, source string) *plane.Process {
	t.Ctl("apply", "--server-side", "-f", filepath.Join(source, "deploy", "vpa-v1-crd-gen.yaml"))
	t.Served("verticalpodautoscalers.autoscaling.k8s.io")
	t.Ctl("create", "namespace", "peer")
	t.Ctl("-n", "peer", "create", "serviceaccount", "peer")
	t.Ctl("create", "clusterrolebinding", "peer", "--clusterrole=cluster-admin", "--serviceaccount=peer:peer")
	for i := range fleetSize {
		name := fmt.Sprintf("fleet-%d", i)
		_, err := t.Post(peerVPAs(t), M{"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
			"metadata": M{"name": name}, "spec": M{"updatePolicy": M{"updateMode": "Off"},
				"targetRef": M{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}})
		t.Check(err)
	}
	kubeconfig := filepath.Join(t.Dir, "peer.kubeconfig")
	token := t.Ctl("-n", "peer", "create", "token", "peer", "--duration=2h")
	t.Check(t.Plane.KubeconfigFor(kubeconfig, strings.TrimSpace(token)))
	p := &plane.Process{Name: "recommender", Path: recommender, Log: filepath.Join(t.Dir, "recommender.log"),
		Args: []string{"--kubeconfig=" + kubeconfig, "--address=127.0.0.1:0", "--recommender-interval=" + peerInterval.String()}}
	t.Check(p.Start(false))
	return p
}

func peerVPAs(t *stage.T) string { return ofPeer(t, "verticalpodautoscalers") }

func ofPeer(t *stage.T, plural string) string {
	return "/apis/autoscaling.k8s.io/v1/namespaces/" + t.NS + "/" + plural
}

// peerReady is an error until every VPA has its recommendation and its first checkpoint is written.
func peerReady(t *stage.T) error {
	list, err := t.Get(peerVPAs(t))
	if err != nil {
		return err
	}
	count := 0
	for _, v := range list.List("items") {
		if len(v.List("status", "recommendation", "containerRecommendations")) > 0 {
			count++
		}
	}
	saved, err := t.Get(ofPeer(t, "verticalpodautoscalercheckpoints"))
	if err != nil {
		return err
	}
	if kept := len(saved.List("items")); count != fleetSize || kept != fleetSize {
		return fmt.Errorf("%d recommendations and %d checkpoints of %d", count, kept, fleetSize)
	}
	return nil
}
