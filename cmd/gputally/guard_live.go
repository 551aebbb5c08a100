// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/gputally/gputally/internal/adapter/livecluster"
	"github.com/gputally/gputally/internal/adapter/manifest"
	"github.com/gputally/gputally/internal/core/guard"
)

// readCluster reads the cluster in place of files. Its error is one that leaves
// nothing to report.
func (s *scanned) readCluster(ctx context.Context, f *guardScan, progress io.Writer) error {
	cluster, err := livecluster.Open(livecluster.Options{
		Kubeconfig: f.kubeconfig, Context: f.context, Namespace: f.namespace,
		UserAgent: "gputally/" + versionText(), Progress: slowly(progress),
	})
	if err != nil {
		return err
	}
	s.cluster = cluster.String()
	take := func(o livecluster.Object) {
		s.read.Item(s.cluster, manifest.Item{APIVersion: o.APIVersion, Kind: o.Kind, Of: o.Of, JSON: o.JSON})
	}
	unread, err := cluster.Workloads(ctx, take)
	if err != nil {
		return err
	}
	more, err := cluster.ConfigMaps(ctx, s.read.Input.Lookups(), take)
	if err != nil {
		return err
	}
	s.lost(append(unread, more...))
	return nil
}

// lost keeps what may not be read: what the scan needs as a mistake, for which it
// ends with 2, the rest as not looked at.
func (s *scanned) lost(unread []livecluster.Unread) {
	for _, u := range unread {
		if u.Optional {
			s.read.Skipped = append(s.read.Skipped, manifest.Skipped{File: s.cluster, Reason: u.String()})
		} else {
			s.read.Mistakes = append(s.read.Mistakes, manifest.Mistake{File: s.cluster, Message: u.String()})
		}
	}
}

// sayProgress is the time between two words on how far it is.
const sayProgress = 2 * time.Second

// slowly says how reading goes, where it takes long.
func slowly(w io.Writer) func(what string, read int, left int64) {
	last := time.Now()
	return func(what string, read int, left int64) {
		if time.Since(last) < sayProgress {
			return
		}
		last = time.Now()
		if left > 0 {
			fmt.Fprintf(w, "reading %s: %d of about %d\n", what, read, int64(read)+left)
			return
		}
		fmt.Fprintf(w, "reading %s: %d\n", what, read)
	}
}

// podsText says in which pods something was found, "" where it is in a template.
func podsText(f guard.Finding) string {
	switch {
	case f.Pods == nil:
		return ""
	case f.Pods.Count == 1:
		return "in pod " + f.Pods.First[0]
	}
	return fmt.Sprintf("in %d pods, such as %s", f.Pods.Count, f.Pods.First[0])
}
