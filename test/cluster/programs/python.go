package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Python makes a virtual environment with what requirements.txt of the module names, once for each content of that file,
// and gives the folder of its programs. Two makers at once wait for each other. Progress goes to talk. It needs python3
// with venv and the package index, both only the first time.
func Python(module string, talk io.Writer) (string, error) {
	requirements := filepath.Join(module, "requirements.txt")
	text, err := os.ReadFile(requirements)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(text)
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder (set XDG_CACHE_HOME): %w", err)
	}
	dir := filepath.Join(cache, "halflife", "python", hex.EncodeToString(hash[:8]))
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
	bin, whole := filepath.Join(dir, "bin"), filepath.Join(dir, "whole")
	if _, err := os.Stat(whole); err == nil {
		return bin, nil
	}
	fmt.Fprintf(talk, "making a virtual environment of %s\n", requirements)
	for _, command := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		{filepath.Join(bin, "pip"), "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--no-deps", "-r", requirements},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", filepath.Base(command[0]), err, out)
		}
	}
	return bin, os.WriteFile(whole, nil, 0o644)
}
