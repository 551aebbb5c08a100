// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/agenthttp"
	"github.com/gputally/gputally/internal/adapter/podresources"
	"github.com/gputally/gputally/internal/app/agent"
	"github.com/gputally/gputally/internal/core/attribution"
)

// config is every setting of the agent. Its fields are bound to flags, which
// the environment and the configuration file set too.
type config struct {
	nodeName, cluster                 string
	kubeconfig                        string
	inCluster, standalone             bool
	socket, nvmlLibrary, proc, cgroup string
	interval                          time.Duration
	daemons                           []string
	engines                           string
	engineTargets                     []string
	logFormat, logLevel               string
	file                              string

	listen, spoolDir string
	spoolMaxBytes    int64
	costLabels       []string
	events           bool
	server           serverConfig
	checkConfig      bool
}

// bindSources adds the flags that say what is read and how.
func (c *config) bindSources(fs *pflag.FlagSet) {
	fs.StringVar(&c.nodeName, "node-name", "", "name of this node's Node object (default: $NODE_NAME, else the host's name)")
	fs.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` to reach the API server")
	fs.BoolVar(&c.inCluster, "in-cluster", false, "reach the API server as the pod this runs in (default: when in a pod and no --kubeconfig)")
	fs.StringVar(&c.socket, "pod-resources-socket", podresources.DefaultSocket, "the kubelet's PodResources `SOCKET`")
	fs.StringVar(&c.nvmlLibrary, "nvml-library", "", "`FILE` to load as libnvidia-ml.so.1 (default: where drivers install it)")
	fs.StringVar(&c.proc, "proc", "/proc", "where the host's /proc is mounted")
	fs.StringVar(&c.cgroup, "cgroup-root", "/sys/fs/cgroup", "where the host's cgroups are mounted")
	fs.DurationVar(&c.interval, "interval", agent.DefaultInterval, "time between two samples on average (steps vary at random by a fifth), 1s or more")
	fs.BoolVar(&c.standalone, "standalone", false, "no Kubernetes: holders are containers, systemd units and users")
	fs.StringArrayVar(&c.daemons, "daemons", []string{daemonsDefault}, "`SELECTOR` of GPU infrastructure, whose memory is overhead: NAMESPACE/LABEL=VALUE[,…], NAMESPACE/pod:PREFIX, NAMESPACE/comm:PROCESS, unit:NAME, or default for the built-in list; repeat for more")
	fs.StringVar(&c.engines, "engines", enginesAnnotated, "annotated: ask the inference engines of pods whose owners want it (docs/engines.md), and those of --engine-target; off: ask none")
	fs.StringArrayVar(&c.engineTargets, "engine-target", nil, "`ENGINE[:PORT][/PATH]@NAMESPACE/LABEL=VALUE[,…]`: pods whose inference engine is asked without an annotation; repeat for more")
	fs.StringVar(&c.logFormat, "log-format", "text", "text or json")
	fs.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&c.file, "config", "", "configuration `FILE` (YAML)")
}

// bindService adds the flags of the running agent.
func (c *config) bindService(fs *pflag.FlagSet) {
	fs.StringVar(&c.cluster, "cluster", "", "name of the cluster, written into every record")
	fs.StringArrayVar(&c.costLabels, "cost-label", attribution.DefaultCostLabels(), "`KEY` of a pod's label, or else annotation, that is written into the records as a cost dimension; repeat for more, 16 at most")
	fs.StringVar(&c.listen, "listen", agenthttp.DefaultListen, "`HOST:PORT` to serve /metrics and /api/v1/node on")
	fs.StringVar(&c.spoolDir, "spool-dir", "/var/lib/gputally/spool", "`DIRECTORY` of the usage records")
	fs.Int64Var(&c.spoolMaxBytes, "spool-max-bytes", 512<<20, "size that the usage records may have on disk, in bytes")
	fs.BoolVar(&c.events, "events", false, "tell the owners of pods that use or can open GPUs they were not given, by a Kubernetes Event on the pod (needs create on events of events.k8s.io)")
	c.server.bind(fs)
	fs.BoolVar(&c.checkConfig, "check-config", false, "check the configuration, print it, and end")
}

// load fills in what no flag set, from the environment and the file, and
// checks the whole.
func (c *config) load(fs *pflag.FlagSet, getenv func(string) string) error {
	if err := applyEnvironment(fs, getenv); err != nil {
		return err
	}
	if c.file != "" {
		if err := applyFile(fs, c.file); err != nil {
			return err
		}
	}
	if c.nodeName == "" {
		c.nodeName = getenv("NODE_NAME")
	}
	if c.nodeName == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find the node's name: %w; set --node-name", err)
		}
		c.nodeName = host
	}
	return c.check()
}

func (c *config) check() error {
	switch {
	case c.interval < agent.MinInterval:
		return fmt.Errorf("interval is %s: the shortest is %s", c.interval, agent.MinInterval)
	case c.interval > time.Minute:
		return fmt.Errorf("interval is %s: the longest is 1m, the length of a window", c.interval)
	case c.standalone && (c.kubeconfig != "" || c.inCluster):
		return fmt.Errorf("standalone means no Kubernetes: leave out kubeconfig and in-cluster")
	case c.standalone && c.events:
		return fmt.Errorf("events are objects of Kubernetes, and standalone means that there is none: leave out events")
	case c.kubeconfig != "" && c.inCluster:
		return fmt.Errorf("kubeconfig and in-cluster are two ways to the API server: set one")
	case c.spoolMaxBytes < minSpool && c.spoolDir != "":
		return fmt.Errorf("spool-max-bytes is %d: the least is %d (1 MiB)", c.spoolMaxBytes, minSpool)
	}
	if err := oneOf("log-format", c.logFormat, "text", "json"); err != nil {
		return err
	}
	if err := oneOf("log-level", c.logLevel, "debug", "info", "warn", "error"); err != nil {
		return err
	}
	if err := oneOf("engines", c.engines, enginesAnnotated, enginesOff); err != nil {
		return err
	}
	if _, err := c.engineSelectors(); err != nil {
		return err
	}
	if err := attribution.CheckCostLabels(c.costLabels); err != nil {
		return fmt.Errorf("cost-label: %w", err)
	}
	if err := c.server.check(); err != nil {
		return err
	}
	_, err := c.policy()
	return err
}

const minSpool = 1 << 20

func oneOf(name, value string, words ...string) error {
	for _, w := range words {
		if value == w {
			return nil
		}
	}
	return fmt.Errorf("%s is %q: write one of %s", name, value, strings.Join(words, ", "))
}

// daemonsDefault is the word for the built-in list of GPU infrastructure.
const daemonsDefault = "default"

func (c *config) policy() (attribution.Policy, error) {
	p := attribution.Policy{CostLabels: append([]string{}, c.costLabels...)} // not nil: an empty list is none
	for _, text := range c.daemons {
		if text == daemonsDefault {
			p.Daemons = append(p.Daemons, attribution.DefaultDaemons()...)
			continue
		}
		d, err := parseDaemon(text)
		if err != nil {
			return p, err
		}
		p.Daemons = append(p.Daemons, d)
	}
	return p, nil
}

// platformNamespaces are those of the operator's own list of GPU
// infrastructure; load has checked it.
func (c *config) platformNamespaces() (out []string) {
	p, err := c.policy()
	if err != nil {
		return nil
	}
	for _, d := range p.Daemons {
		if d.Namespace != "" && !slices.Contains(out, d.Namespace) {
			out = append(out, d.Namespace)
		}
	}
	return out
}

// parseDaemon reads one selector of GPU infrastructure.
func parseDaemon(text string) (attribution.Daemon, error) {
	bad := fmt.Errorf("daemons: %q: write NAMESPACE/LABEL=VALUE[,LABEL=VALUE…], NAMESPACE/pod:PREFIX, NAMESPACE/comm:PROCESS, unit:NAME or default", text)
	if unit, ok := strings.CutPrefix(text, "unit:"); ok && unit != "" {
		return attribution.Daemon{Unit: unit}, nil
	}
	namespace, rest, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || rest == "" {
		return attribution.Daemon{}, bad
	}
	d := attribution.Daemon{Namespace: namespace}
	for part := range strings.SplitSeq(rest, ",") {
		if prefix, ok := strings.CutPrefix(part, "pod:"); ok && prefix != "" {
			d.PodPrefix = prefix
		} else if comm, ok := strings.CutPrefix(part, "comm:"); ok && comm != "" {
			d.Comm = comm
		} else if k, v, ok := strings.Cut(part, "="); ok && k != "" {
			if d.Labels == nil {
				d.Labels = map[string]string{}
			}
			d.Labels[k] = v
		} else {
			return attribution.Daemon{}, bad
		}
	}
	return d, nil
}
