// SPDX-License-Identifier: Apache-2.0

package strictyaml

import "strings"

// Strings is a list of plain values, or one that stands alone; nil where there is
// none. An empty list is not nil.
func (o *Object) Strings(key string) []string {
	f, ok := o.get(key)
	if !ok {
		return nil
	}
	items := f.Value.Items
	switch f.Value.Shape {
	case Scalar:
		items = []Value{f.Value}
	case List:
	default:
		o.Add(f.Line, o.At(key), "should be a list of plain values, each on a line that begins with \"- \"; leave the field out where there is none")
		return nil
	}
	out := []string{}
	for _, v := range items {
		if v.Shape != Scalar || strings.TrimSpace(v.Text) == "" {
			o.Add(max(v.Line, f.Line), o.At(key), "should be a list of plain values")
			return nil
		}
		out = append(out, v.Text)
	}
	return out
}
