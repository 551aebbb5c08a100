// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/inquiry"
)

const (
	ndjson = "application/x-ndjson"
	// patience is how long a client may take to read what was written.
	patience = 2 * time.Minute
	// pace is the time between two lines of progress.
	pace = 250 * time.Millisecond
)

// steps registers an operation that is answered bit by bit: lines with progress,
// then one with the result or the problem (v1.Step). What fails before anything
// was told is an answer with its own status.
func steps[In, Out any](h *handler, op huma.Operation, f func(context.Context, *In, func(inquiry.Progress)) (Out, error)) {
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = h.Limits.BodyBytes
	}
	op.Responses = map[string]*huma.Response{"200": {
		Description: "One JSON object a line: any number with progress, then one with the result or the problem.",
		Content: map[string]*huma.MediaType{ndjson: {
			Schema: h.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[v1.Step[Out]](), true, op.OperationID),
		}},
	}}
	op.Errors = []int{http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}
	huma.Register(h.api, op, func(ctx context.Context, in *In) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			_, w := humago.Unwrap(hc)
			t := &teller[Out]{w: w}
			out, err := f(ctx, in, t.progress)
			t.end(h, out, err)
		}}, nil
	})
}

// teller writes steps.
type teller[T any] struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	begun bool
	last  time.Time
}

func (t *teller[T]) progress(p inquiry.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.last) >= pace {
		t.last = now
		shape := v1.ProgressOf(&p)
		t.write(v1.Step[T]{Progress: &shape})
	}
}

func (t *teller[T]) end(h *handler, out T, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.write(v1.Step[T]{Result: &out})
		return
	}
	var p *v1.Problem
	shaped := h.problemOf(err)
	errors.As(shaped, &p)
	if t.begun {
		t.write(v1.Step[T]{Problem: p})
		return
	}
	var headers huma.HeadersError
	if errors.As(shaped, &headers) {
		for k, v := range headers.GetHeaders() {
			t.w.Header()[k] = v
		}
	}
	writeProblem(t.w, p)
}

func (t *teller[T]) write(s v1.Step[T]) {
	if !t.begun {
		t.begun = true
		t.w.Header().Set("Content-Type", ndjson)
	}
	c := http.NewResponseController(t.w)
	_ = c.SetWriteDeadline(time.Now().Add(patience)) // where the server sets none, nothing is to be moved
	_ = json.NewEncoder(t.w).Encode(s)               // a client that left is seen by the context
	_ = c.Flush()
}
