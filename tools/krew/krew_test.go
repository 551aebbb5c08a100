// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// found is the part of the manifest that Krew acts on.
type found struct {
	Spec struct {
		Version          string
		ShortDescription string `yaml:"shortDescription"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `yaml:"matchLabels"`
			}
			URI, SHA256 string
			Files       []struct{ From, To string }
			Bin         string
		}
	}
}

// packedHere packs two small programs and reads the manifest.
func packedHere(t *testing.T) (dir string, m found, text string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range map[string]string{"a": "#!/bin/sh\necho amd64\n", "b": "#!/bin/sh\necho arm64\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--out", filepath.Join(dir, "out"), "--url", "https://example.com/v0.1.0/", "--version", "v0.1.0", "--licence", "../../LICENSE",
		"--program", "linux/arm64=" + filepath.Join(dir, "b"), "--program", "linux/amd64=" + filepath.Join(dir, "a")}
	if err := run(args); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(dir, "out", "gputally.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(body, &m); err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return filepath.Join(dir, "out"), m, string(body)
}

// TestManifestNamesItsArchives: each platform's sum is its archive's, the files that are
// taken out of it are in it, and the program can be started.
func TestManifestNamesItsArchives(t *testing.T) {
	dir, m, text := packedHere(t)
	if len(m.Spec.Platforms) != 2 || m.Spec.Version != "v0.1.0" {
		t.Fatalf("read as %+v of\n%s", m, text)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		p := m.Spec.Platforms[i]
		name := "kubectl-gputally_linux_" + arch + ".tar.gz"
		if p.Selector.MatchLabels["arch"] != arch || p.Selector.MatchLabels["os"] != "linux" || p.URI != "https://example.com/v0.1.0/"+name {
			t.Errorf("platform %d is %+v", i, p)
		}
		files, sum := unpacked(t, filepath.Join(dir, name))
		if p.SHA256 != sum {
			t.Errorf("%s: the sum is %s, the manifest says %s", name, sum, p.SHA256)
		}
		if diff := cmp.Diff(map[string]string{"LICENSE": "-rw-r--r--", "gputally": "-rwxr-xr-x #!/bin/sh\necho " + arch + "\n"}, files); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, f := range p.Files {
			if _, ok := files[f.From]; !ok || f.To != "." {
				t.Errorf("%s: the manifest takes %+v", name, f)
			}
		}
		if p.Bin != "gputally" {
			t.Errorf("%s: bin is %q", name, p.Bin)
		}
	}
	// Krew's naming guide: short, no kubectl, no end of a sentence.
	if s := m.Spec.ShortDescription; s == "" || len(s) > 50 || strings.HasSuffix(s, ".") || strings.Contains(s, "kubectl") {
		t.Errorf("the short description is %q", s)
	}
}

// unpacked are the modes of an archive's files, and the content of its program.
func unpacked(t *testing.T, file string) (files map[string]string, sum string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	hash := sha256.New()
	z, err := gzip.NewReader(io.TeeReader(f, hash))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = h.FileInfo().Mode().String()
		if h.Name == programName {
			body, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			files[h.Name] += " " + string(body)
		}
	}
	if _, err := io.Copy(io.Discard, io.TeeReader(f, hash)); err != nil {
		t.Fatal(err)
	}
	return files, hex.EncodeToString(hash.Sum(nil))
}

// TestTheSamePrograms give the same manifest.
func TestTheSamePrograms(t *testing.T) {
	_, _, one := packedHere(t)
	if _, _, two := packedHere(t); one != two {
		t.Errorf("two manifests of the same programs:\n%s\n%s", one, two)
	}
}

func TestRefusals(t *testing.T) {
	good := []string{"--url", "https://example.com", "--version", "v1.2.3", "--out", t.TempDir(), "--licence", "../../LICENSE"}
	for says, more := range map[string][]string{
		"such as v0.1.0":           {"--version", "0.1.0", "--program", "linux/amd64=x"},
		"want the https://":        {"--url", "http://example.com", "--program", "linux/amd64=x"},
		"no --program":             nil,
		"want OS/ARCHITECTURE":     {"--program", "amd64=x"},
		"program for linux/amd64:": {"--program", "linux/amd64=" + filepath.Join(t.TempDir(), "nothing")},
	} {
		if err := run(append(append([]string{}, good...), more...)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", more, err, says)
		}
	}
}
