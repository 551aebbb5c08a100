// SPDX-License-Identifier: Apache-2.0

// Package elfcheck says whether programs can be loaded in an image: whether each shared
// library that an ELF file names is there, for the same machine, with the versions of
// symbols that are asked for, and whether the program's interpreter is. It runs nothing,
// so that it works for any architecture. Libraries opened at run time (NVML) it cannot see.
package elfcheck

import (
	"bytes"
	"debug/elf"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gputally/gputally/tools/image/rootfs"
)

// Missing lists what the ELF files of a tree need and the tree has not, sorted; empty
// means that all is there. folders are where the loader looks, as paths in the tree.
// machine is the machine that all of them must be for.
func Missing(t rootfs.Tree, folders []string, machine elf.Machine) ([]string, error) {
	c := checker{tree: t, folders: folders, machine: machine}
	for _, p := range t.Paths() {
		if !isELF(t[p].Data) {
			continue
		}
		if err := c.file(t[p]); err != nil {
			return nil, fmt.Errorf("read /%s: %w", p, err)
		}
	}
	if c.looked == 0 {
		return nil, fmt.Errorf("there is no ELF file in the image")
	}
	slices.Sort(c.missing)
	return slices.Compact(c.missing), nil
}

func isELF(data []byte) bool { return bytes.HasPrefix(data, []byte(elf.ELFMAG)) }

type checker struct {
	tree    rootfs.Tree
	folders []string
	machine elf.Machine
	looked  int
	missing []string
}

func (c *checker) miss(format string, args ...any) {
	c.missing = append(c.missing, fmt.Sprintf(format, args...))
}

func (c *checker) file(e rootfs.Entry) error {
	f, err := elf.NewFile(bytes.NewReader(e.Data))
	if err != nil {
		return err
	}
	c.looked++
	if f.Machine != c.machine {
		c.miss("/%s is for %s, not %s", e.Path, f.Machine, c.machine)
		return nil
	}
	if err := c.interpreter(e.Path, f); err != nil {
		return err
	}
	libraries, err := f.DynString(elf.DT_NEEDED)
	if err != nil {
		return err
	}
	for _, l := range libraries {
		if _, ok := c.find(l); !ok {
			c.miss("/%s needs %s", e.Path, l)
		}
	}
	return c.versions(e.Path, f)
}

// interpreter looks for the loader that the kernel starts a program with.
func (c *checker) interpreter(name string, f *elf.File) error {
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		data := make([]byte, p.Filesz)
		if _, err := p.ReadAt(data, 0); err != nil {
			return err
		}
		loader := strings.TrimRight(string(data), "\x00")
		if _, ok := c.resolve(loader); !ok {
			c.miss("/%s is started by %s", name, loader)
		}
	}
	return nil
}

// versions looks for each version of symbols that is asked of each library.
func (c *checker) versions(name string, f *elf.File) error {
	needs, err := f.DynamicVersionNeeds()
	if err != nil {
		return err
	}
	for _, need := range needs {
		lib, ok := c.find(need.Name)
		if !ok {
			continue // said already
		}
		has, err := defined(lib.Data)
		if err != nil {
			return fmt.Errorf("versions of %s: %w", need.Name, err)
		}
		for _, v := range need.Needs {
			if !has[v.Dep] {
				c.miss("/%s needs version %s of %s", name, v.Dep, need.Name)
			}
		}
	}
	return nil
}

func defined(data []byte) (map[string]bool, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	versions, err := f.DynamicVersions()
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, v := range versions {
		out[v.Name] = true
	}
	return out, nil
}

// find is the file that the loader takes for a library's name.
func (c *checker) find(library string) (rootfs.Entry, bool) {
	for _, dir := range c.folders {
		if e, ok := c.resolve("/" + dir + "/" + library); ok {
			return e, true
		}
	}
	return rootfs.Entry{}, false
}

// resolve follows links, of folders as well as of the file.
func (c *checker) resolve(name string) (rootfs.Entry, bool) {
	for range 40 { // as many as the kernel follows
		next, again := c.step(strings.Trim(path.Clean(name), "/"))
		if !again {
			e, ok := c.tree[next]
			return e, ok && !e.Folder
		}
		name = next
	}
	return rootfs.Entry{}, false
}

// step replaces the first link on the way to a file.
func (c *checker) step(name string) (string, bool) {
	parts := strings.Split(name, "/")
	for i := range parts {
		at := strings.Join(parts[:i+1], "/")
		e, ok := c.tree[at]
		if !ok || e.Link == "" {
			continue
		}
		to := e.Link
		if !path.IsAbs(to) {
			to = path.Join("/", path.Dir(at), to)
		}
		return path.Join(append([]string{to}, parts[i+1:]...)...), true
	}
	return name, false
}
