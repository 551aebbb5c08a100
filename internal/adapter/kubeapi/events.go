// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// controllerName is who reports the Events.
const controllerName = "gputally.io/agent"

// maxNote and maxInstance are what the API server takes, in bytes.
const (
	maxNote     = 1024
	maxInstance = 128
)

// Event is one thing to be said about one pod.
type Event struct {
	Namespace, Pod, UID string
	Node                string
	Reason, Note        string
	At                  time.Time
}

// Recorder writes Events (events.k8s.io/v1). Each is an object of its own: the
// agent says rarely anything again, and so needs no right but to create them.
// client-go's recorder, which joins them into series, would bring the types of
// the whole API into every agent.
type Recorder struct {
	core     rest.Interface
	instance string
}

// NewRecorder writes by the same connection as the cache.
func (c *Cache) NewRecorder() *Recorder {
	return &Recorder{core: c.api.core, instance: short("gputally-agent-"+c.opts.Node, maxInstance)}
}

// Create writes one. A refusal says which right is missing.
func (r *Recorder) Create(ctx context.Context, e Event) error {
	body, err := json.Marshal(r.object(e))
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	err = r.core.Post().AbsPath("/apis/events.k8s.io/v1/namespaces/"+e.Namespace+"/events").
		SetHeader("Content-Type", jsonType).SetHeader("Accept", jsonType).Body(body).Do(ctx).Error()
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil // said before a timeout; or the pod's namespace goes away, and its Events with it
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		return fmt.Errorf("write event: %w: grant the agent's service account create on events of events.k8s.io, or switch --events off", err)
	case err != nil:
		return fmt.Errorf("write event: %w", plain(err))
	}
	return nil
}

func (r *Recorder) object(e Event) *eventsv1.Event {
	return &eventsv1.Event{
		TypeMeta:   metav1.TypeMeta{APIVersion: "events.k8s.io/v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: nameOf(e)},
		EventTime:  metav1.NewMicroTime(e.At), ReportingController: controllerName, ReportingInstance: r.instance,
		Type: corev1.EventTypeWarning, Reason: e.Reason, Action: "Observe", Note: short(e.Note, maxNote),
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: e.Namespace, Name: e.Pod, UID: types.UID(e.UID)},
		Related:   &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: e.Node},
	}
}

// nameOf is one name for each thing said, as client-go makes them of the time. A
// sample may say several things of one pod, and of several GPUs.
func nameOf(e Event) string {
	what := fnv.New32a()
	_, _ = io.WriteString(what, e.Reason+"\x00"+e.Note) // cannot fail
	return fmt.Sprintf("%s.%x%08x", short(e.Pod, 220), e.At.UnixNano(), what.Sum32())
}

// short cuts a text to so many bytes, between characters.
func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most]
}
