// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// read reads the body of a delivery within the limits.
func (h *handler) read(w http.ResponseWriter, r *http.Request) (d delivery, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return d, &Problem{Status: http.StatusUnsupportedMediaType, Code: CodeEncoding,
			Detail: fmt.Sprintf("Content-Type is %q", r.Header.Get("Content-Type")), Hint: "send application/json"}
	}
	body := io.Reader(http.MaxBytesReader(w, r.Body, h.Limits.BodyBytes))
	switch coding := r.Header.Get("Content-Encoding"); coding {
	case "", "identity":
	case "gzip":
		if body, err = gzip.NewReader(body); err != nil {
			return d, bodyProblem(err)
		}
	default:
		w.Header().Set("Accept-Encoding", "gzip")
		return d, &Problem{Status: http.StatusUnsupportedMediaType, Code: CodeEncoding, Detail: fmt.Sprintf("Content-Encoding is %q", coding), Hint: "send gzip, or none"}
	}
	data, err := io.ReadAll(io.LimitReader(body, h.Limits.DecodedBytes+1))
	switch {
	case err != nil:
		return d, bodyProblem(err)
	case int64(len(data)) > h.Limits.DecodedBytes:
		return d, tooLarge(fmt.Sprintf("more than %d bytes", h.Limits.DecodedBytes))
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return d, bodyProblem(err)
	}
	switch {
	case d.Version != Version:
		return d, &Problem{Status: http.StatusBadRequest, Code: CodeVersion, Detail: fmt.Sprintf("the delivery has version %d, this server knows %d", d.Version, Version),
			Hint: "update the server first, then the agents"}
	case len(d.Batches) > h.Limits.Batches:
		return d, tooLarge(fmt.Sprintf("%d batches are more than %d", len(d.Batches), h.Limits.Batches))
	}
	return d, nil
}

func tooLarge(detail string) *Problem {
	return &Problem{Status: http.StatusRequestEntityTooLarge, Code: CodeTooLarge, Detail: detail, Hint: "send fewer batches at a time"}
}

func bodyProblem(err error) *Problem {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return tooLarge(fmt.Sprintf("more than %d bytes", large.Limit))
	}
	return &Problem{Status: http.StatusBadRequest, Code: CodeUnreadable, Detail: err.Error(), Hint: `send {"v":1,"batches":[…]}`}
}
