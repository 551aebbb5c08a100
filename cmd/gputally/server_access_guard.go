// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/gputally/gputally/internal/core/access"
	"github.com/gputally/gputally/internal/core/journal"
)

// refuse answers in plain text with why a request may not go on.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	var denied *access.Denied
	var busy *journal.Busy
	switch {
	case errors.As(err, &denied) && denied.Known:
		status = http.StatusForbidden
	case errors.As(err, &denied):
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Bearer realm="gputally"`)
	case errors.As(err, &busy):
		w.Header().Set("Retry-After", strconv.Itoa(int(busy.After.Seconds())))
	}
	http.Error(w, err.Error(), status)
}

// guard keeps web pages out where no token is asked for: a browser on this host
// would carry their requests to loopback.
func (r roles) guard(next http.Handler) http.Handler {
	if !r.open {
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
