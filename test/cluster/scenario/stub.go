package scenario

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// signer makes certificates, as of whatever time a scenario wants.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// newSigner makes an authority that was made then.
func newSigner(since time.Time) (*signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return signerLike(&x509.Certificate{Subject: pkix.Name{CommonName: "stub CA"}}, key, since)
}

// signerLike makes an authority that cannot be told from another by name and key, but was made then, for ten years.
func signerLike(root *x509.Certificate, key *ecdsa.PrivateKey, since time.Time) (*signer, error) {
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: root.Subject, RawSubject: root.RawSubject,
		SubjectKeyId: root.SubjectKeyId, NotBefore: since, NotAfter: since.Add(3650 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	return &signer{parsed, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, err
}

// issue makes a certificate for names, valid between those times; both PEM.
func (s *signer) issue(since, until time.Time, names ...string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "halflife"},
		NotBefore: since, NotAfter: until, DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, s.cert, &private.PublicKey, s.key)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), err
}

// stub stands where halflife would, and fails in some way.
type stub struct {
	port  int
	met   atomic.Int64 // connections taken, whatever became of them
	close func()
}

// newStub answers by handle, showing a certificate of a signer of its own that is valid between those times.
func newStub(t *T, since, until time.Time, handle http.HandlerFunc) *stub {
	s := &stub{}
	authority, err := newSigner(since.Add(-time.Hour))
	t.Check(err)
	cert, key, err := authority.issue(since, until, "halflife-serve."+ownNamespace+".svc")
	t.Check(err)
	pair, err := tls.X509KeyPair(cert, key)
	t.Check(err)
	server := httptest.NewUnstartedServer(handle)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.met.Add(1)
		}
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	s.close = func() {
		server.CloseClientConnections()
		server.Close()
	}
	s.port = server.Listener.Addr().(*net.TCPAddr).Port
	t.leadTo(s.port, authority.pem)
	return s
}

// newListener is a stub that is no HTTPS server: each connection is handed to meet.
func newListener(t *T, meet func(net.Conn)) *stub {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	t.Check(err)
	authority, err := newSigner(time.Now())
	t.Check(err)
	s := &stub{port: l.Addr().(*net.TCPAddr).Port, close: func() { l.Close() }}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.met.Add(1)
			meet(c)
		}
	}()
	t.leadTo(s.port, authority.pem)
	return s
}

// leadTo leads the webhooks to a port of this machine, to be trusted by that authority.
func (t *T) leadTo(port int, roots []byte) {
	configuration, err := t.Get(hooks)
	t.Check(err)
	var patch L
	for i := range configuration.List("webhooks") {
		at := fmt.Sprintf("/webhooks/%d/clientConfig/", i)
		patch = append(patch, M{"op": "replace", "path": at + "service/port", "value": port},
			M{"op": "add", "path": at + "caBundle", "value": base64.StdEncoding.EncodeToString(roots)})
	}
	_, err = t.Patch(hooks, patch)
	t.Check(err)
}
