// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/access"
)

// TestTellsOnceWhyItIsNotLetIn: the log has one warning for each reason in a row,
// also where something else failed before, and again after it had worked.
func TestTellsOnceWhyItIsNotLetIn(t *testing.T) {
	running(t, func(b *bench) {
		var log bytes.Buffer
		b.Shipper.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		b.queue.add("x", 1)
		ended := &access.Denied{Why: "the token ended", Hint: "read it again"}
		for _, why := range []error{
			errors.New("no route to host"), ended, ended, &access.Denied{Known: true, Why: "a record is of another node"}, errors.New("no route to host"),
		} {
			b.server.set(func() { b.server.fail = why })
			b.during(10 * time.Minute)
		}
		warned := func(text string) int {
			n := 0
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "level=WARN") && strings.Contains(line, text) {
					n++
				}
			}
			return n
		}
		for text, want := range map[string]int{"no route": 1, "the token ended (read it again)": 1, "of another node": 1, "does not let this agent deliver": 2} {
			if got := warned(text); got != want {
				t.Errorf("%d warnings of %q, want %d:\n%s", got, text, want, log.String())
			}
		}
		b.server.set(func() { b.server.fail = nil })
		b.during(10 * time.Minute)
		b.delivered("x/1")
		b.queue.add("x", 1)
		b.server.set(func() { b.server.fail = ended })
		b.during(10 * time.Minute)
		if got := warned("the token ended"); got != 2 {
			t.Errorf("%d warnings after it had worked in between, want 2:\n%s", got, log.String())
		}
	})
}
