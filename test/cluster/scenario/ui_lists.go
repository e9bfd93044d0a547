package scenario

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// shown compares, for each person, each list that the page reads with what kubectl says to the same person.
func (s *uiScenario) shown() {
	t := s.T
	for _, in := range []*stage.T{t, s.other} {
		in.RecIn("deployment-web", "Ready", stage.Soon)
		in.RecIn("deployment-own", "Ready", stage.Soon)
		in.WaitApplied("deployment-web", "True", "UpToDate", "")
	}
	for _, p := range []*stage.Person{s.admin, s.tenant, s.lister, s.blind} {
		r := &uiReader{uiScenario: s, person: p, page: p.OpenPage("--no-browser", "-n", t.NS)}
		for _, ns := range []string{t.NS, s.other.NS, ""} {
			r.workloads(ns)
			r.profiles(ns)
			r.booked(ns)
		}
		r.nodes()
		r.page.Interrupt()
		if files := p.Left(); len(files) > 0 {
			t.Fatalf("the page of %s left %q", p.Name, files)
		}
		t.Notef("%s: %s", p.Name, strings.Join(r.told, ", "))
	}
}

// uiReader compares a person's page with the same person's kubectl.
type uiReader struct {
	*uiScenario
	person *stage.Person
	page   *stage.Page
	told   []string
}

// where is the flag of kubectl for a namespace, or all.
func where(ns string) []string {
	if ns == "" {
		return []string{"-A"}
	}
	return []string{"-n", ns}
}

func scopedTo(ns, path string) string {
	if ns == "" {
		return path
	}
	return "namespaces/" + ns + "/" + path
}

// kubectl returns a list of kubectl's, or why the API server refuses it.
func (r *uiReader) kubectl(kind, ns string) (list []kube.Object, refused string) {
	out, err := r.person.Kubectl(append([]string{"get", kind, "-o", "json"}, where(ns)...)...)
	if err == nil {
		return kube.Parse(out).List("items"), ""
	}
	_, why, found := strings.Cut(err.Error(), "(Forbidden): ")
	if !found {
		r.Fatalf("%s: %v", r.person.Name, err)
	}
	return nil, why
}

// get asks the page, and notes the code.
func (r *uiReader) get(path string, codes ...int) (stage.Answer, error) {
	answer := r.page.Get(path)
	r.quiet(r.person, answer)
	if !slices.Contains(codes, answer.Code) {
		return answer, fmt.Errorf("%s: HTTP %d, not %d: %s", path, answer.Code, codes, answer.Body)
	}
	return answer, nil
}

func (r *uiReader) eventually(what, ns string, ask func() error) {
	if ns == "" {
		ns = "all namespaces"
	}
	r.Eventually(what+" of "+ns+", for "+r.person.Name, stage.Soon, ask)
}

// --- workloads ---

// workloads are the Recommendations, field by field.
func (r *uiReader) workloads(ns string) {
	path := scopedTo(ns, "workloads")
	count := 0
	r.eventually("the workloads", ns, func() error {
		list, refused := r.kubectl("recommendations.halflife.dev", ns)
		if refused != "" {
			answer, err := r.get(path+"?limit=500", 403)
			if err == nil && !strings.Contains(answer.Object().Text("detail"), refused) {
				err = fmt.Errorf("kubectl says '%s', and the page %s", refused, answer.Body)
			}
			count = -1
			return err
		}
		answer, err := r.get(path+"?limit=500", 200)
		if err != nil {
			return err
		}
		items := answer.Object().List("items")
		if len(items) != len(list) || len(items) == 0 {
			return fmt.Errorf("kubectl shows %d, and the page %d", len(list), len(items))
		}
		count = len(items)
		for _, rec := range list {
			i := slices.IndexFunc(items, func(item kube.Object) bool {
				return item.Text("metadata", "namespace") == rec.Text("metadata", "namespace") &&
					item.Text("metadata", "recommendation") == rec.Name()
			})
			if i < 0 {
				return fmt.Errorf("the page does not show %s", rec.Name())
			}
			if err := r.workload(items[i], rec); err != nil {
				return err
			}
		}
		return nil
	})
	if count >= 0 {
		r.told = append(r.told, fmt.Sprintf("%d workloads in '%s'", count, ns))
	}
	if count < 0 || ns == "" {
		return
	}
	one, err := r.get(scopedTo(ns, "workloads/deploy/web"), 200)
	r.Check(err)
	if one.Object().Text("metadata", "recommendation") != "deployment-web" {
		r.Fatalf("the page's web is %s", one.Body)
	}
}

// left are the members of a status that are not compared: what no person reads, the texts of conditions, which the page does
// not have, and the former name of firstSample, which REST has beside it.
var left = []string{"decision", "since", "conditions.message", "conditions.lastTransitionTime", "observedGeneration"}

// workload compares an item of the page with its Recommendation.
func (r *uiReader) workload(item, rec kube.Object) error {
	ref, of := rec.Object("spec", "targetRef"), rec.Object("spec", "profileRef")
	want := M{
		"metadata": M{"namespace": rec.Text("metadata", "namespace"), "kind": ref.Text("kind"), "apiVersion": ref.Text("apiVersion"),
			"name": ref.Text("name"), "recommendation": rec.Name(), "labels": rec.At("metadata", "labels")},
		"profile": M{"kind": of.Text("kind"), "name": of.Text("name")},
		"status":  withoutLeft(rec.Object("status")),
	}
	if hold := rec.Annotation("halflife.dev/hold"); hold != "" {
		want["status"].(M)["hold"] = hold
	}
	if lines := unlike("", want, withoutLeft(item)); len(lines) > 0 {
		return fmt.Errorf("of %s, which kubectl shows as %s, the page has\n%s", rec.Name(), rec, strings.Join(lines, "\n"))
	}
	return nil
}

// withoutLeft copies a status, or an item with one, without what is left out.
func withoutLeft(o kube.Object) M {
	copied := M(kube.Parse(o.String()))
	status := copied
	if of, ok := copied["status"].(M); ok {
		status = of
	}
	for _, name := range left {
		delete(status, name)
		if of, found := strings.CutPrefix(name, "conditions."); found {
			for _, c := range kube.Object(status).List("conditions") {
				delete(c, of)
			}
		}
	}
	if list, ok := status["conditions"].([]any); ok { // they are in no order
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(asJSON(a), asJSON(b)) })
	}
	return copied
}

// unlike lists the places at which two values differ.
func unlike(at string, want, got any) []string {
	a, isA := want.(M)
	b, isB := got.(M)
	if !isA || !isB {
		if x, y := asJSON(want), asJSON(got); x != y {
			return []string{fmt.Sprintf("  %s: %s in place of %s", at, y, x)}
		}
		return nil
	}
	var lines []string
	for key := range a {
		lines = append(lines, unlike(at+"."+key, a[key], b[key])...)
	}
	for key := range b {
		if _, found := a[key]; !found {
			lines = append(lines, unlike(at+"."+key, nil, b[key])...)
		}
	}
	slices.Sort(lines)
	return lines
}

func asJSON(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// --- profiles ---

// profiles are those that kubectl shows, with their settings; of others the page has the name that a Recommendation tells, and
// says why there is no more.
func (r *uiReader) profiles(ns string) {
	r.eventually("the profiles", ns, func() error {
		recs, refused := r.kubectl("recommendations.halflife.dev", ns)
		if refused != "" {
			answer, err := r.get(scopedTo(ns, "profiles"), 403)
			if err == nil && !strings.Contains(answer.Object().Text("detail"), refused) {
				err = fmt.Errorf("kubectl says '%s', and the page %s", refused, answer.Body)
			}
			return err
		}
		answer, err := r.get(scopedTo(ns, "profiles"), 200)
		if err != nil {
			return err
		}
		got := map[string]kube.Object{}
		for _, item := range answer.Object().List("items") {
			got[item.Text("kind")+" "+item.Text("namespace")+"/"+item.Text("name")] = item
		}
		shown := 0
		for _, kind := range []string{"ClusterProfile", "Profile"} {
			list, refused := r.kubectl(strings.ToLower(kind)+"s.halflife.dev", ns)
			if says := answer.Object().Text("unlisted"); refused != "" && !strings.Contains(says, kube.Object{"x": refused}.Text("x")) &&
				!strings.Contains(says, strings.Trim(asJSON(refused), `"`)) {
				return fmt.Errorf("of %s kubectl says '%s', and the page '%s'", kind, refused, says)
			}
			for _, p := range list {
				item := got[kind+" "+p.Text("metadata", "namespace")+"/"+p.Name()]
				if err := r.profile(item, p); err != nil {
					return err
				}
				shown++
			}
			if refused == "" {
				continue
			}
			for key, item := range got {
				if strings.HasPrefix(key, kind+" ") {
					if !isNamed(recs, kind, item) || item.At("mode") != nil || item.At("resources") != nil {
						return fmt.Errorf("kubectl does not show %s, and the page has %s", key, item)
					}
					shown++
				}
			}
		}
		if shown != len(got) {
			return fmt.Errorf("the page has %d profiles, and kubectl %d", len(got), shown)
		}
		if n := answer.Object().Int("without", "workloads"); n != 0 {
			return fmt.Errorf("the page counts %d workloads without a profile", n)
		}
		return nil
	})
}

func isNamed(recs []kube.Object, kind string, item kube.Object) bool {
	return slices.ContainsFunc(recs, func(rec kube.Object) bool {
		return rec.Text("spec", "profileRef", "kind") == kind && rec.Text("spec", "profileRef", "name") == item.Text("name") &&
			(kind == "ClusterProfile" || rec.Text("metadata", "namespace") == item.Text("namespace"))
	})
}

func (r *uiReader) profile(item, p kube.Object) error {
	if item == nil {
		return fmt.Errorf("the page does not have profile %s", p.Name())
	}
	for _, c := range []struct {
		key     string
		of      []string
		usually any
	}{
		{"mode", []string{"spec", "apply", "mode"}, "Recommend"}, {"priority", []string{"spec", "priority"}, 0.0},
		{"paused", []string{"spec", "paused"}, false},
	} {
		want := p.At(c.of...)
		if want == nil {
			want = c.usually
		}
		if !reflect.DeepEqual(item.At(c.key), want) {
			return fmt.Errorf("of profile %s kubectl has %s %v, and the page %v", p.Name(), c.key, want, item.At(c.key))
		}
	}
	for _, name := range resourceNames {
		want := p.At("spec", "resources", name, "enabled")
		if want != nil && item.At("resources", name, "enabled") != want {
			return fmt.Errorf("of profile %s kubectl has %s %v, and the page %s", p.Name(), name, want, item)
		}
	}
	return nil
}

// --- what a halflife that learns knows ---

// booked are changes and the report: kubectl has the Events of changes, and the workloads that are counted.
func (r *uiReader) booked(ns string) {
	_, refused := r.kubectl("recommendations.halflife.dev", ns)
	changes, report := scopedTo(ns, "changes"), scopedTo(ns, "report")
	if refused != "" {
		for _, path := range []string{changes, report, scopedTo(ns, "profiles/what-if")} {
			answer, err := r.get(path, 403)
			r.Check(err)
			detail := answer.Object().Text("detail")
			says := "recommendations.halflife.dev in all namespaces"
			if ns != "" {
				says = "recommendations.halflife.dev in the namespace"
			}
			if r.person == r.blind { // who does not get as far as halflife
				says = "the Role halflife-rest-proxy grants the way"
			}
			if !strings.Contains(detail, says) {
				r.Fatalf("%s may not have %s, and is told '%s'", r.person.Name, path, detail)
			}
		}
		return
	}
	r.eventually("the changes", ns, func() error {
		answer, err := r.get(changes+"?limit=500", 200)
		if err != nil {
			return err
		}
		all, err := r.Ask(r.Learner, r.admin.Token, "GET", "/api/v1/changes?limit=500", "")
		if err != nil {
			return err
		}
		var want []any
		for _, c := range all.Object().List("items") {
			if ns == "" || c.Text("namespace") == ns {
				want = append(want, map[string]any(c))
			}
		}
		if got := asJSON(answer.Object().At("items")); len(want) == 0 || got != asJSON(want) {
			return fmt.Errorf("the page has %s, and halflife %s", got, asJSON(want))
		}
		if events, refused := r.kubectl("events", ns); refused == "" {
			return r.saidInEvents(answer.Object().List("items"), events)
		}
		return nil
	})
	r.eventually("the report", ns, func() error {
		answer, err := r.get(report+"?since=1h&by=namespace", 200)
		if err != nil {
			return err
		}
		deployments, refused := r.kubectl("deployments", ns)
		if all := answer.Object().Int("workloads", "all"); refused == "" && ns != "" && all != int64(len(deployments)) {
			return fmt.Errorf("kubectl shows %d workloads, and the report counts %d", len(deployments), all)
		}
		for _, row := range answer.Object().List("rows") {
			if name := row.Text("name"); ns != "" && name != ns {
				return fmt.Errorf("the report of %s tells of %s", ns, name)
			}
		}
		return nil
	})
}

// saidInEvents: each workload that kubectl has an Event of a change of has a change, and the other way round.
func (r *uiReader) saidInEvents(changes, events []kube.Object) error {
	told, said := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		if c.Text("change") == "Applied" {
			told[c.Text("namespace")+"/"+c.Text("name")] = true
		}
	}
	for _, e := range events {
		if e.Text("reason") == "Applied" {
			said[e.Text("metadata", "namespace")+"/"+e.Text("involvedObject", "name")] = true
		}
	}
	if !reflect.DeepEqual(told, said) {
		return fmt.Errorf("kubectl has Events of %v, and the page changes of %v", said, told)
	}
	return nil
}

// nodes are those that kubectl shows, or none.
func (r *uiReader) nodes() {
	r.eventually("the nodes", "", func() error {
		list, refused := r.kubectl("nodes", "")
		if refused != "" {
			answer, err := r.get("nodes", 403)
			says := "this needs permission to list nodes"
			if r.person == r.blind {
				says = "the Role halflife-rest-proxy grants the way"
			}
			if err == nil && !strings.Contains(answer.Object().Text("detail"), says) {
				err = fmt.Errorf("kubectl says '%s', and the page %s", refused, answer.Body)
			}
			return err
		}
		answer, err := r.get("nodes", 200)
		if err != nil {
			return err
		}
		items := answer.Object().List("items")
		if len(items) != len(list) || len(list) == 0 {
			return fmt.Errorf("kubectl shows %d nodes, and the page %d", len(list), len(items))
		}
		for _, node := range list {
			item := itemOf(answer.Object(), node.Name())
			if item.At("ready") != (node.Condition("Ready").Text("status") == "True") ||
				item.At("unschedulable") != (node.At("spec", "unschedulable") == true) {
				return fmt.Errorf("kubectl shows %s, and the page %s", node, item)
			}
			for i, name := range resourceNames {
				for _, key := range []string{"capacity", "allocatable"} {
					want := resource.MustParse(node.Text("status", key, name))
					amount := want.Value()
					if i == 0 {
						amount = want.MilliValue()
					}
					if amountAt(item.Object(name), i, key) != amount {
						return fmt.Errorf("kubectl shows %s %s of %s, and the page %s", key, name, node.Object("status"), item)
					}
				}
			}
		}
		return nil
	})
}
