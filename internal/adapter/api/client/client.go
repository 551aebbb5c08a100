// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/adapter/api"
)

// DefaultServer is where a server serves on its own machine.
const DefaultServer = "http://127.0.0.1:9403"

// Options say where the server is and how to be let in.
type Options struct {
	// Server is its address, such as https://gputally.example:9403.
	Server string
	// TokenFile has the bearer token; "" sends none.
	TokenFile string
	// CAFile has the certificates that the server's is checked against, in PEM;
	// "" takes the system's.
	CAFile string
	// Version is of this program: a server that speaks otherwise is told apart by
	// it.
	Version string
	// Way carries requests instead of a connection to Server, with TLS and, where
	// there is no TokenFile, the token of its own; CAFile is then not read.
	Way http.RoundTripper
	// Place is what Server is called in messages, and Hint what to do where it
	// cannot be asked; "" takes the address and the usual advice.
	Place, Hint string
}

// Client asks one server.
type Client struct {
	base    string
	place   string
	hint    string
	token   string
	version string
	http    *http.Client
}

// BadOption is a setting that cannot be.
type BadOption struct {
	Option string // server, token-file, ca-file
	Err    error
}

// Error names the setting.
func (e *BadOption) Error() string { return "--" + e.Option + ": " + e.Err.Error() }

// Unwrap is the reason.
func (e *BadOption) Unwrap() error { return e.Err }

// New checks the options; it does not connect.
func New(o Options) (*Client, error) {
	base, err := address(o.Server)
	if err != nil {
		return nil, &BadOption{"server", err}
	}
	c := &Client{base: base, version: o.Version, place: o.Place, hint: o.Hint}
	if c.place == "" {
		c.place = base
	}
	if c.hint == "" {
		c.hint = "say where it is with --server https://HOST:9403 (or GPUTALLY_SERVER), or start one: gputally server"
	}
	if o.TokenFile != "" {
		text, err := os.ReadFile(o.TokenFile)
		if err != nil {
			return nil, &BadOption{"token-file", err}
		}
		words := strings.Fields(string(text))
		if len(words) == 0 {
			return nil, &BadOption{"token-file", fmt.Errorf("%s is empty: it should have one token", o.TokenFile)}
		}
		c.token = words[0]
	}
	way := o.Way
	if way == nil {
		if way, err = direct(o.CAFile); err != nil {
			return nil, err
		}
	}
	c.http = &http.Client{Transport: way,
		// A redirect would carry the token to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// direct connects to the server's address.
func direct(caFile string) (http.RoundTripper, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	if caFile != "" {
		pool, err := Authorities(caFile)
		if err != nil {
			return nil, &BadOption{"ca-file", err}
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	}
	return transport, nil
}

// address completes an address as people type it.
func address(text string) (string, error) {
	if text == "" {
		text = DefaultServer
	}
	if !strings.Contains(text, "://") {
		return "", fmt.Errorf("%q has no scheme: write http://%s or https://%s", text, text, text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is no address of a server: write https://HOST:9403", text)
	}
	return strings.TrimSuffix(u.Scheme+"://"+u.Host+u.Path, "/"), nil
}

// Authorities reads certificates in PEM form.
func Authorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", file)
	}
	return pool, nil
}

// request makes one. body may be nil.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Request, error) {
	to := c.base + api.Prefix + path
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, to, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "gputally/"+c.version)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return r, nil
}

// do sends a request. An answer that is no good one is an error, and its body is
// closed.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreachable(r.Context(), err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close() // what it says was read or does not matter
	return nil, c.refusal(resp)
}

// fetch gets an answer in JSON.
func fetch[T any](ctx context.Context, c *Client, path string, query url.Values) (out T, err error) {
	r, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return out, err
	}
	return answered[T](c, r)
}

// post sends a body in JSON and gets an answer in JSON.
func post[T any](ctx context.Context, c *Client, path string, body any) (out T, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return out, err
	}
	r, err := c.request(ctx, http.MethodPost, path, nil, strings.NewReader(string(text)))
	if err != nil {
		return out, err
	}
	r.Header.Set("Content-Type", "application/json")
	return answered[T](c, r)
}

func answered[T any](c *Client, r *http.Request) (out T, err error) {
	resp, err := c.do(r)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close() // read to its end below
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return out, c.unreadable(resp, err)
	}
	return out, nil
}

// isCanceled says whether the asker gave up.
func isCanceled(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, context.Canceled)
}
