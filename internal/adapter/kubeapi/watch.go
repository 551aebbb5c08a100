// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/gputally/gputally/internal/adapter/kubeobj"
	"github.com/gputally/gputally/internal/core/workload"
)

func (c *Cache) watchPods(ctx context.Context) {
	lw := c.coreLister("pods", "spec.nodeName="+c.opts.Node, func() runtime.Object { return &corev1.PodList{} }, c.pods)
	c.reflect(ctx, lw, &corev1.Pod{}, &feed[podObject]{
		source:  c.pods,
		convert: podOf,
		put:     c.store.putPod,
		drop:    c.store.dropPod,
		replace: c.store.replacePods,
	})
}

func (c *Cache) watchNode(ctx context.Context) {
	lw := c.coreLister("nodes", "metadata.name="+c.opts.Node, func() runtime.Object { return &corev1.NodeList{} }, c.node)
	c.reflect(ctx, lw, &corev1.Node{}, &feed[workload.Node]{
		source: c.node,
		convert: func(o any) (workload.Node, error) {
			n, ok := o.(*corev1.Node)
			if !ok {
				return workload.Node{}, fmt.Errorf("got %T, want a Node", o)
			}
			return kubeobj.Node(n), nil
		},
		put:     func(n workload.Node) { c.store.setNode(&n) },
		drop:    func(workload.Node) { c.store.setNode(nil) },
		replace: c.store.replaceNode,
	})
}

// reflect lists and watches until ctx ends.
func (c *Cache) reflect(ctx context.Context, lw *listWatch, object runtime.Object, store cache.ReflectorStore) {
	lw.pace = newPace(c.backoff, c.opts.MaxBackoff)
	logger := klog.FromContext(ctx)
	cache.NewReflectorWithOptions(lw, object, store, cache.ReflectorOptions{
		// The pauses are the pace's: the reflector's own must be none that counts.
		Name: lw.source.operation, Logger: &logger, Backoff: &wait.Backoff{Duration: time.Millisecond, Steps: 1},
	}).RunWithContext(ctx)
}

// listWatch is how to list and watch one kind of object, noting how it goes, at its
// pace.
type listWatch struct {
	source *source
	pace   *pace
	list   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// IsWatchListSemanticsUnSupported makes client-go list before it watches: a
// node's objects are few, and every server can.
func (l *listWatch) IsWatchListSemanticsUnSupported() bool { return true }

// ListWithContext lists, as cache.ListerWatcherWithContext wants it.
func (l *listWatch) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	pause(ctx, l.pace.before(true, time.Now()))
	list, err := l.list(ctx, o)
	l.heard(err)
	return list, err
}

// WatchWithContext watches, as cache.ListerWatcherWithContext wants it.
func (l *listWatch) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	pause(ctx, l.pace.before(false, time.Now()))
	w, err := l.watch(ctx, o)
	l.heard(err)
	return w, err
}

func (l *listWatch) heard(err error) {
	l.source.heard(err)
	l.pace.after(err, time.Now())
}

// List lists, as cache.ListerWatcher wants it.
func (l *listWatch) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

// Watch watches, as cache.ListerWatcher wants it.
func (l *listWatch) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

func (c *Cache) coreLister(resource, selector string, empty func() runtime.Object, s *source) *listWatch {
	return &listWatch{
		source: s,
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			list := empty()
			err := c.api.core.Get().Resource(resource).VersionedParams(&o, metav1.ParameterCodec).Do(ctx).Into(list)
			return list, err
		},
		watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector, o.Watch = selector, true
			return c.api.core.Get().Resource(resource).VersionedParams(&o, metav1.ParameterCodec).Watch(ctx)
		},
	}
}
