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
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/gputally/gputally/internal/adapter/api"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// Unreachable says that the server could not be asked.
type Unreachable struct {
	Server string
	Err    error
	Hint   string
}

// Error names the address and says what to do.
func (e *Unreachable) Error() string {
	return fmt.Sprintf("the server at %s cannot be asked: %v\n  %s", e.Server, e.Err, e.Hint)
}

// Unwrap is the reason.
func (e *Unreachable) Unwrap() error { return e.Err }

// maxProblem bounds what is read of an answer that is none, in bytes.
const maxProblem = 1 << 20

func (c *Client) unreachable(ctx context.Context, err error) error {
	if isCanceled(ctx, err) {
		return context.Canceled
	}
	var transport *url.Error
	if errors.As(err, &transport) {
		err = transport.Err
	}
	out := &Unreachable{Server: c.place, Err: err, Hint: c.hint}
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var name x509.HostnameError
	switch {
	case errors.As(err, &authority):
		out.Hint = "if the certificate is of your own authority, give that one's: --ca-file FILE"
	case errors.As(err, &name):
		out.Hint = "ask it by a name that is in its certificate"
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		out.Hint = "it speaks without TLS: write http:// for https://"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		out.Hint = "it ended while it was asked; look at its log, and ask again"
	}
	return out
}

// refusal is an answer other than 200 as an error: a *v1.Problem where the server
// gave one.
func (c *Client) refusal(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return &Unreachable{Server: c.place, Err: fmt.Errorf("its answer broke off: %w", err), Hint: "ask again"}
	}
	p := &v1.Problem{}
	if json.Unmarshal(text, p) != nil || p.Code == "" {
		return c.stranger(resp, text)
	}
	switch p.Code {
	case v1.CodeUnauthorized:
		if c.place == c.base { // the way through a cluster has a token of its own
			p.Hint = strings.TrimPrefix(p.Hint+"\n  give the token with --token-file FILE (or GPUTALLY_TOKEN_FILE)", "\n  ")
		}
	case v1.CodeNoSuchPath:
		p.Hint = c.skew(resp)
	case v1.CodeBusy:
		if after := resp.Header.Get("Retry-After"); after != "" {
			p.Hint = "ask again in " + after + " seconds"
		}
	}
	return p
}

// stranger is an answer that is not gputally's.
func (c *Client) stranger(resp *http.Response, text []byte) error {
	first, _, _ := strings.Cut(strings.TrimSpace(string(text[:min(len(text), 200)])), "\n")
	out := &Unreachable{Server: c.place, Err: fmt.Errorf("it answered %s: %s", resp.Status, first), Hint: "that is not gputally's answer: is this the server's address, and no proxy's?"}
	if strings.Contains(first, "HTTP request to an HTTPS server") {
		out.Hint = "it speaks TLS: write https:// for http://"
	}
	return out
}

// unreadable is a good answer that cannot be read.
func (c *Client) unreadable(resp *http.Response, err error) error {
	if resp.Request != nil && isCanceled(resp.Request.Context(), err) {
		return context.Canceled
	}
	var syntax *json.SyntaxError
	if resp.Header.Get(api.VersionHeader) == "" && errors.As(err, &syntax) {
		return c.stranger(resp, []byte("no JSON"))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &Unreachable{Server: c.place, Err: fmt.Errorf("its answer broke off: %w", err), Hint: "look at its log, and ask again"}
	}
	return &Unreachable{Server: c.place, Err: fmt.Errorf("its answer cannot be read: %w", err), Hint: c.skew(resp)}
}

// skew names the two versions.
func (c *Client) skew(resp *http.Response) string {
	theirs := resp.Header.Get(api.VersionHeader)
	if theirs == "" {
		return "is this the address of a gputally server?"
	}
	return fmt.Sprintf("the server is gputally %s, this program %s: use the same version on both sides", theirs, c.version)
}
