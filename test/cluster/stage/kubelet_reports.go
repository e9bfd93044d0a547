package stage

import (
	"fmt"
	"time"

	"halflife.dev/cluster/kube"
)

// ReportOOMKill writes the status of a pod whose container was killed for lack of memory: its present process, or the one
// before.
func (t *T) ReportOOMKill(pod kube.Object, present bool) error {
	now := time.Now().UTC().Format(time.RFC3339)
	dead := M{"terminated": M{"exitCode": 137, "reason": "OOMKilled", "startedAt": pod.Text("status", "startTime"),
		"finishedAt": now}}
	change := L{M{"op": "replace", "path": "/status/containerStatuses/0/restartCount", "value": 1},
		M{"op": "add", "path": "/status/containerStatuses/0/lastState", "value": dead}}
	if present {
		change = L{M{"op": "add", "path": "/status/containerStatuses/0/state", "value": dead}}
	}
	_, err := t.Patch(t.Path("pods", pod.Name())+"/status", change)
	return err
}

// ReportRestarts writes the status of a pod whose container has restarted that often.
func (t *T) ReportRestarts(pod string, times int) {
	_, err := t.Patch(t.Path("pods", pod)+"/status", L{M{"op": "replace", "path": "/status/containerStatuses/0/restartCount",
		"value": times}})
	t.Check(err)
}

// UseMemory sets the memory that container app of a pod uses from now on.
func (t *T) UseMemory(pod string, bytes int64) {
	_, err := t.Merge(t.Path("pods", pod), M{"metadata": M{"annotations": M{"usage.halflife.dev/memory.app": fmt.Sprint(bytes)}}})
	t.Check(err)
}
