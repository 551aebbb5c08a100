// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/gputally/gputally/internal/core/journal"
)

// Store is an open journal. Its methods may be called concurrently.
type Store struct {
	dir string
	opt Options

	db      *sql.DB          // statements
	columns mapping.Database // the same database, for reading hours

	write sync.Mutex // held by whoever changes the database
	conn  *sql.Conn  // what it is changed through
	words vocabulary
	next  counter
	books books

	stamps stamps

	// files is held for reading while Parquet files are being read, and for
	// writing while some are removed.
	files sync.RWMutex

	mu     sync.RWMutex // guards what follows
	marks  map[journal.Source]*standing
	dirty  map[journal.Source]bool // accepted and durable differ
	broken error
	// unlinked are directories that count no longer and are still there.
	unlinked []string

	backup sync.Mutex // one at a time
}

// Problem is something that was found and dealt with while opening. It is for
// the log, loudly.
type Problem struct {
	// Kind is one of the kinds below.
	Kind   string `json:"kind"`
	File   string `json:"file"`
	Detail string `json:"detail"`
	Hint   string `json:"hint"`
}

func (p Problem) Error() string {
	return fmt.Sprintf("%s: %s: %s (%s)", p.Kind, p.File, p.Detail, p.Hint)
}

// The kinds of problem.
const (
	// CorruptLog: the write-ahead log could not be read and was set aside.
	CorruptLog = "corrupt_log"
	// TornBlock: a block of the database was half written and was mended.
	TornBlock = "torn_block"
	// LeftoverFiles: sealed files that the journal does not name; set aside.
	LeftoverFiles = "leftover_files"
	// MissingFiles: sealed files that the journal names and are not there.
	MissingFiles = "missing_files"
)

// Open opens the journal in dir, making it if need be. Problems found are
// returned beside the store; they are for the log.
func Open(ctx context.Context, dir string, opt Options) (*Store, []Problem, error) {
	s := &Store{dir: dir, opt: opt.withDefaults()}
	if err := checkPath(dir); err != nil {
		return nil, nil, err
	}
	for _, d := range []string{dir, filepath.Join(dir, sealedDir)} {
		if err := os.MkdirAll(d, 0o750); err != nil {
			return nil, nil, fmt.Errorf("open journal: %w", err)
		}
	}
	problems, err := s.connect(ctx)
	if err != nil {
		return nil, problems, err
	}
	mended := slices.ContainsFunc(problems, func(p Problem) bool { return p.Kind == TornBlock })
	leftovers, err := s.start(ctx, mended)
	problems = append(problems, leftovers...)
	if err != nil {
		return nil, problems, fmt.Errorf("open journal %s: %w", dir, errors.Join(err, s.closeAll()))
	}
	return s, problems, nil
}

func (s *Store) path() string { return filepath.Join(s.dir, databaseFile) }

// connect opens the database: without its log where that is damaged, with blocks
// mended that an interrupted checkpoint left half written.
func (s *Store) connect(ctx context.Context) (problems []Problem, err error) {
	for range maxMends {
		if err = s.dial(ctx); err == nil {
			return problems, nil
		}
		var p Problem
		t, torn := tearOf(err)
		switch {
		case torn:
			p, err = s.mend(t, err)
		case isCorruptLog(err):
			p, err = s.setLogAside(err)
		}
		if err != nil {
			return problems, s.explain(err)
		}
		problems = append(problems, p)
	}
	return problems, s.explain(err)
}

// setLogAside renames the log and what DuckDB keeps beside it while it makes a
// checkpoint or recovers from one.
func (s *Store) setLogAside(why error) (Problem, error) {
	name, mark := "", ".corrupt-"+s.opt.Now().UTC().Format(asideTime)
	for _, path := range s.logs() {
		err := os.Rename(path, path+mark)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return Problem{}, fmt.Errorf("%w; set the damaged log aside: %w", why, err)
		}
		if name == "" {
			name = path + mark
		}
	}
	if name == "" {
		return Problem{}, why
	}
	return Problem{Kind: CorruptLog, File: name, Detail: oneLine(why),
		Hint: "the journal stands at its last checkpoint; agents send again what was not durable; keep the file for a report, or delete it"}, syncDir(s.dir)
}

// asideTime is when, in the name of a file that was set aside.
const asideTime = "20060102T150405.000Z"

// logs are the files that may hold what is not in the database file.
func (s *Store) logs() []string {
	log := s.path() + logSuffix
	return []string{log, log + ".checkpoint", log + ".recovery"}
}

func (s *Store) dial(ctx context.Context) error {
	settings := s.opt.settings(s.dir)
	connector, err := duckdb.NewConnector(dsn(s.path(), settings), nil)
	if err != nil {
		return err
	}
	s.db = sql.OpenDB(connector)
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return errors.Join(err, s.db.Close())
	}
	settings["duckdb_api"] = "go"
	if s.columns, err = joinDatabase(s.path(), settings); err != nil {
		return errors.Join(err, s.conn.Close(), s.db.Close())
	}
	return nil
}

// start brings the schema up to date and reads what is kept in memory.
func (s *Store) start(ctx context.Context, mended bool) ([]Problem, error) {
	if mended {
		if err := s.readAll(ctx); err != nil {
			return nil, fmt.Errorf("the database file is damaged: %w: restore the last backup to a new directory", err)
		}
	}
	if err := migrate(ctx, s.conn); err != nil {
		return nil, err
	}
	// A log of which nothing could be used is not emptied by a checkpoint that has
	// nothing to do: give it something. (Setting a value to itself is nothing.)
	if _, err := s.conn.ExecContext(ctx, `UPDATE usage_counter SET next_id = next_id + 1`); err != nil {
		return nil, fmt.Errorf("write to the journal: %w", err)
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	if err := s.Checkpoint(ctx); err != nil {
		return nil, err
	}
	return s.tidy(ctx)
}

// Close makes everything durable and closes the database.
func (s *Store) Close() error {
	var errs []error
	if s.broken == nil {
		errs = append(errs, s.Checkpoint(context.Background()))
	}
	return errors.Join(append(errs, s.closeAll())...)
}

func (s *Store) closeAll() error {
	s.write.Lock()
	defer s.write.Unlock()
	mapping.Close(&s.columns)
	return errors.Join(s.conn.Close(), s.db.Close())
}

// corruptLog are the words with which DuckDB 1.5 says that a log is damaged.
// One whose replay fails again and again for whatever else is one, too: with it the
// server would never start. A replay that fails for want of memory or disk is none:
// nothing is wrong with such a log.
var corruptLog = regexp.MustCompile(`(?i)corrupt (encrypted )?WAL|failure while replaying|WAL file.*(checksum|corrupt|version)`)

// notCorrupt are the words of failures that pass.
var notCorrupt = regexp.MustCompile(`(?i)out of memory|could not allocate|no space left|permission denied|lock on file|too many open files|interrupt|(could not|cannot|failed to) (read|write|open|fsync|sync|move|truncate)`)

func isCorruptLog(err error) bool {
	return corruptLog.MatchString(oneLine(err)) && !notCorrupt.MatchString(err.Error())
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

var lockHolder = regexp.MustCompile(`held in (.*?) \(PID (\d+)\)`)

// explain puts DuckDB's reasons for not opening into words that help.
func (s *Store) explain(err error) error {
	why := oneLine(err)
	if m := lockHolder.FindStringSubmatch(why); m != nil {
		return fmt.Errorf("open journal %s: process %s (%s) has it open, and only one can: ask that server through its API, or stop it first", s.dir, m[2], m[1])
	}
	if strings.Contains(why, "Could not set lock") {
		return fmt.Errorf("open journal %s: another process has it open, and only one can: ask that server through its API, or stop it first", s.dir)
	}
	if strings.Contains(why, "Corrupt database file") || strings.Contains(why, "etadata") {
		return fmt.Errorf("open journal %s: the database file is damaged (%s): restore the last backup to a new directory; agents send again what their spools still have", s.path(), why)
	}
	return fmt.Errorf("open journal %s: %s", s.path(), why)
}
