package stage

import (
	"fmt"
	"path/filepath"
	"sync"

	"halflife.dev/cluster/programs"
)

var argoRuns struct {
	sync.Mutex
	of map[*World]bool
}

// StartArgo starts the real controller of Argo Rollouts and installs its kinds, once for each control plane.
func (t *T) StartArgo() {
	argoRuns.Lock()
	defer argoRuns.Unlock()
	if argoRuns.of[t.World] {
		return
	}
	source, err := programs.ModuleDir(filepath.Join(t.Root, "test", "cluster"), "github.com/argoproj/argo-rollouts")
	t.Check(err)
	crds, err := filepath.Glob(filepath.Join(source, "manifests", "crds", "*-crd.yaml"))
	t.Check(err)
	for _, file := range crds {
		t.Ctl("apply", "--server-side", "-f", file)
	}
	t.Served("rollouts.argoproj.io", "analysisruns.argoproj.io", "analysistemplates.argoproj.io",
		"clusteranalysistemplates.argoproj.io", "experiments.argoproj.io")
	t.Check(t.Plane.StartBeside("argo-rollouts", t.Plane.Set.Path("rollouts-controller"), 2, func(port []int) []string {
		return []string{"--kubeconfig=" + t.Plane.Kubeconfig, "--leader-elect=false", "--loglevel=warn", "--qps=200",
			"--burst=400", fmt.Sprintf("--metricsPort=%d", port[0]), fmt.Sprintf("--healthzPort=%d", port[1])}
	}))
	if argoRuns.of == nil {
		argoRuns.of = map[*World]bool{}
	}
	argoRuns.of[t.World] = true
}
