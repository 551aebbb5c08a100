// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"encoding/json"

	"github.com/gputally/gputally/internal/core/journal"
)

// Version is the version of the protocol spoken here.
const Version = 1

// The paths.
const (
	PathBatches = "/api/v1/usage/batches"
	PathMarks   = "/api/v1/usage/marks"
)

// delivery is the body of a POST. Batches are decoded one by one, so that one
// that cannot be read does not spoil the rest.
type delivery struct {
	Version int               `json:"v"`
	Batches []json.RawMessage `json:"batches"`
}

// answer is the body of every good answer.
type answer struct {
	Version int `json:"v"`
	journal.Receipt
}

// Problem is an error as RFC 9457 has it, with a code that does not change and a
// hint for people.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

func (p *Problem) Error() string {
	text := p.Title + ": " + p.Detail
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// The codes of problems.
const (
	CodeVersion      = "unsupported_version"
	CodeUnreadable   = "body_unreadable"
	CodeEncoding     = "unsupported_encoding"
	CodeTooLarge     = "too_large"
	CodeUnauthorized = "unauthorized"
	CodeForbidden    = "forbidden"
	CodeBusy         = "busy"
	CodeAgent        = "agent_missing"
	CodeNotFound     = "not_found"
	CodeMethod       = "method_not_allowed"
	CodeInternal     = "internal"
)

const problemType = "application/problem+json"
