package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"halflife.dev/cluster/stage"
)

// copyChart copies the chart, links followed, and has a CRD say something else.
func copyChart(t *stage.T, says string) string {
	dir := filepath.Join(t.Dir, "chart")
	t.Check(os.CopyFS(dir, os.DirFS(stage.Chart(t.Root))))
	for _, link := range []string{"manifests", "crds"} {
		at := filepath.Join(dir, "files", link)
		t.Check(os.Remove(at))
		t.Check(os.CopyFS(at, os.DirFS(filepath.Join(t.Root, link))))
	}
	crd := filepath.Join(dir, "files", "crds", "recommendations.halflife.dev.yaml")
	text, err := os.ReadFile(crd)
	t.Check(err)
	const old = "description: "
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s has no description", crd)
	}
	t.Check(os.WriteFile(crd, []byte(strings.Replace(string(text), old, old+says+" ", 1)), 0o644))
	return dir
}

// Helm installs the chart, and an upgrade of it changes the CRDs while a workload is lowered. Uninstalled, the release
// leaves the CRDs and what is in them, and the next release takes them over, and a Secret that a replica
// of the version before made, with what is in it. Told not to keep them, it refuses to go on without CRDs, which would
// delete them, until it keeps them; and in the end it leaves nothing.
func helm(t *stage.T) {
	t.Namespace()
	removeManifests(t)
	defer reinstall(t)
	install := []string{"install", "halflife", stage.Chart(t.Root), "-n", stage.OwnNamespace, "--create-namespace",
		"--set", "admission.enabled=true,inPlace.enabled=true,persistence.enabled=false"}
	t.CheckSays(t.Helm(install...), "It changes nothing until a Profile says so")
	t.Served(stage.OwnCRDs...)
	before := lowerWeb(t)
	rec := t.RecIn("deployment-web", "Ready", stage.Soon)

	const says = "Changed by an upgrade."
	t.Helm("upgrade", "halflife", copyChart(t, says), "-n", stage.OwnNamespace, "--reset-then-reuse-values",
		"--set", "controller.settings.interval=45s")
	t.CheckSays(t.Ctl("get", "crd", "recommendations.halflife.dev", "-o", "yaml"), says)
	t.CheckSays(t.Ctl("-n", stage.OwnNamespace, "get", "deployment", "halflife", "-o", "yaml"), "--interval=45s")
	if now := t.RecIn("deployment-web", "Ready", stage.Soon); now.UID() != rec.UID() {
		t.Fatalf("the upgrade made another Recommendation of it: %s", now)
	}

	restoreLast(t, before)
	uninstall := []string{"uninstall", "halflife", "-n", stage.OwnNamespace, "--wait"}
	t.Helm(uninstall...)
	t.CheckSays(t.Ctl("get", "recommendations", "-A", "-o", "name"), "deployment-web")
	t.Ctl("-n", stage.OwnNamespace, "create", "secret", "generic", "halflife-certificate", "--from-literal=tls.crt=kept")
	t.Helm(append(install, "--set", "crds.keep=false", "--take-ownership")...)
	t.CheckSays(t.Ctl("-n", stage.OwnNamespace, "get", "secret", "halflife-certificate", "-o", "jsonpath={.data}"),
		`{"tls.crt":"a2VwdA=="}`)
	withoutCRDs(t, rec.UID())
	t.Helm(uninstall...)
	t.Ctl("delete", "namespace", stage.OwnNamespace, "--timeout=300s")
	checkNothingLeft(t)
}

// withoutCRDs upgrades a release that does not keep its CRDs to one without them, as a downgrade does: the Recommendation
// stays. Then the release has them as before.
func withoutCRDs(t *stage.T, uid string) {
	upgrade := []string{"upgrade", "halflife", stage.Chart(t.Root), "-n", stage.OwnNamespace, "--reset-then-reuse-values", "--set"}
	if out, err := t.TryHelm(append(upgrade, "crds.install=false")...); err == nil || !strings.Contains(err.Error(), "Upgrade with crds.keep=true first") {
		t.Fatalf("without CRDs that nobody keeps: %v: %s", err, out)
	}
	for _, values := range []string{"crds.keep=true", "crds.install=false", "crds.install=true,crds.keep=false"} {
		t.Helm(append(upgrade, values)...)
		if rec, err := t.Rec("deployment-web"); err != nil || rec.UID() != uid {
			t.Fatalf("the Recommendation is another after %s: %v", values, err)
		}
	}
}

// On a node whose containers run, halflife becomes ready as the chart installs it, and `helm test` finds all it needs.
func nodeHelm(t *stage.T) {
	removeManifests(t)
	loadSelf(t, "index", t.Dir, t.Binary())
	name, tag, _ := strings.Cut(selfImage, ":")
	t.Helm("install", "halflife", stage.Chart(t.Root), "-n", stage.OwnNamespace, "--create-namespace", "--wait", "--timeout", "5m",
		"--set", fmt.Sprintf("image.repository=%s,image.tag=%s,persistence.enabled=false,admission.enabled=true", name, tag))
	out := t.Helm("test", "halflife", "-n", stage.OwnNamespace, "--logs", "--timeout", "5m")
	t.CheckSays(out, "Succeeded")
}
