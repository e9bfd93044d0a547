package programs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// older are the versions of Kubernetes beside the one that go.mod names, each by the last of its patches when it was added.
var older = map[string]string{"1.30": "v1.30.14", "1.33": "v1.33.13", "1.35": "v1.35.4"}

// server is what a version of Kubernetes brings. The controllers may not be newer than the API server; the scheduler costs
// little beside them. etcd and all clients are those of go.mod: they serve, and ask, all these versions.
var server = slices.DeleteFunc(slices.Clone(ControlPlane), func(p program) bool {
	return !slices.Contains([]string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}, p.name)
})

const kubernetes = "k8s.io/kubernetes"

// WithKubernetes gives the programs of a control plane whose API server, controllers and scheduler are of an older version
// ("1.30"). They are built once, from the modules of that version, into a folder of the cache of its own. Two builders at
// once wait for each other. Progress goes to talk.
func (s Set) WithKubernetes(minor string, talk io.Writer) (Set, error) {
	version, ok := older[minor]
	if !ok {
		return Set{}, fmt.Errorf("Kubernetes %s is not one of those that scenarios name", minor)
	}
	set, unlock, err := openCache("kubernetes", version)
	if err != nil {
		return Set{}, err
	}
	defer unlock()
	s.older = set.Dir
	module := set.Path("module")
	for _, p := range server {
		if _, err := os.Stat(set.Path(p.name)); err == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(module, "go.mod")); err != nil {
			if err := writeModule(module, version); err != nil {
				return Set{}, err
			}
		}
		if err := set.buildWith(module, p, versionFlags(version), talk, "-mod=mod"); err != nil {
			return Set{}, fmt.Errorf("Kubernetes %s: %w", version, err)
		}
	}
	return s, nil
}

// writeModule makes the module by which a version is built. Its go.mod follows that of Kubernetes, whose staging modules
// lie in folders of its own tree: here they are the modules that are published with it. Go adds the rest as it builds.
func writeModule(dir, version string) error {
	source, err := download(kubernetes + "@" + version)
	if err != nil {
		return err
	}
	var m goMod
	if err := answerOf(&m, "mod", "edit", "-json", source.GoMod); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(source.Dir, "go.sum"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644)
	}
	if err == nil { // the last: a module that has it is whole
		err = os.WriteFile(filepath.Join(dir, "go.mod"), m.around(version), 0o644)
	}
	return err
}

// around writes a go.mod that requires Kubernetes of a version, of which m is the go.mod.
func (m goMod) around(version string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "module halflife.dev/cluster/kubernetes\n\ngo %s\n\n", m.Go)
	for _, g := range m.Godebug {
		fmt.Fprintf(&out, "godebug %s=%s\n\n", g.Key, g.Value)
	}
	fmt.Fprintf(&out, "require %s %s\n\nreplace (\n", kubernetes, version)
	for _, r := range m.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") {
			fmt.Fprintf(&out, "\t%s => %s %s\n", r.Old.Path, r.Old.Path, strings.Replace(version, "v1.", "v0.", 1))
		}
	}
	fmt.Fprintf(&out, ")\n")
	return out.Bytes()
}

// goMod is what `go mod edit -json` says of a go.mod, as far as it is asked here.
type goMod struct {
	Go      string
	Godebug []struct{ Key, Value string }
	Replace []struct{ Old, New struct{ Path string } }
}

type downloaded struct{ Dir, GoMod string }

// download fetches a module into Go's cache of modules.
func download(module string) (d downloaded, err error) {
	return d, answerOf(&d, "mod", "download", "-json", module)
}

// answerOf runs go outside of any module, and reads the JSON that it answers.
func answerOf(into any, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = os.TempDir()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go %s: %w\n%s%s", strings.Join(args, " "), err, out, said.Bytes())
	}
	return json.Unmarshal(out, into)
}
