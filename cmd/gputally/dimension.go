// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/report"
)

// labelMark begins the dimension of a label.
const labelMark = "label:"

// isDimension says whether reports know the word.
func isDimension(word string) bool {
	return slices.Contains(report.Dimensions(), report.Dimension(word))
}

// dimension is a word of the command line as the server knows it: what is no
// dimension is the key of a label. Words that are nearly a dimension are taken for
// mistakes.
func dimension(word string, notes io.Writer) (string, error) {
	if isDimension(word) || strings.HasPrefix(word, labelMark) {
		return word, nil
	}
	if word == "" {
		return "", inputError{fmt.Errorf("there is an empty word among the dimensions")}
	}
	for _, d := range report.Dimensions() {
		if near(word, string(d)) {
			return "", inputError{fmt.Errorf("%q is no dimension; did you mean %s? For a label of that name write %s%s", word, d, labelMark, word)}
		}
	}
	fmt.Fprintf(notes, "gputally: note: %s is no dimension; taken as the label %s (%s%s)\n", word, word, labelMark, word)
	return labelMark + word, nil
}

// near says whether two words of some length differ by one letter, or by two
// that changed places.
func near(a, b string) bool {
	if len(a) < 4 || len(b) < 4 {
		return false
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// dimensions reads --by.
func dimensions(words []string, notes io.Writer) (out []string, err error) {
	for _, w := range words {
		d, err := dimension(strings.TrimSpace(w), notes)
		if err != nil {
			return nil, fmt.Errorf("--by: %w", err)
		}
		out = append(out, d)
	}
	return out, nil
}

// filters reads --where: DIMENSION=VALUE,… or DIMENSION!=VALUE,….
func filters(texts []string, notes io.Writer) (out []string, err error) {
	for _, text := range texts {
		key, values, ok := strings.Cut(text, "=")
		if !ok {
			return nil, inputError{fmt.Errorf("--where is %q; write DIMENSION=VALUE,… or DIMENSION!=VALUE,…, such as namespace=ml,web", text)}
		}
		key, not := strings.CutSuffix(key, "!")
		d, err := dimension(strings.TrimSpace(key), notes)
		if err != nil {
			return nil, fmt.Errorf("--where: %w", err)
		}
		if not {
			d += "!"
		}
		out = append(out, d+"="+values)
	}
	return out, nil
}
