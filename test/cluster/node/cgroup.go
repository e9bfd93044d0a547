package node

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const cgroups = "/sys/fs/cgroup"

// Unified says whether this machine has cgroup v2 alone. What follows from it was written for it, but never run.
func Unified() bool {
	_, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers"))
	return err == nil
}

// hierarchies are the folders that hold a tree of cgroups each; under v2 there is one.
func hierarchies() []string {
	if Unified() {
		return []string{cgroups}
	}
	var list []string
	entries, _ := os.ReadDir(cgroups)
	for _, e := range entries {
		dir := filepath.Join(cgroups, e.Name())
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil && e.IsDir() { // no links: cpu is cpu,cpuacct
			list = append(list, dir)
		}
	}
	return list
}

// makeCgroups makes the node's own, of which the first is there and locked: "system" for containerd, the shims and the kubelet,
// beside what the kubelet makes for pods.
func (s *Slot) makeCgroups() error {
	if Unified() {
		if err := delegate(cgroups); err != nil {
			return err
		}
	}
	for _, h := range hierarchies() {
		dir := filepath.Join(h, s.cgroup())
		if err := os.Mkdir(dir, 0o755); err != nil && !(os.IsExist(err) && dir == s.first.Name()) {
			return err
		}
		if Unified() {
			if err := delegate(dir); err != nil {
				return err
			}
		} else if err := fillCpuset(h, dir); err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Join(dir, "system"), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// delegate gives the children of a cgroup (v2) its controllers. The root's are not taken back: others may have come to need
// them.
func delegate(dir string) error {
	for _, controller := range []string{"cpuset", "cpu", "memory", "pids", "io"} {
		path := filepath.Join(dir, "cgroup.subtree_control")
		if err := os.WriteFile(path, []byte("+"+controller), 0o644); err != nil && controller != "io" {
			return fmt.Errorf("controller %s: %w", controller, err)
		}
	}
	return nil
}

// fillCpuset gives a cgroup (v1) the processors of its parent, and its children the same: without any nobody may enter.
func fillCpuset(parent, dir string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, name))
		if os.IsNotExist(err) {
			return nil // another hierarchy
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), value, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.clone_children"), []byte("1"), 0o644)
}

// enter puts this process into the cgroup "system" of a node.
func enter(cgroup string) error {
	for _, h := range hierarchies() {
		path := filepath.Join(h, cgroup, "system", "cgroup.procs")
		if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// folders of the slot's cgroups, children first, and last of all the one that is locked.
func (s *Slot) folders() []string {
	var list []string
	for _, h := range hierarchies() {
		_ = filepath.WalkDir(filepath.Join(h, s.cgroup()), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				list = append([]string{path}, list...)
			}
			return nil
		})
	}
	return list
}

// kill ends every process of the slot's cgroups, and gives those that were there.
func (s *Slot) kill() []int {
	seen := map[int]bool{}
	var list []int
	for _, dir := range s.folders() {
		text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err == nil && pid > 1 && !seen[pid] {
				seen[pid] = true
				list = append(list, pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	return list
}

func (s *Slot) removeCgroups(deadline time.Time) error {
	for {
		var last error
		for _, dir := range s.folders() {
			if err := os.Remove(dir); err != nil && !os.IsNotExist(err) {
				last = err
				break
			}
		}
		if last == nil || time.Now().After(deadline) {
			return last
		}
		s.kill() // who was just about to enter
		time.Sleep(50 * time.Millisecond)
	}
}

// Cgroup is a file of a container's cgroup: of what controller, and its name; v2 has one folder for all.
func (s *Slot) Cgroup(controller, containerID, file string) (string, error) {
	tree := filepath.Join(cgroups, controller)
	if Unified() {
		tree = cgroups
	}
	_, id, _ := strings.Cut(containerID, "://")
	found := ""
	err := filepath.WalkDir(filepath.Join(tree, s.cgroup()), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == id {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || found == "" {
		return "", fmt.Errorf("no cgroup of container '%s' in %s: %v", id, tree, err)
	}
	text, err := os.ReadFile(filepath.Join(found, file))
	return strings.TrimSpace(string(text)), err
}
