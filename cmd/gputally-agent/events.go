// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"

	"github.com/gputally/gputally/internal/adapter/kubeapi"
	"github.com/gputally/gputally/internal/app/agent"
)

// newAnnouncer writes Events, nil where none are asked for or none can be written.
func newAnnouncer(c *config, src *sources, log *slog.Logger) agent.Announcer {
	switch {
	case !c.events:
		return nil
	case src.cache == nil:
		log.Warn("events are on, and there is no way to the API server: none are written", "hint", "set --kubeconfig or --in-cluster")
		return nil
	}
	return announcer{src.cache.NewRecorder()}
}

// announcer gives announcements the shape of Events.
type announcer struct{ to *kubeapi.Recorder }

func (a announcer) Announce(ctx context.Context, what agent.Announcement) error {
	return a.to.Create(ctx, kubeapi.Event{
		Namespace: what.Pod.Namespace, Pod: what.Pod.Pod, UID: what.Pod.PodUID,
		Node: what.Node, Reason: what.Reason, Note: what.Note, At: what.At,
	})
}
