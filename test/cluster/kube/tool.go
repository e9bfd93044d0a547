package kube

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Tool is a built program that a person runs against the cluster: kubectl, helm.
type Tool struct {
	Path, Kubeconfig string
	Home             string // holds its cache
}

// Run gives what it printed; an error holds what it said.
func (t Tool) Run(stdin string, args ...string) (string, error) {
	cmd := exec.Command(t.Path, args...)
	// It lives for a tenth of a second, half of which would go into collecting garbage and into threads.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+t.Kubeconfig, "HOME="+t.Home, "GOGC=off", "GOMEMLIMIT=256MiB", "GOMAXPROCS=1")
	cmd.Stdin = strings.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(t.Path), strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}
