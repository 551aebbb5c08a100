// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
)

// phrases are words that stand in one licence of SPDX's list and in no other here.
// The first that fits counts: BSD-3-Clause has all of BSD-2-Clause and a clause more.
var phrases = []struct {
	id    string
	words []string
}{
	{"Apache-2.0", []string{"apache license version 2.0"}},
	{"MPL-2.0", []string{"mozilla public license version 2.0"}},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy", "the software is provided \"as is\""}},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"}},
	{"BSD-3-Clause", []string{"redistributions of source code must retain", "redistributions in binary form must reproduce", "neither the name"}},
	{"BSD-2-Clause", []string{"redistributions of source code must retain", "redistributions in binary form must reproduce"}},
}

// recognized is SPDX's name of the licence in a module's files, or nothing: where there
// are two texts, or one with two licences or none of the known ones, a person must read.
func recognized(files []text) string {
	found := ""
	for _, f := range files {
		if upper := strings.ToUpper(f.name); strings.HasPrefix(upper, "NOTICE") || strings.HasPrefix(upper, "PATENTS") {
			continue
		}
		id := licenceOf(string(f.text))
		if id == "" || found != "" && found != id {
			return ""
		}
		found = id
	}
	return found
}

func licenceOf(content string) string {
	content = strings.ToLower(strings.Join(strings.Fields(content), " "))
	content = strings.ReplaceAll(content, "apache license, version 2.0", "apache license version 2.0")
	content = strings.ReplaceAll(content, "mozilla public license, version 2.0", "mozilla public license version 2.0")
	found := ""
	for _, p := range phrases {
		if !all(content, p.words) || found == "BSD-3-Clause" && p.id == "BSD-2-Clause" {
			continue
		}
		if found != "" {
			return ""
		}
		found = p.id
	}
	return found
}

func all(content string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(content, w) {
			return false
		}
	}
	return true
}
