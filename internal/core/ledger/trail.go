// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Action is what was done.
type Action string

// The actions that a trail keeps.
const (
	ActionRate   Action = "rate"   // hours were rated and lines booked
	ActionDrift  Action = "drift"  // money alone was booked
	ActionClose  Action = "close"  // a month was closed
	ActionForce  Action = "force"  // a month was closed with hours missing
	ActionPrice  Action = "price"  // a price book was changed
	ActionPolicy Action = "policy" // the policy was changed
	ActionBill   Action = "bill"   // a bill was imported or withdrawn
	ActionVerify Action = "verify" // closed months were verified
)

// Event is one record of the audit trail: who did what, when, and to what. Each
// holds the hash of the one before, so that none can be taken out or changed
// without all that follow.
type Event struct {
	Seq    uint64 `json:"seq"` // from 1
	AtMS   int64  `json:"at_ms"`
	By     string `json:"by"`
	Action Action `json:"action"`
	// Subject is what it was done to: a month, a node-hour, a book, an import.
	Subject string `json:"subject"`
	Detail  string `json:"detail,omitempty"`
	// Digest is the hash of what came of it: a closed month's, a file's.
	Digest   string `json:"digest,omitempty"`
	Previous string `json:"previous,omitempty"`
	SHA256   string `json:"sha256"`
}

// Follow is the event as the next of a trail; previous is nil for the first.
func (e Event) Follow(previous *Event) (Event, error) {
	if e.By == "" || e.Action == "" || e.Subject == "" {
		return e, errors.New("keep event: it must say who did what to what")
	}
	e.Seq, e.Previous = 1, ""
	if previous != nil {
		e.Seq, e.Previous = previous.Seq+1, previous.SHA256
	}
	var err error
	e.SHA256, err = e.hash()
	return e, err
}

func (e Event) hash() (string, error) {
	e.SHA256 = ""
	b, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// VerifyTrail returns an error that names the first event of a whole trail, in
// order, that is not as it was kept.
func VerifyTrail(events []Event) error {
	var previous *Event
	for i := range events {
		e := &events[i]
		again, err := e.Follow(previous)
		if err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
		if again != *e {
			return fmt.Errorf("event %d (%s by %s, %s) is not as it was kept, or one before it is missing", e.Seq, e.Action, e.By, clock(e.AtMS))
		}
		previous = e
	}
	return nil
}

// Event is what the audit trail keeps of a closed month.
func (c *Closed) Event() Event {
	e := Event{
		AtMS: c.AtMS, By: c.By, Action: ActionClose, Subject: fmt.Sprintf("%s, %s", c.Month, c.Scope),
		Detail: fmt.Sprintf("%d lines, %s", c.Lines, c.Amount), Digest: c.SHA256,
	}
	if c.Force != "" {
		e.Action = ActionForce
		e.Detail += fmt.Sprintf("; %d hours not rated, %d without a price; because: %s", c.UnratedHours, c.UnpricedHours, c.Force)
	}
	return e
}
