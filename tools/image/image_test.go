// SPDX-License-Identifier: Apache-2.0

//go:build image

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gputally/gputally/tools/image/elfcheck"
	"github.com/gputally/gputally/tools/image/rootfs"
	"github.com/gputally/gputally/tools/image/spdx"
)

// These tests look at the image that "make image" made, in the folder IMAGE names. They
// run its programs in its own files, as root: "make image-test".

// pulled is the image as one who pulls it sees it.
type pulled struct {
	t       *testing.T
	blobs   map[string][]byte
	index   pulledDocument
	bills   []pulledDocument
	version string
}

type pulledDocument struct {
	Manifests, Layers []pulledDescriptor
	Config            pulledDescriptor
	Subject           pulledDescriptor
	ArtifactType      string
}

type pulledDescriptor struct {
	Digest      string
	Size        int
	Platform    struct{ OS, Architecture string }
	Annotations map[string]string
}

func pull(t *testing.T) *pulled {
	t.Helper()
	dir := os.Getenv("IMAGE")
	if dir == "" {
		t.Fatal("IMAGE names no folder: run make image-test")
	}
	data, err := os.ReadFile(filepath.Join(dir, imageFile))
	if err != nil {
		t.Fatal(err)
	}
	p := &pulled{t: t, blobs: map[string][]byte{}}
	entries(t, data, func(h *tar.Header, data []byte) { p.blobs[h.Name] = data })
	var top pulledDocument
	p.decode(p.blobs["index.json"], &top)
	p.decode(p.blob(top.Manifests[0]), &p.index)
	p.version = top.Manifests[0].Annotations["org.opencontainers.image.ref.name"]
	for _, d := range top.Manifests[1:] {
		var b pulledDocument
		p.decode(p.blob(d), &b)
		p.bills = append(p.bills, b)
	}
	return p
}

func entries(t *testing.T, data []byte, f func(*tar.Header, []byte)) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		f(h, data)
	}
}

func (p *pulled) decode(data []byte, into any) {
	p.t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		p.t.Fatalf("decode %.100s: %v", data, err)
	}
}

// blob is what a descriptor points to, its digest and size checked.
func (p *pulled) blob(d pulledDescriptor) []byte {
	p.t.Helper()
	data := p.blobs["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
	if len(data) != d.Size || fmt.Sprintf("sha256:%x", sha256.Sum256(data)) != d.Digest {
		p.t.Fatalf("blob %s has %d bytes, want %d, or another digest", d.Digest, len(data), d.Size)
	}
	return data
}

// tree is the files of one platform.
func (p *pulled) tree(arch string) rootfs.Tree {
	p.t.Helper()
	t := rootfs.Tree{}
	for _, layer := range p.manifest(arch).Layers {
		z, err := gzip.NewReader(bytes.NewReader(p.blob(layer)))
		if err != nil {
			p.t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			p.t.Fatal(err)
		}
		entries(p.t, plain, func(h *tar.Header, data []byte) {
			if err := t.Add(rootfs.Entry{Path: h.Name, Mode: h.Mode, Owner: h.Uid, Link: h.Linkname, Folder: h.Typeflag == tar.TypeDir, Data: data}); err != nil {
				p.t.Fatal(err)
			}
		})
	}
	return t
}

func (p *pulled) manifest(arch string) (m pulledDocument) {
	p.t.Helper()
	p.decode(p.blob(p.descriptor(arch)), &m)
	return m
}

func (p *pulled) descriptor(arch string) pulledDescriptor {
	p.t.Helper()
	for _, d := range p.index.Manifests {
		if d.Platform.OS == "linux" && d.Platform.Architecture == arch {
			return d
		}
	}
	p.t.Fatalf("the image has no linux/%s", arch)
	return pulledDescriptor{}
}

func TestEveryPlatformFindsItsLibraries(t *testing.T) {
	p := pull(t)
	for _, a := range architectures {
		missing, err := elfcheck.Missing(p.tree(a.name), libraryFolders(a), a.machine)
		if err != nil || len(missing) > 0 {
			t.Errorf("linux/%s: %v, missing %v", a.name, err, missing)
		}
	}
}

func TestNoShellAndNobodyIsRoot(t *testing.T) {
	p := pull(t)
	for _, a := range architectures {
		var config struct {
			Config struct {
				User   string
				Labels map[string]string
			}
		}
		p.decode(p.blob(p.manifest(a.name).Config), &config)
		if config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.version"] != p.version {
			t.Errorf("linux/%s starts as %q with labels %v", a.name, config.Config.User, config.Config.Labels)
		}
		tree := p.tree(a.name)
		for _, path := range tree.Paths() {
			e := tree[path]
			if !e.Folder && e.Link == "" && e.Mode&0o111 != 0 && (strings.HasPrefix(path, "usr/bin/") || strings.HasPrefix(path, "usr/sbin/")) {
				t.Errorf("linux/%s has a program /%s", a.name, path)
			}
			if e.Mode&0o6000 != 0 {
				t.Errorf("linux/%s: /%s is setuid or setgid", a.name, path)
			}
		}
	}
}

func TestProgramsStartInTheirOwnFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("starting programs in the image's files needs root (chroot)")
	}
	p := pull(t)
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the image's user must get in
		t.Fatal(err)
	}
	if err := p.tree("amd64").Unpack(dir); err != nil {
		t.Fatal(err)
	}
	// As the container toolkit brings the driver in.
	mock, err := os.ReadFile("../../test/mocknvml/build/libnvidia-ml.so.1")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": mock,
		"tmp/state": []byte("driver 570.172.08\ngpu uuid=GPU-aaaaaaaa-0000-0000-0000-000000000000 name=NVIDIA_A100-SXM4-40GB mem=42949672960\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"gputally", "version"}, p.version},
		{[]string{"gputally", "ledger", "--help"}, "Usage:"},
		{[]string{"gputally-agent", "--help"}, "--nvml-library"},
		{[]string{"gputally-agent", "capture", "--standalone", "--interval", "1s", "--duration", "1s", "-o", "/tmp/capture.yaml"}, ""},
	} {
		out, err := inside(dir, user, c.args...)
		if err != nil || !strings.Contains(out, c.says) {
			t.Errorf("%s: %v, want %q in\n%s", strings.Join(c.args, " "), err, c.says, out)
		}
	}
	captured, err := os.ReadFile(filepath.Join(dir, "tmp/capture.yaml"))
	if err != nil || !bytes.Contains(captured, []byte("GPU-aaaaaaaa")) {
		t.Errorf("the agent captured %v, %.300s: want the mock's GPU", err, captured)
	}
}

// TestServerKeepsItsLedgerInside: DuckDB opens its files as the image's user.
func TestServerKeepsItsLedgerInside(t *testing.T) {
	p := pull(t)
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := p.tree("amd64").Unpack(dir); err != nil {
		t.Fatal(err)
	}
	cmd := chrooted(dir, user, "gputally", "server", "--data-dir", "/var/lib/gputally", "--listen", "127.0.0.1:0")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop() // then its output ends
	buf := make([]byte, 4096)
	said := ""
	for !strings.Contains(said, "address=") {
		n, err := out.Read(buf)
		said += string(buf[:n])
		if err != nil {
			t.Fatalf("the server ended: %v\n%s", err, said)
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server stopped with %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "var/lib/gputally/journal.duckdb")); err != nil {
		t.Errorf("no database was made: %v", err)
	}
}

func inside(dir string, as uint32, args ...string) (string, error) {
	out, err := chrooted(dir, as, args...).CombinedOutput()
	return string(out), err
}

func chrooted(dir string, as uint32, args ...string) *exec.Cmd {
	return &exec.Cmd{
		Path: "/usr/local/bin/" + args[0], Args: args, Dir: "/",
		Env:         []string{"PATH=/usr/local/bin:/usr/bin", "MOCK_NVML_STATE=/tmp/state"},
		SysProcAttr: &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: as, Gid: as}},
	}
}

func TestBillNamesEveryModuleAndPackage(t *testing.T) {
	p := pull(t)
	for _, a := range architectures {
		tree, d := p.tree(a.name), p.bill(a.name)
		if err := d.Check(); err != nil {
			t.Error(err)
		}
		named := map[string]string{}
		for _, entry := range d.Packages {
			named[entry.Name] = entry.Version
		}
		for name, version := range map[string]string{"htm": "3.1.1", "preact": "", "uplot": "1.6.32"} {
			if got, ok := named[name]; !ok || got != version {
				t.Errorf("linux/%s: the bill says %s %q, the web page has %q", a.name, name, got, version)
			}
			if f := tree["usr/share/doc/gputally/licenses/npm/"+name+"/LICENSE"]; len(f.Data) == 0 {
				t.Errorf("linux/%s: the image has no licence of %s", a.name, name)
			}
		}
		for _, program := range programNames {
			info, err := buildinfo.Read(bytes.NewReader(tree["usr/local/bin/"+program].Data))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range info.Deps {
				if named[m.Path] != m.Version {
					t.Errorf("linux/%s: %s is built with %s %s, the bill says %q", a.name, program, m.Path, m.Version, named[m.Path])
				}
				if !slices.ContainsFunc(tree.Paths(), func(f string) bool {
					return strings.HasPrefix(f, "usr/share/doc/gputally/licenses/"+m.Path+"/") && len(tree[f].Data) > 0
				}) {
					t.Errorf("linux/%s: the image has no licence of %s", a.name, m.Path)
				}
			}
			if want := strings.TrimPrefix(info.GoVersion, "go"); named["stdlib"] != want {
				t.Errorf("linux/%s: the bill names Go %q, want %s", a.name, named["stdlib"], want)
			}
		}
		for _, path := range tree.Paths() {
			if name, is := strings.CutPrefix(path, "var/lib/dpkg/status.d/"); is && named[name] == "" {
				t.Errorf("linux/%s: the bill does not name the package %s", a.name, name)
			}
		}
	}
}

// bill is the bill of materials that refers to a platform's image; the file beside the
// image must be the same.
func (p *pulled) bill(arch string) *spdx.Document {
	p.t.Helper()
	for _, b := range p.bills {
		if b.Subject.Digest != p.descriptor(arch).Digest {
			continue
		}
		text := p.blob(b.Layers[0])
		beside, err := os.ReadFile(filepath.Join(os.Getenv("IMAGE"), "gputally-linux-"+arch+".spdx.json"))
		if err != nil || !bytes.Equal(text, beside) {
			p.t.Errorf("the bill beside the image for %s is another one (%v)", arch, err)
		}
		var d spdx.Document
		p.decode(text, &d)
		return &d
	}
	p.t.Fatalf("no bill of materials refers to linux/%s", arch)
	return nil
}

// TestSameSourcesGiveTheSameImage builds all again, in other folders.
func TestSameSourcesGiveTheSameImage(t *testing.T) {
	p := pull(t)
	again := t.TempDir()
	cmd := exec.Command("go", "run", "./tools/image", "-o", again, "--version", p.version, "--tags", os.Getenv("IMAGE_TAGS"), "--revision", os.Getenv("IMAGE_REVISION"))
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build again: %v\n%s", err, out)
	}
	for _, name := range []string{imageFile, sbomFile(architectures[0]), sbomFile(architectures[1])} {
		one, err := os.ReadFile(filepath.Join(os.Getenv("IMAGE"), name))
		if err != nil {
			t.Fatal(err)
		}
		two, err := os.ReadFile(filepath.Join(again, name))
		if err != nil {
			t.Fatal(err)
		}
		if sha256.Sum256(one) != sha256.Sum256(two) {
			t.Errorf("%s differs between two builds of the same sources", name)
		}
	}
}
