// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/journal"
)

// What an operation is marked with.
const (
	writes = "writes" // needs the role write
	heavy  = "heavy"  // is one of those that run a few at a time
)

// roles lets pass who may.
func (h *handler) roles(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	if p := h.barred(r, ctx.Operation().Metadata[writes] == true); p != nil {
		h.Log.Warn("request not let in", "from", r.RemoteAddr, "method", r.Method, "path", r.URL.Path, "code", p.Code, "detail", p.Detail)
		if p.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="gputally"`)
		}
		writeProblem(w, p)
		return
	}
	next(ctx)
}

// barred says why a request may not go on, or nil. Who may write may read.
func (h *handler) barred(r *http.Request, write bool) *v1.Problem {
	reads, changes := allows(h.Read, r), allows(h.Write, r)
	switch {
	case changes == nil && (write || h.Write != nil), !write && reads == nil:
		return nil
	case write && h.Read != nil && reads == nil:
		return problem(http.StatusForbidden, v1.CodeForbidden, "this token may read, not change anything", "use a token of the role write")
	case write:
		return unauthorized(changes)
	}
	return unauthorized(reads)
}

func allows(a Auth, r *http.Request) error {
	if a == nil {
		return nil
	}
	return a.Authorize(r)
}

func unauthorized(err error) *v1.Problem {
	return problem(http.StatusUnauthorized, v1.CodeUnauthorized, err.Error(), "give a token that the server was given: Authorization: Bearer TOKEN (gputally --token-file FILE)")
}

// crowd bounds how many heavy requests run at a time.
func (h *handler) crowd(ctx huma.Context, next func(huma.Context)) {
	if ctx.Operation().Metadata[heavy] != true {
		next(ctx)
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
		next(ctx)
	default:
		_, w := humago.Unwrap(ctx)
		p, _ := h.shape(&journal.Busy{After: 2 * time.Second, Why: "as many requests as the server works on at a time are under way"})
		w.Header().Set("Retry-After", "2")
		writeProblem(w, p)
	}
}
