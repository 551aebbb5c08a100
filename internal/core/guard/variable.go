// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strings"
)

// The variables that the rules know. NVIDIA's container toolkit reads those that
// begin with NVIDIA_, CUDA itself the MPS ones, HAMi's library the last.
const (
	visibleDevices = "NVIDIA_VISIBLE_DEVICES"
	requireCUDA    = "NVIDIA_REQUIRE_CUDA"
	cudaVersion    = "CUDA_VERSION"
	mpsPipe        = "CUDA_MPS_PIPE_DIRECTORY"
	mpsPrefix      = "CUDA_MPS_"
	disableControl = "CUDA_DISABLE_CONTROL"
)

// certainty is how much the input tells of a variable.
type certainty int

const (
	unset    certainty = iota // the spec does not set it; the image may, where it is not known
	possible                  // something that is not in the input may set it
	unknown                   // it is set, to what is not in the input
	known
)

// setting is what a container's spec sets a variable to.
type setting struct {
	certainty
	value string
	at    Text   // what sets it
	from  string // in words: where an unknown or possible value comes from
	image bool   // the image sets it, not the spec
}

// environment is what the spec sets in one container.
type environment struct {
	scan      *scan
	namespace string
	sources   []Source
	image     *Image             // nil where it is not known
	at        Text               // where the spec names the image
	named     map[string]setting // by env, the last entry of a name
}

// environment reads env in its order, since an entry may refer to earlier ones.
func (s *scan) environment(w *Workload, c *Container) *environment {
	e := &environment{scan: s, namespace: w.Namespace, sources: c.EnvFrom, image: s.image(c), at: c.Image, named: map[string]setting{}}
	for _, v := range c.Env {
		if v.From != nil {
			e.named[v.Name] = e.resolve(*v.From)
		} else {
			e.named[v.Name] = e.expand(v.Value)
		}
	}
	return e
}

// get is what a variable is set to: by the spec, else by the image.
func (e *environment) get(name string) setting {
	got := e.spec(name)
	if got.certainty != unset || e.image == nil {
		return got
	}
	value, has := e.image.Env[name]
	if !has {
		return setting{}
	}
	return setting{certainty: known, value: value, at: e.at, image: true}
}

// spec is what env sets it to, else the last of envFrom that has it.
func (e *environment) spec(name string) setting {
	if got, ok := e.named[name]; ok {
		return got
	}
	for i := len(e.sources) - 1; i >= 0; i-- {
		if got := e.fromSource(e.sources[i], name); got.certainty != unset {
			return got
		}
	}
	return setting{}
}

// resolve is the value of an entry with valueFrom.
func (e *environment) resolve(from Reference) setting {
	if from.Kind == FromConfigMap {
		if data, ok := e.scan.configMap(e.namespace, from.Name); ok {
			value, has := data[from.Key]
			if !has { // the container does not start, or (optional) goes without
				return setting{}
			}
			return setting{certainty: known, value: value, at: from.At}
		}
	}
	if from.Name == "" {
		return setting{certainty: unknown, at: from.At, from: "a " + from.Kind}
	}
	return setting{certainty: unknown, at: from.At, from: fmt.Sprintf("key %q of %s %q, which is not in the input", from.Key, from.Kind, from.Name)}
}

// maxExpanded bounds a value that refers to others, in bytes; real ones are
// lists of devices.
const maxExpanded = 4096

// expand replaces $(NAME) by variables that stand before, as the kubelet does.
// Where one of them is not known, or the text grows without measure, the whole
// is not known.
func (e *environment) expand(text Text) setting {
	out, rest := "", text.Value
	for len(out) <= maxExpanded {
		before, after, ok := strings.Cut(rest, "$")
		out += before
		if !ok {
			return setting{certainty: known, value: out, at: text}
		}
		name, tail, closed := strings.Cut(after, ")")
		switch {
		case strings.HasPrefix(after, "$"):
			out, rest = out+"$", after[1:]
		case closed && strings.HasPrefix(name, "("):
			value, certain := e.reference(name[1:])
			if !certain {
				return setting{certainty: unknown, at: text, from: fmt.Sprintf("$%s), whose value is not in the input", name)}
			}
			out, rest = out+value, tail
		default:
			out, rest = out+"$", after
		}
	}
	return setting{certainty: unknown, at: text, from: "references that grow without measure"}
}

// reference is the text that stands in for $(name). A name that nothing sets
// stays as it is written.
func (e *environment) reference(name string) (text string, certain bool) {
	switch got := e.spec(name); got.certainty { // the image's are no such variables
	case known:
		return got.value, true
	case unset:
		return "$(" + name + ")", true
	}
	return "", false
}

func (e *environment) fromSource(from Source, name string) setting {
	key, ok := strings.CutPrefix(name, from.Prefix)
	if !ok || key == "" {
		return setting{}
	}
	if from.Kind == FromConfigMap {
		if data, ok := e.scan.configMap(e.namespace, from.Name.Value); ok {
			value, has := data[key]
			if !has {
				return setting{}
			}
			return setting{certainty: known, value: value, at: from.Name}
		}
	}
	what := "is not in the input"
	if from.Kind == FromSecret {
		what = "is not read"
	}
	return setting{certainty: possible, at: from.Name, from: fmt.Sprintf("%s %q, which %s", from.Kind, from.Name.Value, what)}
}

// configMap is the data of a ConfigMap of the input. Where two have one name,
// which of them the cluster gets is not known.
func (s *scan) configMap(namespace, name string) (data map[string]string, ok bool) {
	found := 0
	for _, m := range s.in.ConfigMaps {
		if m.Namespace == namespace && m.Name == name {
			found, data = found+1, m.Data
		}
	}
	return data, found == 1
}

// gives: a value of NVIDIA_VISIBLE_DEVICES makes the toolkit add GPUs. Nothing,
// none and void do not; one void in a list makes the whole void.
func gives(value string) bool {
	some := false
	for _, part := range strings.Split(value, ",") {
		switch strings.TrimSpace(part) {
		case "void":
			return false
		case "", "none":
		default:
			some = true
		}
	}
	return some
}

// all: the value names every GPU.
func all(value string) bool {
	for _, part := range strings.Split(value, ",") {
		if strings.TrimSpace(part) == "all" {
			return true
		}
	}
	return false
}
