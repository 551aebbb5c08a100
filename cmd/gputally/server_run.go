// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/adapter/api"
	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/adapter/ingest"
	"github.com/gputally/gputally/internal/adapter/webui"
	"github.com/gputally/gputally/internal/app/advising"
	"github.com/gputally/gputally/internal/app/billing"
	"github.com/gputally/gputally/internal/app/board"
	"github.com/gputally/gputally/internal/app/server"
)

// ledgerServer is the parts of a server, introduced to one another.
type ledgerServer struct {
	flags   *serverFlags
	log     *slog.Logger
	store   *duck.Store
	ingest  *server.Ingest
	keeper  *server.Keeper
	rater   *billing.Rater
	record  *advising.Recorder
	adviser *advising.Service
	service *billing.Service
	board   *board.Board
}

// serveLedger opens the ledger and serves it until ctx ends.
func serveLedger(ctx context.Context, f *serverFlags, log *slog.Logger) error {
	access, err := f.access.roles(log)
	if err != nil {
		return inputError{err}
	}
	loader := &priceLoader{flags: &f.prices}
	if _, err := loader.Load(); err != nil {
		return inputError{err}
	}
	s, err := openLedger(ctx, f, loader, log)
	if err != nil {
		return err
	}
	l, err := ingest.Listen(ingest.ListenOptions{
		Address: f.listen, Auth: access.deliver(), CertFile: f.cert, KeyFile: f.key, PlainBehindProxy: f.behindProxy,
	})
	if err != nil {
		return errors.Join(inputError{err}, s.store.Close())
	}
	log.Info("gputally server", "version", versionText(), "address", l.Addr().String(), "tls", f.cert != "", "kube_auth", f.access.kube, "data_dir", f.dataDir)
	handler, err := s.handler(access)
	if err != nil {
		return errors.Join(err, s.store.Close())
	}
	if access.kube != nil {
		go func() { _ = access.kube.Check(ctx) }() // it tells the log
	}
	return s.serve(ctx, func(ctx context.Context) error { return ingest.Serve(ctx, l, handler) })
}

// openLedger opens the store and puts everything that works on it together.
func openLedger(ctx context.Context, f *serverFlags, loader billing.Loader, log *slog.Logger) (*ledgerServer, error) {
	store, problems, err := duck.Open(ctx, f.dataDir, duck.Options{MemoryBytes: f.memoryMiB << 20, Threads: f.threads})
	if err != nil {
		return nil, err
	}
	s := &ledgerServer{flags: f, log: log, store: store}
	if err := s.clearUploads(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	shelf, err := billing.NewShelf(ctx, store, loader, log, nil)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s.board = board.New(store, nil)
	s.ingest = server.NewIngest(store, server.IngestConfig{Log: log, Seen: s.board.Take})
	s.keeper = server.NewKeeper(store, server.KeeperConfig{SealAfter: f.sealAfter, Keep: f.keepUsage, Log: log})
	s.rater = billing.NewRater(store, shelf, billing.RaterConfig{Late: f.late, Sets: f.sets, Log: log})
	s.service = billing.NewService(store, shelf, s.rater, billing.ServiceConfig{
		Version: versionText(), Sets: f.sets, Labels: f.labels, Read: readBill, Write: exportWriters{}, Backup: s.backup(), Bytes: s.bytes, Receive: s.received, Log: log,
	})
	s.record = advising.NewRecorder(store, advising.RecorderConfig{Log: log})
	s.adviser = advising.NewService(store, advising.ServiceConfig{Log: log, Rules: func(ctx context.Context, hour time.Time) (advising.RuleSet, error) {
		rules, err := shelf.Rules(ctx, hour)
		return advising.RuleSet{Books: rules.Books, Policy: rules.Policy, Prices: rules.Prices, Revision: rules.Revision}, err
	}})
	shelf.OnTrouble(s.service.Trouble)
	for _, p := range problems {
		log.Error("the store was damaged and was mended", "kind", p.Kind, "file", p.File, "detail", p.Detail, "hint", p.Hint)
		s.service.Trouble("open the store: "+p.Kind, p.File+": "+p.Detail, p.Hint)
	}
	return s, nil
}

// uploads is where files wait while they are read.
func (s *ledgerServer) uploads() string { return filepath.Join(s.flags.dataDir, "uploads") }

// clearUploads removes what a process that was killed left there.
func (s *ledgerServer) clearUploads() error {
	if err := os.RemoveAll(s.uploads()); err != nil {
		return fmt.Errorf("clear uploads: %w", err)
	}
	if err := os.MkdirAll(s.uploads(), 0o700); err != nil {
		return fmt.Errorf("make directory for uploads: %w", err)
	}
	return nil
}

// bytes is what the data directory takes.
func (s *ledgerServer) bytes() int64 {
	n, err := sizeOf(s.flags.dataDir)
	if err != nil {
		return 0 // a file went while it was looked at
	}
	return n
}

func (s *ledgerServer) received() billing.Received {
	st := s.ingest.Status()
	r := billing.Received{Batches: int64(st.Batches)}
	if !st.LastWrite.IsZero() {
		r.LastMS = st.LastWrite.UnixMilli()
	}
	return r
}

// serve runs everything until ctx ends or a part of it cannot go on. Deliveries
// are taken until the last has been answered; what was accepted is written.
func (s *ledgerServer) serve(ctx context.Context, listen func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// The loops outlive the listener: a delivery under way waits for its commit.
	inner, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	part := func(name string, run func(context.Context) error) {
		wg.Go(func() {
			if err := run(inner); err != nil {
				mu.Lock()
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
				mu.Unlock()
				stop() // the store is beyond use: end, for a supervisor to start anew
			}
		})
	}
	part("take deliveries", s.ingest.Run)
	part("move old hours", s.keeper.Run)
	part("rate", s.rater.Run)
	part("look at what workloads did", s.record.Run)
	part("advise", s.adviser.Run)
	part("read findings ahead", func(ctx context.Context) error { return s.board.Run(ctx, s.log) })
	part("back up", s.backups)
	wg.Go(func() {
		if err := s.board.Fill(inner); err != nil && inner.Err() == nil {
			s.log.Warn("what was last known of the nodes could not be read; they are shown as they deliver", "error", err)
		}
	})
	err := listen(ctx)
	end()
	wg.Wait()
	return errors.Join(append(errs, err, s.store.Close())...)
}

// handler is all that the server answers.
func (s *ledgerServer) handler(a roles) (http.Handler, error) {
	metrics, err := s.metrics()
	if err != nil {
		return nil, err
	}
	page, err := webui.Handler()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(webui.Prefix, page)
	mux.Handle("/api/v1/usage/", ingest.Handler(ingest.Options{Taker: s.ingest, Auth: a.deliver(), Log: s.log}))
	mux.Handle("/", webui.Home(api.Handler(api.Options{
		Books: s.service, Adviser: s.adviser, Fleet: s.board, Auth: a.people(), Version: versionText(), TempDir: s.uploads(), Log: s.log,
	})))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", a.metrics(metrics))
	return a.guard(mux), nil
}

// ready says whether deliveries are taken and hours rated.
func (s *ledgerServer) ready(w http.ResponseWriter, _ *http.Request) {
	in, r := s.ingest.Status(), s.rater.Status()
	if in.WriteErrors > 0 && time.Since(in.LastWrite) > time.Minute && in.QueuedRows > 0 {
		http.Error(w, "nothing could be written for a minute: "+in.LastError, http.StatusServiceUnavailable)
		return
	}
	if r.Rounds == 0 {
		http.Error(w, "the first round of rating is not over", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}
