// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

// BillReader reads the files of a delivery and hands each line on. The lines
// count only when it returns without an error. What cannot be read is an
// *inquiry.Wrong of the field "files".
type BillReader func(d inquiry.Delivery, line func(bill.Line) error) (inquiry.Imported, error)

// Writers write what is exported, in the formats of the adapters.
type Writers interface {
	Lines(w io.Writer, f inquiry.ExportFormat, lines iter.Seq2[*ledger.Line, error], pods report.Lookup) (inquiry.Exported, error)
	Usage(w io.Writer, f inquiry.ExportFormat, batches iter.Seq2[usage.Batch, error]) (inquiry.Exported, error)
	FOCUS(w io.Writer, f inquiry.ExportFormat, in FOCUSInput) (inquiry.Exported, error)
}

// FOCUSInput is what a FOCUS export is made from: lines in the order of
// ledger.Line.Compare and the hours that they are of.
type FOCUSInput struct {
	Lines iter.Seq2[*ledger.Line, error]
	Hours iter.Seq2[*rating.Rated, error]
	Pods  report.Lookup
	// Hour is all lines of an hour, whenever booked: what a correction corrects.
	// It is nil where Lines has all of them.
	Hour func(hourMS int64) iter.Seq2[*ledger.Line, error]
}

// Received says what agents delivered since the start of the program.
type Received struct {
	Batches int64
	LastMS  int64 // when the last delivery came, Unix milliseconds
}

// ServiceConfig says what the service stands on.
type ServiceConfig struct {
	Version string
	Sets    map[string]string
	// Labels are the keys of labels that reports know.
	Labels  []string
	Read    BillReader
	Write   Writers
	Backup  func(ctx context.Context, dir string) (inquiry.BackupMade, error)
	Bytes   func() int64 // of the store
	Receive func() Received
	Log     *slog.Logger
	Now     func() time.Time
}

// Service answers what is asked of the ledger (adapter api.Books).
type Service struct {
	store   Store
	rules   RuleBook
	rater   *Rater
	cfg     ServiceConfig
	started time.Time

	mu       sync.Mutex
	troubles []inquiry.Trouble
}

// NewService answers from a store; rater is the one that works on it.
func NewService(store Store, rules RuleBook, rater *Rater, cfg ServiceConfig) *Service {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{store: store, rules: rules, rater: rater, cfg: cfg, started: cfg.Now()}
}

// maxTroubles is how many are kept.
const maxTroubles = 10

// Trouble keeps something that failed, for Status.
func (s *Service) Trouble(what, detail, hint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := inquiry.Trouble{AtMS: s.cfg.Now().UnixMilli(), What: what, Detail: detail, Hint: hint}
	s.troubles = append([]inquiry.Trouble{t}, s.troubles[:min(len(s.troubles), maxTroubles-1)]...)
}

// Report answers with what the store has, or with what it will book.
func (s *Service) Report(ctx context.Context, spec report.Spec) (report.Report, error) {
	if err := spec.Check(true); err != nil {
		return report.Report{}, err
	}
	if spec.Open {
		return s.open(ctx, spec)
	}
	return s.store.Report(ctx, spec)
}

// Lines walks lines in the order of ledger.Line.Compare.
func (s *Service) Lines(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Line, error] {
	return s.store.Lines(ctx, q)
}

// Events walks the trail.
func (s *Service) Events(ctx context.Context) iter.Seq2[ledger.Event, error] {
	return s.store.Events(ctx)
}

// Bills are the imports in force.
func (s *Service) Bills(ctx context.Context) ([]bill.Filed, error) { return s.store.Filed(ctx) }

// Backup copies the store.
func (s *Service) Backup(ctx context.Context, dir string) (inquiry.BackupMade, error) {
	if s.cfg.Backup == nil {
		return inquiry.BackupMade{}, &inquiry.Refused{
			Code: "backup_off", Why: "this server has no directory for backups", Hint: "start it with --backup-dir",
		}
	}
	return s.cfg.Backup(ctx, dir)
}

// span is whole hours of UTC around a time; nothing given is all time.
func span(fromMS, toMS int64) (from, to time.Time) {
	if toMS == 0 {
		return time.UnixMilli(fromMS).UTC().Truncate(time.Hour), ever
	}
	to = time.UnixMilli(toMS).UTC()
	if up := to.Truncate(time.Hour); !up.Equal(to) {
		to = up.Add(time.Hour)
	}
	return time.UnixMilli(fromMS).UTC().Truncate(time.Hour), to
}
