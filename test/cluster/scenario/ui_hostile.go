package scenario

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

const (
	markup  = `<img src=x onerror=alert(1)>`
	turned  = "\u202egnp.exe\u2066" // a mark that turns the direction of text, and another that never ends
	formula = `=cmd|' /C calc'!A0` + markup
)

// inert: texts that anybody may write into objects arrive as text, in each way that the page has.
func (s *uiScenario) inert() {
	t := s.T
	long := "a" + strings.Repeat("b", 240) + "c"     // with its hash the ReplicaSet's name has 253 bytes, the most there are
	named := t.NewDeployment("long", 1, stage.App()) // a label is shorter
	named["metadata"].(M)["name"] = long
	t.Apply(named)
	t.Ctl("-n", t.NS, "annotate", "recommendations.halflife.dev", "deployment-own", "halflife.dev/hold="+markup+turned)
	owners := kube.Object(t.NewHPA("web", M{"type": "Utilization", "averageUtilization": ownersTarget})).String()
	t.CtlIn(owners, "apply", "--server-side", "--force-conflicts", "--field-manager="+formula, "-f", "-")
	page := s.tenant.OpenPage("--no-browser", "-n", t.NS)
	asks := map[string]func(path string) (stage.Answer, error){
		"kubectl halflife ui": func(path string) (stage.Answer, error) { return page.Ask("GET", path) },
		"run":                 func(path string) (stage.Answer, error) { return t.Ask(t.Learner, s.tenant.Token, "GET", path, "") },
		"serve":               func(path string) (stage.Answer, error) { return t.Ask(t.Replica, s.tenant.Token, "GET", path, "") },
	}
	for who, ask := range asks {
		h := &hostileReader{T: t, who: who, ask: ask}
		h.held()
		if who != "serve" { // which asks the learner
			h.changed()
		}
		h.long(long)
		h.refused()
	}
	page.Interrupt()
	if said := page.Tail(8000); strings.ContainsAny(said, "\u202e\u2066<") {
		t.Fatalf("kubectl halflife ui prints %q", said)
	}
}

// hostileReader asks one of those that serve the page.
type hostileReader struct {
	*stage.T
	who string
	ask func(path string) (stage.Answer, error)
}

// get asks for JSON, which must be whole, and of a type that no browser takes for a page.
func (h *hostileReader) get(path string, code int) (kube.Object, error) {
	answer, err := h.ask(path)
	if err != nil {
		return nil, err
	}
	kind := answer.Header.Get("Content-Type")
	if answer.Code != code || answer.Header.Get("X-Content-Type-Options") != "nosniff" || !json.Valid([]byte(answer.Body)) ||
		kind != "application/json" && kind != "application/problem+json" {
		return nil, fmt.Errorf("%s of %s: HTTP %d, %v: %s", path, h.who, answer.Code, answer.Header, answer.Body)
	}
	return answer.Object(), nil
}

// csv asks for a CSV, and returns its rows. None of its cells is a formula.
func (h *hostileReader) csv(path string) ([][]string, error) {
	answer, err := h.ask(path)
	if err != nil {
		return nil, err
	}
	if answer.Code != 200 || answer.Header.Get("Content-Type") != "text/csv; charset=utf-8" ||
		answer.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(answer.Header.Get("Content-Disposition"), "attachment;") {
		return nil, fmt.Errorf("%s of %s: HTTP %d, %v: %s", path, h.who, answer.Code, answer.Header, answer.Body)
	}
	rows, err := csv.NewReader(strings.NewReader(answer.Body)).ReadAll() // all of the same length
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@|%\t\r\n") {
				return nil, fmt.Errorf("%s of %s has the cell '%s'", path, h.who, cell)
			}
		}
	}
	return rows, err
}

// held: the reason of a hold is what the person wrote.
func (h *hostileReader) held() {
	h.Eventually(h.who+" tells the hold", stage.Soon, func() error {
		own, err := h.get("/api/v1/namespaces/"+h.NS+"/workloads/deploy/own", 200)
		if err == nil && (own.Text("status", "hold") != markup+turned || own.Text("status", "state") != "Held") {
			err = fmt.Errorf("it tells %s", own)
		}
		return err
	})
	_, err := h.csv("/api/v1/namespaces/" + h.NS + "/workloads?output=csv")
	h.Check(err)
}

// changed: who put the autoscaler's target back is told by the name that they gave themselves.
func (h *hostileReader) changed() {
	path := "/api/v1/namespaces/" + h.NS + "/changes"
	h.Eventually(h.who+" tells who contests", stage.Soon, func() error {
		list, err := h.get(path, 200)
		if err != nil {
			return err
		}
		for _, c := range list.List("items") {
			if c.Text("change") == "Contested" && c.Text("by") == formula && strings.Contains(c.Text("words"), markup) {
				return nil
			}
		}
		return fmt.Errorf("the changes are %s", list)
	})
	rows, err := h.csv(path + "?output=csv")
	h.Check(err)
	for _, row := range rows {
		if row[len(row)-3] == "'"+formula {
			return
		}
	}
	h.Fatalf("the CSV of %s does not have '%s' as text: %q", h.who, formula, rows)
}

// long: the longest name of a Deployment that can have pods is whole, in lists, in sums and as a workload of its own.
func (h *hostileReader) long(name string) {
	h.Eventually(h.who+" tells the long name", stage.Soon, func() error {
		list, err := h.get("/api/v1/namespaces/"+h.NS+"/workloads?search="+name, 200)
		if err == nil && (len(list.List("items")) != 1 || list.Text("items", "0", "metadata", "name") != name) {
			err = fmt.Errorf("it tells %s", list)
		}
		if err == nil {
			_, err = h.get("/api/v1/namespaces/"+h.NS+"/workloads/deploy/"+name, 200)
		}
		return err
	})
}

// refused: what is asked for comes back in no refusal as anything but text.
func (h *hostileReader) refused() {
	quoted := url.PathEscape(markup + turned)
	mine := "/api/v1/namespaces/" + h.NS
	for _, path := range []string{
		"/ui/" + quoted, "/" + quoted, "/api/v1/" + quoted, "/api/v1/namespaces/" + quoted + "/workloads", mine + "/workloads/" + quoted + "/web",
		mine + "/workloads/deploy/" + quoted, mine + "/workloads?sort=" + quoted, mine + "/workloads?" + quoted + "=1",
		mine + "/workloads?labelSelector=" + quoted, mine + "/changes?change=" + quoted, mine + "/report?by=" + quoted,
		mine + "/summary?by=label:" + quoted,
	} {
		answer, err := h.ask(path)
		h.Check(err)
		kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
		if answer.Code < 400 || answer.Header.Get("X-Content-Type-Options") != "nosniff" || kind != "application/problem+json" && kind != "text/plain" {
			h.Fatalf("%s of %s: HTTP %d, %v: %s", path, h.who, answer.Code, answer.Header, answer.Body)
		}
	}
}
