// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gputally/gputally/internal/adapter/api"
	"github.com/gputally/gputally/test/memstore"
)

// TestLedgerScripts runs the commands that ask a server against a real one, each
// script with a ledger of its own: six hours of three nodes in November 2026, as it
// stands in December. One of them has no price for the first three.
func TestLedgerScripts(t *testing.T) {
	now := time.Date(2026, 12, 2, 8, 30, 0, 0, time.UTC)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/ledger", RequireExplicitExec: true, UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			ledger, err := memstore.Open(t.Context(), now)
			if err != nil {
				return err
			}
			server := httptest.NewServer(api.Handler(api.Options{Books: ledger, Version: "v1-test", TempDir: e.WorkDir, Now: func() time.Time { return now }}))
			e.Defer(server.Close)
			e.Setenv("GPUTALLY_SERVER", server.URL)
			return nil
		},
	})
}

// TestCLIDocsAreUpToDate: docs/cli.md is what the commands say.
func TestCLIDocsAreUpToDate(t *testing.T) {
	docsAreUpToDate(t, "cli.md", writeCLI)
}

type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
