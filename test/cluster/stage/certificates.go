package stage

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
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Day is 24 hours.
const Day = 24 * time.Hour

// WaitWebhooksTrust waits until every webhook trusts the certificate of every replica, by the authorities in the Secret.
func (t *T) WaitWebhooksTrust(replicas []*Halflife) {
	t.Eventually("the replicas are trusted", Soon, func() error {
		secret, err := t.Get(CertificatePath)
		if err != nil {
			return err
		}
		configuration, err := t.Get(WebhooksPath)
		if err != nil {
			return err
		}
		for _, hook := range configuration.List("webhooks") {
			bundle, _ := base64.StdEncoding.DecodeString(hook.Text("clientConfig", "caBundle"))
			roots := x509.NewCertPool()
			if !roots.AppendCertsFromPEM(bundle) || hook.Text("clientConfig", "caBundle") != secret.Text("data", "ca.crt") {
				return fmt.Errorf("webhook %s has another caBundle than the Secret", hook.Text("name"))
			}
			for _, h := range replicas {
				address, err := h.RESTAddress()
				if err != nil {
					return err
				}
				c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, ServerName: "halflife-serve." + OwnNamespace + ".svc"})
				if err != nil {
					return err
				}
				c.Close()
			}
		}
		return nil
	})
}

// CertificateSecret is the decoded content of the Secret halflife-certificate.
type CertificateSecret struct {
	Roots []*x509.Certificate // the newest last
	PEM   []byte              // of them
	Key   *ecdsa.PrivateKey   // of the newest
	Cert  *x509.Certificate
}

func parseCertificates(data []byte) []*x509.Certificate {
	var list []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			list = append(list, c)
		}
	}
	return list
}

// Secret reads and decodes the Secret halflife-certificate.
func (t *T) Secret() (CertificateSecret, error) {
	secret, err := t.Get(CertificatePath)
	if err != nil {
		return CertificateSecret{}, err
	}
	part := map[string][]byte{}
	for _, name := range []string{"ca.crt", "ca.key", "tls.crt"} {
		text, _ := secret.Object("data").At(name).(string)
		part[name], _ = base64.StdEncoding.DecodeString(text)
	}
	h := CertificateSecret{Roots: parseCertificates(part["ca.crt"]), PEM: part["ca.crt"]}
	block, _ := pem.Decode(part["ca.key"])
	leaf := parseCertificates(part["tls.crt"])
	if block == nil || len(h.Roots) == 0 || len(leaf) != 1 {
		return h, fmt.Errorf("the Secret is not whole")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return h, err
	}
	h.Key, h.Cert = key.(*ecdsa.PrivateKey), leaf[0]
	return h, nil
}

// WriteCertificate writes a certificate for localhost, its key and its authority, and returns the three paths.
func (t *T) WriteCertificate(dir string) (cert, key, ca string) {
	s, err := NewSigner(time.Now().Add(-time.Hour))
	t.Check(err)
	certPEM, keyPEM, err := s.Issue(time.Now().Add(-time.Minute), time.Now().Add(Day), "localhost")
	t.Check(err)
	t.Check(os.MkdirAll(dir, 0o700))
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		t.Check(os.WriteFile(path, data, 0o600))
		return path
	}
	return write("tls.crt", certPEM), write("tls.key", keyPEM), write("ca.crt", s.PEM)
}

// Signer is a certificate authority of any age.
type Signer struct {
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
	PEM  []byte
}

// NewSigner makes an authority that is valid from since on.
func NewSigner(since time.Time) (*Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return SignerLike(&x509.Certificate{Subject: pkix.Name{CommonName: "stub CA"}}, key, since)
}

// SignerLike makes an authority with the name and the key of another one, valid for ten years from since on.
func SignerLike(root *x509.Certificate, key *ecdsa.PrivateKey, since time.Time) (*Signer, error) {
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
	return &Signer{parsed, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, err
}

// Issue makes a certificate for names, valid between two times. It returns certificate and key as PEM.
func (s *Signer) Issue(since, until time.Time, names ...string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "halflife"},
		NotBefore: since, NotAfter: until, DNSNames: names,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, s.Cert, &private.PublicKey, s.Key)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), err
}
