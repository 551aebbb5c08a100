// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"errors"
	"strings"
)

// errFilter says how a filter is written.
var errFilter = errors.New("write DIMENSION=VALUE,… or DIMENSION!=VALUE,…, such as namespace=ml,web")

// ParseFilter reads DIMENSION=VALUE,… or DIMENSION!=VALUE,…. A comma within a
// value is written \, and a backslash \\.
func ParseFilter(text string) (f Filter, err error) {
	by, values, ok := strings.Cut(text, "=")
	if !ok || by == "" || by == "!" {
		return f, errFilter
	}
	f.By, f.Not = strings.CutSuffix(by, "!")
	var value strings.Builder
	for i := 0; i < len(values); i++ {
		switch c := values[i]; {
		case c == '\\' && i+1 < len(values):
			i++
			value.WriteByte(values[i])
		case c == ',':
			f.In = append(f.In, value.String())
			value.Reset()
		default:
			value.WriteByte(c)
		}
	}
	f.In = append(f.In, value.String())
	return f, nil
}

// ParseFilters reads several.
func ParseFilters(texts []string) ([]Filter, error) {
	var out []Filter
	for _, text := range texts {
		f, err := ParseFilter(text)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}
