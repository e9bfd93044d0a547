package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"halflife.dev/cluster/kube"
)

func init() {
	alone = append(alone, scenario{"permission", permission})
}

const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles/halflife-controller-apply"

// A role lacking one rule is named by `check`, once in the log, and in the condition; the rest works, and the rule given
// back is all that it takes.
func permission(t *T) {
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
		_, _ = t.ctl.Run("", "apply", "-k", t.Root+"/manifests")
		_, _ = t.ctl.Run("", "-n", ownNamespace, "scale", "deployment", "halflife", "--replicas=0")
	}()
	t.Eventually("the rule is gone", soon, func() error {
		out, err := t.ctl.Run("", "auth", "can-i", "patch", "deployments.apps", "-A", "--as="+account)
		if strings.TrimSpace(out) != "no" {
			return fmt.Errorf("the answer is still '%s' (%v)", strings.TrimSpace(out), err)
		}
		return nil
	})

	h := t.own()
	t.Profile(quick("Rollout"))
	t.Apply(t.deployment("forbidden", 2, app(usedCPU, usedMemory)))
	t.Apply(t.workload("StatefulSet", "allowed", 2, app(usedCPU, usedMemory)))
	cpu, _ := targets(usedCPU, usedMemory)
	t.Eventually("the allowed kind is lowered", soon, func() error { return t.podsAsk("allowed", "app", "cpu", cpu, 2) })
	t.RecWhen("deployment-forbidden", "the condition names the rule", soon, func(r kube.Object) error {
		if text := r.Text("status", "conditions"); !strings.Contains(text, "patch") || !strings.Contains(text, "deployments") {
			return fmt.Errorf("its conditions are %s", text)
		}
		return nil
	})
	t.generation("deployments", "forbidden", 1)
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
	check := exec.Command(t.Binary(), "check", "--kubeconfig", h.Kubeconfig, "--namespace", ownNamespace,
		"--database", h.Dir+"/check.db")
	said, err := check.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "deployments") {
		t.Fatalf("check does not fail on the missing rule (%v):\n%s", err, said)
	}
	t.Ctl("apply", "-k", t.Root+"/manifests")
	t.Ctl("-n", ownNamespace, "scale", "deployment", "halflife", "--replicas=0")
	t.Eventually("the rule given back, it is lowered", soon, func() error {
		return t.podsAsk("forbidden", "app", "cpu", cpu, 2)
	})
}
