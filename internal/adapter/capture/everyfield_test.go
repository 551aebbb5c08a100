// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// TestEveryFieldSurvives: no field of a sample is forgotten, not even one that
// was added later.
func TestEveryFieldSurvives(t *testing.T) {
	for _, reserveUnknown := range []bool{false, true} {
		everyFieldSurvives(t, reserveUnknown)
	}
}

func everyFieldSurvives(t *testing.T, reserveUnknown bool) {
	var want sample.Sample
	fill(reflect.ValueOf(&want).Elem(), "sample")
	want.Node = "node-a"
	want.Devices[0].State = gpu.StateOK
	for _, m := range []*sample.Memory{want.Devices[0].Memory, want.Devices[0].Instances[0].Memory} {
		if m.ReserveUnknown = reserveUnknown; reserveUnknown {
			m.Reserved = 0 // what is not told has no size
		}
	}
	for i := range want.Objects.Slices {
		for j := range want.Objects.Slices[i].Devices {
			want.Objects.Slices[i].Devices[j].Stale = false // worked out, not read
		}
	}
	f, err := Read(bytes.NewReader(write(t, []sample.Sample{want})), "c")
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Collect(f.Samples("node-a"))
	if diff := gocmp.Diff([]sample.Sample{want}, got); diff != "" {
		t.Errorf("a field is lost (-written +read):\n%s", diff)
	}
}

// fill gives every field a value that is not its zero value.
func fill(v reflect.Value, path string) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1e9, 5).UTC()))
		return
	case sample.ProcessKind:
		v.SetString(string(sample.KindMPS))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, path)
		fill(value, path)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		panic(fmt.Sprintf("%s is a %v: teach fill about it", path, v.Kind()))
	}
}
