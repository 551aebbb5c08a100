// SPDX-License-Identifier: Apache-2.0

package enginehttp

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/sample"
)

// The bounds of one look.
const (
	// DefaultTimeout is for all of it: connecting, waiting and reading.
	DefaultTimeout = 2 * time.Second
	// maxBody is the size of a page, 4 MiB; maxHeader that of an answer's header.
	maxBody   = 4 << 20
	maxHeader = 16 << 10
)

const (
	textPage = "text/plain"
	jsonPage = "application/json"
)

// newClient asks straight: no proxy of the environment, no redirect followed, no
// cookie, no connection kept, nothing unpacked.
func newClient(limit time.Duration) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:       nil,
			DialContext: (&net.Dialer{Timeout: limit}).DialContext, DisableKeepAlives: true, DisableCompression: true,
			ResponseHeaderTimeout: limit, MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// mayAsk: the address is one that a pod on a network of its own can have. The
// node's own services, the metadata service of a cloud and groups have others.
func mayAsk(ip netip.Addr) bool {
	return ip.IsValid() && ip.Zone() == "" && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsMulticast() && !ip.IsLinkLocalUnicast()
}

// fetch is one look: a GET of the target's own address, which must answer with a
// page of metrics within the bounds.
func (s *Scraper) fetch(ctx context.Context, t *demand.Target) (r sample.EngineReading, err error) {
	ip, err := netip.ParseAddr(t.IP)
	if ip = ip.Unmap(); err != nil || !s.mayAsk(ip) {
		return r, badAddress
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	body, err := s.get(ctx, url.URL{Scheme: "http", Host: netip.AddrPortFrom(ip, t.Port).String(), Path: t.Path}, pageOf(t))
	if err != nil {
		return r, err
	}
	if t.Engine == demand.Ollama {
		return readOllama(body)
	}
	p, err := parse(body)
	if err != nil {
		return r, err
	}
	r, ok := demand.Read(p)
	switch {
	case !ok:
		return r, noEngine
	case t.Engine != "" && t.Engine != r.Engine && t.Engine != demand.Triton: // Triton serves others
		return sample.EngineReading{}, wrongEngine
	}
	return r, nil
}

func pageOf(t *demand.Target) string {
	if t.Engine == demand.Ollama {
		return jsonPage
	}
	return textPage
}

// get is the body of a good answer of the wanted kind.
func (s *Scraper) get(ctx context.Context, at url.URL, want string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	accept := want
	if want == textPage {
		accept += ";version=0.0.4"
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "gputally-agent")
	answer, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if err := judge(answer, want); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case len(body) > maxBody:
		return nil, tooLarge
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, malformed // cut short
	}
	return body, err
}

// judge looks at an answer before any of its body is read.
func judge(answer *http.Response, want string) error {
	switch code := answer.StatusCode; {
	case code >= 300 && code < 400:
		return redirect
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return unauthorized
	case code != http.StatusOK:
		return badStatus
	case answer.ContentLength > maxBody:
		return tooLarge
	}
	if e := answer.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return encoded
	}
	if kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); err != nil || kind != want {
		return contentType
	}
	return nil
}
