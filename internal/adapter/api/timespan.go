// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/ledger"
)

// hourMS is an hour in milliseconds.
const hourMS = 3_600_000

// Span is the time that most questions are about.
type Span struct {
	From  string `query:"from" doc:"The first hour: RFC 3339 at a whole hour, or a day." example:"2026-11-01T00:00:00Z"`
	To    string `query:"to" doc:"The end of the last hour: RFC 3339 at a whole hour, or a day. Left out with from: the end of the hour that is now." example:"2026-11-08"`
	Month string `query:"month" doc:"A month of UTC, instead of from and to." example:"2026-11"`
}

func (s *Span) empty() bool { return s.From == "" && s.To == "" && s.Month == "" }

// read gives the time as a month, or as hours.
func (s *Span) read(now time.Time) (from, to int64, month ledger.Month, err error) {
	if s.Month != "" {
		if s.From != "" || s.To != "" {
			return 0, 0, 0, invalid(v1.FieldError{Field: "month", Value: s.Month, Detail: "there is from or to, too: give one of them"})
		}
		month, err = parseMonth("month", s.Month)
		return 0, 0, month, err
	}
	if s.From == "" {
		return 0, 0, 0, invalid(v1.FieldError{Field: "from", Detail: "give a time, from and to, or a month"})
	}
	if from, err = parseHour("from", s.From); err != nil {
		return 0, 0, 0, err
	}
	to = (now.UnixMilli()/hourMS + 1) * hourMS
	if s.To != "" {
		if to, err = parseHour("to", s.To); err != nil {
			return 0, 0, 0, err
		}
	}
	if from >= to {
		return 0, 0, 0, invalid(v1.FieldError{Field: "from", Value: s.From, Detail: "it is not before to, " + clock(to)})
	}
	return from, to, 0, nil
}

// hours gives the time as hours, a month's too.
func (s *Span) hours(now time.Time) (from, to int64, err error) {
	from, to, month, err := s.read(now)
	if month != 0 {
		from, to = month.StartMS(), month.EndMS()
	}
	return from, to, err
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

func parseMonth(field, text string) (ledger.Month, error) {
	m, err := ledger.ParseMonth(text)
	if err != nil {
		return 0, invalid(v1.FieldError{Field: field, Value: text, Detail: "write a month as 2026-11"})
	}
	return m, nil
}

func parseHour(field, text string) (int64, error) {
	ms, err := parseMoment(field, text)
	if err == nil && ms%hourMS != 0 {
		return 0, invalid(v1.FieldError{Field: field, Value: text, Detail: "write a whole hour of UTC, such as " + clock(ms-ms%hourMS)})
	}
	return ms, err
}

// parseMoment reads RFC 3339 or a day, as Unix milliseconds.
func parseMoment(field, text string) (int64, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		if t, err = time.Parse(time.DateOnly, text); err != nil {
			return 0, invalid(v1.FieldError{Field: field, Value: text, Detail: "write a time as 2026-11-03T14:00:00Z, or a day as 2026-11-03"})
		}
	}
	if ms := t.UnixMilli(); ms > 0 {
		return ms, nil
	}
	return 0, invalid(v1.FieldError{Field: field, Value: text, Detail: "write a time after 1970"})
}

// moment is a moment that a question is about, now where it is left out.
func (h *handler) moment(text string) (int64, error) {
	if text == "" {
		return h.Now().UnixMilli(), nil
	}
	return parseMoment("at", text)
}
