// SPDX-License-Identifier: Apache-2.0

package kubeforward

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Transport sends requests to the server's pod as the user. It finds the pod and the
// token with the first one. It may be used by several goroutines.
type Transport struct {
	cluster *Cluster
	// roots check the server's certificate; nil checks none.
	roots *x509.CertPool

	mu    sync.Mutex
	pod   Pod
	token string
	base  *http.Transport
}

// Transport makes one. With roots the server's certificate must come from them, whatever
// name it has. Without, it is not checked: it is the API server, which the kubeconfig
// knows, that picks the pod and carries the bytes there, and whoever could put a pod of
// their own into that namespace could also give it the certificate's key.
func (c *Cluster) Transport(roots *x509.CertPool) *Transport {
	return &Transport{cluster: c, roots: roots}
}

// RoundTrip sends one request. Its host and scheme do not matter. A token that the
// request has already stays.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base, pod, token, err := t.ready(r.Context(), r.Header.Get("Authorization") == "")
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", pod.Name
	if pod.TLS {
		r.URL.Scheme = "https"
	}
	if r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return base.RoundTrip(r)
}

func (t *Transport) ready(ctx context.Context, needToken bool) (*http.Transport, Pod, string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.base == nil {
		pod, err := t.cluster.Server(ctx)
		if err != nil {
			return nil, pod, "", err
		}
		t.pod = pod
		t.base = httpTransport(t.cluster.Forward(pod), t.roots)
	}
	if needToken && t.token == "" {
		token, err := t.cluster.Token(ctx)
		if err != nil {
			return nil, t.pod, "", err
		}
		t.token = token
	}
	return t.base, t.pod, t.token, nil
}

// Client speaks HTTP with an agent's pod.
func (c *Cluster) Client(p Pod) *http.Client {
	return &http.Client{Transport: httpTransport(c.Forward(p), nil)}
}

func httpTransport(f *Forward, roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext:         f.DialContext,
		ForceAttemptHTTP2:   false,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     30 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, // see Cluster.Transport; with roots, checked below
			VerifyConnection:   func(s tls.ConnectionState) error { return verify(s, roots) },
		},
	}
}

// verify checks a certificate's chain, where there are roots.
func verify(s tls.ConnectionState, roots *x509.CertPool) error {
	if roots == nil {
		return nil
	}
	if len(s.PeerCertificates) == 0 {
		return errors.New("the server showed no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}
