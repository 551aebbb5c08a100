// SPDX-License-Identifier: Apache-2.0

package kubeauth

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// claims are what a token says of itself. Nobody has checked them.
type claims struct {
	jwt       bool // it has the form of a JSON Web Token
	audiences []string
	expires   time.Time // zero where it does not say
}

// peek reads a token without checking it.
func peek(token string) claims {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}
	}
	var body struct {
		Audience json.RawMessage `json:"aud"`
		Expires  float64         `json:"exp"`
	}
	if json.Unmarshal(payload, &body) != nil {
		return claims{}
	}
	out := claims{jwt: true}
	var one string
	switch {
	case json.Unmarshal(body.Audience, &one) == nil && one != "":
		out.audiences = []string{one}
	default:
		_ = json.Unmarshal(body.Audience, &out.audiences) // none that can be read
	}
	if body.Expires > 0 && body.Expires < 1e11 {
		out.expires = time.Unix(int64(body.Expires), 0)
	}
	return out
}

// isFor says whether the token names an audience.
func (c claims) isFor(audience string) bool { return slices.Contains(c.audiences, audience) }

// within shortens how long an answer about the token is kept. It never lengthens.
func (c claims) within(until time.Time) time.Time {
	if !c.expires.IsZero() && c.expires.Before(until) {
		return c.expires
	}
	return until
}
