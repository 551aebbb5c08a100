// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

const (
	ledgerURL = "https://10.10.0.1:9403"
	readToken = "a-reader-of-the-ledger" // of a file: questions of ours cause no reviews
	priceBook = "pricebook: 1\nname: scale\ncurrency: USD\nrows:\n- {id: h100, labels: {node.kubernetes.io/instance-type: p5.48xlarge}, node_hour: 98.32}\n"
)

// delivered is how the server did.
type delivered struct {
	firstBill time.Duration // from the first record on: the report of hours that are not booked has lines of every node
	rated     time.Duration // from the first record on: the backlog of an hour is taken, rated and booked
	reviews   []int         // TokenReviews in each minute of deliveries
	peak      int           // the most in a second
	review    time.Duration // the API server's CPU time for one review
	busy      time.Duration // the server's CPU time in a minute of deliveries
	apiBusy   time.Duration // the API server's
	memory    cost
	reports   []time.Duration
	batches   int64
	nodes     int
}

// startLedger runs the server with the rights of its own ServiceAccount.
func startLedger(ctx context.Context, dir string) (*daemon, error) {
	t, err := token(ctx, "gputally-server", "", "")
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority":%q}}],"users":[{"name":"u","user":{"token":%q}}]}`, apiServer, serverCA, t)
	for name, text := range map[string]string{"kubeconfig": config, "readers": readToken, "prices.yaml": priceBook} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	d, err := start("server", []string{runDir + "/gputally", "server", "--data-dir", in("ledger"), "--listen", "10.10.0.1:9403",
		"--tls-cert", serverCA, "--tls-key", runDir + "/tls/apiserver.key", "--kube-auth", "--kubeconfig", in("kubeconfig"),
		"--agent-service-account", agentSpace + "/" + agentAccount, "--cluster", cluster, "--read-token-file", in("readers"), "--price-book", in("prices.yaml")})
	if err != nil {
		return nil, err
	}
	return d, until(ctx, time.Minute, 100*time.Millisecond, "the server is ready", func() error {
		return ask(ctx, "/readyz", nil)
	})
}

var ledgerClient = sync.OnceValues(trusting)

// ask asks our server.
func ask(ctx context.Context, path string, out any) error {
	client, err := ledgerClient()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ledgerURL+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+readToken)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("%s: %d %.300s", path, resp.StatusCode, text), err)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// billed asks for the bill of an hour by node: with open what is not booked yet,
// without it what is. It is an error where a node has no priced line.
func billed(ctx context.Context, hour time.Time, nodes int, open bool) error {
	q := url.Values{"from": {hour.Format(time.RFC3339)}, "to": {hour.Add(time.Hour).Format(time.RFC3339)}, "by": {"node"}}
	if open {
		q.Set("open", "true")
	}
	var r v1.Report
	if err := ask(ctx, "/api/v1/report?"+q.Encode(), &r); err != nil {
		return err
	}
	priced := 0
	for _, s := range r.Sections {
		for _, row := range s.Rows {
			if row.Cost != nil && row.Lines > 0 {
				priced++
			}
		}
	}
	if priced != nodes {
		return fmt.Errorf("%d of %d nodes are on the bill", priced, nodes)
	}
	return nil
}

// deliver has every node deliver an hour's records at once, as after an outage, and
// then a minute's each minute.
func deliver(ctx context.Context, f *fleet, p controlPlane) (out delivered, err error) {
	dir, err := os.MkdirTemp("", "ledger") // in memory: the disk is not what is measured
	if err != nil {
		return out, err
	}
	server, err := startLedger(ctx, dir)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, server.end(syscall.SIGTERM)) }()
	senders, err := newSenders(ctx, f, dir, ledgerURL)
	if err != nil {
		return out, err
	}
	hour := time.Now().UTC().Truncate(time.Hour).Add(-time.Hour)
	say("the server is ready, %d tokens are made", len(senders))
	ship, stop := context.WithCancel(ctx)
	var loops sync.WaitGroup
	defer loops.Wait()
	defer stop()
	began := time.Now()
	if err := out.backlog(ctx, senders, hour, func() {
		for _, s := range senders {
			loops.Go(func() { _ = s.shipper.Run(ship) }) // troubles tells how it went
		}
	}); err != nil {
		return out, err
	}
	out.rated = time.Since(began)
	if err := out.live(ctx, f, p, server, senders, hour); err != nil {
		return out, err
	}
	if out.memory, err = server.cost(); err != nil {
		return out, err
	}
	stop()
	loops.Wait()
	out.review, err = reviewCost(ctx, p["apiserver"])
	return out, err
}

// reviewCost is the API server's CPU time for one TokenReview, with its request, less
// what it uses in the same time anyway.
func reviewCost(ctx context.Context, api *daemon) (time.Duration, error) {
	const reviews = 3000
	t, err := token(ctx, agentAccount, "gputally", agentPod(0))
	if err != nil {
		return 0, err
	}
	body := object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": object{"token": t, "audiences": []string{"gputally"}}}
	began := time.Now()
	used, err := cpuOf(api, func() error {
		return each(reviews, 8, func(int) error {
			_, err := call(ctx, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", "", body)
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	idle, err := cpuOf(api, func() error { return sleep(ctx, took) })
	return max(0, used-idle) / reviews, err
}

// cpuOf is what a daemon used while something was done.
func cpuOf(d *daemon, do func() error) (time.Duration, error) {
	before, err := d.cost()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := d.cost()
	return after.cpu - before.cpu, err
}

// backlog waits until the records of an hour are a booked bill.
func (d *delivered) backlog(ctx context.Context, senders []*sender, hour time.Time, run func()) error {
	began := time.Now()
	if err := each(len(senders), 2, func(i int) error { return senders[i].write(1, 1, hour) }); err != nil {
		return err
	}
	run()
	if err := until(ctx, 3*time.Minute, 200*time.Millisecond, "the first minute is on the bill", func() error {
		return billed(ctx, hour, len(senders), true)
	}); err != nil {
		return errors.Join(err, troubles(senders))
	}
	d.firstBill = time.Since(began)
	say("first bill after %s", d.firstBill)
	if err := each(len(senders), 2, func(i int) error { return senders[i].write(2, 60, hour) }); err != nil {
		return err
	}
	if err := until(ctx, 15*time.Minute, 2*time.Second, "the hour is booked", func() error { return billed(ctx, hour, len(senders), false) }); err != nil {
		return errors.Join(err, troubles(senders))
	}
	say("the hour is booked after %s", time.Since(began))
	return nil
}

// live delivers in real time: all nodes close their windows at the same moment, the
// worst that can be.
func (d *delivered) live(ctx context.Context, f *fleet, p controlPlane, server *daemon, senders []*sender, hour time.Time) error {
	before, err := costs(server, p["apiserver"])
	if err != nil {
		return err
	}
	began := time.Now()
	for m := range f.minutes {
		if err := each(len(senders), 2, func(i int) error { return senders[i].write(61+uint64(m), 61+uint64(m), hour) }); err != nil {
			return err
		}
		select {
		case <-time.After(time.Until(began.Add(time.Duration(m+1) * time.Minute))):
		case <-ctx.Done():
			return ctx.Err()
		}
		asked := time.Now()
		if err := billed(ctx, hour, len(senders), false); err != nil {
			return err
		}
		d.reports = append(d.reports, time.Since(asked))
	}
	after, err := costs(server, p["apiserver"])
	if err != nil {
		return err
	}
	d.busy = (after[0].cpu - before[0].cpu) / time.Duration(f.minutes)
	d.apiBusy = (after[1].cpu - before[1].cpu) / time.Duration(f.minutes)
	return errors.Join(d.counted(ctx, began, f, len(senders)), troubles(senders))
}

// counted adds up the reviews, and holds what arrived against what was sent.
func (d *delivered) counted(ctx context.Context, began time.Time, f *fleet, nodes int) error {
	all, err := auditSince(began)
	if err != nil {
		return err
	}
	reviews := all.of(":gputally-server")
	d.reviews, d.peak = make([]int, f.minutes), reviews.peak()
	for _, r := range reviews.requests() {
		if m := int(r.At.Sub(began) / time.Minute); m < f.minutes {
			d.reviews[m]++
		}
	}
	var s v1.Status
	if err := ask(ctx, "/api/v1/status", &s); err != nil {
		return err
	}
	d.batches, d.nodes = s.Records.Batches, s.Records.Nodes
	if want := int64(nodes * (60 + f.minutes)); d.batches != want {
		return fmt.Errorf("the server counted %d windows, %d were sent", d.batches, want)
	}
	say("reviews in each minute: %v, at most %d a second", d.reviews, d.peak)
	return nil
}

func costs(daemons ...*daemon) (out []cost, err error) {
	for _, d := range daemons {
		c, err := d.cost()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}
