// SPDX-License-Identifier: Apache-2.0

package top

// Glyphs are the characters that pictures are made of. Each meaning has a
// shape of its own, so nothing depends on colour.
type Glyphs struct {
	Used, Estimated, Reserved, Overhead, Unattributed, Free, Stranded rune
	Cut, Open, Close, Leak, Nothing                                   rune
	// Unknown stands for a figure that is not known, OK for a sum that holds.
	Unknown, OK, Dot, Times, Ellipsis string
}

// Unicode are the glyphs of any terminal of today.
var Unicode = Glyphs{
	Used: '█', Estimated: '╍', Reserved: '╱', Overhead: '▒', Unattributed: '░', Free: ' ', Stranded: '╳',
	Cut: '│', Open: '▕', Close: '▏', Leak: '!', Nothing: '?',
	Unknown: "–", OK: "✓", Dot: " · ", Times: "×", Ellipsis: "…",
}

// ASCII are the glyphs of a terminal that has nothing else (TERM=dumb).
var ASCII = Glyphs{
	Used: '#', Estimated: '~', Reserved: '/', Overhead: '%', Unattributed: ':', Free: ' ', Stranded: 'x',
	Cut: '|', Open: '[', Close: ']', Leak: '!', Nothing: '?',
	Unknown: "-", OK: "ok", Dot: ", ", Times: "x", Ellipsis: "~",
}

// of is the character that fills a segment.
func (g Glyphs) of(f Fill) rune {
	switch f {
	case FillUsed:
		return g.Used
	case FillEstimated:
		return g.Estimated
	case FillReserved:
		return g.Reserved
	case FillOverhead:
		return g.Overhead
	case FillUnattributed:
		return g.Unattributed
	case FillStranded:
		return g.Stranded
	case FillUnknown:
		return g.Nothing
	}
	return g.Free
}
