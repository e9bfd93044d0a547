package stage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"sort"
	"strings"
	"time"
)

// Audit reads the API server's own record of requests.
type Audit struct {
	path string
}

// Request is one entry of the record.
type Request struct {
	User     struct{ Username string }
	Verb     string
	URI      string `json:"requestURI"`
	Stage    string
	Agent    string                                                                        `json:"userAgent"`
	Object   struct{ Resource, Namespace, Name, Subresource, APIGroup, APIVersion string } `json:"objectRef"`
	Response struct{ Code int }                                                            `json:"responseStatus"`
	Received time.Time                                                                     `json:"requestReceivedTimestamp"`
	Reached  time.Time                                                                     `json:"stageTimestamp"` // Stage
}

// Mark returns the present end of the record.
func (a *Audit) Mark() int64 {
	info, err := os.Stat(a.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Since returns the complete requests of a user after a mark.
func (a *Audit) Since(mark int64, user string) []Request {
	f, err := os.Open(a.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := f.Seek(mark, io.SeekStart); err != nil {
		return nil
	}
	var list []Request
	in := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return list
		}
		if !bytes.Contains(line, []byte(user)) {
			continue
		}
		var r Request
		if json.Unmarshal(line, &r) == nil && r.User.Username == user {
			list = append(list, r)
		}
	}
}

// CyclesSince counts the cycles of halflife after a mark. A cycle lists the usage of pods once for the cluster, or once
// for each of some namespaces: the namespace with the most lists counts.
func (a *Audit) CyclesSince(mark int64) int {
	count := map[string]int{}
	for _, r := range a.Since(mark, LearnerUser) {
		if r.Object.APIGroup == "metrics.k8s.io" && r.Object.Resource == "pods" && r.Stage == "ResponseComplete" {
			count[r.Object.Namespace]++
		}
	}
	most := 0
	for _, n := range count {
		most = max(most, n)
	}
	return most
}

// CheckVersionsRead ends the scenario unless the learner read usage after a mark, with success, in that version of the
// metrics API alone.
func (t *T) CheckVersionsRead(mark int64, version string) {
	read := 0
	for _, r := range t.Audit.Since(mark, LearnerUser) {
		if r.Object.APIGroup != "metrics.k8s.io" || r.Stage != "ResponseComplete" {
			continue
		}
		if r.Object.APIVersion != version || r.Response.Code != 200 {
			t.Fatalf("usage is read by %s: HTTP %d, and %s was expected", r.URI, r.Response.Code, version)
		}
		read++
	}
	if read == 0 {
		t.Fatalf("no usage was read in %s", version)
	}
}

// Writes returns the requests that change something, except renewals of a Lease and questions about permissions. A dry run
// changes nothing.
func Writes(list []Request) []Request {
	var writes []Request
	for _, r := range list {
		if strings.Contains(r.URI, "dryRun=All") {
			continue
		}
		switch r.Verb {
		case "create", "update", "patch", "delete", "deletecollection":
			if r.Object.Resource != "leases" && !strings.HasSuffix(r.Object.Resource, "reviews") {
				writes = append(writes, r)
			}
		}
	}
	return writes
}

// Summary counts the requests by kind, the most frequent first.
func Summary(list []Request) string {
	count := map[string]int{}
	for _, r := range list {
		count[r.Verb+" "+r.Object.Resource]++
	}
	var kinds []string
	for k := range count {
		kinds = append(kinds, k)
	}
	sort.Slice(kinds, func(i, j int) bool {
		return count[kinds[i]] > count[kinds[j]] || count[kinds[i]] == count[kinds[j]] && kinds[i] < kinds[j]
	})
	var b strings.Builder
	for _, k := range kinds {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		data, _ := json.Marshal(count[k])
		b.WriteString(string(data) + " " + k)
	}
	return b.String()
}
