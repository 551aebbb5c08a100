// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procRoot is a /proc with the stage's processes. Their files are copies of
// the real ones, but for the cgroup, which is the staged one.
type procRoot string

// make creates the root with what is said of the host as a whole.
func (r procRoot) make() error {
	// /proc/1 stands for the host: its root is looked at for device nodes.
	if err := os.MkdirAll(filepath.Join(string(r), "1", "root", "dev"), 0o755); err != nil {
		return fmt.Errorf("make proc root: %w", err)
	}
	for _, name := range []string{"meminfo", "stat", "uptime"} {
		if err := copyFile("/proc/"+name, filepath.Join(string(r), name)); err != nil {
			return fmt.Errorf("make proc root: %w", err)
		}
	}
	return writeAll(map[string]string{
		filepath.Join(string(r), "devices"): "Character devices:\n195 nvidia\n195 nvidiactl\n",
	})
}

// add copies a living process under a cgroup line and environment.
func (r procRoot) add(pid int, cgroup string, env map[string]string) error {
	dir := filepath.Join(string(r), strconv.Itoa(pid))
	err := r.describe(pid, cgroup, env)
	// stat comes last: a reader takes a process for there once it has one.
	for _, name := range []string{"status", "comm", "stat"} {
		err = errors.Join(err, copyFile("/proc/"+strconv.Itoa(pid)+"/"+name, filepath.Join(dir, name)))
	}
	if err != nil {
		return fmt.Errorf("stage process %d: %w", pid, err)
	}
	return nil
}

// describe writes what the stage makes up of a process.
func (r procRoot) describe(pid int, cgroup string, env map[string]string) error {
	dir := filepath.Join(string(r), strconv.Itoa(pid))
	if err := os.MkdirAll(filepath.Join(dir, "root", "dev"), 0o755); err != nil {
		return err
	}
	var environ strings.Builder
	for k, v := range env {
		environ.WriteString(k + "=" + v + "\x00")
	}
	return writeAll(map[string]string{
		filepath.Join(dir, "cgroup"):  "0::" + cgroup + "\n",
		filepath.Join(dir, "environ"): environ.String(),
	})
}

// remove takes a process out, as the kernel does when it was waited for.
func (r procRoot) remove(pid int) error {
	dir := filepath.Join(string(r), strconv.Itoa(pid))
	// stat first, so that no reader finds half a process.
	return errors.Join(os.Remove(filepath.Join(dir, "stat")), os.RemoveAll(dir))
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

func writeAll(files map[string]string) error {
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
