package scenario

import (
	"fmt"

	"halflife.dev/cluster/plane"
)

func init() {
	alone = append(alone, scenario{"restarted", restarted})
}

// freePort is one that nothing listens on now: a halflife that is started again is to be found where it was.
func (t *T) freePort() int {
	port, err := plane.FreePorts(1)
	t.Check(err)
	return port[0]
}

// doorAt is Doored, at a port that stays.
func (t *T) doorAt(port int, more ...string) []string {
	return append([]string{fmt.Sprintf("--serve-listen=127.0.0.1:%d", port), "--webhook-certificate=self"}, more...)
}

// Who learns, and a replica, are ended in both ways and started again, while pipelines and the API server ask them without
// end. Connections fail, and pods of that moment stay as their owner wrote them; no answer is ever a wrong one.
func restarted(t *T) {
	t.Namespace()
	t.Check(t.InstallDoors())
	learner := t.own(t.doorAt(t.freePort(), "--checkpoint-interval=10s")...)
	replica, err := t.StartServe(t.Name+"-serve", t.doorAt(t.freePort())...)
	t.replica = replica
	t.Check(err)
	t.Profile(onDeploy("Pod"))
	t.OpenDoors(replica)
	t.Apply(t.deployment("web", 2, app(usedCPU, usedMemory)))
	t.RecIn("deployment-web", "Ready", soon)
	t.Cycles(learner, 3) // a checkpoint at the least
	cpu, _ := targets(usedCPU, usedMemory)
	t.Ctl("-n", t.NS, "rollout", "restart", "deployment/web")
	t.comeWith("its pods have what was learned", "web", cpu, 2)

	l, r := t.load(), &trust{}
	defer l.stop()
	t.follow(l, r)
	t.Account("ci", Reader("get"))
	token := t.Token("ci", "--duration=1h")
	for name, h := range map[string]*Halflife{"the learner": learner, "the replica": replica} {
		door, err := h.Door()
		t.Check(err)
		for how, fresh := range map[string]bool{"anew": true, "kept": false} {
			c := &caller{door: door, roots: r.asOf("Secret", 0), fresh: fresh}
			l.begin(fmt.Sprintf("REST, %s, %s", name, how), func() outcome {
				answer, err := c.send("GET", "/api/v1/namespaces/"+t.NS+"/workloads/deploy/web", token, "")
				return judgeAnswer(answer, err, cpu)
			})
		}
	}
	owner := t.Pods("web")[0].List("metadata", "ownerReferences")[0]
	l.begin("pods by the API server", func() outcome {
		meta := M{"generateName": "dry-", "name": "dry", "namespace": t.NS, "ownerReferences": L{map[string]any(owner)}}
		made, err := t.Post(t.path("pods", "")+"?dryRun=All", bare(meta))
		o := judgePod(made, err, cpu)
		if o.wrong == "a pod asks for 2" {
			o.wrong = "" // its owner's own
		}
		return o
	})
	l.asked(t)
	for range 2 {
		for _, h := range []*Halflife{learner, replica} {
			code, took, err := h.Terminate()
			t.Check(err)
			if code != 0 {
				t.Fatalf("SIGTERM: exit code %d", code)
			}
			t.Check(h.Start())
			t.Notef("%s: SIGTERM, gone after %.2f s", h.command, took.Seconds())
			l.asked(t)
			h.Kill()
			t.Check(h.Start())
			l.asked(t)
		}
	}
	l.end(t)
}

// judgeAnswer: no connection is fine, so is being told to come again; anything else must be what was learned.
func judgeAnswer(answer Answer, err error, want string) outcome {
	if err != nil {
		return outcome{word: "no connection"}
	}
	if answer.Code == 503 && answer.Header.Get("Retry-After") != "" {
		return outcome{word: "come again"}
	}
	o := answer.Object()
	got := ""
	if o != nil && o.List("deploy", "containers") != nil {
		got = o.List("deploy", "containers")[0].Text("cpu", "request")
	}
	if answer.Code != 200 || got != want || o.Text("status", "state") != "Ready" {
		return outcome{"wrong", fmt.Sprintf("HTTP %d: %s", answer.Code, answer.Body)}
	}
	return outcome{word: answered}
}
