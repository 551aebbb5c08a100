// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/journal"
)

// backup makes backups below the directory for them, nil where there is none.
func (s *ledgerServer) backup() func(context.Context, string) (inquiry.BackupMade, error) {
	root := s.flags.backupDir
	if root == "" {
		return nil
	}
	return func(ctx context.Context, name string) (inquiry.BackupMade, error) {
		if name == "" {
			name = time.Now().UTC().Format("20060102T150405Z")
		}
		if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return inquiry.BackupMade{}, &inquiry.Wrong{Field: "dir", Value: name, Why: "give a name without slashes: it is made below the server's --backup-dir"}
		}
		if err := os.MkdirAll(root, 0o700); err != nil {
			return inquiry.BackupMade{}, err
		}
		dir := filepath.Join(root, name)
		if _, err := os.Stat(dir); err == nil {
			return inquiry.BackupMade{}, &inquiry.Refused{Code: "backup_exists", Why: "there is a backup " + name + " already", Hint: "give another name"}
		}
		start := time.Now()
		if _, err := s.store.Backup(ctx, dir); err != nil {
			return inquiry.BackupMade{}, err
		}
		size, err := sizeOf(dir)
		return inquiry.BackupMade{Dir: dir, Bytes: size, TookMS: time.Since(start).Milliseconds()}, err
	}
}

func sizeOf(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

// scheduled begins the names of backups that are made by themselves.
const scheduled = "auto-"

// backups makes a backup every so often, and deletes the oldest.
func (s *ledgerServer) backups(ctx context.Context) error {
	if s.flags.backupEvery <= 0 {
		return nil
	}
	tick := time.NewTicker(s.flags.backupEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		made, err := s.backup()(ctx, scheduled+time.Now().UTC().Format("20060102T150405Z"))
		if err == nil {
			err = s.prune()
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, journal.ErrBroken):
			return err
		case err != nil:
			s.log.Error("backup failed", "error", err)
			s.service.Trouble("make a backup", err.Error(), "see whether "+s.flags.backupDir+" can be written and has room")
		default:
			s.log.Info("backup made", "dir", made.Dir, "bytes", made.Bytes, "took_ms", made.TookMS)
		}
	}
}

// prune deletes the oldest backups that were made by themselves.
func (s *ledgerServer) prune() error {
	all, err := filepath.Glob(filepath.Join(s.flags.backupDir, scheduled+"*"))
	if err != nil {
		return fmt.Errorf("look at backups: %w", err)
	}
	slices.Sort(all)
	for len(all) > max(s.flags.backupKeep, 1) {
		if err := os.RemoveAll(all[0]); err != nil {
			return fmt.Errorf("delete old backup: %w", err)
		}
		all = all[1:]
	}
	return nil
}
