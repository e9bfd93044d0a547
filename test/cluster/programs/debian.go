package programs

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Debian gives the folder of a distribution package's programs: the package is fetched and unpacked into the cache, once,
// and not installed, so that no daemon of it starts. Two who ask at once wait for each other. Progress goes to talk.
func Debian(name string, talk io.Writer) (string, error) { return DebianAt(name, "usr/bin", talk) }

// DebianAt is Debian for a package whose programs lie in another folder.
func DebianAt(name, folder string, talk io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder (set XDG_CACHE_HOME): %w", err)
	}
	dir := filepath.Join(cache, "halflife", "debian", name)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock '%s': %w", lock.Name(), err)
	}
	bin := filepath.Join(dir, folder)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	fmt.Fprintf(talk, "fetching the package %s\n", name)
	half, err := os.MkdirTemp(filepath.Dir(dir), name+".half-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(half)
	if err := unpack(half, name); err != nil {
		return "", err
	}
	return bin, os.Rename(half, dir)
}

func unpack(dir, name string) error {
	fetch := func() ([]byte, error) {
		cmd := exec.Command("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", name)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	out, err := fetch()
	if err != nil { // its lists may never have been read
		_ = exec.Command("apt-get", "-q", "update").Run()
		out, err = fetch()
	}
	if err != nil {
		return fmt.Errorf("apt-get download %s: %w\n%s", name, err, out)
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) != 1 {
		return fmt.Errorf("apt-get download %s: %d packages came: %s", name, len(debs), strings.Join(debs, " "))
	}
	if out, err := exec.Command("dpkg-deb", "-x", debs[0], dir).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack %s: %w\n%s", debs[0], err, out)
	}
	return os.Remove(debs[0])
}
