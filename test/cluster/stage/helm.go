package stage

import (
	"os"
	"path/filepath"

	"halflife.dev/cluster/programs"
)

// HelmModule is the folder of the module that helm is built from, and Chart halflife's chart, both in the repository.
func HelmModule(root string) string { return filepath.Join(root, "test", "cluster", "helm") }
func Chart(root string) string      { return filepath.Join(root, "charts", "halflife") }

// Helm runs the real helm and returns its output. A failure ends the scenario.
func (t *T) Helm(args ...string) string {
	set, err := programs.Build(HelmModule(t.Root), programs.Helm, os.Stderr)
	t.Check(err)
	helm := t.Kubectl
	helm.Path = set.Path("helm")
	out, err := helm.Run("", args...)
	t.Check(err)
	return out
}
