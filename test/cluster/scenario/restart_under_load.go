package scenario

import (
	"fmt"

	"halflife.dev/cluster/stage"
)

// Who learns, and a replica, are ended in both ways and started again, while pipelines and the API server ask them without
// end. Connections fail, and pods of that moment stay as their owner wrote them; no answer is ever a wrong one.
func restarted(t *stage.T) {
	t.Namespace()
	t.Check(t.InstallWebhooks())
	learner := t.StartOwn(t.RESTSettingsAt(t.FreePort(), "--checkpoint-interval=10s")...)
	replica, err := t.StartServe(t.Name+"-serve", t.RESTSettingsAt(t.FreePort())...)
	t.Replica = replica
	t.Check(err)
	t.Profile(stage.OnDeployProfile("Pod"))
	t.RouteWebhooks(replica)
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	t.RecIn("deployment-web", "Ready", stage.Soon)
	t.Cycles(learner, 3) // a checkpoint at the least
	cpu, _ := stage.Targets()
	t.Ctl("-n", t.NS, "rollout", "restart", "deployment/web")
	t.WaitAdmitted("its pods have what was learned", "web", cpu, 2)

	l, r := t.NewLoad(), &stage.Trust{}
	defer l.Stop()
	t.FollowTrust(l, r)
	t.Account("ci", stage.ReadRule("get"))
	token := t.Token("ci", "--duration=1h")
	for name, h := range map[string]*stage.Halflife{"the learner": learner, "the replica": replica} {
		address, err := h.RESTAddress()
		t.Check(err)
		for how, fresh := range map[string]bool{"anew": true, "kept": false} {
			c := &stage.RESTCaller{Address: address, Roots: r.AsOf("Secret", 0), Fresh: fresh}
			l.Begin(fmt.Sprintf("REST, %s, %s", name, how), func() stage.Outcome {
				answer, err := c.Send("GET", "/api/v1/namespaces/"+t.NS+"/workloads/deploy/web", token, "")
				return judgeAnswer(answer, err, cpu)
			})
		}
	}
	owner := t.Pods("web")[0].List("metadata", "ownerReferences")[0]
	l.Begin("pods by the API server", func() stage.Outcome {
		meta := M{"generateName": "dry-", "name": "dry", "namespace": t.NS, "ownerReferences": L{map[string]any(owner)}}
		made, err := t.Post(t.Path("pods", "")+"?dryRun=All", stage.BarePod(meta))
		o := stage.JudgePod(made, err, cpu)
		if o.Wrong == "a pod asks for 2" {
			o.Wrong = "" // its owner's own
		}
		return o
	})
	l.WaitAnswers(t)
	for range 2 {
		for _, h := range []*stage.Halflife{learner, replica} {
			code, took, err := h.Terminate()
			t.Check(err)
			if code != 0 {
				t.Fatalf("SIGTERM: exit code %d", code)
			}
			t.Check(h.Start())
			t.Notef("%s: SIGTERM, gone after %.2f s", h.Command, took.Seconds())
			l.WaitAnswers(t)
			h.Kill()
			t.Check(h.Start())
			l.WaitAnswers(t)
		}
	}
	l.End(t)
}

// judgeAnswer: no connection is fine, so is being told to come again; anything else must be what was learned.
func judgeAnswer(answer stage.Answer, err error, want string) stage.Outcome {
	if err != nil {
		return stage.Outcome{Word: "no connection"}
	}
	if answer.Code == 503 && answer.Header.Get("Retry-After") != "" {
		return stage.Outcome{Word: "come again"}
	}
	o := answer.Object()
	got := ""
	if o != nil && o.List("deploy", "containers") != nil {
		got = o.List("deploy", "containers")[0].Text("cpu", "request")
	}
	if answer.Code != 200 || got != want || o.Text("status", "state") != "Ready" {
		return stage.Outcome{Word: "wrong", Wrong: fmt.Sprintf("HTTP %d: %s", answer.Code, answer.Body)}
	}
	return stage.Outcome{Word: stage.Answered}
}
