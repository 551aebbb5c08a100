// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gputally/gputally/internal/adapter/kubeobj"
	"github.com/gputally/gputally/internal/core/workload"
)

// claims reads the ResourceClaims that the node's pods name. Only the
// follow-up loop uses it.
type claims struct {
	cache  *Cache
	source *source
	known  map[claimKey]*claimEntry
}

type claimKey struct{ namespace, name string }

type claimEntry struct {
	claim *workload.Claim // nil until read, or when it does not exist
	users string          // who named it at the last read: pods and phases
	due   time.Time
}

// retryClaim is the pause after a claim could not be read.
const retryClaim = 5 * time.Second

func newClaims(c *Cache) *claims {
	s := newSource("read resource claims")
	s.heard(nil) // nothing to read is no failure
	return &claims{cache: c, source: s, known: map[claimKey]*claimEntry{}}
}

// update reads the claims that are new, whose pods changed (another pod may
// have joined), or that are due, and forgets those that no pod names.
func (c *claims) update(ctx context.Context, pods []podObject) {
	users := claimUsers(pods)
	changed := false
	for key := range c.known {
		if _, used := users[key]; !used {
			delete(c.known, key)
			changed = true
		}
	}
	version := c.cache.resource.get()
	if version == "" {
		return // not served, or not known yet
	}
	var failure error
	for key, by := range users {
		e := c.known[key]
		if e == nil {
			e = &claimEntry{}
			c.known[key] = e
		}
		if now := time.Now(); e.users == by && now.Before(e.due) {
			continue
		}
		if err := c.read(ctx, version, key, e); err != nil {
			failure = cmp.Or(failure, err)
			continue
		}
		e.users, changed = by, true
	}
	if failure == nil && changed || failure != nil {
		c.source.heard(failure)
	}
	if changed {
		c.cache.store.setClaims(c.list())
	}
}

func (c *claims) read(ctx context.Context, version string, key claimKey, e *claimEntry) error {
	path := "/apis/" + resourceGroup + "/" + version + "/namespaces/" + key.namespace + "/resourceclaims/" + key.name
	text, err := c.cache.get(ctx, path, jsonType)
	if apierrors.IsNotFound(err) {
		e.claim, e.due = nil, time.Now().Add(c.cache.opts.ClaimsEvery)
		return nil
	}
	e.due = time.Now().Add(retryClaim)
	if err != nil {
		return err
	}
	v, err := kubeobj.Decode("ResourceClaim", text, false)
	if err != nil {
		return err
	}
	claim, ok := v.(workload.Claim)
	if !ok {
		return errors.New("not a ResourceClaim")
	}
	e.claim, e.due = &claim, time.Now().Add(c.cache.opts.ClaimsEvery)
	return nil
}

func (c *claims) list() []workload.Claim {
	var all []workload.Claim
	for _, e := range c.known {
		if e.claim != nil {
			all = append(all, *e.claim)
		}
	}
	slices.SortFunc(all, func(a, b workload.Claim) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// claimUsers maps the claims named by pods to a text that changes when other
// pods name them, or those pods go on.
func claimUsers(pods []podObject) map[claimKey]string {
	slices.SortFunc(pods, func(a, b podObject) int { return cmp.Compare(a.UID, b.UID) })
	users := map[claimKey]string{}
	for _, p := range pods {
		names := p.ClaimNames
		if p.ExtendedClaim != "" {
			names = append(slices.Clip(names), p.ExtendedClaim)
		}
		for _, name := range names {
			users[claimKey{p.Namespace, name}] += p.UID + " " + p.Phase + "\n"
		}
	}
	return users
}
