package programs

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// Runtime is what runs containers: folders of programs out of the distribution's packages.
type Runtime struct {
	Containerd string // containerd, its shim, ctr
	Runc       string
	CNI        string // the plugins bridge, host-local, loopback
}

// NewRuntime fetches the packages, once.
func NewRuntime(talk io.Writer) (Runtime, error) {
	var r Runtime
	for _, p := range []struct {
		name, folder string
		into         *string
	}{
		{"containerd", "usr/bin", &r.Containerd},
		{"runc", "usr/sbin", &r.Runc},
		{"containernetworking-plugins", "usr/lib/cni", &r.CNI},
	} {
		folder, err := DebianAt(p.name, p.folder, talk)
		if err != nil {
			return r, err
		}
		*p.into = folder
	}
	// Packages that it depends on do not come along.
	if out, err := exec.Command("ldd", filepath.Join(r.Runc, "runc")).CombinedOutput(); err != nil || strings.Contains(string(out), "not found") {
		return r, fmt.Errorf("runc lacks a library (libseccomp2?): %v\n%s", err, out)
	}
	return r, nil
}
