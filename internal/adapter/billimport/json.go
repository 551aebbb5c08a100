// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// jsonTable reads objects one after the other (JSON lines), or the elements of
// an array of objects. Both are how BigQuery's tools write a table.
type jsonTable struct {
	d     *json.Decoder
	array bool
	rows  int64
}

func openJSON(r io.Reader) (table, error) {
	t := &jsonTable{}
	b := make([]byte, 1)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	t.array = b[0] == '['
	if !t.array {
		r = io.MultiReader(bytes.NewReader(b), r)
	} else {
		r = io.MultiReader(bytes.NewReader([]byte("[")), r)
	}
	t.d = json.NewDecoder(r)
	if t.array {
		if _, err := t.d.Token(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *jsonTable) next() (record, error) {
	if t.array && !t.d.More() {
		if _, err := t.d.Token(); err != nil {
			return nil, fmt.Errorf("after row %d: %w", t.rows, noEOF(err))
		}
		return nil, io.EOF
	}
	var row map[string]json.RawMessage
	err := t.d.Decode(&row)
	if err == io.EOF && !t.array {
		return nil, io.EOF
	}
	t.rows++
	if err != nil {
		return nil, fmt.Errorf("row %d: %w", t.rows, noEOF(err))
	}
	r := jsonRecord{}
	if err := r.flatten("", row, 0); err != nil {
		return nil, fmt.Errorf("row %d: %w", t.rows, err)
	}
	return r, nil
}

// noEOF keeps a file cut short from passing for a whole one.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (t *jsonTable) columns(r record) []string {
	var names []string
	for name := range r.(jsonRecord) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// jsonRecord is one object, the objects in it flattened: service.id is
// "service_id". Arrays stay JSON.
type jsonRecord map[string]jsonCell

type jsonCell struct{ title, text string }

func (r jsonRecord) flatten(prefix string, row map[string]json.RawMessage, depth int) error {
	const deepest = 8
	for name, raw := range row {
		title := prefix + name
		switch raw[0] {
		case '{':
			var inner map[string]json.RawMessage
			if err := json.Unmarshal(raw, &inner); err != nil {
				return err
			}
			if depth < deepest {
				if err := r.flatten(title+".", inner, depth+1); err != nil {
					return err
				}
			}
		case '"':
			var text string
			if err := json.Unmarshal(raw, &text); err != nil {
				return err
			}
			r[plain(title)] = jsonCell{title, text}
		default:
			r[plain(title)] = jsonCell{title, unnull(string(raw))}
		}
	}
	return nil
}

func (r jsonRecord) text(column string) string { return r[column].text }

func (r jsonRecord) title(column string) string {
	if c, ok := r[column]; ok {
		return c.title
	}
	return column
}
