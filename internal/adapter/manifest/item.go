// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"strings"

	"github.com/gputally/gputally/internal/core/guard"
)

// Item is one object as an API server lists it: in JSON, without saying what kind
// it is.
type Item struct {
	APIVersion, Kind string
	// Of is the workload that made it, for a pod that does not stand for itself.
	Of   *guard.Object
	JSON json.RawMessage
}

// Item reads an object that comes from no file. Source says in reports where it
// comes from; documents and lines it has none.
func (out *Result) Item(source string, i Item) {
	r := &reading{out: out, file: source, of: i.Of}
	v, err := newJSON(string(i.JSON), -1).next()
	if err != nil {
		r.mistake(0, "", asSyntax(err).msg)
		return
	}
	group, _, ok := strings.Cut(i.APIVersion, "/")
	if !ok {
		group = ""
	}
	r.object(node{r: r, v: v}, kind{group, i.Kind})
}
