// SPDX-License-Identifier: Apache-2.0

package enginehttp

import (
	"context"
	"errors"
	"net"

	"github.com/gputally/gputally/internal/core/demand"
)

// problem is a word for why a look came to nothing. It is all that is said of
// it: what an endpoint answers is a tenant's text.
type problem string

func (p problem) Error() string { return string(p) }

// The problems. docs/engines.md says of each what to do.
const (
	badAddress   problem = "bad_address"
	unreachable  problem = "unreachable"
	timeout      problem = "timeout"
	redirect     problem = "redirect"
	unauthorized problem = "unauthorized"
	badStatus    problem = "bad_status"
	encoded      problem = "encoded"
	contentType  problem = "content_type"
	tooLarge     problem = "too_large"
	malformed    problem = "malformed"
	duplicate    problem = "duplicate"
	noEngine     problem = "no_engine"
	wrongEngine  problem = "wrong_engine"
)

// Problems lists every word that may stand as a problem, those of the target
// itself first.
func Problems() []string {
	return []string{demand.BadAnnotation, demand.HostNetwork, string(badAddress), string(unreachable), string(timeout), string(redirect), string(unauthorized),
		string(badStatus), string(encoded), string(contentType), string(tooLarge), string(malformed), string(duplicate), string(noEngine), string(wrongEngine)}
}

// problemOf is the word for an error of a request or of reading its answer.
func problemOf(err error) problem {
	var p problem
	var n net.Error
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &n) && n.Timeout():
		return timeout
	}
	return unreachable
}
