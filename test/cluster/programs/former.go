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
	commit, err := formerCommit(root)
	if err != nil {
		return "", err
	}
	return At(root, commit, talk)
}

func formerCommit(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "test", "data", "former", "commit"))
	return strings.TrimSpace(string(text)), err
}

// FormerFiles unpacks into dir what a person installs the version before with: its chart, its CRDs and its manifests.
func FormerFiles(root, dir string) error {
	commit, err := formerCommit(root)
	if err != nil {
		return err
	}
	const script = `mkdir -p "$1" && git -C "$2" archive "$3" charts crds manifests | tar -x -C "$1"`
	if out, err := exec.Command("sh", "-c", script, "sh", dir, root, commit).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack commit %s: %w\n%s", commit, err, out)
	}
	return nil
}

// At returns the path of the halflife of a commit. It is built once for each commit, at low priority, from the history of the
// repository at root. Progress goes to talk.
func At(root, commit string, talk io.Writer) (string, error) { return at(root, "former", commit, talk) }

// OpenSSLAt is At for a commit that hands certificates to libcurl in memory, which no other flavour of it takes. That one,
// which the program curl brings, is linked before the flavour whose development files are here.
func OpenSSLAt(root, commit string, talk io.Writer) (string, error) {
	return at(root, "former-openssl", commit, talk, "LDFLAGS=-Wl,--no-as-needed,-l:libcurl.so.4,--as-needed")
}

// at builds with variables of make, into a kind of cache of their own.
func at(root, kind, commit string, talk io.Writer, variables ...string) (string, error) {
	set, unlock, err := openCache(kind, commit)
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
	return set.Path("halflife"), set.buildFormer(root, commit, talk, variables)
}

func (s Set) buildFormer(root, commit string, talk io.Writer, variables []string) error {
	start := time.Now()
	fmt.Fprintf(talk, "building halflife of commit %s\n", commit)
	source := s.Path("source")
	defer os.RemoveAll(source)
	const script = `source=$1 root=$2 commit=$3; shift 3
		rm -rf "$source" && mkdir "$source" && git -C "$root" archive "$commit" | tar -x -C "$source" &&
		nice -n 10 make -C "$source" -j2 MODE=release "$@" build/release/halflife`
	cmd := exec.Command("sh", append([]string{"-c", script, "sh", source, root, commit}, variables...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build halflife of commit %s: %w\n%s", commit, err, out)
	}
	if err := os.Rename(filepath.Join(source, "build", "release", "halflife"), s.Path("halflife")); err != nil {
		return err
	}
	fmt.Fprintf(talk, "built halflife of commit %s in %.0f s\n", commit, time.Since(start).Seconds())
	return nil
}
