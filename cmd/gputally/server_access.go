// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/gputally/gputally/internal/adapter/api"
	"github.com/gputally/gputally/internal/adapter/ingest"
)

// access says who may do what. nil lets everybody who can reach the address.
type access struct {
	deliver ingest.Auth
	read    api.Auth
	write   api.Auth
	open    bool // no token is asked for
}

// nobody bars a role for which no tokens were given.
type nobody struct{ flag string }

func (n nobody) Authorize(*http.Request) error {
	return errors.New("this server was given no tokens for that: start it with --" + n.flag)
}

// access reads the token files once, to find mistakes. Without any, everybody on
// this host may do everything; with one, a role without a file is closed.
func (f *serverFlags) access() (access, error) {
	if f.agentTokens == "" && f.readTokens == "" && f.writeTokens == "" {
		return access{open: true}, nil
	}
	var errs []error
	role := func(file, flag string) ingest.Auth {
		if file == "" {
			return nobody{flag}
		}
		t, err := ingest.NewTokenFile(file)
		if err != nil {
			errs = append(errs, err)
		}
		return t
	}
	a := access{
		deliver: role(f.agentTokens, "agent-token-file"), read: role(f.readTokens, "read-token-file"), write: role(f.writeTokens, "write-token-file"),
	}
	return a, errors.Join(errs...)
}

// listen is what protects the address.
func (a access) listen() ingest.Auth {
	if a.open {
		return nil
	}
	return a.deliver
}

// readers lets pass who may read.
func (a access) readers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.read != nil && a.read.Authorize(r) != nil && a.write.Authorize(r) != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="gputally"`)
			http.Error(w, "give a token of the role read: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// guard keeps web pages out where no token is asked for: a browser on this host
// would carry their requests to loopback.
func (a access) guard(next http.Handler) http.Handler {
	if !a.open {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ownHost(r.Host) || foreign(r) {
			http.Error(w, "this server asks for no token and so answers requests for this host only, and none of other web pages", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownHost says whether a request was sent to loopback by its name or address.
func ownHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// foreign says whether a browser sends the request for another site's page.
func foreign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host != r.Host
}
