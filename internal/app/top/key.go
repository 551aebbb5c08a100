// SPDX-License-Identifier: Apache-2.0

package top

// Key handles a key press: its name ("s", "up", "enter") and the text that it
// types, if any. It reports whether the reader wants to leave.
func (v *View) Key(name, text string) (quit bool) {
	if name == "ctrl+c" {
		return true
	}
	if v.typing {
		v.typeKey(name, text)
		return false
	}
	switch name {
	case "q":
		return true
	case "esc":
		return v.back()
	case "s":
		v.Order = (v.Order + 1) % orders
	case "g":
		v.Pods, v.FindingsOnly, v.scroll = !v.Pods, false, 0
	case "f":
		v.FindingsOnly, v.scroll = !v.FindingsOnly, 0
	case "c":
		v.Compact = !v.Compact
	case "/":
		v.typing, v.help = true, false
	case "?", "h":
		v.help, v.scroll = !v.help, 0
	default:
		v.scrollKey(name)
	}
	return false
}

// back leaves what was opened last; with nothing open it stays.
func (v *View) back() bool {
	switch {
	case v.help:
		v.help = false
	case v.FindingsOnly:
		v.FindingsOnly = false
	default:
		v.Filter = ""
	}
	return false
}

func (v *View) typeKey(name, text string) {
	switch name {
	case "enter":
		v.typing = false
	case "esc":
		v.typing, v.Filter = false, ""
	case "backspace":
		if r := []rune(v.Filter); len(r) > 0 {
			v.Filter = string(r[:len(r)-1])
		}
	default:
		v.Filter += clean(text)
	}
	v.scroll = 0
}

func (v *View) scrollKey(name string) {
	step := map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -v.page, "pgdown": v.page, "space": v.page,
		"home": -v.length, "end": v.length,
	}[name]
	v.scroll = max(min(v.scroll+step, v.length-v.page), 0)
}
