package scenario

import (
	"fmt"
	"regexp"

	"halflife.dev/cluster/stage"
)

const limitsManifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: %[2]s, labels: {app: %[1]s, at: %[3]s}}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - {name: app, image: "registry.invalid/app:1", resources: {%[4]s}}
`

const limitsHPA = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  minReplicas: 1
  maxReplicas: 1
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
---
`

const usualResources = "requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 4, memory: 2Gi}"

// A first deploy by the factor of one half, where more is to be thought of than the request: what a LimitRange would refuse or
// fills in, a limit without a request, an autoscaler.
var limitCases = []struct {
	name, limits, resources string
	hpa                     bool
	cpu                     string // what the pod comes to ask for, by all ways; "" is nothing
	left                    bool   // what is rendered is what was given
}{
	{"min", "{type: Container, min: {cpu: 1200m}}", usualResources, false, "1200m", false},
	{"min-of-all", "{type: Container, min: {cpu: 2}}", usualResources, false, "2", true},
	{"ratio", "{type: Container, maxLimitRequestRatio: {cpu: 3}}", usualResources, false, "1334m", false},
	{"pod", "{type: Pod, min: {cpu: 1500m}}", usualResources, false, "2", true},
	{"pod-ratio", "{type: Pod, maxLimitRequestRatio: {cpu: 3}}", usualResources, false, "2", true},
	{"pod-room", "{type: Pod, min: {cpu: 1}, maxLimitRequestRatio: {cpu: 4}}", usualResources, false, "1", false},
	{"nothing", "", "", false, "", true},
	{"limit-only", "", "limits: {cpu: 2}", false, "1", false},
	{"default", "{type: Container, default: {cpu: 3}, defaultRequest: {cpu: 1600m}}", "", false, "800m", false},
	{"default-ratio", "{type: Container, default: {cpu: 3}, defaultRequest: {cpu: 1600m}, maxLimitRequestRatio: {cpu: 2}}", "",
		false, "1500m", false},
	{"default-limit", "{type: Container, default: {cpu: 3}, maxLimitRequestRatio: {cpu: 2}}", "requests: {cpu: 2}", false, "1500m",
		false},
	{"hpa", "", usualResources, true, "2", true},
}

// limits deploys each of them in four ways, with one result that the API server takes.
func limits(t *stage.T) {
	t.Namespace()
	t.ProfilesAt(func(M) {})
	token, kubeconfig := t.Pipeline("ci", append(stage.RenderRules(), stage.ReadRule("get"))...)
	var table [][]string
	for _, c := range limitCases {
		in := t.In(c.name)
		by := stage.Ways{T: in, Token: token, Kubeconfig: kubeconfig}
		if c.limits != "" {
			in.CtlIn("apiVersion: v1\nkind: LimitRange\nmetadata: {name: sizes, namespace: "+in.NS+"}\nspec: {limits: ["+
				c.limits+"]}\n", "apply", "-f", "-")
		}
		row := []string{c.name}
		for _, w := range stage.FourWays {
			manifest := fmt.Sprintf(limitsManifest, w.Name, in.NS, w.At, c.resources)
			if c.hpa { // render goes by those beside it, admission by those that are there
				hpa := fmt.Sprintf(limitsHPA, w.Name, in.NS)
				if both := hpa + manifest; by.Rendered(w.Name, both) != both {
					t.Fatalf("rendered beside its autoscaler:\n%s", by.Rendered(w.Name, both))
				}
				in.CtlIn(hpa, "apply", "-f", "-")
			}
			renders(in, by.Token, manifest, c.cpu, c.left)
			by.Deploy(w.Name, manifest)
		}
		for _, w := range stage.FourWays {
			in.WaitAdmittedPod(c.name+": "+w.Name+" runs", w.Name, "1", c.cpu)
			row = append(row, c.cpu)
		}
		table = append(table, row)
	}
	t.NoteTable(table)
}

// renders waits until the one that learns and the replica both render a manifest to that CPU, or leave it.
func renders(t *stage.T, token, manifest, cpu string, left bool) {
	asks := regexp.MustCompile(`requests: *\{cpu: "?` + cpu + `"?[,}]`)
	t.Eventually("rendered to '"+cpu+"' in "+t.NS, stage.Soon, func() error {
		for _, h := range t.Halflives() {
			body := t.Render(h, token, manifest).Body
			if left != (body == manifest) || (!left && !asks.MatchString(body)) {
				return fmt.Errorf("halflife %s renders:\n%s", h.Command, body)
			}
		}
		return nil
	})
}
