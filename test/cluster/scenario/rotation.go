package scenario

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"sync"
	"time"

	"halflife.dev/cluster/kube"
)

func init() {
	alone = append(alone, scenario{"rotation", rotation})
}

const day = 24 * time.Hour

// secretHeld is what lies in the Secret.
type secretHeld struct {
	roots []*x509.Certificate // the newest last
	pem   []byte              // of them
	key   *ecdsa.PrivateKey   // of the newest
	cert  *x509.Certificate
}

func parse(data []byte) []*x509.Certificate {
	var list []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			list = append(list, c)
		}
	}
	return list
}

func (t *T) secret() (secretHeld, error) {
	secret, err := t.Get(certificate)
	if err != nil {
		return secretHeld{}, err
	}
	part := map[string][]byte{}
	for _, name := range []string{"ca.crt", "ca.key", "tls.crt"} {
		part[name], _ = base64.StdEncoding.DecodeString(secret.Object("data").At(name).(string))
	}
	h := secretHeld{roots: parse(part["ca.crt"]), pem: part["ca.crt"]}
	block, _ := pem.Decode(part["ca.key"])
	leaf := parse(part["tls.crt"])
	if block == nil || len(h.roots) == 0 || len(leaf) != 1 {
		return h, fmt.Errorf("the Secret is not whole")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return h, err
	}
	h.key, h.cert = key.(*ecdsa.PrivateKey), leaf[0]
	return h, nil
}

func (t *T) rewrite(data map[string][]byte) {
	text := M{}
	for name, content := range data {
		text[name] = base64.StdEncoding.EncodeToString(content)
	}
	_, err := t.Merge(certificate, M{"data": text})
	t.Check(err)
}

// shown is the certificate that a door shows now.
func (t *T) shown(h *Halflife) (*x509.Certificate, error) {
	door, err := h.Door()
	if err != nil {
		return nil, err
	}
	c, err := tls.Dial("tcp", door, &tls.Config{InsecureSkipVerify: true}) // who it is from is looked at, not trusted
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0], nil
}

// trust is what those who trust the Secret, or the webhooks, trusted when.
type trust struct {
	mu   sync.Mutex
	seen []struct {
		at   time.Time
		pem  []byte
		from string
	}
}

func (r *trust) note(from string, pem []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, struct {
		at   time.Time
		pem  []byte
		from string
	}{time.Now(), pem, from})
}

// asOf gives what was trusted that long ago.
func (r *trust) asOf(from string, ago time.Duration) func() []byte {
	return func() []byte {
		r.mu.Lock()
		defer r.mu.Unlock()
		var last []byte
		for _, s := range r.seen {
			if s.from == from && (last == nil || time.Since(s.at) >= ago) {
				last = s.pem
			}
		}
		return last
	}
}

func (t *T) follow(l *load, r *trust) {
	look := func() {
		if secret, err := t.Get(certificate); err == nil {
			data, _ := base64.StdEncoding.DecodeString(secret.Object("data").At("ca.crt").(string))
			r.note("Secret", data)
		}
		if configuration, err := t.Get(hooks); err == nil {
			data, _ := base64.StdEncoding.DecodeString(configuration.List("webhooks")[0].Text("clientConfig", "caBundle"))
			r.note("webhook", data)
		}
	}
	look()
	l.wait.Add(1)
	go func() {
		defer l.wait.Done()
		for l.ctx.Err() == nil {
			time.Sleep(200 * time.Millisecond)
			look()
		}
	}()
}

// Certificates are renewed, an authority takes over from another, and the Secret is lost, while the API server and others
// call two replicas without end: every request is answered.
func rotation(t *T) {
	t.Namespace()
	t.Check(t.InstallDoors())
	t.Check(t.Delete(certificate))
	var replicas []*Halflife
	for i := range 2 {
		h, err := t.StartServe(fmt.Sprintf("rotation-%d", i), Doored...)
		t.Check(err)
		if i > 0 {
			defer h.Stop()
		}
		replicas = append(replicas, h)
	}
	t.replica = replicas[0]
	t.Profile(onDeploy("Pod"))
	t.OpenDoors(replicas[0])
	t.trusted(replicas)
	l, r := t.load(), &trust{}
	defer l.stop()
	t.follow(l, r)
	t.ask(l, r, replicas)

	t.turn(l, "a certificate was due", replicas, func(h secretHeld) map[string][]byte {
		return leaf(t, h, -61*day)
	}, func(h secretHeld) bool { return len(h.roots) == 1 && since(h.cert) < time.Hour })
	t.turn(l, "an authority was due", replicas, func(h secretHeld) map[string][]byte {
		old, err := signerLike(h.roots[0], h.key, time.Now().Add(-2440*day))
		t.Check(err)
		return map[string][]byte{"ca.crt": old.pem}
	}, func(h secretHeld) bool { return len(h.roots) == 2 && since(h.roots[1]) < time.Hour })
	t.turn(l, "it signs", replicas, func(h secretHeld) map[string][]byte {
		spread, err := signerLike(h.roots[1], h.key, time.Now().Add(-66*time.Minute))
		t.Check(err)
		first := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.roots[0].Raw})
		return map[string][]byte{"ca.crt": append(first, spread.pem...)}
	}, func(h secretHeld) bool { return bytes.Equal(h.cert.AuthorityKeyId, h.roots[1].SubjectKeyId) })
	before := r.asOf("Secret", 0)()
	t.Check(t.Delete(certificate))
	t.turn(l, "the Secret was lost", replicas, nil, func(h secretHeld) bool { return len(h.roots) == 2 && !bytes.Equal(h.pem, before) })
	l.end(t)
}

func since(c *x509.Certificate) time.Duration { return time.Since(c.NotBefore) }

// leaf is a certificate as the Secret's, but made at another time.
func leaf(t *T, h secretHeld, when time.Duration) map[string][]byte {
	s := signer{cert: h.roots[len(h.roots)-1], key: h.key}
	made := time.Now().Add(when)
	cert, key, err := s.issue(made, made.Add(90*day), h.cert.DNSNames...)
	t.Check(err)
	return map[string][]byte{"tls.crt": cert, "tls.key": key}
}

// turn changes what lies in the Secret, and waits until it is as it should become, and both replicas show it.
func (t *T) turn(l *load, what string, replicas []*Halflife, change func(secretHeld) map[string][]byte, done func(secretHeld) bool) {
	began := time.Now()
	if change != nil {
		h, err := t.secret()
		t.Check(err)
		t.rewrite(change(h))
	}
	t.Eventually(what, 2*soon, func() error {
		l.soFar(t)
		h, err := t.secret()
		if err != nil {
			return err
		}
		if !done(h) {
			return fmt.Errorf("not done: %d roots, the certificate is of %s", len(h.roots), h.cert.NotBefore)
		}
		configuration, err := t.Get(hooks)
		if err != nil {
			return err
		}
		if got := configuration.List("webhooks")[0].Text("clientConfig", "caBundle"); got != base64.StdEncoding.EncodeToString(h.pem) {
			return fmt.Errorf("the webhook has another caBundle")
		}
		for _, replica := range replicas {
			c, err := t.shown(replica)
			if err != nil {
				return err
			}
			if !c.Equal(h.cert) {
				return fmt.Errorf("a replica still shows the certificate of %s", c.NotBefore)
			}
		}
		return nil
	})
	t.Notef("%-28s after %.0f s", what, time.Since(began).Seconds())
}

// ask begins the clients: pipelines with a connection each time, and one that is kept, trusting the Secret or the webhook as
// of now or as of a while ago; and the API server, which is asked for pods and workloads.
func (t *T) ask(l *load, r *trust, replicas []*Halflife) {
	t.Account("ci", Reader("get"))
	token := t.Token("ci", "--duration=1h")
	path := "/api/v1/namespaces/" + t.NS + "/workloads/deploy/new?original=cpu:2"
	var right string
	t.Eventually("the profile is known", soon, func() error {
		answer, err := t.Ask(replicas[0], token, "GET", path, "")
		right = answer.Body
		if err == nil && (answer.Code != 200 || answer.Object().Text("profile") == "") {
			err = fmt.Errorf("HTTP %d: %s", answer.Code, answer.Body)
		}
		return err
	})
	reader := func(h *Halflife, roots func() []byte, fresh bool) func() outcome {
		door, err := h.Door()
		t.Check(err)
		c := &caller{door: door, roots: roots, fresh: fresh}
		return func() outcome {
			answer, err := c.send("GET", path, token, "")
			switch {
			case err != nil:
				return outcome{"failed", err.Error()}
			case answer.Code != 200 || answer.Body != right:
				return outcome{"wrong", fmt.Sprintf("HTTP %d: %s", answer.Code, answer.Body)}
			}
			return outcome{word: answered}
		}
	}
	for i, h := range replicas {
		l.begin(fmt.Sprintf("REST %d, trusts the Secret", i), reader(h, r.asOf("Secret", 0), true))
		l.begin(fmt.Sprintf("REST %d, of a minute ago", i), reader(h, r.asOf("Secret", time.Minute), true))
		l.begin(fmt.Sprintf("REST %d, trusts the webhook", i), reader(h, r.asOf("webhook", 0), true))
	}
	l.begin("REST, one connection", reader(replicas[1], r.asOf("Secret", 0), false))
	t.askForPods(l, "1")
}

// askForPods has the API server ask halflife, for pods that are not kept, and must ask for that.
func (t *T) askForPods(l *load, want string) {
	t.Apply(t.deployment("web", 1, app(usedCPU, usedMemory)))
	t.comeWith("web runs", "web", want, 1)
	owner := t.Pods("web")[0].List("metadata", "ownerReferences")[0]
	l.begin("pods by the API server", func() outcome {
		meta := M{"generateName": "dry-", "name": "dry", "namespace": t.NS, "ownerReferences": L{map[string]any(owner)}}
		made, err := t.Post(t.path("pods", "")+"?dryRun=All", bare(meta))
		o := judgePod(made, err, want)
		for until := time.Now().Add(lag); o.word == unchanged && time.Now().Before(until); time.Sleep(pause) {
			if t.stranger() {
				o = outcome{word: "unknown"}
			}
		}
		return o
	})
}

func judgePod(made kube.Object, err error, want string) outcome {
	if err != nil {
		return outcome{"refused", err.Error()}
	}
	got := podRequest(made, "app", "cpu")
	if got != want {
		return outcome{unchanged, "a pod asks for " + got}
	}
	return outcome{word: answered}
}
