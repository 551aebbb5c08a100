// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/test/mocknvml"
)

// exported lists the functions a library exports.
func exported(t *testing.T, library string) []string {
	t.Helper()
	f, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// declared lists the functions NVIDIA's header declares, found by another way than
// the generator's: every word nvml... that follows DECLDIR and a type.
func declared(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goNVML(t), "pkg", "nvml", "nvml.h"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		_, after, ok := strings.Cut(line, "DECLDIR ")
		if !ok || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		name := strings.TrimPrefix(after, "char* ")
		names = append(names, strings.TrimSpace(name[:strings.IndexByte(name, '(')]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestExportsEveryFunctionOfTheHeader(t *testing.T) {
	want := declared(t)
	if len(want) < 400 {
		t.Fatalf("only %d functions found in the header", len(want))
	}
	got := exported(t, mocknvml.Build(t))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("header (-) and library (+) differ:\n%s", d)
	}
}

func TestBuildWithoutLeavesFunctionsOut(t *testing.T) {
	all := exported(t, mocknvml.Build(t))
	old := exported(t, mocknvml.BuildWithout(t, "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetVgpuMetadata"))
	var left []string
	for _, name := range all {
		if !slices.Contains(old, name) {
			left = append(left, name)
		}
	}
	want := []string{"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetVgpuMetadata"}
	if d := cmp.Diff(want, left); d != "" {
		t.Error(d)
	}
}

func TestBuildWithoutRefusesUnknownFunction(t *testing.T) {
	_, err := mocknvml.BuildLibrary("nvmlDeviceGetMemoryInfo_v9")
	if err == nil || !strings.Contains(err.Error(), "the header has no function nvmlDeviceGetMemoryInfo_v9") {
		t.Fatalf("got %v", err)
	}
}

// The sanitizer run proves something only for what it calls.
func TestHammerCallsEveryImplementedFunction(t *testing.T) {
	definition := regexp.MustCompile(`(?m)^(?:nvmlReturn_t |const char \*|(?:GPU|DEVICE)_NUMBER\(|POWER_LIMIT\()(nvml\w+)[(,]`)
	implemented := words(t, "src/*.c", definition)
	if len(implemented) < 130 {
		t.Fatalf("only %d implemented functions found", len(implemented))
	}
	called := words(t, "hammer/*.c", regexp.MustCompile(`\b(nvml\w+)\b`))
	for name := range implemented {
		if !called[name] {
			t.Errorf("hammer/ does not call %s", name)
		}
	}
}

// words collects the first group of every match in some source files.
func words(t *testing.T, pattern string, r *regexp.Regexp) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no file matches %s (%v)", pattern, err)
	}
	found := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
		}
	}
	return found
}
