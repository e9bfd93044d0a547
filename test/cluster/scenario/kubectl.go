package scenario

import (
	"os"
	"path/filepath"
	"strings"

	"halflife.dev/cluster/stage"
)

// `kubectl explain` is a manual: every field of the three kinds has a description.
func explain(t *stage.T) {
	for _, kind := range []string{"clusterprofiles", "profiles", "recommendations"} {
		t.Ctl("explain", kind)
		text := t.Ctl("explain", "--recursive", kind+".spec")
		if strings.Contains(text, "<no description>") || !strings.Contains(text, "FIELDS:") {
			t.Fatalf("explain %s.spec:\n%s", kind, text)
		}
	}
	for _, field := range []string{
		"clusterprofiles.spec.resources.cpu.halfLife", "clusterprofiles.spec.apply.windows.schedule",
		"clusterprofiles.spec.apply.maxDecreasePercent", "profiles.spec.containers.mode",
		"recommendations.status.containers.cpu.reason", "recommendations.status.conditions.type", "hlcp.spec.targets", "rec.status",
	} {
		text := t.Ctl("explain", field)
		if strings.Contains(text, "<empty>") || len(text) < 120 {
			t.Fatalf("explain %s says too little:\n%s", field, text)
		}
	}
}

// Broken profiles are refused with a message that names field and cure (each file says what it wants to be told); every
// sample is accepted.
func refusals(t *stage.T) {
	broken, err := filepath.Glob(filepath.Join(t.Root, "test", "data", "profiles-broken", "*.yaml"))
	t.Check(err)
	if len(broken) < 25 {
		t.Fatalf("only %d broken profiles in test/data/profiles-broken", len(broken))
	}
	for _, path := range broken {
		text, err := os.ReadFile(path)
		t.Check(err)
		first, _, _ := strings.Cut(string(text), "\n")
		want, ok := strings.CutPrefix(first, "# want: ")
		if !ok {
			t.Fatalf("%s does not begin with '# want: '", path)
		}
		said := t.CtlFails("", "create", "--dry-run=server", "-n", "default", "-f", path)
		if !strings.Contains(said, want) {
			t.Fatalf("%s: refused, but not with '%s':\n%s", filepath.Base(path), want, said)
		}
	}
	samples, err := filepath.Glob(filepath.Join(t.Root, "manifests", "samples", "*.yaml"))
	t.Check(err)
	if len(samples) == 0 {
		t.Fatalf("there are no samples")
	}
	for _, path := range samples {
		t.Ctl("apply", "--dry-run=server", "-n", "default", "-f", path)
	}
	t.Notef("%d broken profiles refused, %d samples accepted", len(broken), len(samples))
}

// What a person does with recommendations: get, get -o wide, describe, wait.
func kubectl(t *stage.T) {
	t.Namespace()
	t.Profile(stage.QuickProfile("Recommend"))
	t.Apply(t.NewDeployment("web", 2, stage.AppUsing(410, 300*stage.Mi)))
	t.Eventually("the recommendation exists", stage.Soon, func() error {
		_, err := t.Rec("deployment-web")
		return err
	})
	t.Ctl("-n", t.NS, "wait", "--for=condition=Ready", "--timeout=300s", "rec/deployment-web")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"get", "rec"}, []string{"deployment-web", "TARGET", "STATE", "Ready"}},
		{[]string{"get", "recommendations", "-o", "wide"}, []string{"PROFILE", "REASON", "SAMPLES", "e2e-kubectl"}},
		{[]string{"get", "halflife"}, []string{"deployment-web"}},
		{[]string{"describe", "rec", "deployment-web"}, []string{"Conditions:", "Ready", "Target Ref", "Model"}},
		{[]string{"get", "hlcp", "e2e-kubectl"}, []string{"e2e-kubectl"}},
		{[]string{"describe", "hlcp", "e2e-kubectl"}, []string{"Status:", "Targets"}},
	} {
		text := t.Ctl(append([]string{"-n", t.NS}, c.args...)...)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Fatalf("kubectl %s does not say '%s':\n%s", strings.Join(c.args, " "), want, text)
			}
		}
	}
	t.Ctl("-n", t.NS, "get", "rec", "-l", "app=web", "--field-selector", "status.state=Ready")
}
