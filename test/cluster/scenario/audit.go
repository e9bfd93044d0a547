package scenario

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"sort"
	"strings"
)

// Audit reads the API server's own record of who asked for what: the requests of halflife and of the peer are in it.
type Audit struct {
	path string
}

// Request is one of the record.
type Request struct {
	User     struct{ Username string }
	Verb     string
	URI      string `json:"requestURI"`
	Stage    string
	Agent    string                                                            `json:"userAgent"`
	Object   struct{ Resource, Namespace, Name, Subresource, APIGroup string } `json:"objectRef"`
	Response struct{ Code int }                                                `json:"responseStatus"`
}

// Mark is a place in the record: its end now.
func (a *Audit) Mark() int64 {
	info, err := os.Stat(a.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Since gives the requests of a user after a mark, complete ones only.
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

// CyclesSince counts how often halflife asked for the usage of pods: a cycle reads one list for the cluster, or one for
// each of some namespaces, of which the first is counted.
func (a *Audit) CyclesSince(mark int64) int {
	count := map[string]int{}
	for _, r := range a.Since(mark, account) {
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

// Writes are the requests that change something, except the renewal of a Lease and questions about permissions.
func Writes(list []Request) []Request {
	var writes []Request
	for _, r := range list {
		switch r.Verb {
		case "create", "update", "patch", "delete", "deletecollection":
			if r.Object.Resource != "leases" && !strings.HasSuffix(r.Object.Resource, "reviews") {
				writes = append(writes, r)
			}
		}
	}
	return writes
}

// Summary says how many requests of which kind there are, the most frequent first.
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
