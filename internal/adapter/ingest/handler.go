// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/access"
	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// Taker takes what was delivered. app/server.Ingest is one.
type Taker interface {
	// Take answers once the batches are counted, or with a *journal.Busy.
	Take(ctx context.Context, batches []usage.Batch) (journal.Receipt, error)
	// Acks tells how all batches of an agent stand.
	Acks(agent string) []journal.Ack
}

// Limits bound one delivery. Zero values take the defaults.
type Limits struct {
	// BodyBytes is the size as sent (16 MiB), DecodedBytes what it may become
	// (66 MiB: a spool's record can have 64).
	BodyBytes, DecodedBytes int64
	// Batches in one delivery (5000).
	Batches int
	// AtOnce is how many deliveries are decoded at a time (8). Others wait for as
	// long as Patience (10 s), then they come again.
	AtOnce   int
	Patience time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.BodyBytes <= 0 {
		l.BodyBytes = 16 << 20
	}
	if l.DecodedBytes <= 0 {
		l.DecodedBytes = 66 << 20
	}
	if l.Batches <= 0 {
		l.Batches = 5000
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
	Taker Taker
	// Auth says who may deliver; nil lets everybody who can reach the address.
	Auth   Auth
	Limits Limits
	Log    *slog.Logger
}

// handler serves the protocol.
type handler struct {
	Options
	slots chan struct{}
}

// Handler serves the protocol under /api/v1/usage/.
func Handler(o Options) http.Handler {
	o.Limits = o.Limits.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &handler{Options: o, slots: make(chan struct{}, o.Limits.AtOnce)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+PathBatches, h.serve(h.batches))
	mux.HandleFunc("GET "+PathMarks, h.serve(h.marks))
	mux.HandleFunc(PathBatches, h.serve(onlyMethod("POST")))
	mux.HandleFunc(PathMarks, h.serve(onlyMethod("GET")))
	mux.HandleFunc("/", h.serve(notFound))
	return mux
}

// action answers a request of a sender that was let in.
type action func(http.ResponseWriter, *http.Request, access.Sender) (any, error)

// serve authorizes, calls f, and writes its answer or its problem.
func (h *handler) serve(f action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var sender access.Sender
		var err error
		if h.Auth != nil {
			sender, err = h.Auth.Authorize(r)
		}
		var v any
		if err == nil {
			v, err = f(w, r, sender)
		}
		if err != nil {
			h.problem(w, r, problemOf(w, err))
			return
		}
		body, err := json.Marshal(v)
		if err != nil {
			h.problem(w, r, problemOf(w, err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(append(body, '\n')) // a client that left will ask again
	}
}

// problemOf is an error as the client sees it.
func problemOf(w http.ResponseWriter, err error) *Problem {
	var p *Problem
	var denied *access.Denied
	var busy *journal.Busy
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &denied):
		return problemOfDenied(w, denied)
	case errors.As(err, &busy):
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(busy.After.Seconds()))))
		return &Problem{Status: http.StatusServiceUnavailable, Code: CodeBusy, Detail: busy.Why, Hint: "try again after the time in Retry-After"}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		w.Header().Set("Retry-After", "5")
		return &Problem{Status: http.StatusServiceUnavailable, Code: CodeBusy, Detail: "the request ended before it was answered", Hint: "send again: what was taken is not counted twice"}
	}
	return &Problem{Status: http.StatusInternalServerError, Code: CodeInternal, Detail: err.Error(), Hint: "look at the server's log"}
}

func problemOfDenied(w http.ResponseWriter, d *access.Denied) *Problem {
	if d.Known {
		return &Problem{Status: http.StatusForbidden, Code: CodeForbidden, Detail: d.Why, Hint: d.Hint}
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="gputally"`)
	return &Problem{Status: http.StatusUnauthorized, Code: CodeUnauthorized, Detail: d.Why, Hint: d.Hint}
}

func (h *handler) problem(w http.ResponseWriter, r *http.Request, p *Problem) {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	level := slog.LevelDebug
	if p.Status >= 500 && p.Code != CodeBusy || p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden {
		level = slog.LevelWarn
	}
	h.Log.Log(r.Context(), level, "delivery not taken", "from", r.RemoteAddr, "code", p.Code, "detail", p.Detail)
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that left will ask again
}

func onlyMethod(method string) action {
	return func(w http.ResponseWriter, r *http.Request, _ access.Sender) (any, error) {
		w.Header().Set("Allow", method)
		return nil, &Problem{Status: http.StatusMethodNotAllowed, Code: CodeMethod, Detail: r.Method + " " + r.URL.Path, Hint: "use " + method}
	}
}

func notFound(_ http.ResponseWriter, r *http.Request, _ access.Sender) (any, error) {
	return nil, &Problem{Status: http.StatusNotFound, Code: CodeNotFound, Detail: r.URL.Path, Hint: "there are " + PathBatches + " and " + PathMarks}
}

// marks answers how the batches of ?agent= stand.
func (h *handler) marks(_ http.ResponseWriter, r *http.Request, _ access.Sender) (any, error) {
	agent := r.URL.Query().Get("agent")
	if agent == "" {
		return nil, &Problem{Status: http.StatusBadRequest, Code: CodeAgent, Detail: "no agent is named", Hint: "ask " + PathMarks + "?agent=ID"}
	}
	acks := h.Taker.Acks(agent)
	if acks == nil {
		acks = []journal.Ack{}
	}
	return answer{Version: Version, Receipt: journal.Receipt{Acks: acks}}, nil
}

// batches takes a delivery: all of it, or, where a batch is not the sender's,
// nothing.
func (h *handler) batches(w http.ResponseWriter, r *http.Request, sender access.Sender) (any, error) {
	d, err := h.decode(w, r, sender)
	if err != nil {
		return nil, err
	}
	out := journal.Receipt{Acks: []journal.Ack{}, Refused: d.refused}
	if len(d.batches) > 0 {
		receipt, err := h.Taker.Take(r.Context(), d.batches)
		if err != nil {
			return nil, err
		}
		for _, refusal := range receipt.Refused {
			refusal.Index = d.index[refusal.Index]
			out.Refused = append(out.Refused, refusal)
		}
		out.Acks = receipt.Acks
	}
	return answer{Version: Version, Receipt: out}, nil
}

// decoded is a delivery that was read.
type decoded struct {
	batches []usage.Batch
	index   []int // of each, in the delivery
	refused []journal.Refusal
}

// decode reads a delivery when its turn comes; its body is not read before, so that
// many may wait. What follows, until it is written, is
// not part of the turn: deliveries that wait for the same transaction are many.
func (h *handler) decode(w http.ResponseWriter, r *http.Request, sender access.Sender) (out decoded, err error) {
	waited := time.NewTimer(h.Limits.Patience)
	defer waited.Stop()
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-r.Context().Done():
		return out, r.Context().Err()
	case <-waited.C:
		return out, &journal.Busy{After: time.Second, Why: fmt.Sprintf("%d deliveries are being read", h.Limits.AtOnce)}
	}
	d, err := h.read(w, r)
	if err != nil {
		return out, err
	}
	for i, raw := range d.Batches {
		var b usage.Batch
		if err := json.Unmarshal(raw, &b); err != nil {
			out.refused = append(out.refused, unreadable(raw, i, err))
			continue
		}
		if err := sender.Covers(b.Cluster, b.Node); err != nil {
			return out, err
		}
		out.batches, out.index = append(out.batches, b), append(out.index, i)
	}
	return out, nil
}

// unreadable refuses a batch by what can be read of its name.
func unreadable(raw json.RawMessage, index int, why error) journal.Refusal {
	var name struct {
		Agent, Boot any
		Seq         json.Number
	}
	_ = json.Unmarshal(raw, &name) // what can be read of it
	r := journal.Refusal{Index: index, Code: journal.RefusedUnreadable, Detail: strings.TrimPrefix(why.Error(), "json: "),
		Hint: "agent and server may be of different versions: update the server first"}
	r.Agent, _ = name.Agent.(string)
	r.Boot, _ = name.Boot.(string)
	r.Seq, _ = strconv.ParseUint(name.Seq.String(), 10, 64)
	return r
}
