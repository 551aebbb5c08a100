// SPDX-License-Identifier: Apache-2.0

package v1

import "strings"

// Problem is an error as RFC 9457 has it.
type Problem struct {
	Type   string `json:"type" doc:"Always about:blank: code tells problems apart."`
	Title  string `json:"title" doc:"The text of the HTTP status."`
	Status int    `json:"status" doc:"The HTTP status."`
	Code   string `json:"code" doc:"A word for programs. It does not change."`
	Detail string `json:"detail" doc:"What is wrong, for people."`
	Hint   string `json:"hint,omitempty" doc:"What to do about it."`
	// Errors name parameters or fields of the body.
	Errors []FieldError `json:"errors,omitempty" doc:"Parameters, or fields of the body, that cannot be."`
}

// FieldError is a parameter that cannot be.
type FieldError struct {
	Field   string   `json:"field" doc:"The parameter, or the path of the field in the body."`
	Value   string   `json:"value,omitempty" doc:"What was given."`
	Detail  string   `json:"detail" doc:"Why it cannot be."`
	Allowed []string `json:"allowed,omitempty" doc:"What may stand there."`
}

// Codes of problems. They do not change.
const (
	CodeInvalid      = "invalid_parameter"
	CodeUnreadable   = "body_unreadable"
	CodeTooLarge     = "too_large"
	CodeUnauthorized = "unauthorized"
	CodeForbidden    = "forbidden"
	CodeNotFound     = "not_found"
	CodeNoSuchPath   = "no_such_path"
	CodeMethod       = "method_not_allowed"
	CodeRefused      = "refused" // where the refusal has no code of its own
	CodeBusy         = "busy"
	CodeInternal     = "internal"
)

// Error is the problem in one text, with what was wrong where, and what to do.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Detail)
	if b.Len() == 0 {
		b.WriteString(p.Title)
	}
	for _, e := range p.Errors {
		if e.Detail != "" && !strings.Contains(p.Detail, e.Detail) {
			b.WriteString("\n  " + e.Field + ": " + e.Detail)
		}
		if len(e.Allowed) > 0 {
			b.WriteString("\n  allowed: " + strings.Join(e.Allowed, ", "))
		}
	}
	if p.Hint != "" {
		b.WriteString("\n  " + p.Hint)
	}
	return b.String()
}

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ProblemType is the media type of problems.
const ProblemType = "application/problem+json"

// ContentType is the media type for one that was negotiated.
func (p *Problem) ContentType(string) string { return ProblemType }
