// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// listing is one walk over the device indexes of the library. The order of
// indexes may change at any reload; only UUIDs name devices.
type listing struct {
	entries []listed
	// ret and call are set when the walk as a whole failed.
	ret  binding.Return
	call string
}

// listed is what the library said at one index.
type listed struct {
	uuid   string // empty: the device has none
	handle binding.Device
	// ret and call are set when this index could not be read.
	ret  binding.Return
	call string
	// skipped: the index was not asked, because its device is known not to
	// answer; what was known of it stands.
	skipped bool
}

func (l listing) failed() bool { return l.ret != binding.SUCCESS }

// list walks the indexes. skip says which to leave alone; it is ignored when
// the number of devices has changed, since then an index says nothing.
// anew: the names of handles that are remembered were found wrong.
// It runs on a worker.
func (lib *library) list(c *calls, skip []bool, anew bool) listing {
	if anew {
		clear(lib.uuids)
	}
	c.begin(symCount)
	defer c.end()
	n, ret := lib.nv.DeviceGetCount()
	if ret != binding.SUCCESS {
		return listing{ret: ret, call: lib.symbols.name(symCount)}
	}
	l := listing{entries: make([]listed, n)}
	for i := range l.entries {
		if n == len(skip) && skip[i] {
			l.entries[i].skipped = true
			continue
		}
		l.entries[i] = lib.at(c, i)
		if ret := l.entries[i].ret; endsLibrary(ret) {
			return listing{ret: ret, call: l.entries[i].call}
		}
	}
	return l
}

func (lib *library) at(c *calls, index int) listed {
	if !c.begin(symHandleByIndex) {
		return listed{ret: binding.ERROR_TIMEOUT, call: lib.symbols.name(symHandleByIndex)}
	}
	handle, ret := lib.nv.DeviceGetHandleByIndex(index)
	if ret != binding.SUCCESS {
		return listed{ret: ret, call: lib.symbols.name(symHandleByIndex)}
	}
	if uuid, ok := lib.uuids[handle]; ok {
		return listed{uuid: uuid, handle: handle}
	}
	if !c.begin(symUUID) {
		return listed{ret: binding.ERROR_TIMEOUT, call: lib.symbols.name(symUUID)}
	}
	uuid, ret := handle.GetUUID()
	switch {
	case ret == binding.SUCCESS:
		lib.uuids[handle] = uuid
	case absent(ret):
		uuid = ""
	default:
		return listed{ret: ret, call: lib.symbols.name(symUUID)}
	}
	return listed{uuid: uuid, handle: handle}
}

func failure(call string, ret binding.Return) string { return fmt.Sprintf("%s: %s", call, words(ret)) }
