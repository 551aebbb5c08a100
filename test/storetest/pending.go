// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"reflect"
	"slices"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
)

// pending are the fields that agents send and that no store keeps yet. The
// contract draws none of them. Whoever gives a field its column takes it out of
// here; a name that no longer is a field is a mistake.
var pending = map[reflect.Type][]string{
	reflect.TypeFor[usage.Batch]():           {"Engines"},
	reflect.TypeFor[usage.PartitionRecord](): {"PowerMW", "PowerLimitMW"},
	reflect.TypeFor[sample.Signals]():        {"FP64Active", "FP32Active", "FP16Active", "PCIeRxPerS", "PCIeTxPerS"},
}

func init() {
	for of, fields := range pending {
		for _, name := range fields {
			if _, ok := of.FieldByName(name); !ok {
				panic("pending: " + of.String() + " has no field " + name)
			}
		}
	}
}

// isPending reports whether no store keeps a field yet.
func isPending(of reflect.Type, field int) bool {
	return slices.Contains(pending[of], of.Field(field).Name)
}
