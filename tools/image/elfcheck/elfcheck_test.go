// SPDX-License-Identifier: Apache-2.0

package elfcheck_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/tools/image/elfcheck"
	"github.com/gputally/gputally/tools/image/rootfs"
)

// linked compiles a library with a versioned symbol and one that needs it.
func linked(t *testing.T) (library, user []byte) {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("a.c", "int two(void) { return 2; }\n")
	put("a.map", "A_1 { local: *; };\nA_2 { global: two; } A_1;\n")
	put("b.c", "int two(void); int four(void) { return 2 * two(); }\n")
	for _, args := range [][]string{
		{"-shared", "-nostdlib", "-fPIC", "-Wl,-soname,liba.so.1", "-Wl,--version-script,a.map", "-o", "liba.so.1", "a.c"},
		{"-shared", "-nostdlib", "-fPIC", "-Wl,-soname,libb.so.1", "-o", "libb.so.1", "b.c", "liba.so.1"},
	} {
		cmd := exec.Command("gcc", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
	}
	return get(t, dir, "liba.so.1"), get(t, dir, "libb.so.1")
}

func get(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func machine(t *testing.T, data []byte) elf.Machine {
	t.Helper()
	f, err := elf.NewFile(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f.Machine
}

func missing(t *testing.T, m elf.Machine, files map[string][]byte) []string {
	t.Helper()
	tree := rootfs.Tree{}
	if err := tree.Link("lib", "usr/lib"); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := tree.File(name, 0o644, data); err != nil {
			t.Fatal(err)
		}
	}
	out, err := elfcheck.Missing(tree, []string{"lib"}, m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatIsThereIsFoundThroughLinkedFolders(t *testing.T) {
	a, b := linked(t)
	if got := missing(t, machine(t, a), map[string][]byte{"usr/lib/liba.so.1": a, "usr/lib/libb.so.1": b}); len(got) > 0 {
		t.Errorf("missing %v, want nothing", got)
	}
}

func TestMissingLibraryIsNamed(t *testing.T) {
	a, b := linked(t)
	want := []string{"/usr/lib/libb.so.1 needs liba.so.1"}
	if diff := cmp.Diff(want, missing(t, machine(t, a), map[string][]byte{"usr/lib/libb.so.1": b})); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

func TestLibraryOutsideTheLoadersFoldersIsMissing(t *testing.T) {
	a, b := linked(t)
	if got := missing(t, machine(t, a), map[string][]byte{"opt/liba.so.1": a, "usr/lib/libb.so.1": b}); len(got) != 1 {
		t.Errorf("missing %v, want liba.so.1", got)
	}
}

func TestOlderLibraryLacksAVersion(t *testing.T) {
	a, b := linked(t)
	want := []string{"/usr/lib/libb.so.1 needs version A_2 of liba.so.1"}
	got := missing(t, machine(t, a), map[string][]byte{"usr/lib/liba.so.1": older(t), "usr/lib/libb.so.1": b})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// older is a library whose only version is older than what is needed.
func older(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	script := "printf 'int one(void) { return 1; }' > a.c; printf 'A_1 { global: one; };' > a.map; gcc -shared -nostdlib -fPIC -Wl,-soname,liba.so.1 -Wl,--version-script,a.map -o liba.so.1 a.c"
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return get(t, dir, "liba.so.1")
}

func TestAnotherMachineIsNamed(t *testing.T) {
	a, _ := linked(t)
	got := missing(t, elf.EM_RISCV, map[string][]byte{"usr/lib/liba.so.1": a})
	if len(got) != 1 || !strings.Contains(got[0], "not EM_RISCV") {
		t.Errorf("missing %v, want the wrong machine", got)
	}
}

func TestProgramWithoutItsLoaderIsNamed(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", "printf 'int main(void) { return 0; }' > m.c && gcc -o m m.c")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	program := get(t, dir, "m")
	got := strings.Join(missing(t, machine(t, program), map[string][]byte{"bin/m": program}), "\n")
	if !strings.Contains(got, "/bin/m is started by /") || !strings.Contains(got, "/bin/m needs libc.so.6") {
		t.Errorf("missing %q, want the loader and libc", got)
	}
}
