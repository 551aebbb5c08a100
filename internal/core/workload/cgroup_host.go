// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"regexp"
	"strings"
)

// userSlice is the slice systemd-logind makes for a user's sessions.
var userSlice = regexp.MustCompile(`^user-[0-9]+\.slice$`)

// hostOwner reads a path that systemd laid out: the user whose slice it is in,
// or else the outermost unit, since what is below a unit is its own business.
func hostOwner(path []string) (CgroupOwner, bool) {
	for i, segment := range path {
		switch {
		case userSlice.MatchString(segment):
			return CgroupOwner{Kind: CgroupUser, Unit: userUnit(segment, path[i+1:])}, true
		case isUnit(segment):
			return CgroupOwner{Kind: CgroupUnit, Unit: segment}, true
		}
	}
	return CgroupOwner{}, false
}

// userUnit is the user's slice and the innermost unit below it: a session, or
// the service that the user's own manager (user@1000.service) started.
func userUnit(slice string, below []string) string {
	for i := len(below) - 1; i >= 0; i-- {
		if isUnit(below[i]) {
			return slice + "/" + below[i]
		}
	}
	return slice
}

func isUnit(segment string) bool {
	for _, suffix := range []string{".service", ".scope", ".socket", ".mount", ".swap"} {
		if strings.HasSuffix(segment, suffix) && segment != suffix {
			return true
		}
	}
	return false
}

// otherOwner reads any other named cgroup of the host, such as Slurm's
// /slurm/uid_1000/job_7 or a bare slice. The kubelet's own tree above its pods
// is nobody's.
func otherOwner(path []string) (CgroupOwner, bool) {
	for _, segment := range path {
		if strings.Contains(segment, "kubepods") {
			return CgroupOwner{}, false
		}
	}
	return CgroupOwner{Kind: CgroupUnit, Unit: strings.Join(path, "/")}, true
}
