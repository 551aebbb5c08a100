// SPDX-License-Identifier: Apache-2.0

package written

import "strings"

// Typed are the commands that a reader of a document types under a heading, as far as
// the next one: for each block of a shell, fenced or indented, its lines, with those that
// a line goes on in. Comments of their own line are left out; nothing else is changed.
func Typed(text, heading string) (blocks [][]string) {
	inside, fenced, indented := false, "", false
	lines := strings.Split(text, "\n")
	add := func(line string) {
		if last := len(blocks) - 1; line != "" && !strings.HasPrefix(line, "#") {
			blocks[last] = append(blocks[last], line)
		}
	}
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if fence(line) != "" {
			if fenced, indented = opened(fenced, line), false; fenced == shell && inside {
				blocks = append(blocks, nil)
			}
			continue
		}
		if fenced == "" && strings.HasPrefix(line, "#") {
			inside = line == heading
			continue
		}
		of := strings.HasPrefix(line, "    ") && fenced == ""
		if of && !indented && inside {
			blocks = append(blocks, nil)
		}
		if indented = of || indented && line == ""; !inside || fenced != shell && !of {
			continue
		}
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + lines[i]
		}
		add(strings.TrimSpace(line))
	}
	return blocks
}

// shell is what opens a block of commands.
const shell = "```sh"

// opened is the block that one is in behind a fence.
func opened(in, line string) string {
	if in != "" {
		return ""
	}
	return strings.TrimSpace(line)
}
