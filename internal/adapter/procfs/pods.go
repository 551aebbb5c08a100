// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/workload"
)

// podCgroup is the cgroup of a pod: rel is its path below the tree's root.
type podCgroup struct {
	uid, rel string
}

// The tree is searched for the kubelet's own cgroups, which are few and do not
// move: it is bounded, so that a host with a deep tree costs no more.
const (
	maxDepth    = 8
	maxSearched = 20000
	searchEvery = time.Minute
)

// podFinder finds the cgroups of pods in one tree. It remembers in which
// directories they live (kubepods and its QoS levels), so that a call lists
// only those.
type podFinder struct {
	root     string
	parents  []string // relative to root
	searched time.Time
	// uids are the pods of the directories listed last, by path; empty for
	// one that is no pod's. A path does not come to mean another pod.
	uids map[string]string
}

// find lists the pods' cgroups, sorted by path.
func (f *podFinder) find(root string, now time.Time) ([]podCgroup, error) {
	searched := false
	if f.root != root || f.searched.IsZero() || now.Sub(f.searched) >= searchEvery {
		if err := f.search(root, now); err != nil {
			return nil, err
		}
		searched = true
	}
	found, complete, err := f.list()
	if err != nil || complete || searched {
		return found, err
	}
	// A QoS level that had no pods before: where are its pods?
	if err := f.search(root, now); err != nil {
		return nil, err
	}
	found, _, err = f.list()
	return found, err
}

func (f *podFinder) search(root string, now time.Time) error {
	parents, err := searchParents(root)
	if err != nil {
		return err
	}
	f.root, f.parents, f.searched = root, parents, now
	return nil
}

// list looks into the known parents. complete is false where one of them has a
// directory that is neither a pod nor a known parent.
func (f *podFinder) list() (found []podCgroup, complete bool, err error) {
	seen := map[string]bool{}
	uids := make(map[string]string, len(f.uids))
	complete = true
	for _, parent := range f.parents {
		names, err := subdirectories(f.root + parent)
		if err != nil && !vanished(err) {
			return nil, false, err
		}
		for _, name := range names {
			rel := parent + "/" + name
			uid, listed := f.uids[rel]
			if !listed {
				uid = podOf(rel)
			}
			uids[rel] = uid
			ok := uid != ""
			if !ok && !slices.Contains(f.parents, rel) {
				complete = false
			}
			// The same pod again, deeper, is a cgroup made by the first.
			if ok && !seen[uid] {
				seen[uid] = true
				found = append(found, podCgroup{uid: uid, rel: rel})
			}
		}
	}
	f.uids = uids
	return found, complete, nil
}

// podOf is the UID of the pod that a directory is the cgroup of, empty where it
// is none or lies below a pod's.
func podOf(rel string) string {
	owner := workload.ParseCgroup("0::" + rel)
	if owner.Kind != workload.CgroupPod || owner.ContainerID != "" || owner.Monitor {
		return ""
	}
	return owner.PodUID
}

// searchParents walks the tree for directories that hold pods or may come to:
// those named after kubepods, and everything below them that is not a pod.
func searchParents(root string) ([]string, error) {
	var parents []string
	queue, looked := []string{""}, 0
	for len(queue) > 0 {
		rel := queue[0]
		queue = queue[1:]
		names, err := subdirectories(root + rel)
		if err != nil {
			if rel != "" {
				continue // gone, or not ours to read
			}
			return nil, fmt.Errorf("search pods: %w", err)
		}
		if looked++; looked > maxSearched {
			return nil, fmt.Errorf("search pods: %s: more than %d cgroups; point the cgroup root lower", root, maxSearched)
		}
		if strings.Contains(rel, "kubepods") {
			parents = append(parents, rel)
		}
		for _, name := range names {
			child := rel + "/" + name
			if owner := workload.ParseCgroup("0::" + child); owner.Kind == workload.CgroupPod || strings.Count(child, "/") > maxDepth {
				continue
			}
			queue = append(queue, child)
		}
	}
	slices.Sort(parents)
	return parents, nil
}

// subdirectories lists the names of a directory's directories, sorted.
func subdirectories(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
