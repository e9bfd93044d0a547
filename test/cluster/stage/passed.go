package stage

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Passed is a file with the names of scenarios that need not be played again, one a line. Those that pass are added, so
// that a run that was stopped goes on where it was.
type Passed struct {
	path  string
	names []string
}

// ReadPassed reads the file, which need not be there yet. An empty path gives nil, which holds no name and takes none.
func ReadPassed(path string) (*Passed, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return &Passed{path, strings.Fields(string(text))}, nil
}

func (p *Passed) has(name string) bool { return p != nil && slices.Contains(p.names, name) }

func (p *Passed) count() int {
	if p == nil {
		return 0
	}
	return len(p.names)
}

// add is for the next run: this one goes by the names as they were at its start.
func (p *Passed) add(name string) error {
	if p == nil {
		return nil
	}
	f, err := os.OpenFile(p.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintln(f, name); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
