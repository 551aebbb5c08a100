// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gputally/gputally/test/stage"
)

// TestFullDisk fills the disk under the spool until a window cannot be written,
// and gives the room back. The disk is a small tmpfs in a mount namespace of
// the agent's own, which the test reaches through /proc.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	dir := filepath.Join(n.Dir, "small-disk")
	n.must(os.Mkdir(dir, 0o755))
	unshare := []string{"unshare", "--mount"}
	if os.Getuid() != 0 {
		unshare = append(unshare, "--user", "--map-root-user")
	}
	script := `mount -t tmpfs -o size=512k none "$0" && exec "$@"`
	n.start(stage.Run{Spool: filepath.Join(dir, "spool"), Wrap: append(unshare, "sh", "-c", script, dir)})
	n.eventually("the agent is ready", n.ready)
	disk := filepath.Join("/proc", fmt.Sprint(n.agent.PID), "root", dir)
	fill(t, filepath.Join(disk, "ballast"))

	n.within(90*time.Second, "a window cannot be written", func() error {
		return n.all(n.is(1, "gputally_spool_pending_batches"), n.logged("ERROR", "write usage records fails", "no space left"))
	})
	samples := n.number("gputally_agent_samples_total")
	n.eventually("sampling goes on", func() error { return n.more(samples+2, "gputally_agent_samples_total") })
	n.must(n.all(n.ready(), n.holds("pod-0", 4*gib)))
	if failures := n.number("gputally_spool_write_errors_total"); failures < 1 {
		t.Errorf("%v failed writes are counted", failures)
	}

	n.must(os.Remove(filepath.Join(disk, "ballast")))
	n.eventually("the window is written", func() error {
		return n.all(n.is(0, "gputally_spool_pending_batches"), n.logged("write usage records works again"))
	})
	all := records(t, filepath.Join(disk, "spool"))
	checkTiled(t, all)
	if len(all) == 0 || all[0].Gap != nil {
		t.Errorf("%d records, want the window that had to wait", len(all))
	}
	if err := n.is(0, "gputally_spool_dropped_batches_total"); err != nil {
		t.Error(err)
	}
}

// more reports an error unless a counter is above a number.
func (n *node) more(than float64, name string, parts ...string) error {
	m, err := n.metrics()
	if err != nil {
		return err
	}
	if got := m.find(name, parts...); len(got) != 1 || got[0] <= than {
		return fmt.Errorf("%s%q is %v, want more than %v", name, parts, got, than)
	}
	return nil
}

// fill writes a file until the disk takes nothing more.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for written := 0; ; written += 512 {
		if _, err := f.Write(make([]byte, 512)); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil || written > 64<<20 {
			t.Fatalf("after %d bytes: %v, want a full disk", written, err)
		}
	}
}
