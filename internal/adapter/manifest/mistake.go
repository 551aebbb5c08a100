// SPDX-License-Identifier: Apache-2.0

package manifest

import "fmt"

// Mistake says where an input is wrong, and what to do.
type Mistake struct {
	File     string `json:"file"`
	Document int    `json:"document,omitempty"` // counts from 1; 0: the file itself
	Line     int    `json:"line,omitempty"`
	Field    string `json:"field,omitempty"`
	Message  string `json:"message"`
}

// Error is the mistake in one line.
func (m Mistake) Error() string {
	out := m.File
	if m.Document > 0 {
		out += fmt.Sprintf(": document %d", m.Document)
	}
	if m.Line > 0 {
		out += fmt.Sprintf(", line %d", m.Line)
	}
	if m.Field != "" {
		out += ": " + m.Field
	}
	return out + ": " + m.Message
}

// Skipped is an object that was not looked at.
type Skipped struct {
	File     string `json:"file"`
	Document int    `json:"document"`
	Line     int    `json:"line"`
	// Object is its kind and name, empty for what is no object of Kubernetes.
	Object string `json:"object,omitempty"`
	Reason string `json:"reason"`
	// Template: it holds a pod template, whose containers nobody looked at.
	Template bool `json:"template"`
}
