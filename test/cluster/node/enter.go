package node

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// EnterVerb is the verb of this program that becomes another one inside the node.
const EnterVerb = "node-enter"

// A mount namespace, and the wish to die with one's parent, are a thread's: the first one's, which exec goes on with.
func init() {
	if len(os.Args) > 1 && os.Args[1] == EnterVerb {
		runtime.LockOSThread()
	}
}

// sysctls are as the kubelet wants them. It finds files that say so, and writes none of the machine's.
var sysctls = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

// Enter becomes a program in the cgroup of a node, in a folder, and in a mount namespace: a new one that has its own /run,
// /var/lib and /var/log, or that of a process. It returns only with an error.
func Enter(cgroup, pid, dir string, command []string) error {
	if err := enter(cgroup); err != nil {
		return err
	}
	var err error
	if pid == "0" {
		err = newMounts(dir)
	} else {
		err = joinMounts(pid)
	}
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	return unix.Exec(command[0], command, os.Environ())
}

func newMounts(dir string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make / private: %w", err)
	}
	for name, value := range sysctls {
		if err := bindSysctl(dir, name, value); err != nil {
			return err
		}
	}
	for _, path := range []string{"/run", "/var/lib", "/var/log"} {
		if err := unix.Mount("none", path, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
	}
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "") // as volumes want it, within the namespace
}

func bindSysctl(dir, name, value string) error {
	target := filepath.Join("/proc/sys", name)
	if _, err := os.Stat(target); err != nil {
		return nil // not of this kernel
	}
	ours := filepath.Join(dir, "sysctl", filepath.Base(name))
	if err := os.MkdirAll(filepath.Dir(ours), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(ours, []byte(value+"\n"), 0o644); err != nil {
		return err
	}
	return unix.Mount(ours, target, "", unix.MS_BIND, "")
}

func joinMounts(pid string) error {
	if _, err := strconv.Atoi(pid); err != nil {
		return err
	}
	space, err := unix.Open(filepath.Join("/proc", pid, "ns/mnt"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // other threads share it, and a namespace is not entered so
		return err
	}
	return unix.Setns(space, unix.CLONE_NEWNS)
}
