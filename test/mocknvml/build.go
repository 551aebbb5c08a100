// SPDX-License-Identifier: Apache-2.0

// Package mocknvml builds a mock libnvidia-ml.so.1 and composes the state file it
// reads, for tests that want NVIDIA's management library without a GPU.
//
// It owns the C library in src/ (see README.md for the state file) and the two
// things a Go test needs: [Build], which compiles it, and [State], which writes
// what the GPUs look like. It does not own how a test loads the library: that is
// go-nvml, a child process or whatever the test is about. go-nvml keeps one
// function table per process, so a process can load one library only.
package mocknvml

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// LibraryName is the file name of the library, NVIDIA's own.
const LibraryName = "libnvidia-ml.so.1"

// Build compiles the mock library and returns its path. It needs gcc, make and
// the go command. Test processes that run at the same time share one build, kept
// in the temporary folder under the hash of its sources; nothing is compiled
// again until they change. A failure ends the test.
func Build(t testing.TB) string {
	t.Helper()
	return BuildWithout(t)
}

// BuildWithout is [Build] for a library that does not export the named functions,
// as an older driver's does not. A name the header does not have is an error.
func BuildWithout(t testing.TB, functions ...string) string {
	t.Helper()
	functions = slices.Sorted(slices.Values(functions))
	path, err := cachedBuild(functions)
	if err != nil {
		t.Fatalf("build mock %s: %v", LibraryName, err)
	}
	return path
}

var builds struct {
	sync.Mutex
	done map[string]string
}

func cachedBuild(missing []string) (string, error) {
	key := strings.Join(missing, " ")
	builds.Lock()
	defer builds.Unlock()
	if path, ok := builds.done[key]; ok {
		return path, nil
	}
	path, err := BuildLibrary(missing...)
	if err != nil {
		return "", err
	}
	if builds.done == nil {
		builds.done = map[string]string{}
	}
	builds.done[key] = path
	return path, nil
}

// BuildLibrary does what [BuildWithout] does, for programs that are no tests.
func BuildLibrary(missing ...string) (string, error) {
	source, err := sourceDir()
	if err != nil {
		return "", err
	}
	sum, err := sourceHash(source, missing)
	if err != nil {
		return "", fmt.Errorf("hash sources: %w", err)
	}
	cache := filepath.Join(os.TempDir(), fmt.Sprintf("gputally-mocknvml-%d", os.Getuid()))
	dir := filepath.Join(cache, sum)
	library := filepath.Join(dir, LibraryName)
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	unlock, err := lockFile(filepath.Join(cache, sum+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	return library, compile(source, cache, dir, missing)
}

// compile builds into a folder of its own and renames it, so that dir exists only
// when it is complete.
func compile(source, cache, dir string, missing []string) error {
	work, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return fmt.Errorf("make build folder: %w", err)
	}
	defer os.RemoveAll(work)
	for _, tool := range []string{"gcc", "make", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is needed to build the mock library: %w", tool, err)
		}
	}
	cmd := exec.Command("make", "-s", "-C", source, "BUILD="+work, "MISSING="+strings.Join(missing, " "))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make: %w\n%s", err, out)
	}
	if err := os.Rename(work, dir); err != nil {
		return fmt.Errorf("keep build: %w", err)
	}
	return nil
}

// sourceDir is the folder of this file. With -trimpath the compiler does not tell,
// then the go command does.
func sourceDir() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Dir(file)
	if _, err := os.Stat(filepath.Join(dir, "Makefile")); err == nil {
		return dir, nil
	}
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/gputally/gputally/test/mocknvml").Output()
	if err != nil {
		return "", fmt.Errorf("find sources of mocknvml: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// sourceHash covers everything the library is made of: our sources, the module
// version that brings the header, and what is left out.
func sourceHash(dir string, missing []string) (string, error) {
	files := []string{filepath.Join(dir, "Makefile")}
	for _, pattern := range []string{"src/*.[ch]", "gen/*.go"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", err
		}
		files = append(files, found...)
	}
	if len(files) < 3 {
		return "", fmt.Errorf("no sources in %s", dir)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\n", goNVMLVersion(dir), strings.Join(missing, " "))
	for _, file := range files {
		if err := addFile(h, file); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12]), nil
}

func addFile(h io.Writer, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(h, "%s %d\n%s", filepath.Base(file), len(text), text)
	return err
}

// goNVMLVersion is the go-nvml line of the module's go.mod, empty when there is none.
func goNVMLVersion(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "..", "..", "go.mod"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "github.com/NVIDIA/go-nvml ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// lockFile waits for an exclusive lock on a file, across processes.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
