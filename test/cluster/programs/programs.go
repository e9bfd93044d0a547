// Package programs builds the programs of a control plane from the modules that go.mod names, once for each go.sum.
package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Set is a folder that holds the built programs, but for those of another version of Kubernetes, if there are any.
type Set struct {
	Dir   string
	older string // the folder of those; "": there are none
}

// Path is where the program of that name is.
func (s Set) Path(name string) string {
	if s.older != "" && slices.ContainsFunc(server, func(p program) bool { return p.name == name }) {
		return filepath.Join(s.older, name)
	}
	return filepath.Join(s.Dir, name)
}

type program struct{ name, pkg string }

// ControlPlane and Argo are what one go.mod (test/cluster) builds, by the same libraries, so that those are compiled once;
// Peer, LoadScheduler, Helm and Krew are what those of test/cluster/peer, scheduler, helm and krew do.
var (
	ControlPlane = []program{
		{"etcd", "go.etcd.io/etcd/server/v3"},
		{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
		{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"},
		{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"},
		{"kubectl", "k8s.io/kubernetes/cmd/kubectl"},
		{"kwok", "sigs.k8s.io/kwok/cmd/kwok"},
		{"metrics-server", "sigs.k8s.io/metrics-server/cmd/metrics-server"},
	}
	// Argo rolls out what halflife patches.
	Argo = []program{{"rollouts-controller", "github.com/argoproj/argo-rollouts/cmd/rollouts-controller"}}
	// LoadScheduler is kube-scheduler with the plug-ins that go by the load of nodes, of the module test/cluster/scheduler.
	LoadScheduler = []program{{"trimaran", "."}}
	// Kubelet makes of this machine a node.
	Kubelet = []program{{"kubelet", "k8s.io/kubernetes/cmd/kubelet"}}
	Peer    = []program{{"recommender", "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender"}}
	// Helm installs the chart.
	Helm = []program{{"helm", "helm.sh/helm/v4/cmd/helm"}}
	// Krew installs the plug-in.
	Krew = []program{{"krew", "sigs.k8s.io/krew/cmd/krew"}}
)

// Build makes sure that all programs of a module are in the cache folder of its go.sum and gives that folder. A program
// that is there is not built again. Two builders at once wait for each other. Progress goes to talk.
func Build(module string, list []program, talk io.Writer) (Set, error) {
	sum, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return Set{}, err
	}
	hash := sha256.Sum256(sum)
	set, unlock, err := openCache("cluster", hex.EncodeToString(hash[:8]))
	if err != nil {
		return Set{}, err
	}
	defer unlock()
	for _, p := range list {
		if err := set.build(module, p, talk); err != nil {
			return Set{}, err
		}
	}
	return set, nil
}

// openCache makes a folder of the cache and locks it against other builders until unlock.
func openCache(kind, name string) (set Set, unlock func(), err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Set{}, nil, fmt.Errorf("no cache folder (set XDG_CACHE_HOME): %w", err)
	}
	set = Set{Dir: filepath.Join(cache, "halflife", kind, name)}
	if err := os.MkdirAll(set.Dir, 0o755); err != nil {
		return Set{}, nil, err
	}
	lock, err := os.OpenFile(set.Path("lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return Set{}, nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		lock.Close()
		return Set{}, nil, fmt.Errorf("lock '%s': %w", lock.Name(), err)
	}
	return set, func() { lock.Close() }, nil
}

func (s Set) build(module string, p program, talk io.Writer) error {
	if _, err := os.Stat(s.Path(p.name)); err == nil {
		return nil
	}
	version, err := kubernetesOf(module)
	if err != nil {
		return err
	}
	return s.buildWith(module, p, versionFlags(version), talk)
}

// buildWith builds a program with these flags for the linker, and more arguments for go build.
func (s Set) buildWith(module string, p program, flags string, talk io.Writer, more ...string) error {
	start := time.Now()
	fmt.Fprintf(talk, "building %s\n", p.name)
	half := s.Path("." + p.name + ".half")
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", half}, more...)
	cmd := exec.Command("go", append(args, p.pkg)...)
	cmd.Dir = module
	// A compiler's garbage is gone with it: not collecting it saves a tenth of the processor's time.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOGC=off", "GOMEMLIMIT=2GiB")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", p.name, err, out)
	}
	if err := os.Rename(half, s.Path(p.name)); err != nil {
		return err
	}
	fmt.Fprintf(talk, "built %s in %.0f s\n", p.name, time.Since(start).Seconds())
	return nil
}

// kubernetesOf gives the version of Kubernetes ("v1.36.3") that a module builds of; "": of none.
func kubernetesOf(module string) (string, error) {
	version, err := list(module, "{{.Version}}", "-e", "k8s.io/component-base")
	return strings.Replace(version, "v0.", "v1.", 1), err
}

// versionFlags makes the Kubernetes programs report the version that they were built from.
func versionFlags(version string) string {
	if version == "" {
		return "-s -w"
	}
	const pkg = "k8s.io/component-base/version"
	return fmt.Sprintf("-s -w -X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s", pkg, version, pkg, pkg,
		strings.Split(version, ".")[1])
}

// ModuleDir is where the source of a module lies that go.mod names.
func ModuleDir(module, path string) (string, error) { return list(module, "{{.Dir}}", path) }

func list(module, format string, what ...string) (string, error) {
	cmd := exec.Command("go", append([]string{"list", "-m", "-f", format}, what...)...)
	cmd.Dir = module
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list %s: %w", strings.Join(what, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
