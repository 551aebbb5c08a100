// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/sample"
)

// library is the management library, loaded and initialized. It is replaced as
// a whole when the driver is reloaded; handles of one are never used with
// another.
type library struct {
	nv      binding.Interface
	symbols *symbolTable
	info    sample.Library
	listed  bool // its devices were listed at least once
	reloads int  // how often the driver had been reloaded before
	events  *eventLoop
	// uuids remembers which device a handle names. Only the goroutine that
	// lists devices uses it.
	uuids map[binding.Device]string
}

// loaded is the answer of an attempt to load the library.
type loaded struct {
	lib *library
	err error
	ret binding.Return
	// stale: the file was replaced since this process first loaded it.
	stale bool
}

// essential are the functions without which a library is of no use.
var essential = []symbol{symInit, symShutdown, symCount, symHandleByIndex, symUUID}

// load closes old, if there is one, and loads and initializes the library
// anew. It runs on a worker: any of its calls may not return.
func load(c *calls, candidates []string, old *library) loaded {
	if old != nil {
		old.close(c)
	}
	file, err := findLibrary(candidates)
	if err != nil {
		return loaded{err: err}
	}
	for _, s := range essential {
		if !file.symbols.has(s) {
			return loaded{err: fmt.Errorf("load %s: it has no function %s, so it is not NVIDIA's management library", file.path, file.symbols.name(s))}
		}
	}
	if err := pin(file); err != nil {
		return loaded{err: err, stale: true}
	}
	c.symbols.Store(file.symbols)
	lib := &library{
		nv:      binding.New(binding.WithLibraryPath(file.path)),
		symbols: file.symbols,
		uuids:   map[binding.Device]string{},
	}
	if ret := lib.init(c); ret != binding.SUCCESS {
		return loaded{err: fmt.Errorf("start %s: %s: %s", file.path, file.symbols.name(symInit), words(ret)), ret: ret}
	}
	lib.versions(c)
	lib.events = newEventLoop(c, lib)
	return loaded{lib: lib}
}

func (l *library) init(c *calls) binding.Return {
	if !c.begin(symInit) {
		return binding.ERROR_FUNCTION_NOT_FOUND
	}
	defer c.end()
	return l.nv.Init()
}

// versions reads what the library says of itself; each may be missing.
func (l *library) versions(c *calls) {
	if c.begin(symDriverVersion) {
		if v, ret := l.nv.SystemGetDriverVersion(); ret == binding.SUCCESS {
			l.info.DriverVersion = v
		}
	}
	if c.begin(symNVMLVersion) {
		if v, ret := l.nv.SystemGetNVMLVersion(); ret == binding.SUCCESS {
			l.info.NVMLVersion = v
		}
	}
	if c.begin(symCUDAVersion) {
		if v, ret := l.nv.SystemGetCudaDriverVersion_v2(); ret == binding.SUCCESS {
			l.info.CUDAVersion = v
		}
	}
	c.end()
}

// close stops the event loop and shuts the library down. What goes wrong here
// has no consequence: nothing of this library is used again.
func (l *library) close(c *calls) {
	if !l.events.stop(c) {
		return // a thread is inside the library: shutting it down could crash it
	}
	c.symbols.Store(l.symbols)
	if c.begin(symShutdown) {
		l.nv.Shutdown()
	}
	c.end()
}
