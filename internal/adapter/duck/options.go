// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Options are the limits of a journal. Zero values take the defaults.
type Options struct {
	// MemoryBytes bounds what DuckDB keeps in memory (2 GiB). It acts from the
	// first moment, so that replaying a log stays within it too.
	MemoryBytes int64
	// Threads is how many threads a query may use (2).
	Threads int
	// LogBytes is the size of the write-ahead log at which DuckDB itself makes a
	// checkpoint (64 MiB). Checkpoint is called more often than that, but for a
	// backlog: each one writes the end of every table again, so too many cost more
	// than what they are made for.
	LogBytes int64
	// Now tells the time, for the names of files set aside; time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.MemoryBytes <= 0 {
		o.MemoryBytes = 2 << 30
	}
	if o.Threads <= 0 {
		o.Threads = 2
	}
	if o.LogBytes <= 0 {
		o.LogBytes = 64 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// The files of a journal, in its directory.
const (
	databaseFile = "journal.duckdb"
	logSuffix    = ".wal"
	sealedDir    = "raw"
	spillDir     = "tmp"
)

// settings are DuckDB's options. Nothing is ever loaded from the network.
func (o Options) settings(dir string) map[string]string {
	return map[string]string{
		"memory_limit":                 strconv.FormatInt(o.MemoryBytes>>20, 10) + "MiB",
		"threads":                      strconv.Itoa(o.Threads),
		"checkpoint_threshold":         strconv.FormatInt(o.LogBytes>>10, 10) + "KiB",
		"autoinstall_known_extensions": "false",
		"autoload_known_extensions":    "false",
		"temp_directory":               filepath.Join(dir, spillDir),
		"preserve_insertion_order":     "true",
		"allow_community_extensions":   "false",
	}
}

// dsn is path and settings in the form the driver reads.
func dsn(path string, settings map[string]string) string {
	q := url.Values{}
	for name, value := range settings {
		q.Set(name, value)
	}
	return path + "?" + q.Encode()
}

// checkPath refuses directories whose name the driver would misread.
func checkPath(dir string) error {
	if i := strings.IndexAny(dir, "?%#'"); i >= 0 {
		return fmt.Errorf("journal directory %q: the name holds %q, which the database cannot have in a path: choose another", dir, dir[i])
	}
	return nil
}
