package kube

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// Client sends requests to one API server with a client certificate, or with a token.
type Client struct {
	Server string
	http   *http.Client
	token  string // "": the certificate
}

// Error is an answer that is not a success.
type Error struct {
	Method, Path string
	Code         int
	Reason       string
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: HTTP %d %s: %s", e.Method, e.Path, e.Code, e.Reason, e.Message)
}

// Code is the HTTP status that an error of this package holds, else 0.
func Code(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// New makes a client of the certificate authority, certificate and key in those files.
func New(server, ca, cert, key string) (*Client, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}},
		MaxIdleConnsPerHost: 64,
	}
	return &Client{Server: server, http: &http.Client{Transport: transport}}, nil
}

// WithToken makes a client of the same API server that a token identifies.
func (c *Client) WithToken(token string) *Client {
	transport := c.http.Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.Certificates = nil
	return &Client{Server: c.Server, http: &http.Client{Transport: transport}, token: token}
}

// Do sends one request and gives the answer's body. A write names its content type; "" sends no body.
func (c *Client) Do(ctx context.Context, method, path, contentType string, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "halflife-e2e")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 300 {
		return res.Body, nil
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	fail := &Error{Method: method, Path: path, Code: res.StatusCode, Message: string(text)}
	var status struct{ Reason, Message string }
	if json.Unmarshal(text, &status) == nil && status.Message != "" {
		fail.Reason, fail.Message = status.Reason, status.Message
	}
	return nil, fail
}

func (c *Client) object(method, path, contentType string, body any) (Object, error) {
	var data []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		data = b
	default:
		var err error
		if data, err = json.Marshal(b); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	answer, err := c.Do(ctx, method, path, contentType, data)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	var o Object
	if err := json.NewDecoder(answer).Decode(&o); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return o, nil
}

// Get reads an object or a list.
func (c *Client) Get(path string) (Object, error) { return c.object("GET", path, "", nil) }

// Post creates an object.
func (c *Client) Post(path string, body any) (Object, error) {
	return c.object("POST", path, "application/json", body)
}

// Put replaces an object.
func (c *Client) Put(path string, body any) (Object, error) {
	return c.object("PUT", path, "application/json", body)
}

// Merge patches an object (JSON merge patch).
func (c *Client) Merge(path string, body any) (Object, error) {
	return c.object("PATCH", path, "application/merge-patch+json", body)
}

// Patch patches an object (JSON patch).
func (c *Client) Patch(path string, body any) (Object, error) {
	return c.object("PATCH", path, "application/json-patch+json", body)
}

// Delete deletes an object; one that is gone already is fine.
func (c *Client) Delete(path string) error {
	_, err := c.object("DELETE", path, "", nil)
	if Code(err) == 404 {
		return nil
	}
	return err
}

// Text reads what is not JSON, such as /metrics.
func (c *Client) Text(path string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	answer, err := c.Do(ctx, "GET", path, "", nil)
	if err != nil {
		return "", err
	}
	defer answer.Close()
	data, err := io.ReadAll(answer)
	return string(data), err
}

// Healthy asks a path that answers 200 when all is well.
func (c *Client) Healthy(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	answer, err := c.Do(ctx, "GET", path, "", nil)
	if err == nil {
		answer.Close()
	}
	return err
}

// Event is one of a watch.
type Event struct {
	Type   string
	Object json.RawMessage
}

// Watch lists and then watches path (its query without watch=1) until ctx ends or see gives an error. each new list
// is told by Type "LIST" with the whole list; the watch is taken up again when it ends.
func (c *Client) Watch(ctx context.Context, path string, see func(Event) error) error {
	for ctx.Err() == nil {
		if err := c.watchOnce(ctx, path, see); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond): // a server that starts again
		}
	}
	return nil
}

// watchOnce gives an error only when see did: whatever ends the connection leads to a new list.
func (c *Client) watchOnce(ctx context.Context, path string, see func(Event) error) error {
	answer, err := c.Do(ctx, "GET", path, "", nil)
	if err != nil {
		return nil
	}
	list, err := io.ReadAll(answer)
	answer.Close()
	var head struct {
		Metadata struct{ ResourceVersion string }
	}
	if err != nil || json.Unmarshal(list, &head) != nil {
		return nil
	}
	if err := see(Event{"LIST", list}); err != nil {
		return err
	}
	stream, err := c.Do(ctx, "GET", path+"?watch=1&resourceVersion="+head.Metadata.ResourceVersion, "", nil)
	if err != nil {
		return nil
	}
	defer stream.Close()
	in := json.NewDecoder(bufio.NewReader(stream))
	for {
		var e Event
		if in.Decode(&e) != nil || e.Type == "ERROR" {
			return nil
		}
		if err := see(e); err != nil {
			return err
		}
	}
}
