package stage

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"

	"halflife.dev/cluster/kube"
)

// Load runs clients that ask without end, and counts their outcomes.
type Load struct {
	ctx   context.Context
	Stop  context.CancelFunc // stops the clients without a verdict
	wait  sync.WaitGroup
	mu    sync.Mutex
	count map[string]map[string]int // client, outcome
	wrong []string
}

const (
	// Answered is the word of an outcome that counts as an answer.
	Answered = "answered"
	// Unchanged is the word of a pod that came as its owner wrote it.
	Unchanged = "unchanged"
	// Pause is between two requests of a client, for there are others on the machine.
	Pause = 100 * time.Millisecond
)

// NewLoad makes a load without clients.
func (t *T) NewLoad() *Load {
	l := &Load{count: map[string]map[string]int{}}
	l.ctx, l.Stop = context.WithCancel(t.Context)
	return l
}

// Outcome is how one request ended.
type Outcome struct {
	Word  string // for the count
	Wrong string // why it must not be so; "": it may
}

// Begin starts a client of that name, which calls once again and again.
func (l *Load) Begin(name string, once func() Outcome) {
	l.wait.Add(1)
	l.mu.Lock()
	l.count[name] = map[string]int{}
	l.mu.Unlock()
	go func() {
		defer l.wait.Done()
		for l.ctx.Err() == nil {
			began := time.Now()
			o := once()
			l.mu.Lock()
			l.count[name][o.Word]++
			if o.Wrong != "" && len(l.wrong) < 20 {
				l.wrong = append(l.wrong, fmt.Sprintf("%s %s: %s", began.UTC().Format("15:04:05.000"), name, o.Wrong))
			}
			l.mu.Unlock()
			time.Sleep(Pause)
		}
	}()
}

// WaitAnswers waits until each client has had 20 answers more.
func (l *Load) WaitAnswers(t *T) {
	const often = 20
	before := l.answers()
	t.Eventually(fmt.Sprintf("each client has %d answers more", often), Soon, func() error {
		l.CheckSoFar(t)
		for name, n := range l.answers() {
			if n < before[name]+often {
				return fmt.Errorf("%s has %d", name, n-before[name])
			}
		}
		return nil
	})
}

func (l *Load) answers() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]int{}
	for name, count := range l.count {
		all[name] = count[Answered]
	}
	return all
}

// End stops the clients and ends the scenario if any outcome was wrong.
func (l *Load) End(t *T) {
	l.Stop()
	l.wait.Wait()
	var names []string
	for name := range l.count {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		var words []string
		for word, n := range l.count[name] {
			words = append(words, fmt.Sprintf("%d %s", n, word))
		}
		sort.Strings(words)
		t.Notef("%-28s %s", name, strings.Join(words, ", "))
		if l.count[name][Answered] == 0 {
			t.Fatalf("%s was never answered", name)
		}
	}
	if len(l.wrong) > 0 {
		t.Fatalf("%s", strings.Join(l.wrong, "\n"))
	}
}

// CheckSoFar ends the scenario if any outcome was wrong so far.
func (l *Load) CheckSoFar(t *T) {
	l.mu.Lock()
	bad := len(l.wrong) > 0
	l.mu.Unlock()
	if bad {
		l.End(t)
	}
}

// RESTCaller sends requests to one address, one after the other, and verifies each new connection.
type RESTCaller struct {
	Address string
	Roots   func() []byte // PEM, what is trusted now
	Fresh   bool          // use a new connection for each request
	kept    *http.Client
}

func (c *RESTCaller) client() *http.Client {
	if c.kept == nil {
		c.kept = &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, VerifyConnection: c.verify}, // verified there
			DisableKeepAlives: c.Fresh,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, c.Address)
			},
		}}
	}
	return c.kept
}

func (c *RESTCaller) verify(seen tls.ConnectionState) error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.Roots())
	_, err := seen.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, DNSName: "halflife-serve." + OwnNamespace + ".svc"})
	return err
}

// Send sends one request; an empty token is not sent.
func (c *RESTCaller) Send(method, path, token, body string) (Answer, error) {
	req, err := http.NewRequest(method, "https://halflife-serve."+OwnNamespace+".svc"+path, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.client().Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	return Answer{res.StatusCode, res.Header, string(data)}, err
}

// JudgePod judges the answer to a pod that must ask for that CPU.
func JudgePod(made kube.Object, err error, want string) Outcome {
	if err != nil {
		return Outcome{Word: "refused", Wrong: err.Error()}
	}
	got := PodRequested(made, "app", "cpu")
	if got != want {
		return Outcome{Word: Unchanged, Wrong: "a pod asks for " + got}
	}
	return Outcome{Word: Answered}
}
