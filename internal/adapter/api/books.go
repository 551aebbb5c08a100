// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"io"
	"iter"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/scene"
)

// Books answers what is asked of the ledger. Times are Unix milliseconds.
//
// Errors have these forms, wrapped or not: *inquiry.NotFound, *inquiry.Refused,
// *inquiry.Wrong and *report.Invalid for what the asker can mend, *journal.Busy
// for "come again", errors of the context. Any other is the server's own fault.
type Books interface {
	Reader
	Writer
}

// Reader changes nothing.
type Reader interface {
	Status(ctx context.Context) (inquiry.Status, error)
	// Report fails with a *report.Invalid where the spec cannot be.
	Report(ctx context.Context, spec report.Spec) (report.Report, error)
	// Lines walks lines in the order of ledger.Line.Compare. The API stops it
	// when a page is full.
	Lines(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Line, error]
	// Explain fails with an *inquiry.NotFound where there is no such charge.
	Explain(ctx context.Context, s inquiry.Subject) (inquiry.Explanation, error)
	// WhatIf divides the stored hours of a report again for each variant.
	// progress may be called often.
	WhatIf(ctx context.Context, spec report.Spec, variants []inquiry.Variant, progress func(inquiry.Progress)) (inquiry.WhatIf, error)

	// Nodes are those known at a moment (within the hour that holds it), by
	// cluster and name.
	Nodes(ctx context.Context, atMS int64) ([]inquiry.NodeAt, error)
	// NodePrice and ComparePrices are of a node at a moment. cluster may be
	// empty where only one cluster has a node of the name; an *inquiry.Wrong
	// lists the clusters where several do.
	NodePrice(ctx context.Context, cluster, node string, atMS int64) (inquiry.NodePrice, error)
	ComparePrices(ctx context.Context, cluster, node string, atMS int64) (inquiry.PriceComparison, error)
	// CheckPrices looks at hours in [fromMS, toMS) as last rated, and at the
	// books in force.
	CheckPrices(ctx context.Context, fromMS, toMS int64) (inquiry.PriceCheck, error)

	// Months are those with lines, of every scope, by scope and month.
	Months(ctx context.Context) ([]inquiry.MonthState, error)
	// VerifyMonths makes closed months again: one (of every scope that closed
	// it), or all (0).
	VerifyMonths(ctx context.Context, month ledger.Month, progress func(inquiry.Progress)) ([]inquiry.Verified, error)
	// Statement opens a statement of a closed month as it was frozen.
	Statement(ctx context.Context, s ledger.Scope, m ledger.Month, p ledger.Payer) (io.ReadCloser, error)
	// CheckLedger verifies every invariant over the store.
	CheckLedger(ctx context.Context, r inquiry.CheckRequest, progress func(inquiry.Progress)) (inquiry.Checked, error)
	// Events walks the trail in order of Seq.
	Events(ctx context.Context) iter.Seq2[ledger.Event, error]

	// Bills are the imports in force, by source and period.
	Bills(ctx context.Context) ([]bill.Filed, error)
	Reconcile(ctx context.Context, m ledger.Month) (inquiry.Reconciliation, error)
	// Export writes to w as it goes. An error after the first byte cuts the
	// answer off.
	Export(ctx context.Context, r inquiry.ExportRequest, w io.Writer) (inquiry.Exported, error)
}

// Writer changes the ledger.
type Writer interface {
	// CloseMonth fails with an *inquiry.Refused where the month cannot be
	// closed.
	CloseMonth(ctx context.Context, r inquiry.CloseRequest) (ledger.Closed, error)
	// PreviewClose says what CloseMonth would freeze, fails as it would, and
	// changes nothing.
	PreviewClose(ctx context.Context, r inquiry.CloseRequest) (inquiry.ClosePreview, error)
	// ImportBill reads a delivery, replaces what the same source filed for its
	// periods, and puts the hours it changes on the list of those to be rated.
	// What cannot be read is an *inquiry.Wrong of the field "files".
	ImportBill(ctx context.Context, d inquiry.Delivery) (inquiry.Imported, error)
	// Backup copies the store to a new directory on the server, below the one for
	// backups. name may be empty: the time names it.
	Backup(ctx context.Context, name string) (inquiry.BackupMade, error)
}

// Fleet answers what is on the GPUs, now and before. Errors have the forms that
// those of Books have.
type Fleet interface {
	// Fleet is the nodes that changed after a revision, by cluster and name, and the
	// revision that this is. full says that it is all of them. Nothing of it is changed.
	Fleet(since uint64) (nodes []*scene.FleetNode, revision uint64, full bool)
	// Gone are the nodes that left the board after a revision.
	Gone(since uint64) []scene.NodeName
	// Timeline is who had a GPU in [fromMS, toMS). node may be empty where the GPU was
	// seen lately.
	Timeline(ctx context.Context, device gpu.UUID, node string, fromMS, toMS int64) (scene.Timeline, error)
	// Findings are those that stood in [fromMS, toMS), of one node or of all ("").
	Findings(ctx context.Context, node string, fromMS, toMS int64) ([]scene.StoodFinding, error)
}
