// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/ingest"
	"github.com/gputally/gputally/internal/core/attribution"
)

// serverFlags are the settings of gputally server.
type serverFlags struct {
	config             string
	dataDir, backupDir string
	backupEvery        time.Duration
	backupKeep         int
	listen             string
	cert, key          string
	behindProxy        bool
	access             accessFlags
	memoryMiB          int64
	threads            int
	keepUsage          time.Duration
	sealAfter          time.Duration
	late               time.Duration
	labels             []string
	sets               map[string]string
	prices             priceFlags
	logLevel           string
	logFormat          string
}

// priceFlags say where prices and the policy come from.
type priceFlags struct {
	books    []string
	openCost []string
	noList   bool
	policy   policyFlags
}

func newServer() *cobra.Command {
	var f serverFlags
	c := &cobra.Command{
		Use:   "server",
		Short: "Take the agents' records, rate them, and keep the ledger",
		Long: `Server takes usage records from agents, keeps them in a directory of its own,
prices every hour of every node, divides that cost among those who used it, and
answers reports, explanations and everything else that the other commands ask.

It listens on loopback unless it is told who may do what: a file of tokens for
agents (deliver), one for readers, one for those who may close months and import
bills, one token a line; or, in a cluster, --kube-auth: Kubernetes then says who has
a token, and ClusterRoles say what they may (docs/security.md). Beyond loopback it
also wants a certificate.

Every flag can be set in the environment, --data-dir as GPUTALLY_DATA_DIR, and in
the file that --config names (docs/server-config.md). A flag is stronger than the
environment, and that is stronger than the file.
SIGTERM and SIGINT end it in order; what it said it had, it has.`,
		Example: `  gputally server --data-dir /var/lib/gputally
  gputally server --data-dir ./ledger --price-book prices.yaml --policy-file policy.yaml
  gputally server --config /etc/gputally/server.yaml
  gputally server --data-dir ./ledger --listen :9403 --tls-cert tls.crt --tls-key tls.key \
      --agent-token-file agents --read-token-file readers --write-token-file finance
  gputally server --listen :9403 --tls-cert tls.crt --tls-key tls.key --kube-auth \
      --agent-service-account gputally/gputally-agent --cluster prod-eu`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.load(c.Flags(), os.Getenv); err != nil {
				return inputError{err}
			}
			return f.run(c)
		},
	}
	f.define(c.Flags())
	c.AddCommand(newServerRestore())
	_ = c.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (f *serverFlags) define(p *pflag.FlagSet) {
	p.StringVar(&f.config, "config", "", "file of settings in YAML (docs/server-config.md); flags and the environment are stronger")
	p.StringVar(&f.dataDir, "data-dir", "/var/lib/gputally", "directory of the ledger; made if it is not there")
	p.StringVar(&f.backupDir, "backup-dir", "", "directory for backups, outside the data directory; without it there are none")
	p.DurationVar(&f.backupEvery, "backup-every", 0, "make a backup this often, such as 24h (default: only when asked to)")
	p.IntVar(&f.backupKeep, "backup-keep", 7, "how many of the backups made by --backup-every are kept")
	p.StringVar(&f.listen, "listen", ingest.DefaultListen, "address to listen on, HOST:PORT; :PORT is every address of the host")
	p.StringVar(&f.cert, "tls-cert", "", "certificate in PEM; read again when it changes")
	p.StringVar(&f.key, "tls-key", "", "key of the certificate in PEM")
	p.BoolVar(&f.behindProxy, "behind-proxy", false, "something before this server encrypts: take tokens without a certificate")
	f.access.define(p)
	p.Int64Var(&f.memoryMiB, "memory", 2048, "what the database may keep in memory, MiB")
	p.IntVar(&f.threads, "threads", 2, "how many threads a question to the database may use")
	p.DurationVar(&f.keepUsage, "keep-usage", 0, "age at which usage records are deleted, such as 9600h; the ledger stays (default: never)")
	p.DurationVar(&f.sealAfter, "seal-after", 48*time.Hour, "age at which usage records are moved to Parquet files")
	p.DurationVar(&f.late, "late", 2*time.Hour, "how long after its end an hour waits for records that are missing before it is rated")
	p.StringSliceVar(&f.labels, "cost-label", attribution.DefaultCostLabels(), "labels and annotations of pods that reports know, as the agents send them (at most 16)")
	p.StringToStringVar(&f.sets, "cluster-set", nil, "CLUSTER=SET: clusters of one set have their months closed together (default: all)")
	f.prices.define(p)
	p.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	p.StringVar(&f.logFormat, "log-format", "text", "text or json")
}

func (f *priceFlags) define(p *pflag.FlagSet) {
	p.StringArrayVar(&f.books, "price-book", nil, "price book in YAML (docs/formats/pricebook.md); the first that prices a node counts; read again when it changes (repeatable)")
	p.StringArrayVar(&f.openCost, "opencost-csv", nil, "CURRENCY=FILE: prices as OpenCost and Kubecost have them, after the price books (repeatable)")
	p.BoolVar(&f.noList, "no-list-prices", false, "leave the built-in list prices out: what no book and no bill prices stays without a price")
	f.policy.define(p, "; read again when it changes")
}

// load fills in what no flag set, from the environment, then from the file.
func (f *serverFlags) load(fs *pflag.FlagSet, getenv func(string) string) error {
	if err := fromEnvironment(fs, getenv); err != nil || f.config == "" {
		return err
	}
	return fromFile(fs, f.config)
}

// fromEnvironment sets the flags that the command line left alone.
func fromEnvironment(fs *pflag.FlagSet, getenv func(string) string) (err error) {
	fs.VisitAll(func(fl *pflag.Flag) {
		name := envName(fl.Name)
		value := getenv(name)
		if err != nil || fl.Changed || value == "" || fl.Name == "help" {
			return
		}
		values := []string{value}
		if fl.Value.Type() == "stringArray" {
			values = strings.Fields(value)
		}
		for _, v := range values {
			if set := fs.Set(fl.Name, v); set != nil {
				err = fmt.Errorf("environment: %s: %w", name, set)
			}
		}
	})
	return err
}

// check finds what cannot be before anything is opened.
func (f *serverFlags) check() error {
	var errs []error
	for _, d := range []struct {
		flag string
		v    time.Duration
	}{{"keep-usage", f.keepUsage}, {"seal-after", f.sealAfter}, {"late", f.late}, {"backup-every", f.backupEvery}} {
		if d.v < 0 {
			errs = append(errs, fmt.Errorf("--%s is %s: a time cannot be negative", d.flag, d.v))
		}
	}
	if f.keepUsage > 0 && f.keepUsage < 48*time.Hour {
		errs = append(errs, fmt.Errorf("--keep-usage is %s: keep at least 48h, late records need it", f.keepUsage))
	}
	if f.backupEvery > 0 && f.backupDir == "" {
		errs = append(errs, errors.New("--backup-every needs --backup-dir"))
	}
	if err := attribution.CheckCostLabels(f.labels); err != nil {
		errs = append(errs, fmt.Errorf("--cost-label: %w", err))
	}
	if f.memoryMiB < 256 {
		errs = append(errs, fmt.Errorf("--memory is %d MiB: at least 256", f.memoryMiB))
	}
	errs = append(errs, oneOf("log-format", f.logFormat, "text", "json"))
	return errors.Join(errs...)
}

func (f *serverFlags) newLog(c *cobra.Command) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level is %q: write debug, info, warn or error", f.logLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	if f.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(c.ErrOrStderr(), opts)), nil
	}
	return slog.New(slog.NewTextHandler(c.ErrOrStderr(), opts)), nil
}

func (f *serverFlags) run(c *cobra.Command) error {
	if err := f.check(); err != nil {
		return inputError{err}
	}
	log, err := f.newLog(c)
	if err != nil {
		return inputError{err}
	}
	parent := c.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A file that may get no larger is an error to live with, as a full disk is.
	// In a thread of DuckDB's this signal would end the program.
	signal.Ignore(syscall.SIGXFSZ)
	return serveLedger(ctx, f, log)
}
