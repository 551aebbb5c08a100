// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/api"
	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/app/board"
	"github.com/gputally/gputally/test/memstore"
)

// now is when the tests ask: the month of the fleet's records is over.
var now = time.Date(2026, 12, 2, 8, 30, 0, 0, time.UTC)

// shared is a ledger that tests only read.
var shared = sync.OnceValues(func() (*memstore.Ledger, error) { return memstore.Open(context.Background(), now) })

func readOnly(t *testing.T) *memstore.Ledger {
	t.Helper()
	l, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func ledgerOfItsOwn(t *testing.T) *memstore.Ledger {
	t.Helper()
	l, err := memstore.Open(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve serves books and gives a client of them.
func serve(t *testing.T, books api.Books, change func(*api.Options)) (*httptest.Server, *client.Client) {
	t.Helper()
	o := api.Options{Books: books, Version: "v1-test", TempDir: t.TempDir(), Now: func() time.Time { return now }}
	if l, ok := books.(*memstore.Ledger); ok {
		o.Adviser = l.Adviser
		o.Fleet = fleetOf(t, l)
	}
	if change != nil {
		change(&o)
	}
	s := httptest.NewServer(api.Handler(o))
	t.Cleanup(s.Close)
	c, err := client.New(client.Options{Server: s.URL, Version: "v1-test"})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// fleetOf is the board over a ledger's records. Its clock stands at their end: a board
// shows what was heard of in the last days.
func fleetOf(t *testing.T, l *memstore.Ledger) *board.Board {
	t.Helper()
	b := board.New(l.Store, func() time.Time { return memstore.End })
	if err := b.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// month is the time of the records.
var month = client.Span{Month: "2026-11"}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}
