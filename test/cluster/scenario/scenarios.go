// Package scenario holds what must be true of halflife on a real control plane, one file for each feature.
package scenario

import (
	"time"

	"halflife.dev/cluster/node"
	"halflife.dev/cluster/stage"
)

// M and L spell JSON.
type (
	M = stage.M
	L = stage.L
)

// All lists the scenarios. Those with the same needs begin in this order, except that the ones in longest begin first.
var All = stage.Suite{Scenarios: scenarios, Longest: longest}

// longest names the scenarios that take minutes, the longest first: they begin before others, so that none is left to be
// waited for at the end.
var longest = []string{"rotation", "outage", "fleet", "cronjob", "refusals", "flow", "limits", "render", "restart", "restarted", "upgrade", "upgrade-api",
	"hpa-limit-basis", "api-server-gone", "learner-gone", "fuse", "nodes", "hot-node", "dimension-node", "watcher-away", "watcher-plugins", "oom-200", "backfill", "in-place-restart", "permission", "install", "dimension-pod",
	"dimension-namespace", "uninstall", "helm", "release", "node-deferred", "node-kubelet-down", "node-oom-marked", "node-guard-deferred", "node-evict",
	"node-raise", "node-startup"}

// Nodes of scenarios that need their own.
var (
	small = node.Settings{Room: 512, Evict: 200} // together more than the hog takes: it is not killed before it is evicted
	tight = node.Settings{Room: 512, Evict: 10}
	few   = node.Settings{Room: 1024, Evict: 100, Cores: 600}
	brief = node.Settings{Room: 2048, Evict: 100, Grace: 20 * time.Second}
)

// scenarios are grouped by need.
var scenarios = []stage.Scenario{
	// On a control plane where no halflife runs, side by side.
	{Name: "restore-changed", Needs: stage.NoHalflife, Run: restoreChanged},
	{Name: "restore-full", Needs: stage.NoHalflife, Run: restoreFull},
	{Name: "restore-quota", Needs: stage.NoHalflife, Run: restoreQuota},
	{Name: "exec-plugin", Needs: stage.NoHalflife, Run: execPlugin},
	{Name: "scan", Needs: stage.NoHalflife, Run: scan},

	// With one learner in common, side by side.
	{Name: "argo-canary", Needs: stage.Learner, Argo: true, Run: argoCanary},
	{Name: "argo-bluegreen", Needs: stage.Learner, Argo: true, Run: blueGreen},
	{Name: "argo-workloadref", Needs: stage.Learner, Argo: true, Run: workloadRef},
	{Name: "argo-pause", Needs: stage.Learner, Argo: true, Run: pausing},
	{Name: "argo-guard", Needs: stage.Learner, Argo: true, Run: guardedCanary},
	{Name: "hpa", Needs: stage.Learner, Run: hpaHolds},
	{Name: "hpa-average", Needs: stage.Learner, Run: hpaAverage},
	{Name: "canary-rollout", Needs: stage.Learner, Run: canaryRollout},
	{Name: "canary-guard", Needs: stage.Learner, Run: canaryGuard},
	{Name: "canary-guard-in-place", Needs: stage.Learner, Run: canaryGuardInPlace},
	{Name: "guard", Needs: stage.Learner, Run: guard},
	{Name: "guard-rollout", Needs: stage.Learner, Run: guardRollout},
	{Name: "guard-in-place", Needs: stage.Learner, Run: guardInPlace},
	{Name: "contested-apply", Needs: stage.Learner, Run: contestedByApply},
	{Name: "contested-policy", Needs: stage.Learner, Run: contestedByPolicy},
	{Name: "policy-altered", Needs: stage.Learner, Run: policyAltered},
	{Name: "policy-exempts", Needs: stage.Learner, Run: policyExempts},
	{Name: "limitrange", Needs: stage.Learner, Run: limitRange},
	{Name: "guaranteed", Needs: stage.Learner, Run: guaranteed},
	{Name: "managed", Needs: stage.Learner, Run: managed},
	{Name: "optout", Needs: stage.Learner, Run: optOut},
	{Name: "optout-namespace", Needs: stage.Learner, Run: optOutNamespace},
	{Name: "orphaned", Needs: stage.Learner, Run: orphaned},
	{Name: "blocked", Needs: stage.Learner, Run: blocked},
	{Name: "import-vpa", Needs: stage.Learner, Run: importVPA},
	{Name: "namespace-copy", Needs: stage.Learner, Run: namespaceCopy},
	{Name: "in-place-refused", Needs: stage.Learner, Run: inPlaceRefused},
	{Name: "in-place-quota", Needs: stage.Learner, Run: inPlaceQuota},
	{Name: "in-place-bare", Needs: stage.Learner, Run: inPlaceBare},
	{Name: "raise", Needs: stage.Learner, Run: raise},
	{Name: "keda", Needs: stage.Learner, Run: keda},
	{Name: "kruise-late", Needs: stage.Learner, Run: kruiseLate},
	{Name: "scaled-to-zero", Needs: stage.Learner, Run: scaledToZero},
	{Name: "numbers", Needs: stage.Learner, Run: numbers},
	{Name: "cronjob", Needs: stage.Learner, Run: cronJob},
	{Name: "containers", Needs: stage.Learner, Run: containers},
	{Name: "quantity", Needs: stage.Learner, Run: quantities},
	{Name: "explain", Needs: stage.Learner, Run: explain},
	{Name: "refusals", Needs: stage.Learner, Run: refusals},
	{Name: "kubectl", Needs: stage.Learner, Run: kubectl},
	{Name: "pod-level", Needs: stage.Learner, Run: podLevel},
	{Name: "precedence", Needs: stage.Learner, Run: precedence},
	{Name: "recreated", Needs: stage.Learner, Run: recreated},
	{Name: "namespace-gone", Needs: stage.Learner, Run: namespaceGone},
	{Name: "oom", Needs: stage.Learner, Run: oom},
	{Name: "quota-surge", Needs: stage.Learner, Run: quotaSurge},
	{Name: "restore", Needs: stage.Learner, Run: restoreAll},
	{Name: "adopt", Needs: stage.Learner, Run: adopt},
	{Name: "hpa-retune", Needs: stage.Learner, Run: hpaRetune},
	{Name: "hpa-shared", Needs: stage.Learner, Run: hpaShared},
	{Name: "hpa-contested", Needs: stage.Learner, Run: hpaContested},
	{Name: "hpa-retune-in-place", Needs: stage.Learner, Run: hpaRetuneInPlace},
	{Name: "vpa-auto", Needs: stage.Learner, Run: vpaAuto},
	{Name: "vpa-part", Needs: stage.Learner, Run: vpaPart},
	{Name: "rollout", Needs: stage.Learner, Run: rollout},
	{Name: "owner-deployment", Needs: stage.Learner, Run: func(t *stage.T) { owner(t, "Deployment") }},
	{Name: "owner-statefulset", Needs: stage.Learner, Run: func(t *stage.T) { owner(t, "StatefulSet") }},
	{Name: "owner-daemonset", Needs: stage.Learner, Run: func(t *stage.T) { owner(t, "DaemonSet") }},
	{Name: "weekly-peak", Needs: stage.Learner, Run: weeklyPeak},
	{Name: "tenant-kinds", Needs: stage.Learner, Run: tenantKinds},

	// With one learner and one replica in common, which the API server calls, side by side.
	{Name: "admitted", Needs: stage.REST, Run: admitted},
	{Name: "admission-dry-run", Needs: stage.REST, Run: dryRun},
	{Name: "admission-jobs", Needs: stage.REST, Run: jobs},
	{Name: "admission-managed", Needs: stage.REST, Run: managedPods},
	{Name: "policy-refuses", Needs: stage.REST, Argo: true, Run: policyRefuses},
	{Name: "admission-exempt", Needs: stage.REST, Run: exempt},
	{Name: "admission-holds-pod", Needs: stage.REST, Run: func(t *stage.T) { admissionHolds(t, "Pod") }},
	{Name: "admission-holds-workload", Needs: stage.REST, Run: func(t *stage.T) { admissionHolds(t, "Workload") }},
	{Name: "canary-in-place", Needs: stage.REST, Run: canaryInPlace},
	{Name: "canary-deploy", Needs: stage.REST, Run: canaryDeploy},
	{Name: "deploys-pod-deployment", Needs: stage.REST, Run: func(t *stage.T) { deploys(t, "Deployment", "Pod") }},
	{Name: "deploys-pod-statefulset", Needs: stage.REST, Run: func(t *stage.T) { deploys(t, "StatefulSet", "Pod") }},
	{Name: "deploys-pod-daemonset", Needs: stage.REST, Run: func(t *stage.T) { deploys(t, "DaemonSet", "Pod") }},
	{Name: "argo-pod", Needs: stage.REST, Run: func(t *stage.T) { argo(t, "Pod") }},
	{Name: "deploys-workload-deployment", Needs: stage.REST, Run: func(t *stage.T) { deploys(t, "Deployment", "Workload") }},
	{Name: "deploys-workload-statefulset", Needs: stage.REST, Run: func(t *stage.T) { deploys(t, "StatefulSet", "Workload") }},
	{Name: "deploys-workload-daemonset", Needs: stage.REST, Run: func(t *stage.T) { deploys(t, "DaemonSet", "Workload") }},
	{Name: "argo-workload", Needs: stage.REST, Run: func(t *stage.T) { argo(t, "Workload") }},
	{Name: "deploys-rollout-deployment", Needs: stage.REST, Run: func(t *stage.T) { deploys(t, "Deployment", "Rollout") }},
	{Name: "deploys-rollout-statefulset", Needs: stage.REST, Run: func(t *stage.T) { deploys(t, "StatefulSet", "Rollout") }},
	{Name: "deploys-rollout-daemonset", Needs: stage.REST, Run: func(t *stage.T) { deploys(t, "DaemonSet", "Rollout") }},
	{Name: "argo-rollout", Needs: stage.REST, Run: func(t *stage.T) { argo(t, "Rollout") }},
	{Name: "flow", Needs: stage.REST, Run: flow},
	{Name: "flow-rollout", Needs: stage.REST, Run: flowRollout},
	{Name: "fuzz-api", Needs: stage.REST, Run: fuzzAPI},
	{Name: "guard-pod", Needs: stage.REST, Run: guardPod},
	{Name: "export-import", Needs: stage.REST, Run: exportImport},
	{Name: "injected-before", Needs: stage.REST, Run: func(t *stage.T) { injected(t, "a") }},
	{Name: "injected-after", Needs: stage.REST, Run: func(t *stage.T) { injected(t, "z") }},
	{Name: "in-place", Needs: stage.REST, Run: inPlace},
	{Name: "in-place-guaranteed", Needs: stage.REST, Run: inPlaceGuaranteed},
	{Name: "startup-in-place", Needs: stage.REST, Run: startupInPlace},
	{Name: "startup-on-deploy", Needs: stage.REST, Run: startupOnDeploy},
	{Name: "admission-kinds", Needs: stage.REST, Run: kinds},
	{Name: "admission-kinds-pods", Needs: stage.REST, Run: kindsOfPods},
	{Name: "deploys-late", Needs: stage.REST, Run: deploysLate},
	{Name: "deploys-moved", Needs: stage.REST, Run: deploysMoved},
	{Name: "deploys-again-pod", Needs: stage.REST, Run: func(t *stage.T) { deploysAgain(t, "Pod") }},
	{Name: "deploys-again-workload", Needs: stage.REST, Run: func(t *stage.T) { deploysAgain(t, "Workload") }},
	{Name: "limits", Needs: stage.REST, Run: limits},
	{Name: "query-only", Needs: stage.REST, Run: queryOnly},
	{Name: "render", Needs: stage.REST, Run: render},
	{Name: "restore-doors", Needs: stage.REST, Run: restoreAdmitted},
	{Name: "read-by-container-pod", Needs: stage.REST, Run: func(t *stage.T) { readByContainer(t, "pod") }},
	{Name: "read-by-container-workload", Needs: stage.REST, Run: func(t *stage.T) { readByContainer(t, "workload") }},
	{Name: "read-by-container-rollout", Needs: stage.REST, Run: func(t *stage.T) { readByContainer(t, "rollout") }},
	{Name: "read-by-container-in-place", Needs: stage.REST, Run: func(t *stage.T) { readByContainer(t, "in-place") }},
	{Name: "read-by-container-render", Needs: stage.REST, Run: func(t *stage.T) { readByContainer(t, "render") }},
	{Name: "read-by-container-later", Needs: stage.REST, Run: readByContainerLater},
	{Name: "hpa-retune-pod", Needs: stage.REST, Run: func(t *stage.T) { hpaRetuneDeploy(t, "Pod") }},
	{Name: "hpa-retune-workload", Needs: stage.REST, Run: func(t *stage.T) { hpaRetuneDeploy(t, "Workload") }},
	{Name: "vpa-deploy", Needs: stage.REST, Run: vpaDeploy},
	{Name: "tokens", Needs: stage.REST, Run: tokens},
	{Name: "first-kinds", Needs: stage.REST, Run: firstKinds},
	{Name: "too-young", Needs: stage.REST, Run: tooYoung},

	// On a control plane of their own, one after the other.
	{Name: "backfill", Needs: stage.Alone, Run: backfill},
	{Name: "backfill-twice", Needs: stage.Alone, Run: backfillTwice},
	{Name: "scan-prometheus", Needs: stage.Alone, Run: scanPrometheus},
	{Name: "custom-metrics-taken", Needs: stage.Alone, Run: customMetricsTaken},
	{Name: "front-proxy", Needs: stage.Alone, Run: frontProxy},
	{Name: "hpa-limit-basis", Needs: stage.Alone, Run: hpaLimitBasis},
	{Name: "dimension-namespace", Needs: stage.Alone, Run: dimensionNamespace},
	{Name: "dimension-node", Needs: stage.Alone, Run: dimensionNode},
	{Name: "dimension-pod", Needs: stage.Alone, Run: dimensionPod},
	{Name: "documents", Needs: stage.Alone, Run: documents},
	{Name: "fallback", Needs: stage.Alone, Run: fallback},
	{Name: "fleet", Needs: stage.Alone, Run: fleet},
	{Name: "fuse", Needs: stage.Alone, Run: fuse},
	{Name: "prune", Needs: stage.Alone, Run: pruned},
	{Name: "helm", Needs: stage.Alone, Run: helm},
	{Name: "hostile-user", Needs: stage.Alone, Run: hostileUser},
	{Name: "hostile-storage", Needs: stage.Alone, Run: hostileStorage},
	{Name: "hostile-ports", Needs: stage.Alone, Run: hostilePorts},
	{Name: "hostile-selectors", Needs: stage.Alone, Run: hostileSelectors},
	{Name: "hostile-rounding", Needs: stage.Alone, Run: hostileRounding},
	{Name: "hostile-restricted", Needs: stage.Alone, Run: hostileRestricted},
	{Name: "tenant-fuse", Needs: stage.Alone, Run: tenantFuse},
	{Name: "hot-node", Needs: stage.Alone, Run: hotNode},
	{Name: "in-place-restart", Needs: stage.Alone, Run: inPlaceRestart},
	{Name: "startup-killed", Needs: stage.Alone, Run: startupKilled},
	{Name: "install", Needs: stage.Alone, Run: install},
	{Name: "oom-200", Needs: stage.Alone, Run: oomKills},
	{Name: "api-server-gone", Needs: stage.Alone, Run: apiServerGone},
	{Name: "learner-gone", Needs: stage.Alone, Run: learnerGone},
	{Name: "metrics-versions", Needs: stage.Alone, Run: metricsVersions},
	{Name: "nodes", Needs: stage.Alone, Run: nodes},
	{Name: "outage", Needs: stage.Alone, Run: outage},
	{Name: "permission", Needs: stage.Alone, Run: permission},
	{Name: "release", Needs: stage.Alone, Run: release},
	{Name: "restart", Needs: stage.Alone, Run: restart},
	{Name: "rights", Needs: stage.Alone, Run: rights},
	{Name: "restarted", Needs: stage.Alone, Run: restarted},
	{Name: "uninstall", Needs: stage.Alone, Run: uninstall},
	{Name: "upgrade", Needs: stage.Alone, Run: upgrade},
	{Name: "upgrade-api", Needs: stage.Alone, Run: upgradeAPI},
	{Name: "upgrade-webhooks", Needs: stage.Alone, Run: upgradeWebhooks},
	{Name: "watcher-away", Needs: stage.Alone, Run: watcherAway},
	{Name: "watcher-plugins", Needs: stage.Alone, Run: watcherPlugins},
	{Name: "rotation", Needs: stage.Alone, Run: rotation},

	// On control planes of older versions, one after the other, where they are named.
	{Name: "hostile-1-30", Needs: stage.Older, Kubernetes: "1.30", Run: func(t *stage.T) { hostileVersion(t, "1.30", false) }},
	{Name: "hostile-1-33", Needs: stage.Older, Kubernetes: "1.33", Run: func(t *stage.T) { hostileVersion(t, "1.33", true) }},
	{Name: "hostile-1-35", Needs: stage.Older, Kubernetes: "1.35", Run: func(t *stage.T) { hostileVersion(t, "1.35", true) }},

	// On a real node with one learner in common, side by side.
	{Name: "node-raise", Needs: stage.OnNode, Run: nodeRaise},
	{Name: "node-guard", Needs: stage.OnNode, Run: nodeGuard},
	{Name: "node-oom-jump", Needs: stage.OnNode, Run: nodeOOMJump},
	{Name: "node-oom-limit", Needs: stage.OnNode, Run: nodeOOMLimit},
	{Name: "node-learn", Needs: stage.OnNode, Run: nodeLearn},
	{Name: "node-startup", Needs: stage.OnNode, Run: nodeStartup},
	{Name: "node-start-original", Needs: stage.OnNode, Run: nodeStartOriginal},
	{Name: "node-resize", Needs: stage.OnNode, Run: nodeResize},
	{Name: "node-rollout", Needs: stage.OnNode, Run: nodeRollout},
	{Name: "node-restore", Needs: stage.OnNode, Run: nodeRestore},

	// On a real node of their own, one after the other.
	{Name: "node-evict", Needs: stage.OwnNode, Node: small, Run: func(t *stage.T) { nodeEvict(t, 143, "Failed") }},
	{Name: "node-evict-exit0", Needs: stage.OwnNode, Node: small, Run: func(t *stage.T) { nodeEvict(t, 0, "Succeeded") }},
	{Name: "node-kubelet-down", Needs: stage.OwnNode, Node: brief, Run: nodeKubeletDown},
	{Name: "node-oom-room", Needs: stage.OwnNode, Node: tight, Run: nodeOOMRoom},
	{Name: "node-oom-marked", Needs: stage.OwnNode, Node: tight, Run: nodeOOMMarked},
	{Name: "node-oom-marked-resize", Needs: stage.OwnNode, Node: tight, Run: nodeOOMMarkedResize},
	{Name: "node-guard-deferred", Needs: stage.OwnNode, Node: tight, Run: nodeGuardDeferred},
	{Name: "node-deferred", Needs: stage.OwnNode, Node: few, Run: nodeDeferred},
	{Name: "node-replaced", Needs: stage.OwnNode, Node: few, Run: nodeReplaced},
	{Name: "node-self", Needs: stage.OwnNode, Run: nodeSelf},
	{Name: "node-helm", Needs: stage.OwnNode, Run: nodeHelm},
	{Name: "node-release", Needs: stage.OwnNode, Run: nodeRelease},
}
