// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// chartLife: whatever happens to server, agent, node and disk, and with the next version,
// no record is lost and none counts twice.
func chartLife(t *testing.T) {
	smallDisk(t)
	chartNode(t)
	startTenants(t)
	helmInstall(t, olderChart)
	reader := plugged(t).as(t, tokenRequest(t, "reader", "", ""))
	firstBill(t, reader)
	agents := agentIDs(exported(t, reader))

	for _, event := range []struct {
		name string
		play func(*testing.T)
	}{{"server-killed", serverKilled}, {"server-evicted", serverEvicted}, {"disk-full", diskFull}, {"node-deleted", nodeDeleted}, {"upgrade", chartUpgraded}} {
		t.Run(event.name, event.play)
	}
	batches := exportedUntil(t, reader, time.Now())
	balanced(t, batches)
	noHoles(t, batches)
	if diff := cmp.Diff(agents, agentIDs(batches)); diff != "" {
		t.Errorf("the node's agent is another one now (-before +after):\n%s", diff)
	}
	if text, err := reader.run("ledger", "check"); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	billIsOfRecords(t, reader)
}

// smallDisk makes the server's disk one that can be filled.
func smallDisk(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(ledgerDisk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("ledger", ledgerDisk, "tmpfs", 0, "size=128m,mode=755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(ledgerDisk, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", ledgerDisk, err)
		}
	})
}

// serverKilled: the kubelet starts it again, in the same pod.
func serverKilled(t *testing.T) {
	_, pid := onlyPod(t, "server", "")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server runs again", func() error {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			return fmt.Errorf("process %d is still there", pid)
		}
		return nil
	})
	onlyPod(t, "server", "")
}

// serverEvicted: as when its node is drained. The PodDisruptionBudget allows it, and the
// next pod has the same volume.
func serverEvicted(t *testing.T) {
	p, _ := onlyPod(t, "server", "")
	eviction := `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"` + p.Metadata.Name + `","namespace":"gputally"}}`
	if _, err := call(http.MethodPost, "/api/v1/namespaces/gputally/pods/"+p.Metadata.Name+"/eviction", "application/json", []byte(eviction)); err != nil {
		t.Fatal(err)
	}
	onlyPod(t, "server", p.Metadata.UID)
}

// agentReplaced deletes the agent's pod and waits for the next one.
func agentReplaced(t *testing.T) pod {
	t.Helper()
	p, _ := onlyPod(t, "agent", "")
	if _, err := call(http.MethodDelete, "/api/v1/namespaces/gputally/pods/"+p.Metadata.Name, "application/json", nil); err != nil {
		t.Fatal(err)
	}
	next, _ := onlyPod(t, "agent", p.Metadata.UID)
	return next
}

// diskFull: the server takes nothing that it cannot keep, the agent keeps it on its node,
// even when its pod is another meanwhile, and it arrives once there is room.
func diskFull(t *testing.T) {
	filler := ledgerDisk + "/filler"
	fill(t, filler)
	t.Cleanup(func() { os.Remove(filler) })
	lookAt(t, agentReplaced(t)) // the one that ends sends what it has, the next one what it finds
	eventually(t, "shipping fails", func() error {
		m, err := scrape()
		if err != nil {
			return err
		}
		failures := 0.0
		m.series("gputally_ship_failures_total", func(_ map[string]string, v float64) { failures = v })
		if failures == 0 {
			return fmt.Errorf("no try to ship has failed")
		}
		return nil
	})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	onlyPod(t, "server", "")
}

// fill writes a file until there is no room left.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := bytes.Repeat([]byte{1}, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		t.Fatalf("fill %s: %v", file, err)
	}
}

// nodeDeleted: the node's object is deleted, as when a machine is taken out of the
// cluster, and comes back, by the kubelet's start and with the labels that it had.
func nodeDeleted(t *testing.T) {
	if _, err := call(http.MethodDelete, "/api/v1/nodes/gpu-node-1", "application/json", nil); err != nil {
		t.Fatal(err)
	}
	service(t, "stop", "kubelet")
	service(t, "start", "kubelet")
	eventually(t, "the node is back", func() error { return get("/api/v1/nodes/gpu-node-1", new(header)) })
	service(t, "stop", "kube-proxy") // it ends by itself when its node is deleted; a kubelet would start it again
	service(t, "start", "kube-proxy")
	labelNode(t, `"true"`)
	onlyPod(t, "agent", "")
	onlyPod(t, "server", "")
}

// chartUpgraded: helm upgrade keeps what agents and people trust, and the volume.
func chartUpgraded(t *testing.T) {
	kept := func() (out []string) {
		for _, path := range []string{"secrets/gputally-ca", "secrets/gputally-server-tls", "persistentvolumeclaims/data-gputally-server-0"} {
			var o struct {
				header
				Data map[string]string
			}
			if err := get("/api/v1/namespaces/gputally/"+path, &o); err != nil {
				t.Fatal(err)
			}
			out = append(out, o.Metadata.UID, fmt.Sprint(o.Data))
		}
		return out
	}
	before := kept()
	helmUpgrade(t, deliveredChart)
	want := imageName + ":" + appVersion(t, deliveredChart)
	for _, component := range []string{"server", "agent"} {
		eventually(t, "the "+component+" is of the new version", func() error {
			pods, err := podsOf(component)
			if err != nil {
				return err
			}
			if len(pods) != 1 || pods[0].Spec.Containers[0].Image != want || !pods[0].ready() {
				return fmt.Errorf("the pods are %+v", pods)
			}
			return nil
		})
	}
	if diff := cmp.Diff(before, kept()); diff != "" {
		t.Errorf("the upgrade changed (-before +after):\n%s", diff)
	}
}

// exported are all records that the server has, in the order of time.
func exported(t *testing.T, reader kubectl) []batch {
	t.Helper()
	text, err := reader.run("ledger", "export", "--kind", "usage", "--format", "jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []batch
	for line := range strings.Lines(text) {
		var b batch
		if err := json.Unmarshal([]byte(line), &b); err != nil {
			t.Fatalf("read batch: %v\n%s", err, line)
		}
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b batch) int { return int(a.StartMS - b.StartMS) })
	return all
}

// exportedUntil waits until the server has what was measured at a time.
func exportedUntil(t *testing.T, reader kubectl, at time.Time) []batch {
	t.Helper()
	var all []batch
	eventually(t, "the server has all records until "+at.Format(time.TimeOnly), func() error {
		all = exported(t, reader)
		if n := len(all); n == 0 || all[n-1].StartMS+all[n-1].DurationMS < at.UnixMilli() {
			return fmt.Errorf("it has %d", n)
		}
		return nil
	})
	return all
}

// noHoles checks that each record of the node begins where the one before it ends, and
// that each boot of the agent has all its numbers, each once.
func noHoles(t *testing.T, batches []batch) {
	t.Helper()
	next := map[string]uint64{}
	for i, b := range batches {
		if b.Seq != next[b.Boot]+1 {
			t.Errorf("boot %s: record %d follows on %d", b.Boot, b.Seq, next[b.Boot])
		}
		next[b.Boot] = b.Seq
		if i == 0 {
			continue
		}
		end := batches[i-1].StartMS + batches[i-1].DurationMS
		if hole := b.StartMS - end; hole > clockDriftMS || hole < -clockDriftMS {
			t.Errorf("%d ms lie between record %d of boot %s and the one before", hole, b.Seq, b.Boot)
		}
	}
}

func agentIDs(batches []batch) []string {
	var ids []string
	for _, b := range batches {
		ids = append(ids, b.Agent)
	}
	return slices.Compact(sorted(ids))
}

// billIsOfRecords waits until what is booked and what is open come to what the records
// say: each millisecond of each GPU is somebody's, once. Records come all the time.
func billIsOfRecords(t *testing.T, reader kubectl) {
	t.Helper()
	eventually(t, "the bill is that of the records", func() error {
		want := map[string]int64{}
		for _, b := range exported(t, reader) {
			for _, p := range b.Partitions {
				want[p.Partition.Device] += p.DurationMS
			}
		}
		got := map[string]int64{}
		for _, which := range spans {
			text, err := reader.run("report", which, "--by", "gpu", "--where", "account!=unmeasured", "-o", "csv")
			if err != nil {
				return err
			}
			lines, err := readBill(text)
			if err != nil {
				return err
			}
			for _, row := range lines.where("line", "row") {
				if gpu := row["gpu"]; gpu != "" {
					got[gpu] += number(t, row, "gpu_ms").Num().Int64()
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("milliseconds of each GPU (-records +bill):\n%s", diff)
		}
		return nil
	})
}
