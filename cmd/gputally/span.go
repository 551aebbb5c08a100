// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
)

// spanFlags say which time a question is about.
type spanFlags struct {
	since, month, from, to string
}

func (s *spanFlags) define(c *cobra.Command, or string) {
	p := c.Flags()
	p.StringVar(&s.since, "since", "", "so many hours until the end of this one: 12h, 7d (168 hours), 4w"+or)
	p.StringVar(&s.month, "month", "", "a month of UTC, such as 2026-11")
	p.StringVar(&s.from, "from", "", "the first hour (2026-11-03T14:00:00Z) or day (2026-11-03), in UTC")
	p.StringVar(&s.to, "to", "", "the end of the last hour, or the day after the last (default: now)")
}

func (s *spanFlags) empty() bool { return *s == spanFlags{} }

// span is the time as the server is asked for it. since is what counts where no
// flag was given; "" is no time.
func (s *spanFlags) span(since string, now time.Time) (out client.Span, err error) {
	ranged := s.from != "" || s.to != ""
	switch {
	case s.month != "" && (ranged || s.since != ""), s.since != "" && ranged:
		return out, inputError{errors.New("give one of --since, --month, and --from with --to")}
	case s.month != "":
		return client.Span{Month: s.month}, nil
	case ranged && s.from == "":
		return out, inputError{errors.New("--to needs --from")}
	case ranged:
		return client.Span{From: s.from, To: s.to}, nil
	case s.since != "":
		since = s.since
	case since == "":
		return out, nil
	}
	length, err := parseSince(since)
	if err != nil {
		return out, err
	}
	to := now.UTC().Truncate(time.Hour).Add(time.Hour)
	return client.Span{From: to.Add(-length).Format(time.RFC3339), To: to.Format(time.RFC3339)}, nil
}

// parseSince reads 12h, 7d, 4w.
func parseSince(text string) (time.Duration, error) {
	bad := inputError{fmt.Errorf("--since is %q; write whole hours, days or weeks: 12h, 7d, 4w", text)}
	if len(text) < 2 {
		return 0, bad
	}
	unit, ok := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[text[len(text)-1]]
	n, err := strconv.Atoi(text[:len(text)-1])
	if !ok || err != nil || n < 1 || n > 100_000 {
		return 0, bad
	}
	return time.Duration(n) * unit, nil
}
