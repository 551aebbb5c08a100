// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/gputally/gputally/internal/adapter/kubeobj"
	"github.com/gputally/gputally/internal/core/workload"
)

const resourceGroup = "resource.k8s.io"

// resourceVersions are those that can be read, best first.
var resourceVersions = []string{"v1", "v1beta2", "v1beta1"}

// askAgain is how often a server without resource.k8s.io is asked again: it
// may be upgraded.
const askAgain = 5 * time.Minute

// resourceVersion is the version of resource.k8s.io in use, "" while unknown
// or not served.
type resourceVersion struct {
	mu sync.Mutex
	v  string
}

func (r *resourceVersion) get() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.v
}

func (r *resourceVersion) set(v string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.v = v
}

// watchSlices finds the version that is served and watches in it, until the
// server serves it no more.
func (c *Cache) watchSlices(ctx context.Context) {
	delay := c.backoff()
	for ctx.Err() == nil {
		version, err := c.servedVersion(ctx)
		c.resource.set(version)
		switch {
		case err != nil:
			c.slices.heard(err)
			pause(ctx, delay.Step())
		case version == "":
			c.slices.heard(nil)
			c.slices.fill()
			pause(ctx, askAgain)
		default:
			delay = c.backoff()
			c.watchSlicesIn(ctx, version)
			pause(ctx, delay.Step())
		}
	}
}

func (c *Cache) watchSlicesIn(ctx context.Context, version string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	api := c.api.dynamic.Resource(schema.GroupVersionResource{Group: resourceGroup, Version: version, Resource: "resourceslices"})
	selector := "spec.nodeName=" + c.opts.Node
	// NotFound is the answer of a server that no longer serves the version.
	unserved := func(err error) {
		if apierrors.IsNotFound(err) {
			cancel()
		}
	}
	lw := &listWatch{
		source: c.slices,
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			list, err := api.List(ctx, o)
			unserved(err)
			return list, err
		},
		watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			w, err := api.Watch(ctx, o)
			unserved(err)
			return w, err
		},
	}
	kind := &unstructured.Unstructured{}
	kind.SetGroupVersionKind(schema.GroupVersionKind{Group: resourceGroup, Version: version, Kind: "ResourceSlice"})
	c.reflect(ctx, lw, kind, &feed[workload.Slice]{
		source:  c.slices,
		convert: sliceOf,
		put:     c.store.putSlice,
		drop:    c.store.dropSlice,
		replace: c.store.replaceSlices,
	})
}

func sliceOf(object any) (workload.Slice, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return workload.Slice{}, fmt.Errorf("got %T, want a ResourceSlice", object)
	}
	text, err := u.MarshalJSON()
	if err != nil {
		return workload.Slice{}, err
	}
	v, err := kubeobj.Decode("ResourceSlice", text, false)
	if err != nil {
		return workload.Slice{}, err
	}
	return v.(workload.Slice), nil
}

// servedVersion asks which versions of resource.k8s.io the server has, and
// picks the best; "" where it has none.
func (c *Cache) servedVersion(ctx context.Context) (string, error) {
	text, err := c.get(ctx, "/apis/"+resourceGroup, jsonType)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var group metav1.APIGroup
	if err := json.Unmarshal(text, &group); err != nil {
		return "", fmt.Errorf("read versions of %s: %w", resourceGroup, err)
	}
	for _, want := range resourceVersions {
		for _, have := range group.Versions {
			if have.Version == want {
				return want, nil
			}
		}
	}
	return "", nil
}

// getTimeout bounds the read of one object.
const getTimeout = 10 * time.Second

const (
	jsonType = "application/json"
	// metadataType asks for the metadata of an object alone.
	metadataType = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// get reads one object by its path.
func (c *Cache) get(ctx context.Context, path, accept string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	return c.api.core.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx).Raw()
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
