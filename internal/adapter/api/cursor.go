// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/base64"
	"strconv"
	"strings"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// mark is where a page ended: the moment by which rows are ordered first (or a
// number), and the id of the last row.
type mark struct {
	at int64
	id string
}

// String is the mark as a client has it. What it says is nobody's business.
func (m mark) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(m.at, 10) + " " + m.id))
}

func parseMark(text string) (m mark, err error) {
	bad := invalid(v1.FieldError{Field: "cursor", Value: text, Detail: "this is no cursor: give the next of the page before, with the same question"})
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return m, bad
	}
	number, id, ok := strings.Cut(string(raw), " ")
	if m.at, err = strconv.ParseInt(number, 10, 64); !ok || err != nil {
		return m, bad
	}
	m.id = id
	return m, nil
}
