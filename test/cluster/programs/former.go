package programs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrNoHistory says that the checkout lacks the commit of the version before, as a shallow clone does.
var ErrNoHistory = errors.New("the history of this checkout lacks the version before")

// Former returns the path of the halflife of the version before: the commit that test/data/former/commit names.
func Former(root string, talk io.Writer) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "test", "data", "former", "commit"))
	if err != nil {
		return "", err
	}
	return At(root, strings.TrimSpace(string(text)), talk)
}

// At returns the path of the halflife of a commit. It is built once for each commit, at low priority, from the history of the
// repository at root. Progress goes to talk.
func At(root, commit string, talk io.Writer) (string, error) {
	set, unlock, err := openCache("former", commit)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(set.Path("halflife")); err == nil {
		return set.Path("halflife"), nil
	}
	if exec.Command("git", "-C", root, "cat-file", "-e", commit+"^{commit}").Run() != nil {
		return "", fmt.Errorf("%w: git knows no commit %s here", ErrNoHistory, commit)
	}
	return set.Path("halflife"), set.buildFormer(root, commit, talk)
}

func (s Set) buildFormer(root, commit string, talk io.Writer) error {
	start := time.Now()
	fmt.Fprintf(talk, "building halflife of commit %s\n", commit)
	source := s.Path("source")
	defer os.RemoveAll(source)
	const script = `rm -rf "$1" && mkdir "$1" && git -C "$2" archive "$3" | tar -x -C "$1" && nice -n 10 make -C "$1" -j2 MODE=release build/release/halflife`
	cmd := exec.Command("sh", "-c", script, "sh", source, root, commit)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build halflife of commit %s: %w\n%s", commit, err, out)
	}
	if err := os.Rename(filepath.Join(source, "build", "release", "halflife"), s.Path("halflife")); err != nil {
		return err
	}
	fmt.Fprintf(talk, "built halflife of commit %s in %.0f s\n", commit, time.Since(start).Seconds())
	return nil
}
