// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// structure matches the parts of a cgroup path that say what sort of cgroup it
// is and name nobody: slices of the kubelet, of systemd and of container
// engines, and NVIDIA's own services.
var structure = regexp.MustCompile(`^(|\.|\.\.|kube(pods|let).*|pod[0-9a-f-]+|[0-9a-f]{32,}|(burstable|besteffort|guaranteed)` +
	`|(system|user|machine|init|app|session|docker|containerd|crio|kubelet|cri-containerd|podruntime|runtime)(\.(slice|scope|service))?` +
	`|(cri-containerd|crio|crio-conmon|docker|libpod|libpod-conmon|nerdctl)-[0-9a-f]{32,}(\.scope)?` +
	`|session-[0-9]+\.scope|(nvidia|dcgm|nv-)[a-z-]*\.service)$`)

// userUnit matches a user's slice or manager.
var userUnit = regexp.MustCompile(`^(user[-@])([0-9]+)(\.slice|\.service)$`)

// cgroup replaces the names in the text of /proc/PID/cgroup and keeps its
// structure.
func (r *Redactor) cgroup(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) < 3 {
			continue
		}
		path, gone := strings.CutSuffix(parts[2], " (deleted)")
		segments := strings.Split(path, "/")
		for j, s := range segments {
			segments[j] = r.segment(s)
		}
		if parts[2] = strings.Join(segments, "/"); gone {
			parts[2] += " (deleted)"
		}
		lines[i] = strings.Join(parts, ":")
	}
	return strings.Join(lines, "\n")
}

func (r *Redactor) segment(s string) string {
	// containerd's colon form: <slice>:<engine>:<id>
	if strings.Contains(s, ":") {
		parts := strings.Split(s, ":")
		for i, p := range parts {
			parts[i] = r.segment(p)
		}
		return strings.Join(parts, ":")
	}
	s = r.identifiers(s)
	if m := userUnit.FindStringSubmatch(s); m != nil {
		uid, _ := strconv.Atoi(m[2])
		return fmt.Sprintf("%s%d%s", m[1], r.user(uid), m[3])
	}
	if structure.MatchString(s) {
		return s
	}
	if identifier.MatchString(s) || strings.Contains(s, "kubepods") {
		return r.around(s)
	}
	ext := ""
	for _, e := range []string{".service", ".slice", ".scope", ".socket", ".mount", ".swap"} {
		if strings.HasSuffix(s, e) {
			ext = e
		}
	}
	return r.name("unit", strings.TrimSuffix(s, ext)) + ext
}

// around replaces the words around the identifiers of a segment.
func (r *Redactor) around(s string) string {
	var b strings.Builder
	for s != "" {
		at := identifier.FindStringIndex(s)
		if at == nil {
			b.WriteString(r.words(s))
			break
		}
		b.WriteString(r.words(s[:at[0]]))
		if last := lastWord.FindString(s[:at[0]]); last != "" && s[at[0]] != 'p' && r.words(last) != last {
			b.WriteByte('-') // a pseudonym's number must not run into the digits
		}
		b.WriteString(s[at[0]:at[1]])
		s = s[at[1]:]
	}
	return b.String()
}

var (
	word     = regexp.MustCompile(`[^-_.:@ ]+`)
	lastWord = regexp.MustCompile(`[^-_.:@ ]+$`)
)

// structural are the words that say what sort of cgroup a segment names.
var structural = map[string]bool{
	"kubepods": true, "kubelet": true, "burstable": true, "besteffort": true, "guaranteed": true, "pod": true,
	"slice": true, "scope": true, "service": true, "cri": true, "containerd": true,
}

// engines are the words by which a pod, a container and its monitor are told,
// even within other words.
var engines = []string{"kubepods", "conmon", "cri-containerd", "nerdctl", "crio", "libpod", "docker"}

func (r *Redactor) words(s string) string {
	return word.ReplaceAllStringFunc(s, func(w string) string {
		if structural[w] {
			return w
		}
		for _, e := range engines {
			if strings.Contains(w, e) {
				return e
			}
		}
		return r.name("unit", w)
	})
}
