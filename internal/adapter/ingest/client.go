// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/access"
	"github.com/gputally/gputally/internal/core/journal"
)

// ClientOptions say where the server is and how to be let in.
type ClientOptions struct {
	// Server is the server's address, such as https://gputally.example:9403.
	Server string
	// TokenFile has the bearer token, read for every request; "" sends none. Of
	// several the first counts, so that server and agents can share the file while
	// a token is changed.
	TokenFile string
	// CAFile has the certificates that the server's is checked against, in PEM;
	// "" takes the system's.
	CAFile string
	// Timeout is the longest one request may take (60 s).
	Timeout time.Duration
	// UserAgent says who asks.
	UserAgent string
}

// Client delivers to one server. It is safe for concurrent use.
type Client struct {
	base  string
	token string
	agent string
	http  *http.Client
}

// NewClient checks the options; it does not connect.
func NewClient(o ClientOptions) (*Client, error) {
	u, err := url.Parse(o.Server)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" {
		return nil, fmt.Errorf("server address %q: want https://HOST:PORT", o.Server)
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 1
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read CA file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s has no certificate in PEM form", o.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	}
	client := &http.Client{Transport: transport, Timeout: o.Timeout,
		// A redirect would carry a delivery, and its token, to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Client{base: strings.TrimSuffix(u.String(), "/"), token: o.TokenFile, agent: o.UserAgent, http: client}, nil
}

// Send delivers batches, each as its JSON text.
func (c *Client) Send(ctx context.Context, batches [][]byte) (journal.Receipt, error) {
	body, err := encode(batches)
	if err != nil {
		return journal.Receipt{}, fmt.Errorf("encode delivery: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+PathBatches, bytes.NewReader(body))
	if err != nil {
		return journal.Receipt{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Content-Encoding", "gzip")
	return c.do(req)
}

// Acks asks how all batches of an agent stand.
func (c *Client) Acks(ctx context.Context, agent string) ([]journal.Ack, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+PathMarks+"?agent="+url.QueryEscape(agent), nil)
	if err != nil {
		return nil, err
	}
	r, err := c.do(req)
	return r.Acks, err
}

// encode is the body of a delivery, compressed.
func encode(batches [][]byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	parts := [][]byte{[]byte(`{"v":` + strconv.Itoa(Version) + `,"batches":[`)}
	for i, b := range batches {
		if i > 0 {
			parts = append(parts, []byte(","))
		}
		parts = append(parts, b)
	}
	for _, p := range append(parts, []byte("]}")) {
		if _, err := z.Write(p); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

func (c *Client) do(req *http.Request) (r journal.Receipt, err error) {
	if c.agent != "" {
		req.Header.Set("User-Agent", c.agent)
	}
	if c.token != "" {
		lines, err := (&TokenFile{Path: c.token, Clusters: true}).lines()
		if err != nil {
			return r, err
		}
		req.Header.Set("Authorization", "Bearer "+lines[0].token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close() // read to its end below
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return r, fmt.Errorf("%s %s: read answer: %w", req.Method, req.URL.Path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return r, refused(resp, data)
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return r, fmt.Errorf("%s %s: the answer is not gputally's (%w): is %s the right address?", req.Method, req.URL.Path, err, c.base)
	}
	if a.Version != Version {
		return r, fmt.Errorf("%s %s: the answer has version %d, %d is known: update the agent", req.Method, req.URL.Path, a.Version, Version)
	}
	for _, ack := range a.Acks {
		if err := errors.Join(ack.Accepted.Check(), ack.Durable.Check()); err != nil {
			return r, fmt.Errorf("%s %s: boot %s: %w", req.Method, req.URL.Path, ack.Boot, err)
		}
	}
	return a.Receipt, nil
}

// refused is an answer other than 200 as an error.
func refused(resp *http.Response, body []byte) error {
	p := &Problem{}
	if json.Unmarshal(body, p) != nil || p.Code == "" {
		p = &Problem{Title: resp.Status, Status: resp.StatusCode, Detail: strings.TrimSpace(string(body[:min(len(body), 200)]))}
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &access.Denied{Known: resp.StatusCode == http.StatusForbidden, Why: fmt.Sprintf("%s: %s", p.Title, p.Detail), Hint: p.Hint}
	case http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w: %w", journal.ErrTooLarge, p)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		// What stands between may answer so, too, for a server that is away: without a
		// time, or with none to wait.
		seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil || seconds < 0 || seconds > 3600 {
			seconds = 0
		}
		return &journal.Busy{After: time.Duration(seconds) * time.Second, Why: p.Error()}
	}
	return p
}
