package stage

import (
	"encoding/base64"
	"sync"
	"time"
)

// Trust records which authorities were in the Secret and in the webhooks at which time.
type Trust struct {
	mu   sync.Mutex
	seen []struct {
		at   time.Time
		pem  []byte
		from string
	}
}

// AsOf returns the authorities in the Secret or in the webhook (from) as they were that long ago.
func (r *Trust) AsOf(from string, ago time.Duration) func() []byte {
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

func (r *Trust) note(from string, pem []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, struct {
		at   time.Time
		pem  []byte
		from string
	}{time.Now(), pem, from})
}

// FollowTrust records changes in r until the load ends.
func (t *T) FollowTrust(l *Load, r *Trust) {
	look := func() {
		if secret, err := t.Get(CertificatePath); err == nil && secret.Object("data").At("ca.crt") != nil {
			data, _ := base64.StdEncoding.DecodeString(secret.Object("data").At("ca.crt").(string))
			r.note("Secret", data)
		}
		if configuration, err := t.Get(WebhooksPath); err == nil {
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
