package scenario

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
)

// load is clients that ask without end, each in its own way, and what they were answered.
type load struct {
	ctx   context.Context
	stop  context.CancelFunc
	wait  sync.WaitGroup
	mu    sync.Mutex
	count map[string]map[string]int // client, outcome
	wrong []string
}

const (
	answered  = "answered"
	unchanged = "unchanged"
	pause     = 100 * time.Millisecond // of each client, for there are others on the machine
)

func (t *T) load() *load {
	l := &load{count: map[string]map[string]int{}}
	l.ctx, l.stop = context.WithCancel(t.ctx)
	return l
}

// outcome is how one request ended: in what word of few, and whether it may be so.
type outcome struct {
	word  string
	wrong string // "": it may
}

// begin starts a client of that name.
func (l *load) begin(name string, once func() outcome) {
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
			l.count[name][o.word]++
			if o.wrong != "" && len(l.wrong) < 20 {
				l.wrong = append(l.wrong, fmt.Sprintf("%s %s: %s", began.UTC().Format("15:04:05.000"), name, o.wrong))
			}
			l.mu.Unlock()
			time.Sleep(pause)
		}
	}()
}

// asked waits until each client was answered often from now on.
func (l *load) asked(t *T) {
	const often = 20
	before := l.answers()
	t.Eventually(fmt.Sprintf("each client has %d answers more", often), soon, func() error {
		l.soFar(t)
		for name, n := range l.answers() {
			if n < before[name]+often {
				return fmt.Errorf("%s has %d", name, n-before[name])
			}
		}
		return nil
	})
}

func (l *load) answers() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]int{}
	for name, count := range l.count {
		all[name] = count[answered]
	}
	return all
}

// end stops the clients; whatever was wrong ends the scenario.
func (l *load) end(t *T) {
	l.stop()
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
		if l.count[name][answered] == 0 {
			t.Fatalf("%s was never answered", name)
		}
	}
	if len(l.wrong) > 0 {
		t.Fatalf("%s", strings.Join(l.wrong, "\n"))
	}
}

// soFar is an error when something was wrong already.
func (l *load) soFar(t *T) {
	l.mu.Lock()
	bad := len(l.wrong) > 0
	l.mu.Unlock()
	if bad {
		l.end(t)
	}
}

// caller sends one request after the other to one address; whoever answers a new connection must be trusted by what the
// roots are then. fresh: by a connection each.
type caller struct {
	door  string
	roots func() []byte
	fresh bool
	kept  *http.Client
}

func (c *caller) client() *http.Client {
	if c.kept == nil {
		c.kept = &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, VerifyConnection: c.verify}, // verified there
			DisableKeepAlives: c.fresh,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, c.door)
			},
		}}
	}
	return c.kept
}

func (c *caller) verify(seen tls.ConnectionState) error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.roots())
	_, err := seen.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, DNSName: "halflife-serve." + ownNamespace + ".svc"})
	return err
}

// send gives the status, the body and the Retry-After of the answer.
func (c *caller) send(method, path, token, body string) (Answer, error) {
	req, err := http.NewRequest(method, "https://halflife-serve."+ownNamespace+".svc"+path, strings.NewReader(body))
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
