// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"

	"github.com/gputally/gputally/internal/core/money"
)

// formatVersion is the version of the canonical bytes of statements and closed
// months. A change of the bytes is a new version: the old must stay verifiable.
const formatVersion = 1

// Digest is one statement of a closed month.
type Digest struct {
	Payer
	Lines int `json:"lines"`
	// Amount is the exact sum; UnpricedMS is share × time without a price.
	Amount     string `json:"amount"`
	UnpricedMS int64  `json:"unpriced_ms,omitempty"`
	// SHA256 is of the statement's canonical bytes, in hex.
	SHA256 string `json:"sha256"`
}

// statementHead is the first line of a statement's canonical bytes. After it
// come the lines, by hour and id, and statementFoot. Each is one JSON object and
// a newline.
type statementHead struct {
	Version int `json:"statement"`
	Scope
	Month Month `json:"month"`
	Payer
}

type statementFoot struct {
	Lines      int    `json:"lines"`
	Amount     string `json:"amount"`
	UnpricedMS int64  `json:"unpriced_ms,omitempty"`
}

// statement writes one statement.
type statement struct {
	head     statementHead
	hash     hash.Hash
	out      io.Writer
	lines    int
	amount   money.Sum
	unpriced int64
}

// begin starts a statement that is hashed and, where out is not nil, written.
func begin(head statementHead, out io.Writer) (*statement, error) {
	s := &statement{head: head, hash: sha256.New(), out: out}
	return s, s.write(head)
}

func (s *statement) write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write statement of %s: %w", s.head.Payer, err)
	}
	b = append(b, '\n')
	s.hash.Write(b)
	if s.out == nil {
		return nil
	}
	if _, err := s.out.Write(b); err != nil {
		return fmt.Errorf("write statement of %s: %w", s.head.Payer, err)
	}
	return nil
}

func (s *statement) add(l *Line) error {
	s.lines++
	if l.Amount != nil {
		s.amount.Add(*l.Amount)
	} else {
		s.unpriced += l.ShareMS
	}
	return s.write(l)
}

func (s *statement) end() (Digest, error) {
	foot := statementFoot{s.lines, s.amount.String(), s.unpriced}
	err := s.write(foot)
	return Digest{s.head.Payer, s.lines, foot.Amount, s.unpriced, hex.EncodeToString(s.hash.Sum(nil))}, err
}
