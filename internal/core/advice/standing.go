// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"strings"

	"github.com/gputally/gputally/internal/core/money"
)

// Standing is what was true of a workload when it was advised, as far as advice for it
// rests on it: with another template, price or layout, what was proposed is about something
// else.
type Standing struct {
	// Template is that of its pods, "" where it is not known.
	Template string `json:"template,omitempty"`
	// Layout is the kind of partition, and how many one pod has. More or fewer pods are no
	// other layout.
	Layout string `json:"layout,omitempty"`
	// DeviceHour is what a device of its costs in an hour, nil where that is not known: the
	// least of several.
	DeviceHour *money.Nano `json:"device_hour,omitempty"`
	Currency   string      `json:"currency,omitempty"`
}

// PriceMoved is the part of a price from which another one counts: bills differ from lists
// by rounding.
const PriceMoved = 0.01

// Changed says what is no longer as it was: nothing where nothing is known to have changed.
func (then *Standing) Changed(now *Standing) (out []string) {
	if then == nil || now == nil {
		return nil
	}
	if then.Template != now.Template && then.Template != "" && now.Template != "" {
		out = append(out, Say("changed_template", now.Template, then.Template))
	}
	if then.Layout != now.Layout {
		out = append(out, Say("changed_layout", now.Layout, then.Layout))
	}
	if then.priced(now) {
		out = append(out, Say("changed_price", now.DeviceHour, now.Currency, then.DeviceHour, then.Currency))
	}
	return out
}

// priced: both prices are known and are not the same.
func (then *Standing) priced(now *Standing) bool {
	if then.DeviceHour == nil || now.DeviceHour == nil {
		return false
	}
	apart := then.DeviceHour.Float() - now.DeviceHour.Float()
	return then.Currency != now.Currency || max(apart, -apart) > PriceMoved*then.DeviceHour.Float()
}

// Joined is that of several workloads together.
func Joined(of []*Standing) *Standing {
	if len(of) == 0 {
		return nil
	}
	out := &Standing{DeviceHour: of[0].DeviceHour, Currency: of[0].Currency}
	var templates, layouts []string
	for _, s := range of {
		templates, layouts = append(templates, s.Template), append(layouts, s.Layout)
	}
	out.Template, out.Layout = strings.Join(templates, ", "), strings.Join(layouts, ", ")
	return out
}
