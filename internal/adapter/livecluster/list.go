// SPDX-License-Identifier: Apache-2.0

package livecluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// pageSize is how many objects one answer holds.
const pageSize = 500

// kind is one kind of object, and where the API server keeps it.
type kind struct {
	api, kind, plural string
	selector          string // of fields
	clusterWide       bool   // it is in no namespace
	// optional: without it the scan is whole, and less is known.
	optional bool
}

func (k kind) path(namespace string) string {
	base := "/apis/" + k.api
	if k.api == "v1" {
		base = "/api/v1"
	}
	if namespace != "" && !k.clusterWide {
		base += "/namespaces/" + url.PathEscape(namespace)
	}
	return base + "/" + k.plural
}

// page is a list, as far as it is looked at.
type page struct {
	Metadata struct {
		Continue  string `json:"continue"`
		Remaining int64  `json:"remainingItemCount"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// Unread is what could not be read, and why.
type Unread struct {
	What string // pods, deployments, …
	// Namespaces are those where it could not; none: in the whole cluster.
	Namespaces []string
	Reason     string
	// Optional: the scan is whole without it, and knows less.
	Optional bool
}

// String says it in one line.
func (u Unread) String() string {
	if len(u.Namespaces) > 0 {
		return fmt.Sprintf("%s: namespaces not readable: %s: %s", u.What, some(u.Namespaces), u.Reason)
	}
	return fmt.Sprintf("%s: not readable: %s", u.What, u.Reason)
}

// some keeps a long list of names readable.
func some(names []string) string {
	const most = 20
	text := ""
	for i, n := range names {
		if i == most {
			return text + fmt.Sprintf(" and %d more", len(names)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

// all reads every object of a kind: of the cluster at once, or, where that is
// refused, of each namespace for itself. An error is one that ends the scan: the
// API server cannot be reached, or does not answer.
func (c *Cluster) all(ctx context.Context, k kind, take func(json.RawMessage)) (*Unread, error) {
	err := c.list(ctx, k, c.o.Namespace, take)
	switch {
	case err == nil:
		return nil, nil
	case k.optional && apierrors.IsNotFound(err):
		return nil, nil // the cluster has no such kind
	case !refused(err):
		return nil, fmt.Errorf("read %s of %s: %w", k.plural, c, plain(err))
	case k.clusterWide || c.o.Namespace != "":
		u := &Unread{What: k.plural, Reason: reasonOf(err, k), Optional: k.optional}
		if !k.clusterWide {
			u.Namespaces = []string{c.o.Namespace}
		}
		return u, nil
	}
	return c.each(ctx, k, take)
}

// each reads a kind namespace by namespace.
func (c *Cluster) each(ctx context.Context, k kind, take func(json.RawMessage)) (*Unread, error) {
	spaces, err := c.namespaces(ctx)
	if err != nil {
		return &Unread{What: k.plural, Reason: fmt.Sprintf("neither %s of the whole cluster nor its namespaces may be listed; name a namespace with -n, or grant list on %s", k.plural, k.plural), Optional: k.optional}, nil
	}
	u := &Unread{What: k.plural, Optional: k.optional}
	for _, space := range spaces {
		err := c.list(ctx, k, space, take)
		switch {
		case err == nil:
		case refused(err):
			u.Namespaces, u.Reason = append(u.Namespaces, space), reasonOf(err, k)
		default:
			return nil, fmt.Errorf("read %s of namespace %s in %s: %w", k.plural, space, c, plain(err))
		}
	}
	if len(u.Namespaces) == 0 {
		return nil, nil
	}
	return u, nil
}

func refused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

func reasonOf(err error, k kind) string {
	if apierrors.IsUnauthorized(err) {
		return "the API server does not know who you are; log in again"
	}
	return "you may not list them; grant list on " + k.plural
}

// namespaces are the names of all of them, read once.
func (c *Cluster) namespaces(ctx context.Context) ([]string, error) {
	if c.asked {
		return c.spaces, c.spacesErr
	}
	c.asked = true
	c.spacesErr = c.list(ctx, kind{api: "v1", plural: "namespaces", clusterWide: true}, "", func(text json.RawMessage) {
		var o object
		if json.Unmarshal(text, &o) == nil {
			c.spaces = append(c.spaces, o.Metadata.Name)
		}
	})
	return c.spaces, c.spacesErr
}

// list reads one collection page by page. Where the state that the pages are of
// has passed away meanwhile, the API server goes on with the newest.
func (c *Cluster) list(ctx context.Context, k kind, namespace string, take func(json.RawMessage)) error {
	next, read := "", 0
	for {
		req := c.api.Get().AbsPath(k.path(namespace)).Param("limit", strconv.Itoa(pageSize)).SetHeader("Accept", "application/json")
		if k.selector != "" {
			req = req.Param("fieldSelector", k.selector)
		}
		if next != "" {
			req = req.Param("continue", next)
		}
		answer := req.Do(ctx)
		text, err := answer.Raw()
		if err != nil {
			err = answer.Error() // with what the API server says
		}
		if on := goOn(err); on != "" && on != next {
			next = on
			continue
		}
		if err != nil {
			return err
		}
		var p page
		if err := json.Unmarshal(text, &p); err != nil {
			return fmt.Errorf("the answer is no list: %w", err)
		}
		for _, item := range p.Items {
			take(item)
		}
		read += len(p.Items)
		if c.o.Progress != nil {
			c.o.Progress(k.plural, read, p.Metadata.Remaining)
		}
		if next = p.Metadata.Continue; next == "" {
			return nil
		}
	}
}

// goOn is the token in the refusal of one that is too old.
func goOn(err error) string {
	var status apierrors.APIStatus
	if apierrors.IsResourceExpired(err) && errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}

// plain drops the URL of errors of HTTP, which is long and says nothing.
func plain(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return fmt.Errorf("%w; is the API server of the kubeconfig's context up and reachable?", u.Err)
	}
	return err
}
