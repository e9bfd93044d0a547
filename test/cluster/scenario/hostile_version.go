package scenario

import (
	"strings"

	"halflife.dev/cluster/stage"
)

// hostileVersion is a platform whose API server, controllers and scheduler are of an older version of Kubernetes. Each mode
// changes a workload; where the API server resizes no pods, InPlace says so, and new pods come with the value.
func hostileVersion(t *stage.T, version string, resizes bool) {
	var replica *stage.Halflife
	cpu, memory := stage.Targets()
	before := ""
	end := func() {
		if replica != nil {
			replica.Terminate()
			replica = nil
			t.StopRotate()
		}
	}
	defer end()
	hostile(t, hostility{
		values: "admission.enabled=true,inPlace.enabled=true,persistence.enabled=false",
		mode:   "Recommend",
		installed: func(t *stage.T, _ string) {
			is, err := t.Get("/version")
			t.Check(err)
			if got := is.Text("gitVersion"); !strings.HasPrefix(got, "v"+version+".") {
				t.Fatalf("the API server is of Kubernetes %s", got)
			}
			t.Notef("API server %s", is.Text("gitVersion"))
		},
		lowered: func(t *stage.T) {
			judgeDeployment(t)
			t.Check(t.NameThisMachine())
			t.Check(t.StartRotate())
			h, err := t.StartServe(t.Name+"-serve", stage.RESTSettings...)
			t.Check(err)
			replica = h
			t.RouteWebhooks(h)
			tryAdmission(t, "ok    the API server asked halflife")
			for name, mode := range map[string]string{"place": "InPlace", "rolled": "Rollout"} {
				t.Apply(t.NewDeployment(name, 2, stage.App()))
				t.RecIn("deployment-"+name, "Ready", stage.Soon)
				if mode == "Rollout" {
					before = specOf(t, "deployments", name)
				}
			}
			same := t.UIDs("place")
			for name, mode := range map[string]string{"web": "OnDeploy", "place": "InPlace", "rolled": "Rollout"} {
				p := stage.QuickProfile(mode)
				p["selector"], p["priority"] = M{"matchLabels": M{"app": name}}, 10
				t.ProfileNamed("e2e-"+t.Name+"-"+name, p)
			}
			replacePods(t, "web", cpu)
			t.Eventually("it is rolled out", stage.Soon, func() error { return t.PodsAsk("rolled", "app", "cpu", cpu, 2) })
			cannot := "a profile has apply.mode InPlace, but this server cannot resize pods"
			said := t.Program([]string{"HALFLIFE_KUBECONFIG=" + t.Plane.Kubeconfig}, "", "check", "--database=", "--namespace", stage.OwnNamespace).Out
			if resizes {
				t.WaitResized("place", 2, cpu, memory)
				t.CheckSamePods("place", same)
				t.WaitApplied("deployment-place", "True", "UpToDate", "")
				if strings.Contains(said, cannot) {
					t.Fatalf("check says:\n%s", said)
				}
				return
			}
			t.WaitApplied("deployment-place", "False", "ResizeUnsupported", "2 of 2 pods stay as they are, because this API server cannot resize pods")
			t.CheckSamePods("place", same)
			t.CheckSays(said, "warn  "+cannot, "upgrade to Kubernetes 1.33 or newer")
			replacePods(t, "place", cpu)
			t.WaitApplied("deployment-place", "True", "UpToDate", "")
		},
		restored: func(t *stage.T, told string) {
			if now := specOf(t, "deployments", "rolled"); now != before {
				t.Fatalf("rolled was\n%s\nand is\n%s", before, now)
			}
			if resizes {
				for _, name := range []string{"web", "place"} {
					t.Check(t.PodsAsk(name, "app", "cpu", "2", 2))
				}
			} else {
				t.CheckSays(told, "keeps halflife's value", "this API server cannot resize pods")
				t.CheckSays(t.Command(0, "restore", "deploy/place", "-n", t.NS, "--restart", "--timeout", "5m"), "deployment/place restored: restarted")
				t.Check(t.PodsAsk("place", "app", "cpu", "2", 2))
				replacePods(t, "web", "2")
			}
			end()
		},
	})
}

// judgeDeployment has the API server judge what halflife's learner might write to a Deployment, by the chart's policy.
func judgeDeployment(t *stage.T) {
	t.Create("deployments", annotated(t.NewDeployment("judged", 1, stage.App())))
	letWriteAll(t)
	as := t.WithToken(strings.TrimSpace(t.Ctl("-n", stage.OwnNamespace, "create", "token", "halflife")))
	list := ofTemplate("deployments/judged", "/spec/template")
	for _, j := range list {
		t.Eventually("the policy judges", stage.Soon, func() error { return j.check(t, as, j.says == "") })
	}
	t.Notef("%d writes judged", len(list))
}

// replacePods deletes the pods of an app until those that come ask for that CPU: some may come before halflife has
// something to give.
func replacePods(t *stage.T, app, cpu string) {
	t.Eventually(app+" gets new pods", stage.Soon, func() error {
		err := t.PodsAsk(app, "app", "cpu", cpu, 2)
		running := 0
		for _, p := range t.Pods(app) {
			if p.Text("status", "phase") == "Running" {
				running++
			}
		}
		if err != nil && running == 2 {
			t.Ctl("-n", t.NS, "delete", "pods", "-l", "app="+app)
		}
		return err
	})
}
