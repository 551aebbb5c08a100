// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/NVIDIA/go-nvml/pkg/dl"
)

// DefaultLibraries are the places where the library is looked for when no path
// is given: the loader's own search path, the driver container of the GPU
// Operator, GKE's driver installer, and WSL.
var DefaultLibraries = []string{
	"libnvidia-ml.so.1",
	"/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
	"/run/nvidia/driver/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
	"/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
	"/home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so.1",
	"/usr/local/nvidia/lib64/libnvidia-ml.so.1",
	"/usr/lib/wsl/lib/libnvidia-ml.so.1",
}

// libraryFile is a library that can be loaded, and what it exports.
type libraryFile struct {
	path    string
	id      fileID
	symbols *symbolTable
}

// fileID tells one version of a file from another at the same path.
type fileID struct {
	dev, ino uint64
	size     int64
	modified int64
}

// findLibrary opens the first candidate that can be opened and looks its
// functions up. The file is closed again: nothing in it has been called.
func findLibrary(candidates []string) (*libraryFile, error) {
	var failed []string
	for _, path := range candidates {
		file, err := openLibrary(path)
		if err == nil {
			return file, nil
		}
		if _, statErr := os.Stat(path); statErr == nil || len(candidates) == 1 {
			return nil, fmt.Errorf("load the NVIDIA management library: %w", err)
		}
		failed = append(failed, path)
	}
	return nil, fmt.Errorf("load the NVIDIA management library: not found (looked for %s); install the NVIDIA driver or give the path of libnvidia-ml.so.1",
		strings.Join(failed, ", "))
}

func openLibrary(path string) (*libraryFile, error) {
	d := dl.New(path, dl.RTLD_LAZY|dl.RTLD_LOCAL)
	if err := d.Open(); err != nil {
		return nil, err
	}
	defer d.Close()
	file := &libraryFile{path: path, symbols: lookUp(d.Lookup)}
	if real, err := d.Path(); err == nil {
		file.id = identify(real)
	}
	return file, nil
}

func identify(path string) fileID {
	info, err := os.Stat(path)
	if err != nil {
		return fileID{}
	}
	id := fileID{size: info.Size(), modified: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.ino = uint64(st.Dev), st.Ino
	}
	return id
}

// pinned is the one library file of this process. The linker binds the
// binding's calls to the first library they reach and never lets go of it,
// closed or not: a second file would be opened, and not be called. So when the
// driver was upgraded on disk only a new process can use it.
var pinned struct {
	sync.Mutex
	file *libraryFile
}

var errReplaced = errors.New("the file was replaced since this process loaded it (driver upgrade); restart the agent to use the new one")

func pin(file *libraryFile) error {
	pinned.Lock()
	defer pinned.Unlock()
	if pinned.file == nil {
		pinned.file = file
	}
	if pinned.file.id != file.id {
		return fmt.Errorf("load %s: %w", file.path, errReplaced)
	}
	return nil
}
