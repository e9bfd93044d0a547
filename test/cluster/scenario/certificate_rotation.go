package scenario

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"halflife.dev/cluster/stage"
)

func rewrite(t *stage.T, data map[string][]byte) {
	text := M{}
	for name, content := range data {
		text[name] = base64.StdEncoding.EncodeToString(content)
	}
	_, err := t.Merge(stage.CertificatePath, M{"data": text})
	t.Check(err)
}

// shown is the certificate that h shows now.
func shown(t *stage.T, h *stage.Halflife) (*x509.Certificate, error) {
	address, err := h.RESTAddress()
	if err != nil {
		return nil, err
	}
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) // who it is from is looked at, not trusted
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0], nil
}

// Certificates are renewed, an authority takes over from another, and the Secret is emptied, while the API server and others
// call two replicas without end: every request is answered.
func rotation(t *stage.T) {
	t.Namespace()
	t.Check(t.EmptySecret())
	t.Check(t.InstallWebhooks())
	var replicas []*stage.Halflife
	for i := range 2 {
		h, err := t.StartServe(fmt.Sprintf("rotation-%d", i), stage.RESTSettings...)
		t.Check(err)
		if i > 0 {
			defer h.Stop()
		}
		replicas = append(replicas, h)
	}
	t.Replica = replicas[0]
	t.Profile(stage.OnDeployProfile("Pod"))
	t.RouteWebhooks(replicas[0])
	t.WaitWebhooksTrust(replicas)
	l, r := t.NewLoad(), &stage.Trust{}
	defer l.Stop()
	t.FollowTrust(l, r)
	askWithoutEnd(t, l, r, replicas)

	turn(t, l, "a certificate was due", replicas, func(h stage.CertificateSecret) map[string][]byte {
		return leaf(t, h, -61*stage.Day)
	}, func(h stage.CertificateSecret) bool { return len(h.Roots) == 1 && since(h.Cert) < time.Hour })
	turn(t, l, "an authority was due", replicas, func(h stage.CertificateSecret) map[string][]byte {
		old, err := stage.SignerLike(h.Roots[0], h.Key, time.Now().Add(-2440*stage.Day))
		t.Check(err)
		return map[string][]byte{"ca.crt": old.PEM}
	}, func(h stage.CertificateSecret) bool { return len(h.Roots) == 2 && since(h.Roots[1]) < time.Hour })
	turn(t, l, "it signs", replicas, func(h stage.CertificateSecret) map[string][]byte {
		spread, err := stage.SignerLike(h.Roots[1], h.Key, time.Now().Add(-66*time.Minute))
		t.Check(err)
		first := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Roots[0].Raw})
		return map[string][]byte{"ca.crt": append(first, spread.PEM...)}
	}, func(h stage.CertificateSecret) bool {
		return bytes.Equal(h.Cert.AuthorityKeyId, h.Roots[1].SubjectKeyId)
	})
	before := r.AsOf("Secret", 0)()
	t.Check(t.EmptySecret())
	turn(t, l, "the Secret was emptied", replicas, nil, func(h stage.CertificateSecret) bool {
		return len(h.Roots) == 2 && !bytes.Equal(h.PEM, before)
	})
	turnPath(t, l, replicas)
	l.End(t)
}

// turnPath ages the paths in the Secret: the random one comes into force while the well-known one still works, and then
// only the random one does.
func turnPath(t *stage.T, l *stage.Load, replicas []*stage.Halflife) {
	secret, err := t.Get(stage.CertificatePath)
	t.Check(err)
	text, err := base64.StdEncoding.DecodeString(secret.Text("data", "paths"))
	t.Check(err)
	lines := strings.Fields(string(text)) // since, path, since, path
	if len(lines) != 4 || lines[1] != "admission" || len(lines[3]) != 32 {
		t.Fatalf("the Secret has these paths: %q", text)
	}
	age := func(ago time.Duration) {
		since := time.Now().Add(-ago).Unix()
		rewrite(t, map[string][]byte{"paths": []byte(fmt.Sprintf("%d admission\n%d %s\n", since, since, lines[3]))})
	}
	token := t.Token("ci", "--duration=1h")
	served := func(path string, want bool) error {
		l.CheckSoFar(t)
		for _, h := range replicas {
			answer, err := t.Ask(h, token, "POST", path, "{}")
			if err != nil || (answer.Code != 404) != want {
				return fmt.Errorf("POST %s: HTTP %d (%v)", path, answer.Code, err)
			}
		}
		return nil
	}
	began := time.Now()
	age(61 * time.Minute)
	t.Eventually("the random path is in force", stage.Soon, func() error {
		l.CheckSoFar(t)
		configuration, err := t.Get(stage.WebhooksPath)
		if err != nil {
			return err
		}
		for _, hook := range configuration.List("webhooks") {
			if path := hook.Text("clientConfig", "service", "path"); path != "/"+lines[3] {
				return fmt.Errorf("%s has path '%s'", hook.Text("name"), path)
			}
		}
		return nil
	})
	t.Check(served("/admission", true))
	t.Check(served("/"+lines[3], true))
	l.WaitAnswers(t) // pods by the random path, while both work
	age(121 * time.Minute)
	t.Eventually("only the random path works", stage.Soon, func() error { return served("/admission", false) })
	t.Check(served("/"+lines[3], true))
	t.Eventually("the metric counts a wrong path", stage.Soon, func() error {
		if replicas[0].Counter("halflife_http_unknown_paths_total") == 0 {
			return fmt.Errorf("it is 0")
		}
		return nil
	})
	t.Notef("%-28s after %.0f s", "the path was due", time.Since(began).Seconds())
}

func since(c *x509.Certificate) time.Duration { return time.Since(c.NotBefore) }

// leaf is a certificate as the Secret's, but made at another time.
func leaf(t *stage.T, h stage.CertificateSecret, when time.Duration) map[string][]byte {
	s := stage.Signer{Cert: h.Roots[len(h.Roots)-1], Key: h.Key}
	made := time.Now().Add(when)
	cert, key, err := s.Issue(made, made.Add(90*stage.Day), h.Cert.DNSNames...)
	t.Check(err)
	return map[string][]byte{"tls.crt": cert, "tls.key": key}
}

// turn changes what lies in the Secret, and waits until it is as it should become, and both replicas show it.
func turn(t *stage.T, l *stage.Load, what string, replicas []*stage.Halflife,
	change func(stage.CertificateSecret) map[string][]byte, done func(stage.CertificateSecret) bool) {
	began := time.Now()
	if change != nil {
		h, err := t.Secret()
		t.Check(err)
		rewrite(t, change(h))
	}
	t.Eventually(what, 2*stage.Soon, func() error {
		l.CheckSoFar(t)
		h, err := t.Secret()
		if err != nil {
			return err
		}
		if !done(h) {
			return fmt.Errorf("not done: %d roots, the certificate is of %s", len(h.Roots), h.Cert.NotBefore)
		}
		configuration, err := t.Get(stage.WebhooksPath)
		if err != nil {
			return err
		}
		if got := configuration.List("webhooks")[0].Text("clientConfig", "caBundle"); got != base64.StdEncoding.EncodeToString(h.PEM) {
			return fmt.Errorf("the webhook has another caBundle")
		}
		for _, replica := range replicas {
			c, err := shown(t, replica)
			if err != nil {
				return err
			}
			if !c.Equal(h.Cert) {
				return fmt.Errorf("a replica still shows the certificate of %s", c.NotBefore)
			}
		}
		return nil
	})
	t.Notef("%-28s after %.0f s", what, time.Since(began).Seconds())
}

// askWithoutEnd begins the clients: pipelines with a connection each time, and one that is kept, trusting the Secret or the
// webhook as of now or as of a while ago; and the API server, which is asked for pods and workloads.
func askWithoutEnd(t *stage.T, l *stage.Load, r *stage.Trust, replicas []*stage.Halflife) {
	t.Account("ci", stage.ReadRule("get"))
	token := t.Token("ci", "--duration=1h")
	path := "/api/v1/namespaces/" + t.NS + "/workloads/deploy/new?original=cpu:2"
	var right string
	t.Eventually("the profile is known", stage.Soon, func() error {
		answer, err := t.Ask(replicas[0], token, "GET", path, "")
		right = answer.Body
		if err == nil && (answer.Code != 200 || answer.Object().Text("profile") == "") {
			err = fmt.Errorf("HTTP %d: %s", answer.Code, answer.Body)
		}
		return err
	})
	reader := func(h *stage.Halflife, roots func() []byte, fresh bool) func() stage.Outcome {
		address, err := h.RESTAddress()
		t.Check(err)
		c := &stage.RESTCaller{Address: address, Roots: roots, Fresh: fresh}
		return func() stage.Outcome {
			answer, err := c.Send("GET", path, token, "")
			switch {
			case err != nil:
				return stage.Outcome{Word: "failed", Wrong: err.Error()}
			case answer.Code != 200 || answer.Body != right:
				return stage.Outcome{Word: "wrong", Wrong: fmt.Sprintf("HTTP %d: %s", answer.Code, answer.Body)}
			}
			return stage.Outcome{Word: stage.Answered}
		}
	}
	for i, h := range replicas {
		l.Begin(fmt.Sprintf("REST %d, trusts the Secret", i), reader(h, r.AsOf("Secret", 0), true))
		l.Begin(fmt.Sprintf("REST %d, of a minute ago", i), reader(h, r.AsOf("Secret", time.Minute), true))
		l.Begin(fmt.Sprintf("REST %d, trusts the webhook", i), reader(h, r.AsOf("webhook", 0), true))
	}
	l.Begin("REST, one connection", reader(replicas[1], r.AsOf("Secret", 0), false))
	askForPods(t, l, "1")
}

// askForPods has the API server ask halflife, for pods that are not kept, and must ask for that.
func askForPods(t *stage.T, l *stage.Load, want string) {
	t.Apply(t.NewDeployment("web", 1, stage.App()))
	t.WaitAdmitted("web runs", "web", want, 1)
	owner := t.Pods("web")[0].List("metadata", "ownerReferences")[0]
	l.Begin("pods by the API server", func() stage.Outcome {
		meta := M{"generateName": "dry-", "name": "dry", "namespace": t.NS, "ownerReferences": L{map[string]any(owner)}}
		made, err := t.Post(t.Path("pods", "")+"?dryRun=All", stage.BarePod(meta))
		o := stage.JudgePod(made, err, want)
		for until := time.Now().Add(stage.MetricsLag); o.Word == stage.Unchanged && time.Now().Before(until); time.Sleep(stage.Pause) {
			if t.BlameUnknown() {
				o = stage.Outcome{Word: "unknown"}
			}
		}
		return o
	})
}
