// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/gputally/gputally/internal/core/money"
)

// Closing asks for a month to be closed.
type Closing struct {
	Scope
	Month Month
	Level Level
	AtMS  int64  // now, Unix milliseconds
	By    string // who asks
	Note  string
	// Unrated are the hours of the month that should have been rated and were
	// not. While there are any, or hours without a price, closing is refused,
	// unless Force says why it is to be done all the same.
	Unrated []NodeHour
	Force   string
	// Earliest is the first month in which the scope has lines, where that is
	// known: months are closed in order, and it begins.
	Earliest Month
}

// Closed is a closed month: what it came to, and the hashes that prove it. It
// is never changed.
type Closed struct {
	Version int `json:"closed"`
	Scope
	Month      Month    `json:"month"`
	Level      Level    `json:"level"`
	AtMS       int64    `json:"at_ms"`
	By         string   `json:"by"`
	Note       string   `json:"note,omitempty"`
	Statements []Digest `json:"statements,omitempty"`
	Lines      int      `json:"lines"`
	Amount     string   `json:"amount"`
	// What was missing when it was closed, and why it was closed all the same:
	// hours not rated, of which Unrated names at most ten, and hours not priced.
	UnratedHours  int        `json:"unrated_hours,omitempty"`
	Unrated       []NodeHour `json:"unrated,omitempty"`
	UnpricedHours int        `json:"unpriced_hours,omitempty"`
	Force         string     `json:"force,omitempty"`
	// Previous is the hash of the month before, empty for the first.
	Previous string `json:"previous,omitempty"`
	// SHA256 is of all of the above, in hex.
	SHA256 string `json:"sha256"`
}

// named is how many missing hours a closed month names.
const named = 10

// Freeze opens what a statement's canonical bytes are written to.
type Freeze func(Payer) (io.Writer, error)

// Close closes a month. lines are all lines that are booked in it, in the
// currency and without one, in the order of Level.Compare. previous is the
// month closed before, nil for the first. freeze may be nil: the statements are
// hashed then and not kept.
//
// It refuses a month that is not over, one that does not follow the month
// closed before, and one with hours missing, unless forced. What freeze was
// given before an error counts for nothing.
func Close(c Closing, previous *Closed, lines iter.Seq2[*Line, error], freeze Freeze) (Closed, error) {
	out, err := c.close(previous, lines, freeze)
	if err != nil {
		return Closed{}, fmt.Errorf("close %s, %s: %w", c.Month, c.Scope, err)
	}
	return out, nil
}

func (c *Closing) close(previous *Closed, lines iter.Seq2[*Line, error], freeze Freeze) (Closed, error) {
	if err := c.check(previous); err != nil {
		return Closed{}, err
	}
	out := Closed{
		Version: formatVersion, Scope: c.Scope, Month: c.Month, Level: c.Level, AtMS: c.AtMS, By: c.By, Note: c.Note,
		UnratedHours: len(c.Unrated), Force: c.Force,
	}
	if previous != nil {
		out.Previous = previous.SHA256
	}
	if err := out.add(lines, freeze); err != nil {
		return Closed{}, err
	}
	missing := slices.SortedFunc(slices.Values(c.Unrated), NodeHour.Compare)
	out.Unrated = missing[:min(named, len(missing))]
	if c.Force == "" {
		if err := out.refuse(); err != nil {
			return Closed{}, err
		}
	}
	var err error
	out.SHA256, err = out.hash()
	return out, err
}

func (c *Closing) check(previous *Closed) error {
	if err := c.Level.check(); err != nil {
		return err
	}
	if err := c.Currency.Check(); err != nil {
		return err
	}
	switch {
	case c.By == "":
		return errors.New("nobody is named who closes it")
	case c.AtMS < c.Month.EndMS():
		return fmt.Errorf("the month is not over: it ends at %s, and now is %s", clock(c.Month.EndMS()), clock(c.AtMS))
	case previous == nil && c.Earliest != 0 && c.Earliest < c.Month:
		return fmt.Errorf("lines are booked in %s: close that month first", c.Earliest)
	case previous == nil:
		return nil
	case previous.Scope != c.Scope:
		return fmt.Errorf("the month before is of %s", previous.Scope)
	case previous.Month+1 != c.Month:
		return fmt.Errorf("the last closed month is %s: close %s first", previous.Month, previous.Month+1)
	}
	return nil
}

// refuse says what is missing.
func (c *Closed) refuse() error {
	switch {
	case c.UnratedHours > 0:
		return fmt.Errorf("%d hours are not rated, the first is of %s: rate them, or force with a reason", c.UnratedHours, c.Unrated[0])
	case c.UnpricedHours > 0:
		return fmt.Errorf("%d hours of nodes have no price: add prices and rate them again, or force with a reason", c.UnpricedHours)
	}
	return nil
}

// add writes the statements and adds the month up.
func (c *Closed) add(lines iter.Seq2[*Line, error], freeze Freeze) error {
	var (
		now      *statement
		before   Line // a copy: the caller may use its line again
		sum      money.Sum
		unpriced = map[NodeHour]int64{}
	)
	end := func() error {
		if now == nil {
			return nil
		}
		d, err := now.end()
		c.Statements = append(c.Statements, d)
		sum.AddSum(now.amount)
		return err
	}
	for l, err := range lines {
		if err == nil {
			err = c.belongs(l, &before)
		}
		if err != nil {
			return err
		}
		if p := c.Level.PayerOf(l); now == nil || now.head.Payer != p {
			if err := end(); err != nil {
				return err
			}
			if now, err = c.begin(p, freeze); err != nil {
				return err
			}
		}
		if err := now.add(l); err != nil {
			return err
		}
		if l.Amount == nil {
			unpriced[l.NodeHour] += l.ShareMS
		}
		c.Lines++
		before = *l
	}
	if err := end(); err != nil {
		return err
	}
	for _, ms := range unpriced {
		if ms > 0 {
			c.UnpricedHours++
		}
	}
	c.Amount = sum.String()
	return nil
}

func (c *Closed) begin(p Payer, freeze Freeze) (*statement, error) {
	var out io.Writer
	if freeze != nil {
		var err error
		if out, err = freeze(p); err != nil {
			return nil, fmt.Errorf("keep statement of %s: %w", p, err)
		}
	}
	return begin(statementHead{c.Version, c.Scope, c.Month, p}, out)
}

// belongs says why a line cannot be next in the month.
func (c *Closed) belongs(l, before *Line) error {
	switch {
	case l.Period != c.Month || l.Set != c.Set || l.Priced() && l.Currency != c.Currency:
		return fmt.Errorf("line %s is of %s, %s", l.ID, l.Period, Scope{l.Set, l.Currency})
	case before.ID != "" && c.Level.Compare(before, l) >= 0:
		return fmt.Errorf("line %s of %s comes after line %s of %s: give them in order of payer, hour and id, each once",
			l.ID, c.Level.PayerOf(l), before.ID, c.Level.PayerOf(before))
	}
	return nil
}

// hash is the SHA-256 of the closed month without its own hash.
func (c Closed) hash() (string, error) {
	c.SHA256 = ""
	b, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
