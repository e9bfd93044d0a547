package stage

import (
	"os"
	"path/filepath"

	"halflife.dev/cluster/programs"
)

// HelmModule and KrewModule are the folders of the modules that helm and krew are built from, and Chart is halflife's
// chart, all in the repository.
func HelmModule(root string) string { return filepath.Join(root, "test", "cluster", "helm") }
func KrewModule(root string) string { return filepath.Join(root, "test", "cluster", "krew") }
func Chart(root string) string      { return filepath.Join(root, "charts", "halflife") }

// Helm runs the real helm and returns its output. A failure ends the scenario.
func (t *T) Helm(args ...string) string {
	out, err := t.TryHelm(args...)
	t.Check(err)
	return out
}

// TryHelm is Helm, but that a failure is the caller's: the error holds what helm said.
func (t *T) TryHelm(args ...string) (string, error) {
	set, err := programs.Build(HelmModule(t.Root), programs.Helm, os.Stderr)
	t.Check(err)
	helm := t.Kubectl
	helm.Path = set.Path("helm")
	return helm.Run("", args...)
}
