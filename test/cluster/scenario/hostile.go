package scenario

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// hostility is what a platform does to those who install on it.
type hostility struct {
	values    string                        // of the chart
	mode      string                        // of the profile; "": Rollout
	before    func(t *stage.T)              // it begins
	installed func(t *stage.T, told string) // the chart is installed, and its notes told this
	start     func(t *stage.T)              // starts the learner; nil: as usual
	lowered   func(t *stage.T)              // a workload was changed
	restored  func(t *stage.T, told string) // restore has ended, and told this
}

// hostile installs the chart on such a platform, waits for the first number, has one workload changed, restores it, and
// uninstalls: nothing is left. The rig's nodes run no containers, so the learner runs beside it, as its service account.
func hostile(t *stage.T, h hostility) {
	t.Namespace()
	removeManifests(t)
	defer reinstall(t)
	if h.before != nil {
		h.before(t)
	}
	begun := time.Now()
	told := t.Helm("install", "halflife", stage.Chart(t.Root), "-n", stage.OwnNamespace, "--create-namespace",
		"--set", "crds.keep=false", "--set", h.values)
	t.Served(stage.OwnCRDs...)
	if h.installed != nil {
		h.installed(t, told)
	}
	if h.start == nil {
		t.StartOwn()
	} else {
		h.start(t)
	}
	t.Apply(t.NewDeployment("web", 2, stage.App()))
	before := specOf(t, "deployments", "web")
	if h.mode == "" {
		h.mode = "Rollout"
	}
	t.Profile(stage.QuickProfile(h.mode))
	// It may be lowered and contested before anybody looks, so that Ready is not awaited.
	t.RecWhen("deployment-web", "a target", stage.Soon, func(r kube.Object) error {
		if r.Named("app", "status", "containers").Text("cpu", "target") == "" {
			return fmt.Errorf("there is none: %s", r.Object("status"))
		}
		return nil
	})
	t.Notef("the first number, %s after the installation began", time.Since(begun).Round(time.Second))
	if h.lowered == nil {
		cpu, _ := stage.Targets()
		t.Eventually("it is lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	} else {
		h.lowered(t)
	}
	told = t.Command(0, "restore", "--all", "--timeout", "5m")
	if h.restored != nil {
		h.restored(t, told)
	}
	if now := specOf(t, "deployments", "web"); now != before {
		t.Fatalf("it was\n%s\nand is\n%s", before, now)
	}
	t.Learner.Stop()
	t.Learner = nil
	t.Helm("uninstall", "halflife", "-n", stage.OwnNamespace, "--wait")
	t.Ctl("delete", "namespace", stage.OwnNamespace, "--timeout=300s")
	checkNothingLeft(t)
}

// wrapper is a program that takes halflife's place: a user of a namespace's range, group 0, no capability, and a root
// that nobody can write; but for the folder of the run, which stands for the volume.
const wrapper = `#!/bin/sh
set -eu
dir=$(dirname "$HALFLIFE_LISTEN_FILE")
chmod 0770 "$dir"
chmod g+x "${dir%%/*}" "${dir%%/*/*}"
chmod 0640 "$dir/kubeconfig"
exec unshare -m sh -c 'dir=$1; shift; mount --bind "$dir" "$dir"; mount -o remount,bind,ro /; exec setpriv --reuid=1000650000 \
	--regid=0 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"' sh "$dir" %s "$@"
`

// The platform chooses the user. A pod's user does nothing on this rig, so the program itself runs as that user, with
// group 0 and a read-only root.
func hostileUser(t *stage.T) {
	hostile(t, hostility{
		values: "admission.enabled=true,anyUser.enabled=true,persistence.enabled=false",
		installed: func(t *stage.T, _ string) {
			for _, name := range []string{"halflife", "halflife-serve", "halflife-rotate"} {
				d, err := t.Get("/apis/apps/v1/namespaces/" + stage.OwnNamespace + "/deployments/" + name)
				t.Check(err)
				context := d.Object("spec", "template", "spec", "securityContext")
				if context.At("runAsUser") != nil || context.At("fsGroup") != nil || context.At("runAsNonRoot") != true {
					t.Fatalf("%s has a user of its own: %s", name, context)
				}
			}
		},
		start: func(t *stage.T) {
			path := filepath.Join(t.Dir, "as-any-user")
			t.Check(os.WriteFile(path, []byte(fmt.Sprintf(wrapper, t.Binary())), 0o755))
			h, err := t.StartVersion(path, "run", t.Name)
			t.Learner = h
			t.Check(err)
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.PID))
			t.Check(err)
			t.CheckSays(string(status), "Uid:\t1000650000\t1000650000", "Gid:\t0\t0", "CapEff:\t0000000000000000")
			mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", h.PID))
			t.Check(err)
			for in := bufio.NewScanner(strings.NewReader(string(mounts))); in.Scan(); {
				if f := strings.Fields(in.Text()); f[4] == "/" && !strings.HasPrefix(f[5], "ro") {
					t.Fatalf("its root can be written: %s", in.Text())
				}
			}
		},
	})
}

// No default StorageClass: the notes and check say so, and without a volume all goes on.
func hostileStorage(t *stage.T) {
	hostile(t, hostility{
		values: "controller.priorityClassName=",
		installed: func(t *stage.T, told string) {
			t.CheckSays(told, "There is no default StorageClass")
			check := func() string {
				r := t.Program([]string{"HALFLIFE_KUBECONFIG=" + t.Plane.Kubeconfig}, "", "check", "--database=", "--namespace", stage.OwnNamespace)
				return r.Out
			}
			t.CheckSays(check(), "FAIL  volume claim 'halflife' waits, as there is no default StorageClass", "persistence.enabled=false")
			told = t.Helm("upgrade", "halflife", stage.Chart(t.Root), "-n", stage.OwnNamespace, "--reuse-values", "--set", "persistence.enabled=false")
			t.CheckSays(told, "persistence.enabled=false: what halflife learns is lost with its pod")
			t.Eventually("the claim is gone", stage.Soon, func() error {
				if said := check(); strings.Contains(said, "volume claim") {
					return fmt.Errorf("check says: %s", said)
				}
				return nil
			})
			t.CheckSays(check(), "warn  there is no default StorageClass")
		},
	})
}

// webhookPort is where private control planes reach pods.
const webhookPort = 10250

// The API server reaches pods at 443 and 10250 alone: the webhooks' pods listen at 10250, which is tried, and what is
// created gets its requests. There is no pod network here: a replica listens at that port of this machine.
func hostilePorts(t *stage.T) {
	hostile(t, hostility{
		values: "admission.enabled=true,persistence.enabled=false",
		installed: func(t *stage.T, _ string) {
			d, err := t.Get("/apis/apps/v1/namespaces/" + stage.OwnNamespace + "/deployments/halflife-serve")
			t.Check(err)
			ports := kube.Object(d.Object("spec", "template", "spec").List("containers")[0]).List("ports")
			if got := fmt.Sprint(ports[1].At("containerPort")); got != strconv.Itoa(webhookPort) {
				t.Fatalf("the webhooks' pods listen at %s: %v", got, ports)
			}
		},
		lowered: func(t *stage.T) {
			t.Check(t.NameThisMachine())
			t.Check(t.StartRotate())
			defer t.StopRotate()
			h, err := t.StartServe(t.Name+"-serve", t.RESTSettingsAt(webhookPort)...)
			t.Check(err)
			defer h.Terminate()
			t.RouteWebhooks(h)
			tryAdmission(t, "ok    the API server asked halflife")
			cpu, _ := stage.Targets()
			t.Eventually("it is lowered", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
		},
	})
}

// tryAdmission has a person try whether admission is called for the scenario's namespace.
func tryAdmission(t *stage.T, says string) {
	t.Eventually(says, stage.Soon, func() error {
		r := t.Program([]string{"HALFLIFE_KUBECONFIG=" + t.Plane.Kubeconfig}, "", "check", "--database=", "--try-admission", t.NS)
		if !strings.Contains(r.Out, says) {
			return fmt.Errorf("it says: %s%s", r.Out, r.Err)
		}
		return nil
	})
}

// Something rewrites the webhooks' selectors all the time, so that they pass over the namespace. It is told by who tries
// admission, and not fought: halflife writes the configuration for its certificate alone.
func hostileSelectors(t *stage.T) {
	hostile(t, hostility{
		values: "admission.enabled=true,persistence.enabled=false",
		lowered: func(t *stage.T) {
			t.Check(t.NameThisMachine())
			t.Check(t.StartRotate())
			defer t.StopRotate()
			h, err := t.StartServe(t.Name+"-serve", stage.RESTSettings...)
			t.Check(err)
			defer h.Terminate()
			t.RouteWebhooks(h)
			tryAdmission(t, "ok    the API server asked halflife")
			var was kube.Object
			writes := whileSelectorsChange(t, func() {
				was, err = t.Get(stage.WebhooksPath)
				t.Check(err)
				tryAdmission(t, "FAIL  the API server did not ask halflife")
				t.Cycles(t.Learner, 2)
			})
			now, err := t.Get(stage.WebhooksPath)
			t.Check(err)
			if others := generation(now) - generation(was) - writes; others > 2 {
				t.Fatalf("halflife wrote the webhooks %d times while the loop did %d times", others, writes)
			}
			for _, w := range now.List("webhooks")[:1] {
				if !strings.Contains(w.Object("namespaceSelector").String(), fmt.Sprintf("loop-%d", writes-1)) {
					t.Fatalf("the loop's last selector was put back: %s", w)
				}
			}
		},
	})
}

// whileSelectorsChange does work while a loop rewrites the first webhook's selector, and gives how often it was written.
// The loop ends with work, however that ends.
func whileSelectorsChange(t *stage.T, work func()) (writes int) {
	stop, done := make(chan struct{}), sync.WaitGroup{}
	done.Add(1)
	go func() {
		defer done.Done()
		for ; ; time.Sleep(200 * time.Millisecond) {
			select {
			case <-stop:
				return
			default:
			}
			values := L{"kube-system", t.NS, fmt.Sprintf("loop-%d", writes)}
			if _, err := t.Patch(stage.WebhooksPath, L{M{"op": "replace", "path": "/webhooks/0/namespaceSelector/matchExpressions",
				"value": L{M{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": values}}}}); err == nil {
				writes++
			}
		}
	}()
	defer func() {
		close(stop)
		done.Wait()
	}()
	work()
	return
}

func generation(o kube.Object) int {
	n, _ := strconv.Atoi(fmt.Sprint(o.At("metadata", "generation")))
	return n
}

// The platform rounds CPU requests up to 50m and bounds limits to 6.5 times requests, in templates. Each workload is
// contested once, with words that name the rule, and its template is written once. Restore takes back what the platform
// made of it, under the platform's eyes.
func hostileRounding(t *stage.T) {
	const request = "object.spec.template.spec.containers[0].resources.requests['cpu']"
	const resources = "object.spec.template.spec.containers[0].resources"
	milli := func(q string) string { return "int(quantity(" + q + ").asApproximateFloat() * 1000.0 + 0.5)" }
	least := "(has(" + resources + ".limits) && 'cpu' in " + resources + ".limits ? (" + milli(resources+".limits['cpu']") + " * 10 + 64) / 65 : 0)"
	more := func(a, b string) string { return "(" + a + " > " + b + " ? " + a + " : " + b + ")" }
	value := "string((" + more(milli(request), least) + " + 49) / 50 * 50) + 'm'"
	ends := func() {}
	defer func() { ends() }()
	hostile(t, hostility{
		values: "persistence.enabled=false",
		before: func(t *stage.T) {
			ends = alterDeployments(t, "e2e-platform", milli(request)+" % 50 != 0 || "+milli(request)+" < "+least,
				`op: "replace", path: "/spec/template/spec/containers/0/resources/requests/cpu", value: `+value)
		},
		lowered: func(t *stage.T) {
			free := stage.App()
			free.Limits = M{"memory": "2Gi"}
			t.Apply(t.NewDeployment("free", 2, free))
			for name, says := range map[string]string{"web": "bounds limits to", "free": "rounds up to multiples of 50m"} {
				rec := t.WaitHeld("deployment-"+name, "Contested", "")
				t.Check(stage.CheckCondition(rec, "Contested", "True", "by admission ("))
				t.Check(stage.CheckCondition(rec, "Contested", "True", says))
			}
			t.Cycles(t.Learner, 3)
			for _, name := range []string{"web", "free"} {
				t.CheckGeneration("deployments", name, 2)
				rec, err := t.Rec("deployment-" + name)
				t.Check(err)
				if rec.Named("app", "status", "containers").Text("cpu", "original") != "2" {
					t.Fatalf("the original of %s is another: %s", name, rec.Object("status"))
				}
			}
			if n := t.Learner.Counter("halflife_conflicts_total"); n != 2 {
				t.Fatalf("two workloads were contested %v times", n)
			}
		},
		restored: func(t *stage.T, told string) {
			t.CheckSays(told, "deployment/web restored: app cpu 650m -> 2", "deployment/free restored: app cpu ")
			t.CheckSays(t.Ctl("-n", t.NS, "get", "deployment", "free", "-o", "jsonpath={..resources.requests.cpu}"), "2")
			t.Ctl("-n", t.NS, "delete", "deployment", "free")
		},
	})
}

// Pods pass the level restricted, which the namespace enforces, and the program calls nobody but the API server.
func hostileRestricted(t *stage.T) {
	hostile(t, hostility{
		values: "admission.enabled=true,inPlace.enabled=true,persistence.enabled=false",
		installed: func(t *stage.T, _ string) {
			t.Ctl("label", "namespace", stage.OwnNamespace, "--overwrite", "pod-security.kubernetes.io/enforce=restricted")
			for _, name := range []string{"halflife", "halflife-serve", "halflife-rotate"} {
				d, err := t.Get("/apis/apps/v1/namespaces/" + stage.OwnNamespace + "/deployments/" + name)
				t.Check(err)
				_, err = t.Post("/api/v1/namespaces/"+stage.OwnNamespace+"/pods?dryRun=All", M{"apiVersion": "v1", "kind": "Pod",
					"metadata": M{"name": "probe-" + name}, "spec": d.Object("spec", "template", "spec")})
				if err != nil {
					t.Fatalf("a pod of %s is refused: %v", name, err)
				}
			}
		},
		lowered: func(t *stage.T) {
			cpu, _ := stage.Targets()
			server, err := url.Parse(t.Plane.Server)
			t.Check(err)
			t.Eventually("it is lowered", stage.Soon, func() error {
				for _, peer := range peersOf(t, t.Learner.PID) {
					if !strings.HasSuffix(peer, ":"+server.Port()) {
						t.Fatalf("halflife is connected with %s", peer)
					}
				}
				return t.PodsAsk("web", "app", "cpu", cpu, 2)
			})
		},
	})
}

// peersOf lists whom a process is connected with, without those that connected to it.
func peersOf(t *stage.T, pid int) []string {
	own := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	t.Check(err)
	for _, fd := range fds {
		if at, err := os.Readlink(fd); err == nil && strings.HasPrefix(at, "socket:[") {
			own[strings.Trim(at, "socket:[]")] = true
		}
	}
	var peers []string
	listening := map[string]bool{}
	for _, file := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		t.Check(err)
		lines := strings.Split(string(text), "\n")[1:]
		for _, pass := range []bool{true, false} {
			for _, line := range lines {
				f := strings.Fields(line)
				if len(f) < 10 || !own[f[9]] {
					continue
				}
				port := func(address string) string {
					n, _ := strconv.ParseUint(address[strings.IndexByte(address, ':')+1:], 16, 16)
					return strconv.FormatUint(n, 10)
				}
				if pass && f[3] == "0A" {
					listening[port(f[1])] = true
				} else if !pass && f[3] == "01" && !listening[port(f[1])] {
					peers = append(peers, "port:"+port(f[2]))
				}
			}
		}
	}
	return peers
}
