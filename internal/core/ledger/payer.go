// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/allocation"
)

// Class is what sort of account a statement is of.
type Class string

// The classes of account.
const (
	Workload  Class = "workload"
	Owner     Class = "owner"    // named by the policy
	Platform  Class = "platform" // idle, overhead and the others
	Reconcile Class = "reconciliation"
)

// Classes lists them, in their order in every output.
func Classes() []Class { return []Class{Workload, Owner, Platform, Reconcile} }

// Class is the class of the account.
func (f *Facts) Class() Class {
	switch {
	case f.IsDrift():
		return Reconcile
	case f.EntryKind == allocation.Platform:
		return Platform
	case f.Holder.Kind == "":
		return Owner
	}
	return Workload
}

// Level says how far the workloads of a statement are taken together.
type Level string

// The levels: one statement for each account, that is for each pod, or one for
// each namespace.
const (
	ByAccount   Level = "account"
	ByNamespace Level = "namespace"
)

// Payer is whom a statement is for.
type Payer struct {
	Class   Class  `json:"class"`
	Account string `json:"account"`
}

// String names the payer for people.
func (p Payer) String() string { return fmt.Sprintf("%s %s", p.Class, p.Account) }

func (p Payer) compare(o Payer) int {
	return cmp.Or(
		cmp.Compare(slices.Index(Classes(), p.Class), slices.Index(Classes(), o.Class)),
		strings.Compare(p.Account, o.Account),
	)
}

// PayerOf is whose statement the line stands on.
func (level Level) PayerOf(l *Line) Payer {
	p := Payer{Class: l.Class(), Account: l.Account}
	if p.Class == Workload && level == ByNamespace && l.Holder.Namespace != "" {
		p.Account = l.Holder.Namespace
	}
	return p
}

// Compare orders lines as statements have them: by payer, hour and id.
func (level Level) Compare(a, b *Line) int {
	return cmp.Or(level.PayerOf(a).compare(level.PayerOf(b)), cmp.Compare(a.HourMS, b.HourMS), strings.Compare(a.ID, b.ID))
}

func (level Level) check() error {
	if level != ByAccount && level != ByNamespace {
		return fmt.Errorf("level is %q; write %s or %s", string(level), ByAccount, ByNamespace)
	}
	return nil
}
