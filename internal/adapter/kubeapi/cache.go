// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/gputally/gputally/internal/core/sample"
)

// Options configure a Cache.
type Options struct {
	// Config says how to reach the API server (LoadConfig).
	Config *rest.Config
	// Node is the name of the Node object of this host.
	Node string
	// Grace is how long a deleted pod is kept as Gone; 10 min if zero.
	Grace time.Duration
	// MaxGone bounds how many of them are kept; 512 if zero.
	MaxGone int
	// ClaimsEvery is how often a claim in use is read again; 60 s if zero.
	ClaimsEvery time.Duration
	// MaxBackoff bounds the pauses between tries during an outage; 15 s if
	// zero. Each is stretched at random, up to twofold.
	MaxBackoff time.Duration
}

func (o Options) withDefaults() Options {
	span := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	span(&o.Grace, 10*time.Minute)
	span(&o.ClaimsEvery, time.Minute)
	span(&o.MaxBackoff, 15*time.Second)
	if o.MaxGone <= 0 {
		o.MaxGone = 512
	}
	return o
}

// Cache holds the Kubernetes objects of one node, as last heard. It is safe
// for concurrent use.
type Cache struct {
	opts   Options
	api    clients
	store  *store
	claims *claims
	owners *owners

	pods, node, slices *source
	// resource is the version of resource.k8s.io that is served.
	resource resourceVersion

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Start begins to fill a cache. It returns at once, whether or not the API
// server can be reached; an error is one of the configuration. Close ends it.
func Start(opts Options) (*Cache, error) {
	opts = opts.withDefaults()
	if opts.Node == "" {
		return nil, fmt.Errorf("watch kubernetes objects: no node name; set it from spec.nodeName of the agent's pod")
	}
	api, err := connect(opts.Config)
	if err != nil {
		return nil, fmt.Errorf("watch kubernetes objects: %w", err)
	}
	c := &Cache{
		opts: opts, api: api,
		pods: newSource("watch pods"), node: newSource("watch node"), slices: newSource("watch resource slices"),
	}
	c.owners = newOwners(c)
	c.store = newStore(opts, c.owners)
	c.claims = newClaims(c)
	c.pods.onSynced, c.slices.onSynced = c.store.signal, c.store.signal
	ctx, cancel := context.WithCancel(quiet(context.Background()))
	c.cancel = cancel
	for _, loop := range []func(context.Context){c.watchPods, c.watchNode, c.watchSlices, c.followUp} {
		c.done.Go(func() { loop(ctx) })
	}
	return c, nil
}

// quiet keeps client-go from writing to standard error on its own: what goes
// wrong is told by Status.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.Logger{}) }

// Close stops watching and waits for it to end. Objects stays usable.
func (c *Cache) Close() {
	c.cancel()
	c.done.Wait()
	c.api.http.CloseIdleConnections()
}

// Objects are the objects as last heard. It never waits for the API server.
// The value is shared with other callers: do not change what it points to.
func (c *Cache) Objects() sample.Objects {
	o := c.store.objects(time.Now())
	o.Known = c.pods.full() && c.node.synced() && c.claims.source.synced()
	return o
}

// Status says how the cache is fed. ok is true while every source is; staleMS
// is for how long, in milliseconds, the worst of them has failed; err is why.
func (c *Cache) Status() (ok bool, staleMS int64, err string) {
	now := time.Now()
	ok = true
	for _, s := range []*source{c.pods, c.node, c.slices, c.claims.source} {
		since, cause := s.failing(now)
		if cause == "" {
			continue
		}
		if ok || since.Milliseconds() > staleMS {
			staleMS = since.Milliseconds()
		}
		if ok {
			err = cause
		}
		ok = false
	}
	return ok, staleMS, err
}

// followUpEvery is how often pods are checked for claims and owners that are
// still to be read, besides each time that a pod changes.
const followUpEvery = 5 * time.Second

// followUp reads what pods point to: their claims and owners.
func (c *Cache) followUp(ctx context.Context) {
	tick := time.NewTicker(followUpEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-c.store.changed:
		}
		complete := c.pods.synced() && c.slices.synced()
		pods := c.store.live()
		c.claims.update(ctx, pods)
		if c.owners.update(ctx, pods) {
			c.store.invalidate()
		}
		if complete {
			c.claims.source.fill()
		}
	}
}

func (c *Cache) backoff() *wait.Backoff {
	return &wait.Backoff{
		Duration: min(500*time.Millisecond, c.opts.MaxBackoff),
		Cap:      c.opts.MaxBackoff, Steps: 1 << 20, Factor: 2, Jitter: 1,
	}
}
