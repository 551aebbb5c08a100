// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gputally/gputally/test/stage"
)

// linkToKernel makes reading the stage cost what it costs on a node: the agent
// finds itself in the staged /proc, and the files of the staged cgroups lead to
// those of this program's own cgroup, where it has them. Reading an ordinary
// file is cheaper, and cannot be told from reading one that is kept open.
func linkToKernel(s *stage.Stage) error {
	if err := os.Symlink("/proc/self", filepath.Join(s.ProcRoot(), "self")); err != nil {
		return fmt.Errorf("link to the kernel: %w", err)
	}
	own := ownCgroupFiles()
	return filepath.WalkDir(s.CgroupRoot(), func(path string, e fs.DirEntry, err error) error {
		to := own[e.Name()]
		if err != nil || e.IsDir() || to == "" {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.Symlink(to, path)
	})
}

// ownCgroupFiles finds files of the kernel that read like those of a pod's
// cgroup in v2, by name. v1 has memory in a hierarchy of its own, and CPU
// times in its v2 hierarchy.
func ownCgroupFiles() map[string]string {
	const root = "/sys/fs/cgroup"
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	paths := map[string]string{} // by controller, "" for v2
	for line := range strings.Lines(string(text)) {
		if _, rest, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			controller, path, _ := strings.Cut(rest, ":")
			paths[controller] = path
		}
	}
	found := map[string]string{}
	for _, c := range []struct{ name, path string }{
		{"cpu.stat", root + paths[""] + "/cpu.stat"},
		{"cpu.stat", root + "/unified" + paths[""] + "/cpu.stat"},
		{"memory.current", root + paths[""] + "/memory.current"},
		{"memory.current", root + "/memory" + paths["memory"] + "/memory.usage_in_bytes"},
		{"memory.stat", root + paths[""] + "/memory.stat"},
		{"memory.stat", root + "/memory" + paths["memory"] + "/memory.stat"},
	} {
		if _, err := os.Stat(c.path); err == nil && found[c.name] == "" {
			found[c.name] = c.path
		}
	}
	return found
}
