// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/sample"
)

// name returns the pseudonym of a name among its kind; nothing stays nothing.
func (r *Redactor) name(kind, name string) string {
	if name == "" {
		return ""
	}
	if r.names[kind] == nil {
		r.names[kind] = map[string]string{}
	}
	p, ok := r.names[kind][name]
	if !ok {
		p = fmt.Sprintf("%s-%d", kind, len(r.names[kind])+1)
		r.names[kind][name] = p
	}
	return p
}

func (r *Redactor) node(name string) string { return r.name("node", name) }

func (r *Redactor) namespace(name string) string {
	if r.keep[name] {
		return name
	}
	return r.name("namespace", name)
}

func (r *Redactor) pod(namespace, name string) string {
	if r.keep[namespace] || name == "" {
		return name
	}
	return r.name("pod", namespace+"/"+name)
}

func (r *Redactor) claimName(namespace, name string) string {
	return r.name("claim", namespace+"/"+name)
}

// identifier matches what names one thing for good: UUIDs, in cgroup paths
// with "_" for "-", and longer runs of hex digits: container ids and the
// config hashes of static pods, which stand right behind "pod".
var identifier = regexp.MustCompile(`[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|(?:pod)?[0-9a-f]{32,}`)

// identifiers replaces every identifier in a text, and keeps its form.
func (r *Redactor) identifiers(text string) string {
	return identifier.ReplaceAllStringFunc(text, func(id string) string {
		digits, pod := strings.CutPrefix(id, "pod")
		if !pod && len(id) == 36 && (id[8] == '-' || id[8] == '_') {
			n := r.number(strings.ReplaceAll(id, "_", "-"))
			return strings.ReplaceAll(fmt.Sprintf("00000000-0000-4000-8000-%012x", n), "-", id[8:9])
		}
		if pod && len(digits) != 32 {
			digits = id[len("po"):] // the d is a digit of a longer run
		}
		return strings.TrimSuffix(id, digits) + fmt.Sprintf("%0*x", len(digits), r.number(digits))
	})
}

func (r *Redactor) number(id string) int {
	n, ok := r.ids[id]
	if !ok {
		n = len(r.ids) + 1
		r.ids[id] = n
	}
	return n
}

// user replaces a user's number; root stays root.
func (r *Redactor) user(uid int) int {
	if uid == 0 {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(r.name("uid", strconv.Itoa(uid)), "uid-"))
	return 1000 + n
}

func (r *Redactor) process(p sample.Process) sample.Process {
	p.Cgroup = r.cgroup(p.Cgroup)
	p.UID, p.User = r.user(p.UID), r.name("user", p.User)
	if !strings.HasPrefix(p.Comm, "nvidia-") && p.Comm != "Xorg" {
		p.Comm = r.name("process", p.Comm)
	}
	p.Env = r.env(p.Env)
	return p
}

// env keeps the variables that choose GPUs; of others, that they are set.
func (r *Redactor) env(env map[string]string) map[string]string {
	if env == nil {
		return nil
	}
	out := map[string]string{}
	for _, key := range sortedKeys(env) {
		switch key {
		case "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES":
			out[key] = r.identifiers(env[key])
		default:
			out[key] = hide(env[key])
		}
	}
	return out
}

func sortedPIDs(m map[int]sample.Process) []int { return slices.Sorted(maps.Keys(m)) }
