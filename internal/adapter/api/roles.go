// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/access"
	"github.com/gputally/gputally/internal/core/journal"
)

// What an operation is marked with.
const (
	writes = "writes" // needs the role write
	heavy  = "heavy"  // is one of those that run a few at a time
)

// roles lets pass who may.
func (h *handler) roles(ctx huma.Context, next func(huma.Context)) {
	if h.Auth == nil {
		next(ctx)
		return
	}
	r, w := humago.Unwrap(ctx)
	user, err := h.Auth.Authorize(r, ctx.Operation().Metadata[writes] == true)
	if err == nil {
		next(huma.WithValue(ctx, userKey{}, user))
		return
	}
	p, after := h.shape(err)
	h.Log.Warn("request not let in", "from", r.RemoteAddr, "method", r.Method, "path", r.URL.Path, "code", p.Code, "detail", p.Detail)
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(after))
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="gputally"`)
	}
	writeProblem(w, p)
}

// userKey is where a request's context has who asks.
type userKey struct{}

// signed is who did something, for the trail, by who asks and what they say.
func signed(ctx context.Context, said string) string {
	user, _ := ctx.Value(userKey{}).(string)
	return access.Signature(user, said)
}

// barred is a denial as the client sees it.
func barred(d *access.Denied) *v1.Problem {
	if d.Known {
		return problem(http.StatusForbidden, v1.CodeForbidden, d.Why, d.Hint)
	}
	return problem(http.StatusUnauthorized, v1.CodeUnauthorized, d.Why, d.Hint)
}

// crowd bounds how many heavy requests run at a time. Others wait for their turn.
func (h *handler) crowd(ctx huma.Context, next func(huma.Context)) {
	if ctx.Operation().Metadata[heavy] != true {
		next(ctx)
		return
	}
	waited := time.NewTimer(h.Limits.Patience)
	defer waited.Stop()
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
		next(ctx)
	case <-ctx.Context().Done(): // nobody waits for an answer
	case <-waited.C:
		_, w := humago.Unwrap(ctx)
		p, _ := h.shape(&journal.Busy{After: 2 * time.Second, Why: "as many requests as the server works on at a time are under way"})
		w.Header().Set("Retry-After", "2")
		writeProblem(w, p)
	}
}
