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

// claims reads the ResourceClaims that the node's pods name, and those that
// they named for as long as these keep their devices. Only the follow-up loop
// uses it.
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

// claimUse is who names a claim: a text that changes when other pods do, or
// those pods go on, and the pods that have not ended, by UID.
type claimUse struct {
	text  string
	alive []string
}

// retryClaim is the pause after a claim could not be read, or was read before
// it was reserved for a pod that has it.
const retryClaim = 5 * time.Second

func newClaims(c *Cache) *claims {
	s := newSource("read resource claims")
	s.heard(nil) // nothing to read is no failure
	return &claims{cache: c, source: s, known: map[claimKey]*claimEntry{}}
}

// update reads the claims that are new, whose pods changed (another pod may
// have joined), or that are due, and forgets those that no pod names and that
// keep no device.
func (c *claims) update(ctx context.Context, pods []podObject) {
	users := claimUsers(pods)
	changed := c.forget(users)
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
		if now := time.Now(); e.users == by.text && now.Before(e.due) {
			continue
		}
		if err := c.read(ctx, version, key, e, by); err != nil {
			failure = cmp.Or(failure, err)
			continue
		}
		e.users, changed = by.text, true
	}
	if failure == nil && changed || failure != nil {
		c.source.heard(failure)
	}
	if changed {
		c.cache.store.setClaims(c.list())
	}
}

// forget drops the claims that no pod names and that keep no device, and adds
// the others to those that are read: a claim may keep a device for nobody.
func (c *claims) forget(users map[claimKey]claimUse) (changed bool) {
	for key, e := range c.known {
		if _, used := users[key]; used {
			continue
		}
		if e.claim != nil && e.claim.Allocated {
			users[key] = claimUse{}
			continue
		}
		delete(c.known, key)
		changed = true
	}
	return changed
}

func (c *claims) read(ctx context.Context, version string, key claimKey, e *claimEntry, by claimUse) error {
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
	if by.text == "" && !sameDevices(e.claim, &claim) {
		e.claim = nil // given anew, to pods that are not this node's
		return nil
	}
	if e.claim = &claim; reservedForAll(claim, by.alive) {
		e.due = time.Now().Add(c.cache.opts.ClaimsEvery)
	}
	return nil
}

// sameDevices: the claim is the same one and has kept its devices.
func sameDevices(before, now *workload.Claim) bool {
	return before != nil && before.UID == now.UID && slices.EqualFunc(before.Results, now.Results, func(a, b workload.ClaimResult) bool {
		return a.Driver == b.Driver && a.Pool == b.Pool && a.Device == b.Device && a.ShareID == b.ShareID
	})
}

// reservedForAll: the claim was read after the scheduler had reserved it for
// each of the pods. One that is not may be an older claim of the same name.
func reservedForAll(claim workload.Claim, pods []string) bool {
	for _, uid := range pods {
		if !slices.ContainsFunc(claim.Reserved, func(c workload.ClaimConsumer) bool { return c.UID == uid }) {
			return false
		}
	}
	return true
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

// claimUsers are the claims that pods name, with those pods.
func claimUsers(pods []podObject) map[claimKey]claimUse {
	slices.SortFunc(pods, func(a, b podObject) int { return cmp.Compare(a.UID, b.UID) })
	users := map[claimKey]claimUse{}
	for _, p := range pods {
		names := p.ClaimNames
		if p.ExtendedClaim != "" {
			names = append(slices.Clip(names), p.ExtendedClaim)
		}
		for _, name := range names {
			key := claimKey{p.Namespace, name}
			use := users[key]
			use.text += p.UID + " " + p.Phase + "\n"
			if !p.Ended() {
				use.alive = append(use.alive, p.UID)
			}
			users[key] = use
		}
	}
	return users
}
