package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/stage"
)

// release checks the files of a release that only Go programs read: the chart by helm, CRDs by what the chart has of
// them, and the plug-in by krew, which validates its manifest and installs it without the network.
func release(folder, version string) error {
	name := filepath.Join(folder, "halflife-"+version)
	helm, err := buildHelm()
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	t := chartTools{helm: kube.Tool{Path: helm.Path("helm"), Home: home}}
	if err := errors.Join(t.checkReleased(name+".tgz"), t.checkCRDs(name+"-crds.yaml"), checkPlugin(name, version, home)); err != nil {
		return err
	}
	fmt.Println("helm takes the chart, its CRDs are the release's, and krew installs the plug-in")
	return nil
}

// checkReleased looks whether the package has the objects of the folder, with all of them asked for.
func (t chartTools) checkReleased(chart string) error {
	if out, err := t.helm.Run("", "lint", "--strict", chart); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	all := overlays[len(overlays)-1].values
	got, err := t.templateOf(chart, all)
	if err != nil {
		return err
	}
	want, err := t.template(all)
	if err != nil {
		return err
	}
	return compare("the chart of the release", got, want)
}

func (t chartTools) checkCRDs(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	got, err := objectsOf(string(text))
	if err != nil {
		return err
	}
	all, err := t.template("crds.keep=false")
	if err != nil {
		return err
	}
	want := map[string]kube.Object{}
	for name, o := range all {
		if strings.HasPrefix(name, "CustomResourceDefinition/") {
			want[name] = o
		}
	}
	return compare("the CRDs of the release", got, want)
}

// checkPlugin installs the plug-in into a folder, and runs it with a program halflife beside it. Installing needs no
// index of plug-ins, as listing and removing would.
func checkPlugin(name, version, home string) error {
	set, err := programs.Build(stage.KrewModule(root()), programs.Krew, os.Stderr)
	if err != nil {
		return err
	}
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	const says = "#!/bin/sh\necho halflife \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "halflife"), []byte(says), 0o755); err != nil {
		return err
	}
	krewRoot := filepath.Join(home, "krew")
	run := func(program string, args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "KREW_ROOT="+krewRoot, "HOME="+home, "KREW_NO_UPGRADE_CHECK=1",
			"PATH="+bin+":"+filepath.Join(krewRoot, "bin")+":/usr/bin:/bin")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
		}
		return string(out), nil
	}
	krew := set.Path("krew")
	if _, err := run(krew, "install", "--manifest="+name+"-krew.yaml", "--archive="+name+"-krew.tar.gz"); err != nil {
		return err
	}
	receipt, err := os.ReadFile(filepath.Join(krewRoot, "receipts", "halflife.yaml"))
	if err != nil || !strings.Contains(string(receipt), "version: v"+version+"\n") {
		return fmt.Errorf("krew's receipt is '%s': %w", receipt, err)
	}
	plugin := filepath.Join(krewRoot, "bin", "kubectl-halflife")
	if out, err := run(plugin, "get", "-A"); err != nil || out != "halflife get -A\n" {
		return fmt.Errorf("the plug-in says '%s': %w", out, err)
	}
	return nil
}
