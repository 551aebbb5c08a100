// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
)

// Frozen opens the canonical bytes of a statement as they were kept.
type Frozen func(Payer) (io.Reader, error)

// Verify makes a closed month again from its lines, given as for Close, and
// returns a *Violation that names the first thing that differs: the month, a
// statement of it, or, where frozen gives the bytes that were kept, the line.
// frozen may be nil. Errors of lines and of frozen are returned as they are.
func Verify(c Closed, previous *Closed, lines iter.Seq2[*Line, error], frozen Frozen) error {
	if err := c.verifyHead(previous); err != nil {
		return err
	}
	v := &verifier{closed: &c, frozen: frozen}
	again := Closed{Version: c.Version, Scope: c.Scope, Month: c.Month, Level: c.Level}
	err := again.add(lines, v.open)
	switch {
	case v.found != nil:
		return v.found
	case err != nil:
		return fmt.Errorf("verify %s, %s: %w", c.Month, c.Scope, err)
	}
	return v.finish(&again)
}

// verifyHead checks what the closed month says of itself.
func (c *Closed) verifyHead(previous *Closed) error {
	name := fmt.Sprintf("%s, %s", c.Month, c.Scope)
	if c.Version != formatVersion {
		return fmt.Errorf("verify %s: its format is version %d, and this program knows %d: use a newer one", name, c.Version, formatVersion)
	}
	switch sum, err := c.hash(); {
	case err != nil:
		return fmt.Errorf("verify %s: %w", name, err)
	case sum != c.SHA256:
		return violation(PeriodChanged, nil, "%s: what stands there has the hash %s, and it was closed with %s", name, sum, c.SHA256)
	}
	switch {
	case previous == nil && c.Previous != "":
		return violation(PeriodGap, nil, "%s follows a closed month with the hash %s, which is not there", name, c.Previous)
	case previous == nil:
		return nil
	case previous.Scope != c.Scope || previous.Month+1 != c.Month || previous.SHA256 != c.Previous:
		return violation(PeriodGap, nil, "%s follows %s, %s with the hash %s, and says the hash before it is %q",
			name, previous.Month, previous.Scope, previous.SHA256, c.Previous)
	}
	return nil
}

// verifier compares statements as they are made again.
type verifier struct {
	closed *Closed
	frozen Frozen
	at     int
	now    *comparing
	found  *Violation
}

// open is called for each statement in order.
func (v *verifier) open(p Payer) (io.Writer, error) {
	if err := v.ended(); err != nil {
		return nil, err
	}
	at := v.at
	v.at++
	if at >= len(v.closed.Statements) || v.closed.Statements[at].Payer != p {
		want := "no more"
		if at < len(v.closed.Statements) {
			want = "of " + v.closed.Statements[at].Payer.String()
		}
		v.found = violation(StatementOff, nil, "%s: the next statement is of %s, and when it was closed it was %s", v.closed.Month, p, want)
		return nil, v.found
	}
	v.now = &comparing{verifier: v, payer: p}
	if v.frozen == nil {
		return io.Discard, nil
	}
	kept, err := v.frozen(p)
	if err != nil {
		return nil, err
	}
	v.now.kept = bufio.NewReader(kept)
	return v.now, nil
}

// ended checks that nothing is left of the kept statement.
func (v *verifier) ended() error {
	if v.now == nil || v.now.kept == nil {
		return nil
	}
	rest, err := v.now.kept.ReadBytes('\n')
	switch {
	case err != nil && err != io.EOF:
		return err
	case len(rest) > 0:
		v.found = v.now.differ(nil, rest)
		return v.found
	}
	return nil
}

// finish compares what the statements came to.
func (v *verifier) finish(again *Closed) error {
	if err := v.ended(); err != nil {
		return err
	}
	for i, want := range v.closed.Statements {
		if i >= len(again.Statements) {
			return violation(StatementOff, nil, "%s: the statement of %s has no lines any more; it had %d", v.closed.Month, want.Payer, want.Lines)
		}
		if got := again.Statements[i]; got != want {
			return violation(StatementOff, nil, "%s: the statement of %s has %d lines, %s, hash %s; it was closed with %d, %s, %s",
				v.closed.Month, want.Payer, got.Lines, got.Amount, got.SHA256, want.Lines, want.Amount, want.SHA256)
		}
	}
	if again.Lines != v.closed.Lines || again.Amount != v.closed.Amount || again.UnpricedHours != v.closed.UnpricedHours {
		return violation(PeriodChanged, nil, "%s: %d lines, %s, %d hours without a price; it was closed with %d, %s, %d hours without a price",
			v.closed.Month, again.Lines, again.Amount, again.UnpricedHours, v.closed.Lines, v.closed.Amount, v.closed.UnpricedHours)
	}
	return nil
}

// comparing reads a kept statement beside the one that is made again.
type comparing struct {
	verifier *verifier
	payer    Payer
	kept     *bufio.Reader
}

// Write takes one line of canonical bytes.
func (c *comparing) Write(b []byte) (int, error) {
	want, err := c.kept.ReadBytes('\n')
	if err != nil && err != io.EOF {
		return 0, err
	}
	if !bytes.Equal(b, want) {
		c.verifier.found = c.differ(b, want)
		return 0, c.verifier.found
	}
	return len(b), nil
}

// differ names the line at which a statement differs.
func (c *comparing) differ(got, want []byte) *Violation {
	v := violation(StatementOff, nil, "%s: the statement of %s has %s where it was closed with %s",
		c.verifier.closed.Month, c.payer, orNothing(got), orNothing(want))
	for _, b := range [][]byte{got, want} {
		var l Line
		if json.Unmarshal(b, &l) == nil && l.ID != "" {
			v.Line = &l
			break
		}
	}
	return v
}

func orNothing(b []byte) string {
	if len(b) == 0 {
		return "nothing"
	}
	return string(bytes.TrimSpace(b))
}

// StatementLines is the lines of a month as Close and Verify take them: those
// of a scope and without a price, in order. lines stay as they are.
func StatementLines(lines []Line, s Scope, m Month, level Level) iter.Seq2[*Line, error] {
	var of []*Line
	for i := range lines {
		if l := &lines[i]; l.Period == m && s.Has(l) {
			of = append(of, l)
		}
	}
	slices.SortFunc(of, level.Compare)
	return func(yield func(*Line, error) bool) {
		for _, l := range of {
			if !yield(l, nil) {
				return
			}
		}
	}
}
