package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles/halflife-controller-apply"

// A role lacking one rule is named by `check`, once in the log, and in the condition; the rest works, and the rule given
// back is all that it takes.
func permission(t *stage.T) {
	t.Namespace()
	role, err := t.Get(roles)
	t.Check(err)
	var rules L
	for _, r := range role.List("rules") {
		if r.Text("verbs") == `["patch"]` && r.Text("apiGroups") == `["apps"]` {
			r["resources"] = L{"statefulsets", "daemonsets"}
		}
		rules = append(rules, map[string]any(r))
	}
	_, err = t.Merge(roles, M{"rules": rules})
	t.Check(err)
	defer func() {
		_, _ = t.Kubectl.Run("", "apply", "-k", t.Root+"/manifests")
		_, _ = t.Kubectl.Run("", "-n", stage.OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
	}()
	t.Eventually("the rule is gone", stage.Soon, func() error {
		out, err := t.Kubectl.Run("", "auth", "can-i", "patch", "deployments.apps", "-A", "--as="+stage.LearnerUser)
		if strings.TrimSpace(out) != "no" {
			return fmt.Errorf("the answer is still '%s' (%v)", strings.TrimSpace(out), err)
		}
		return nil
	})

	h := t.StartOwn()
	t.Profile(stage.QuickProfile("Rollout"))
	t.Apply(t.NewDeployment("forbidden", 2, stage.App()))
	t.Apply(t.NewWorkload("StatefulSet", "allowed", 2, stage.App()))
	cpu, _ := stage.Targets()
	t.Eventually("the allowed kind is lowered", stage.Soon, func() error { return t.PodsAsk("allowed", "app", "cpu", cpu, 2) })
	t.RecWhen("deployment-forbidden", "the condition names the rule", stage.Soon, func(r kube.Object) error {
		if text := r.Text("status", "conditions"); !strings.Contains(text, "patch") || !strings.Contains(text, "deployments") {
			return fmt.Errorf("its conditions are %s", text)
		}
		return nil
	})
	t.CheckGeneration("deployments", "forbidden", 1)
	t.Cycles(h, 3)
	log, err := os.ReadFile(h.Log)
	t.Check(err)
	lines := 0
	for _, line := range strings.Split(string(log), "\n") {
		if strings.Contains(line, "patch") && strings.Contains(line, "deployments") && strings.Contains(strings.ToLower(line), "403") ||
			strings.Contains(strings.ToLower(line), "forbidden") && strings.Contains(line, "patch") {
			lines++
		}
	}
	if lines != 1 {
		t.Fatalf("the log names the missing rule %d times, not once:\n%s", lines, h.Said("", 40))
	}
	check := exec.Command(t.Binary(), "check", "--kubeconfig", h.Kubeconfig, "--namespace", stage.OwnNamespace,
		"--database", h.Dir+"/check.db")
	said, err := check.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "deployments") {
		t.Fatalf("check does not fail on the missing rule (%v):\n%s", err, said)
	}
	t.Ctl("apply", "-k", t.Root+"/manifests")
	t.Ctl("-n", stage.OwnNamespace, "scale", "deployment", "--all", "--replicas=0")
	t.Eventually("the rule given back, it is lowered", stage.Soon, func() error {
		return t.PodsAsk("forbidden", "app", "cpu", cpu, 2)
	})
}
