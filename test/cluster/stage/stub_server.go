package stage

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// Stub is a server that stands in for halflife and fails in some way.
type Stub struct {
	Port  int
	Met   atomic.Int64 // counts the connections, whatever became of them
	Close func()
}

// NewStub starts an HTTPS server whose certificate is valid between those times, and routes the webhooks to it.
func NewStub(t *T, since, until time.Time, handle http.HandlerFunc) *Stub {
	s := &Stub{}
	authority, err := NewSigner(since.Add(-time.Hour))
	t.Check(err)
	cert, key, err := authority.Issue(since, until, "halflife-serve."+OwnNamespace+".svc")
	t.Check(err)
	pair, err := tls.X509KeyPair(cert, key)
	t.Check(err)
	server := httptest.NewUnstartedServer(handle)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.Met.Add(1)
		}
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	s.Close = func() {
		server.CloseClientConnections()
		server.Close()
	}
	s.Port = server.Listener.Addr().(*net.TCPAddr).Port
	t.RouteWebhooksTo(s.Port, authority.PEM)
	return s
}

// NewListener starts a server that hands each connection to meet, and routes the webhooks to it.
func NewListener(t *T, meet func(net.Conn)) *Stub {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	t.Check(err)
	authority, err := NewSigner(time.Now())
	t.Check(err)
	s := &Stub{Port: l.Addr().(*net.TCPAddr).Port, Close: func() { l.Close() }}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.Met.Add(1)
			meet(c)
		}
	}()
	t.RouteWebhooksTo(s.Port, authority.PEM)
	return s
}
