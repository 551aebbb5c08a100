// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/workload"
)

// optedOut is the sentence of an owner's reason for no advice at a moment, "" for none:
// the annotation is "off", or "off until 2027-01-31", with any reason behind it. A date
// that cannot be read ends never: the owner's wish is plain.
func optedOut(annotation string, atMS int64) string {
	rest, off := strings.CutPrefix(strings.TrimSpace(annotation), "off")
	if !off || rest != "" && !strings.ContainsAny(rest[:1], " :,;") {
		return ""
	}
	why := workload.AnnotationAdvice + ": " + annotation
	said := advice.Say("consent", why)
	fields := strings.Fields(strings.TrimLeft(rest, ":,; "))
	if len(fields) < 2 || fields[0] != "until" {
		return said
	}
	until, err := time.Parse(time.DateOnly, strings.TrimRight(fields[1], ":,;"))
	switch {
	case err != nil:
		return advice.Say("consent_unread", why)
	case atMS >= until.AddDate(0, 0, 1).UnixMilli():
		return ""
	}
	return said
}
