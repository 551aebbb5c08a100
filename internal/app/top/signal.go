// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/attribution"
)

// signals are a device's measures of work, as numbers on one scale, and its
// power. They stand under the bar and never in it: busy is no memory.
func (v *View) signals(p attribution.Partition, width int) Line {
	g, s, grade := v.Glyphs, p.Signals, p.SignalsGrade
	type signal struct {
		name  string
		value *float64
	}
	list := []signal{{"busy", s.Busy}, {"sm", s.SMActive}, {"tensor", s.TensorActive}, {"dram", s.DRAMActive}}
	if width >= wideScreen {
		list = append(list, signal{"occupancy", s.SMOccupancy}, signal{"engine", s.EngineActive})
	}
	line := Line{plain("    ")}
	if p.MIGParent {
		list = nil
	}
	for _, one := range list {
		line = append(line, styled("dim", one.name+" "), plain(padRight(g.percent(one.value, grade), 8)))
	}
	if len(line) == 1 && p.Power.PowerMW == nil && p.Power.TemperatureC == nil {
		return nil
	}
	line = append(line, styled("dim", "power "), plain(v.power(p)))
	if width >= uuidScreen {
		return g.spread(line, Line{styled("dim", string(p.ID.Device))}, width)
	}
	return g.clip(line, width)
}

func (v *View) power(p attribution.Partition) string {
	text := v.Glyphs.Unknown
	if p.Power.PowerMW != nil {
		text = fmt.Sprintf("%d", (*p.Power.PowerMW+500)/1000)
		if p.Power.LimitMW != nil {
			text += fmt.Sprintf("/%d", *p.Power.LimitMW/1000)
		}
		text += " W"
	}
	if p.Power.TemperatureC != nil {
		text += fmt.Sprintf("  %d C", *p.Power.TemperatureC)
	}
	return text
}

// activity is an instance's work in a few words, empty where nothing is known.
func (v *View) activity(p attribution.Partition, width int) string {
	s := p.Signals
	text := ""
	for _, one := range []struct {
		name  string
		value *float64
	}{{"sm", s.SMActive}, {"tensor", s.TensorActive}} {
		if one.value != nil && (one.name == "sm" || width >= wideScreen) {
			text += one.name + " " + v.Glyphs.percent(one.value, p.SignalsGrade) + " "
		}
	}
	return text
}
