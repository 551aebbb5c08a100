// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"regexp"
	"strings"
)

// function is one declaration of the header.
type function struct {
	result     string
	name       string
	parameters string
}

var (
	comment     = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	declaration = regexp.MustCompile(`(?s)(nvmlReturn_t|const) +DECLDIR +(?:char *\* *)?(nvml\w+)\s*\(([^;]*?)\)\s*;`)
	blanks      = regexp.MustCompile(`\s+`)
)

// parseHeader lists the functions of nvml.h in the order they are declared, each
// once, the old names behind NVML_NO_UNVERSIONED_FUNC_DEFS included.
func parseHeader(text string) ([]function, error) {
	text = comment.ReplaceAllString(text, "")
	var functions []function
	seen := map[string]bool{}
	for _, m := range declaration.FindAllStringSubmatch(text, -1) {
		if seen[m[2]] {
			continue
		}
		seen[m[2]] = true
		parameters := strings.TrimSpace(blanks.ReplaceAllString(m[3], " "))
		functions = append(functions, function{result: m[1], name: m[2], parameters: parameters})
	}
	if len(functions) == 0 {
		return nil, errors.New("no function is declared with DECLDIR")
	}
	return functions, nil
}
