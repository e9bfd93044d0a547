package kube

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Kubectl runs the built kubectl, as a person would.
type Kubectl struct {
	Path, Kubeconfig string
	Home             string // holds its cache
}

// Run gives what it printed; an error holds what it said.
func (k Kubectl) Run(stdin string, args ...string) (string, error) {
	cmd := exec.Command(k.Path, args...)
	// It lives for a tenth of a second, half of which would go into collecting garbage and into threads.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.Kubeconfig, "HOME="+k.Home, "GOGC=off", "GOMEMLIMIT=256MiB", "GOMAXPROCS=1")
	cmd.Stdin = strings.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}
