// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/guard"
)

// nodeFindings says what a scan of files finds, a line each.
func nodeFindings(t *testing.T, files ...string) []string {
	t.Helper()
	for i := range files {
		files[i] = "testdata/nodes/" + files[i]
	}
	r := Read(files, Options{Namespace: "default"})
	if len(r.Mistakes) > 0 {
		t.Fatal(r.Mistakes)
	}
	report := guard.Scan(r.Input, guard.Policy{})
	var out []string
	for _, f := range report.Findings {
		out = append(out, fmt.Sprintf("%d:%d %s %s %s %s=%s", f.Document, f.Line, f.Rule, f.Severity, f.Object, f.Field, f.Value))
	}
	for _, e := range report.Exempted {
		out = append(out, fmt.Sprintf("exempt %s %s", e.Rule, e.Finding.Object))
	}
	return out
}

// TestNodeSettings: each setting that opens GPUs, in the files as they lie on
// nodes, with its line; and files that open nothing.
func TestNodeSettings(t *testing.T) {
	for name, want := range map[string][]string{
		"toolkit.toml": {"1:1 GT-G018 medium file/toolkit.toml ="},
		"toolkit-closed.toml": {
			"1:2 GT-G019 medium file/toolkit-closed.toml accept-nvidia-visible-devices-as-volume-mounts=true",
		},
		"containerd-v2.toml":  {"1:12 GT-G017 high file/containerd-v2.toml plugins[io.containerd.grpc.v1.cri].containerd.runtimes.nvidia.options.BinaryName=/usr/bin/nvidia-container-runtime"},
		"containerd-v3.toml":  {"1:9 GT-G017 high file/containerd-v3.toml plugins[io.containerd.cri.v1.runtime].containerd.runtimes.runc.options.BinaryName=/usr/local/nvidia/toolkit/nvidia-container-runtime"},
		"containerd-cdi.toml": nil,
		"crio.toml":           {"1:5 GT-G017 high file/crio.toml crio.runtime.runtimes.crun.runtime_path=/usr/bin/nvidia-container-runtime"},
		"plugin.yaml": {
			"1:16 GT-G021 medium file/plugin.yaml sharing.timeSlicing.resources[0].name=nvidia.com/gpu",
			"1:8 GT-G020 low file/plugin.yaml flags.plugin.deviceListStrategy=envvar,volume-mounts",
			"1:16 GT-G022 low file/plugin.yaml sharing.timeSlicing.resources[0].name=nvidia.com/gpu",
			"1:18 GT-G022 low file/plugin.yaml sharing.timeSlicing.resources[1].name=nvidia.com/mig-1g.10gb",
		},
		"operator.yaml": {
			"1:16 GT-G017 high ClusterPolicy/cluster-policy spec.toolkit.env[2].value=true",
			"1:14 GT-G019 medium ClusterPolicy/cluster-policy spec.toolkit.env[1].value=true",
			"3:43 GT-G021 low gpu-operator/ConfigMap/plugin-config data.any.sharing.mps.resources[0].name=nvidia.com/gpu",
			"4:58 GT-G020 low kube-system/DaemonSet/nvidia-device-plugin-daemonset spec.template.spec.containers[0].env[0].value=envvar,cdi-cri",
			"exempt GT-G017 ClusterPolicy/old",
			"exempt GT-G018 ClusterPolicy/old",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, nodeFindings(t, name)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNodeSettingsTogether: the default runtime is of little harm where the
// toolkit obeys the variable in privileged containers alone.
func TestNodeSettingsTogether(t *testing.T) {
	got := strings.Join(nodeFindings(t, "containerd-v2.toml", "toolkit-closed.toml"), "\n")
	if !strings.Contains(got, "GT-G017 low") {
		t.Errorf("with a closed toolkit:\n%s", got)
	}
	got = strings.Join(nodeFindings(t, "containerd-v2.toml", "toolkit-closed.toml", "toolkit.toml"), "\n")
	if !strings.Contains(got, "GT-G017 high") {
		t.Errorf("with one of two toolkits open:\n%s", got)
	}
}

// TestTOML: what TOML allows keeps its place; what is wrong is told with its line.
func TestTOML(t *testing.T) {
	v, err := parseTOML("a.b = 1\n[[x]]\nk = [\"p\", {q = true}]\n[[x]]\n[x.y]\n\"z.z\" = '''\nlong'''\n")
	if err != nil {
		t.Fatal(err)
	}
	n := node{r: &reading{out: &Result{}}, v: v}
	if got := n.at("a", "b").text(); got.Value != "1" || got.Line != 1 || got.Field != "a.b" {
		t.Errorf("a.b is %+v", got)
	}
	x := n.get("x")
	if x.v.shape != list || len(x.v.items) != 2 || x.v.items[1].fields["y"].fields["z.z"].text != "long" || x.v.items[0].fields["k"].items[1].fields["q"].text != "true" {
		t.Errorf("x is %+v", x.v)
	}
	for text, want := range map[string]string{
		"a = 1\nb = = 2\n":       "line 2: this is not valid TOML",
		"a = 1\na = 2\n":         "this is not valid TOML",
		"[tool]\nname = \"x\"\n": "is no configuration that is known",
	} {
		var out Result
		out.text("c.toml", text, Options{})
		if len(out.Mistakes) != 1 || !strings.Contains(out.Mistakes[0].Error(), want) {
			t.Errorf("%q: %v, want %q", text, out.Mistakes, want)
		}
	}
}

// FuzzTOML: no text stops the reader, and what it takes has a root.
func FuzzTOML(f *testing.F) {
	f.Add("a.b = 1\n[[x]]\nk = [\"p\", {q = true}]\n")
	f.Add("[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = \"nvidia\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		var out Result
		out.text("c.toml", text, Options{})
		guard.Scan(out.Input, guard.Policy{})
	})
}
