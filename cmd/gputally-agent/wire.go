// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gputally/gputally/internal/adapter/kubeapi"
	"github.com/gputally/gputally/internal/adapter/nvml"
	"github.com/gputally/gputally/internal/adapter/podresources"
	"github.com/gputally/gputally/internal/adapter/procfs"
	"github.com/gputally/gputally/internal/adapter/spool"
	"github.com/gputally/gputally/internal/app/agent"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// nvmlDeadline is the longest that one question to NVML may take.
const nvmlDeadline = 2 * time.Second

// sources are the opened adapters, and how to close them.
type sources struct {
	agent.Sources
	gpus  *nvml.Source
	cache *kubeapi.Cache // nil without a way to the API server
	close []func() error
}

// Close closes what was opened, last first.
func (s *sources) Close() error {
	var errs []error
	for i := len(s.close) - 1; i >= 0; i-- {
		errs = append(errs, s.close[i]())
	}
	return errors.Join(errs...)
}

// openSources opens what the configuration names. instances is what an earlier
// process knew of MIG instances.
func openSources(c *config, instances map[gpu.UUID]int64, log *slog.Logger) (*sources, error) {
	s := &sources{gpus: nvml.Open(nvml.Options{
		LibraryPath: c.nvmlLibrary, Node: c.nodeName,
		// A sample asks twice at most, and has half an interval.
		Deadline:    min(c.interval/5, nvmlDeadline),
		Instances:   instances,
		MeminfoPath: filepath.Join(c.proc, "meminfo"), Log: log,
	})}
	s.GPUs = s.gpus
	s.close = append(s.close, func() error { s.gpus.Close(); return nil })
	// A sample gives /proc a quarter of the interval.
	opts := procfs.Options{Proc: c.proc, Cgroup: c.cgroup, Budget: c.interval / 8}
	if c.standalone {
		opts.Passwd = "/etc/passwd"
	}
	host := procfs.New(opts)
	s.Host = host
	s.close = append(s.close, func() error { host.Close(); return nil })
	if c.standalone {
		return s, nil
	}
	if err := s.openKubernetes(c, log); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *sources) openKubernetes(c *config, log *slog.Logger) error {
	grants, err := podresources.New(podresources.Options{Socket: c.socket, Deadline: c.interval / 4})
	if err != nil {
		return err
	}
	s.Grants = grants
	s.close = append(s.close, grants.Close)
	if c.kubeconfig == "" && !c.inCluster && os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		log.Warn("no way to the API server: pods have no names but the kubelet's, claims are not known",
			"hint", "set --kubeconfig, or --in-cluster, or --standalone where there is no Kubernetes")
		return nil
	}
	rest, err := kubeapi.LoadConfig(c.kubeconfig)
	if err != nil {
		return err
	}
	cache, err := kubeapi.Start(kubeapi.Options{Config: rest, Node: c.nodeName})
	if err != nil {
		return err
	}
	s.Objects, s.cache = objects{cache}, cache
	s.close = append(s.close, func() error { cache.Close(); return nil })
	awaitObjects(cache)
	s.openEngines(c)
	return nil
}

// firstObjects is the longest that a start waits for the API server's first
// answers. A sample taken before them knows pods by their UID alone; while the
// API server is away the agent begins with that.
const firstObjects = 3 * time.Second

func awaitObjects(cache *kubeapi.Cache) {
	for deadline := time.Now().Add(firstObjects); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ok, _, _ := cache.Status(); ok && cache.Objects().Known {
			return
		}
	}
}

// objects gives the cache's state the shape of a source's.
type objects struct{ *kubeapi.Cache }

func (o objects) Status() sample.SourceStatus {
	ok, stale, err := o.Cache.Status()
	return sample.SourceStatus{OK: ok, StaleMS: stale, Error: err}
}

// recordKeeper is the spool as the loop needs it.
type recordKeeper struct{ *spool.Spool }

func (r recordKeeper) KeepInstances(at map[gpu.UUID]int64) error {
	text, err := json.Marshal(at)
	if err != nil {
		return fmt.Errorf("keep MIG instances: %w", err)
	}
	return r.SaveInstances(text)
}

// instances is what an earlier process kept.
func (r recordKeeper) instances(log *slog.Logger) map[gpu.UUID]int64 {
	var at map[gpu.UUID]int64
	if text := r.Instances(); text != nil {
		if err := json.Unmarshal(text, &at); err != nil {
			log.Warn("what was kept of MIG instances cannot be read: they begin anew", "error", err)
		}
	}
	return at
}

func newLog(c *config, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		return nil, fmt.Errorf("log-level: %w", err)
	}
	opts := &slog.HandlerOptions{Level: level}
	if c.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return slog.New(slog.NewTextHandler(w, opts)), nil
}
