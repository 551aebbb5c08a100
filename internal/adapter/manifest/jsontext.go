// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// jsonReader reads JSON objects, one after the other, with their lines.
type jsonReader struct {
	text    string
	base    int
	dec     *json.Decoder
	counted int // bytes whose line breaks are counted
	breaks  int
	budget  budget
}

func newJSON(text string, base int) *jsonReader {
	r := &jsonReader{text: text, base: base, dec: json.NewDecoder(strings.NewReader(text))}
	r.dec.UseNumber()
	return r
}

// next is the next object, or io.EOF.
func (r *jsonReader) next() (*value, error) {
	r.budget = 0
	v, err := r.value(0)
	var known *syntaxError
	if err == nil || err == io.EOF || errors.As(err, &known) {
		return v, err
	}
	return nil, &syntaxError{r.line(), "this is not valid JSON: " + err.Error()}
}

// line is that of the last token read.
func (r *jsonReader) line() int {
	upTo := min(int(r.dec.InputOffset()), len(r.text))
	r.breaks += strings.Count(r.text[r.counted:upTo], "\n")
	r.counted = upTo
	return r.base + r.breaks + 1
}

func (r *jsonReader) value(depth int) (*value, error) {
	if depth > maxDepth {
		return nil, &syntaxError{r.line(), fmt.Sprintf("is nested more than %d levels deep", maxDepth)}
	}
	if err := r.budget.take(1); err != nil {
		return nil, err
	}
	t, err := r.dec.Token()
	if err == io.EOF && depth > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	v := &value{shape: scalar, line: r.line()}
	switch t := t.(type) {
	case json.Delim:
		return v, r.inside(v, t, depth)
	case nil:
		v.shape = null
	default:
		v.text = fmt.Sprint(t)
	}
	return v, nil
}

func (r *jsonReader) inside(v *value, open json.Delim, depth int) error {
	v.shape = list
	if open == '{' {
		v.shape = mapping
	}
	for r.dec.More() {
		if err := r.item(v, depth+1); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (r *jsonReader) item(v *value, depth int) error {
	key := ""
	if v.shape == mapping {
		t, err := r.dec.Token()
		if err != nil {
			return err
		}
		key, _ = t.(string)
	}
	line := r.line()
	item, err := r.value(depth)
	if err != nil {
		return err
	}
	if v.shape == mapping {
		return v.set(key, line, item)
	}
	v.items = append(v.items, item)
	return nil
}
