package stage

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Command runs halflife as the administrator of the cluster and returns its output. The exit code must be want.
func (t *T) Command(want int, args ...string) string {
	cmd := exec.Command(t.Binary(), args...)
	cmd.Env = append(os.Environ(), "HALFLIFE_KUBECONFIG="+t.Plane.Kubeconfig)
	said, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Fatalf("halflife %s: exit %d, not %d (%v):\n%s", strings.Join(args, " "), got, want, err, said)
	}
	return string(said)
}

// CheckSays ends the scenario unless said contains every part.
func (t *T) CheckSays(said string, parts ...string) {
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Fatalf("it does not say '%s':\n%s", part, said)
		}
	}
}

// ProgramResult is the exit code and the output of a program.
type ProgramResult struct {
	Code     int
	Out, Err string
}

// Program runs the program under test as a person or a pipeline does; env holds NAME=value.
func (t *T) Program(env []string, stdin string, args ...string) ProgramResult {
	return t.Execute(t.Binary(), env, stdin, args...)
}

// Execute runs the program at path; env holds NAME=value.
func (t *T) Execute(path string, env []string, stdin string, args ...string) ProgramResult {
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return ProgramResult{cmd.ProcessState.ExitCode(), out.String(), said.String()}
}

// MustSucceed returns what a program printed, and ends the scenario if the program failed.
func (t *T) MustSucceed(r ProgramResult) string {
	if r.Code != 0 {
		t.Fatalf("exit code %d: %s%s", r.Code, r.Err, r.Out)
	}
	return r.Out
}
