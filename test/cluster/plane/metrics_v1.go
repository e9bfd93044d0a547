package plane

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
)

// MetricsV1 serves metrics.k8s.io/v1 beside metrics-server, which has v1beta1 alone: the same objects under the other
// name, as the API's two versions are.
type MetricsV1 struct {
	plane  *Plane
	server *httptest.Server
}

// StartMetricsV1 starts it and registers its APIService.
func (pl *Plane) StartMetricsV1() (*MetricsV1, error) {
	pair, err := tls.LoadX509KeyPair(pl.path("admin.crt"), pl.path("admin.key"))
	if err != nil {
		return nil, err
	}
	behind := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true}, // its certificate is its own
	}}
	m := &MetricsV1{plane: pl}
	m.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/apis/"+metricsGroup+"/v1") {
			http.NotFound(w, r) // the API server then asks for the resources of the version
			return
		}
		path := strings.Replace(r.URL.RequestURI(), metricsGroup+"/v1", metricsGroup+"/v1beta1", 1)
		code, body, err := get(behind, fmt.Sprintf("https://127.0.0.1:%d%s", pl.metricsPort, path))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write(bytes.ReplaceAll(body, []byte(metricsGroup+"/v1beta1"), []byte(metricsGroup+"/v1")))
	}))
	err = pl.registerMetricsAPI("v1", m.server.Listener.Addr().(*net.TCPAddr).Port)
	if err != nil {
		m.server.Close()
		return nil, err
	}
	return m, nil
}

func get(c *http.Client, url string) (code int, body []byte, err error) {
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// Stop takes the APIService away, and then the server.
func (m *MetricsV1) Stop() error {
	err := m.plane.removeMetricsAPI("v1")
	m.server.CloseClientConnections()
	m.server.Close()
	return err
}
