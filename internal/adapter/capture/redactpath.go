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
	ext := ""
	for _, e := range []string{".service", ".slice", ".scope"} {
		if strings.HasSuffix(s, e) {
			ext = e
		}
	}
	return r.name("unit", strings.TrimSuffix(s, ext)) + ext
}
