// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/access"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/report"
)

func init() {
	// huma makes its own errors (a parameter that is missing, a body that cannot
	// be read) with this function and takes the shape of all errors from it.
	huma.NewError = func(status int, detail string, errs ...error) huma.StatusError {
		return ofFramework(status, detail, errs)
	}
	huma.DefaultArrayNullable = false // lists are never null here
}

// problem makes a problem with the title of its status.
func problem(status int, code, detail, hint string) *v1.Problem {
	return &v1.Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail, Hint: hint}
}

func internal(detail string) *v1.Problem {
	return problem(http.StatusInternalServerError, v1.CodeInternal, detail, "look at the server's log")
}

func noSuchPath(r *http.Request) *v1.Problem {
	return problem(http.StatusNotFound, v1.CodeNoSuchPath, "there is no path "+r.URL.Path,
		"the paths are in "+Prefix+"/openapi.yaml; a server that is older than its client does not know them all")
}

func wrongMethod(r *http.Request, allow string) *v1.Problem {
	return problem(http.StatusMethodNotAllowed, v1.CodeMethod, r.Method+" "+r.URL.Path, "use "+allow)
}

// invalid names parameters that cannot be.
func invalid(fields ...v1.FieldError) *v1.Problem {
	detail := ""
	for i, f := range fields {
		if i > 0 {
			detail += "; "
		}
		detail += f.Field + ": " + f.Detail
		if f.Value != "" {
			detail = strings.TrimSuffix(detail, f.Field+": "+f.Detail) + f.Field + " is " + strconv.Quote(f.Value) + ": " + f.Detail
		}
	}
	p := problem(http.StatusUnprocessableEntity, v1.CodeInvalid, detail, "")
	p.Errors = fields
	return p
}

// ofFramework is an error of huma's.
func ofFramework(status int, detail string, errs []error) *v1.Problem {
	p := problem(status, codeOf(status), detail, "")
	for _, err := range errs {
		if err == nil {
			continue
		}
		var d *huma.ErrorDetail
		if !errors.As(err, &d) {
			p.Errors = append(p.Errors, v1.FieldError{Detail: err.Error()})
			continue
		}
		p.Errors = append(p.Errors, fieldOf(d))
	}
	if len(p.Errors) > 0 && status == http.StatusUnprocessableEntity {
		p.Detail = invalid(p.Errors...).Detail
	}
	return p
}

// fieldOf is a detail of huma's: "query.month" is the parameter month.
func fieldOf(d *huma.ErrorDetail) v1.FieldError {
	out := v1.FieldError{Detail: d.Message}
	out.Field = d.Location
	for _, kind := range []string{"query.", "path.", "header.", "body."} {
		out.Field = strings.TrimPrefix(out.Field, kind)
	}
	if d.Value != nil {
		if text, ok := d.Value.(string); ok {
			out.Value = text
		} else if b, err := json.Marshal(d.Value); err == nil && len(b) < 200 {
			out.Value = string(b)
		}
	}
	if words, ok := strings.CutPrefix(d.Message, `expected value to be one of "`); ok {
		out.Allowed = strings.Split(strings.TrimSuffix(words, `"`), ", ")
		out.Detail = "this is none of the words that may stand here"
	}
	return out
}

func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest, http.StatusUnsupportedMediaType:
		return v1.CodeUnreadable
	case http.StatusRequestEntityTooLarge:
		return v1.CodeTooLarge
	case http.StatusNotFound:
		return v1.CodeNotFound
	case http.StatusUnprocessableEntity:
		return v1.CodeInvalid
	}
	return v1.CodeInternal
}

// problemOf is an error of Books as the client sees it.
func (h *handler) problemOf(err error) error {
	p, after := h.shape(err)
	if p.Status >= http.StatusInternalServerError && p.Code != v1.CodeBusy {
		h.Log.Error("request failed", "error", err)
	}
	if after > 0 {
		return huma.ErrorWithHeaders(p, http.Header{"Retry-After": []string{strconv.Itoa(after)}})
	}
	return p
}

// shape is an error as a problem, and after how many seconds to come again.
func (h *handler) shape(err error) (p *v1.Problem, after int) {
	var (
		setting *report.Invalid
		wrong   *inquiry.Wrong
		gone    *inquiry.NotFound
		refused *inquiry.Refused
		busy    *journal.Busy
		denied  *access.Denied
	)
	switch {
	case errors.As(err, &p):
		return p, 0
	case errors.As(err, &denied):
		return barred(denied), 0
	case errors.As(err, &setting):
		return invalid(fieldOfSetting(setting)), 0
	case errors.As(err, &wrong):
		return invalid(v1.FieldError{Field: wrong.Field, Value: wrong.Value, Detail: wrong.Why, Allowed: wrong.Allowed}), 0
	case errors.As(err, &gone):
		return problem(http.StatusNotFound, v1.CodeNotFound, gone.Error(), gone.Hint), 0
	case errors.As(err, &refused):
		code := refused.Code
		if code == "" {
			code = v1.CodeRefused
		}
		return problem(http.StatusConflict, code, refused.Why, refused.Hint), 0
	case errors.As(err, &busy):
		after = int(math.Ceil(busy.After.Seconds()))
		return problem(http.StatusServiceUnavailable, v1.CodeBusy, busy.Why, "try again after the time in Retry-After"), after
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusServiceUnavailable, v1.CodeBusy, "the request ended before it was answered", "ask again"), 5
	}
	return internal(err.Error()), 0
}

func fieldOfSetting(s *report.Invalid) v1.FieldError {
	why := s.Why
	if why == "" {
		why = "this is none of the words that may stand here"
	}
	return v1.FieldError{Field: s.Field, Value: s.Value, Detail: why, Allowed: s.Allowed}
}

func writeProblem(w http.ResponseWriter, p *v1.Problem) {
	w.Header().Set("Content-Type", v1.ProblemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that left asks again
}
