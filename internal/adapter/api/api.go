// SPDX-License-Identifier: Apache-2.0

package api

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Prefix is where the API begins.
const Prefix = "/api/v1"

// VersionHeader tells the server's version on every answer.
const VersionHeader = "Gputally-Version"

// Auth says whether a request may go on: one that only asks, or one that changes
// the ledger. Its errors are *access.Denied, which is told to the client, or
// *journal.Busy where that cannot be said now. Who may change may ask.
type Auth interface {
	// Authorize returns who asks, where that is known: "" for a token that several
	// people may have.
	Authorize(r *http.Request, change bool) (user string, err error)
}

// Limits bound requests and answers. Zero values take the defaults.
type Limits struct {
	// BodyBytes is the size of a JSON body (1 MiB), BillBytes that of all files of
	// a bill together (8 GiB), BillFiles their number (1000).
	BodyBytes, BillBytes int64
	BillFiles            int
	// Rows is how many rows a report may have (100,000).
	Rows int
	// AtOnce is how many reports, checks, exports, what-ifs and imports run at a
	// time (8). Others wait for as long as Patience (10 s), then they are told to
	// come again: a page with a dozen panels asks for all of them at once.
	AtOnce   int
	Patience time.Duration
}

func (l Limits) withDefaults() Limits {
	set := func(to *int64, value int64) {
		if *to <= 0 {
			*to = value
		}
	}
	set(&l.BodyBytes, 1<<20)
	set(&l.BillBytes, 8<<30)
	if l.BillFiles <= 0 {
		l.BillFiles = 1000
	}
	if l.Rows <= 0 {
		l.Rows = 100_000
	}
	if l.AtOnce <= 0 {
		l.AtOnce = 8
	}
	if l.Patience <= 0 {
		l.Patience = 10 * time.Second
	}
	return l
}

// Options make a handler.
type Options struct {
	Books   Books
	Adviser Adviser
	// Fleet answers what is on the GPUs; nil: this server does not know.
	Fleet Fleet
	// Auth says who may do what. nil lets everybody who can reach the address.
	Auth    Auth
	Limits  Limits
	Version string // of the program
	// TempDir is where files of a bill wait while they are read; "" is the
	// system's.
	TempDir string
	Now     func() time.Time // time.Now where nil
	Log     *slog.Logger
}

// handler serves the API.
type handler struct {
	Options
	api   huma.API
	slots chan struct{}
}

// Handler serves the API under Prefix, and its OpenAPI document as
// Prefix/openapi.yaml and .json.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	h := newHandler(o, mux)
	return h.around(mux)
}

func newHandler(o Options, mux *http.ServeMux) *handler {
	o.Limits = o.Limits.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &handler{Options: o, slots: make(chan struct{}, o.Limits.AtOnce)}
	h.api = humago.New(mux, configuration())
	h.api.UseMiddleware(h.roles, h.crowd)
	h.routes()
	return h
}

func (h *handler) routes() {
	h.routeStatus()
	h.routeReports()
	h.routeLines()
	h.routePrices()
	h.routeMonths()
	h.routeChecks()
	h.routeBills()
	h.routeExports()
	h.routeBackups()
	h.routeAdvice()
	h.routeFleet()
}

// around is what every request passes through, those to no path too.
func (h *handler) around(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer h.recover(w, r)
		w.Header().Set(VersionHeader, h.Version)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if _, pattern := mux.Handler(r); pattern == "" {
			h.astray(mux, w, r)
			return
		}
		out, finish := compressed(w, r)
		defer finish()
		mux.ServeHTTP(out, r)
	})
}

// recover turns a panic into a problem, where nothing was written yet.
func (h *handler) recover(w http.ResponseWriter, r *http.Request) {
	v := recover()
	switch {
	case v == nil:
		return
	case v == http.ErrAbortHandler, r.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the answer is cut off, or nobody waits for it
	}
	h.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "panic", v)
	writeProblem(w, internal("an error of the server itself"))
}

// astray answers a request that no path is for.
func (h *handler) astray(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	probe := &statusOnly{header: http.Header{}}
	mux.ServeHTTP(probe, r)
	if probe.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", probe.header.Get("Allow"))
		writeProblem(w, wrongMethod(r, probe.header.Get("Allow")))
		return
	}
	if to := probe.header.Get("Location"); to != "" {
		http.Redirect(w, r, to, probe.status)
		return
	}
	writeProblem(w, noSuchPath(r))
}

// statusOnly takes the status of an answer and drops the rest.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header { return s.header }

func (s *statusOnly) WriteHeader(status int) { s.status = status }

func (s *statusOnly) Write(p []byte) (int, error) { return len(p), nil }
