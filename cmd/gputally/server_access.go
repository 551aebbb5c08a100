// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/api"
	"github.com/gputally/gputally/internal/adapter/ingest"
	"github.com/gputally/gputally/internal/adapter/kubeapi"
	"github.com/gputally/gputally/internal/adapter/kubeauth"
	"github.com/gputally/gputally/internal/core/access"
)

// accessFlags say who may do what.
type accessFlags struct {
	agentTokens, readTokens, writeTokens string
	kube                                 bool
	kubeconfig, audience, cluster        string
	agents                               []string
}

func (f *accessFlags) define(p *pflag.FlagSet) {
	p.StringVar(&f.agentTokens, "agent-token-file", "", "bearer tokens of agents, one a line, with a second word for the one cluster that its records may name; read again when it changes")
	p.StringVar(&f.readTokens, "read-token-file", "", "bearer tokens of those who may read")
	p.StringVar(&f.writeTokens, "write-token-file", "", "bearer tokens of those who may also close months, import bills and make backups")
	p.BoolVar(&f.kube, "kube-auth", false, "ask Kubernetes who has a token that is in no file, and what they may (docs/security.md)")
	p.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig with which --kube-auth reaches the API server (default: as the pod that this runs in)")
	p.StringSliceVar(&f.agents, "agent-service-account", nil, "NAMESPACE/NAME of a ServiceAccount whose pods may deliver records, each of its own node (repeatable)")
	p.StringVar(&f.audience, "audience", "gputally", "what tokens for this server are made for: the audience of the agents' projected tokens")
	p.StringVar(&f.cluster, "cluster", "", "name of the cluster that --kube-auth asks, the same as --cluster of its agents: their records may name no other")
}

// check finds settings that do not go together.
func (f *accessFlags) check() error {
	if !f.kube {
		for _, s := range []struct {
			flag string
			set  bool
		}{{"kubeconfig", f.kubeconfig != ""}, {"agent-service-account", len(f.agents) > 0}, {"cluster", f.cluster != ""}} {
			if s.set {
				return fmt.Errorf("--%s is set and --kube-auth is not: Kubernetes is not asked; set --kube-auth, or leave --%s out", s.flag, s.flag)
			}
		}
	}
	if strings.TrimSpace(f.audience) == "" || strings.ContainsAny(f.audience, " \t\n") {
		return fmt.Errorf("--audience is %q: write one word, the same as the audience of the agents' tokens", f.audience)
	}
	return nil
}

// roles are the ways to be let in.
type roles struct {
	agents, readers, writers *ingest.TokenFile   // nil: no such file
	kube                     *kubeauth.Authority // nil: Kubernetes is not asked
	open                     bool                // no token is asked for
}

// roles reads the token files once, to find mistakes. Without any, and without
// Kubernetes, everybody on this host may do everything; else a role that nothing
// was set for is closed.
func (f *accessFlags) roles(log *slog.Logger) (roles, error) {
	out := roles{open: !f.kube && f.agentTokens == "" && f.readTokens == "" && f.writeTokens == ""}
	var errs []error
	file := func(path string, open func(string) (*ingest.TokenFile, error)) *ingest.TokenFile {
		if path == "" {
			return nil
		}
		t, err := open(path)
		if err != nil {
			errs = append(errs, err)
		}
		return t
	}
	out.agents = file(f.agentTokens, ingest.NewAgentTokenFile)
	out.readers, out.writers = file(f.readTokens, ingest.NewTokenFile), file(f.writeTokens, ingest.NewTokenFile)
	if err := errors.Join(append(errs, f.check())...); err != nil || !f.kube {
		return out, err
	}
	var err error
	out.kube, err = f.authority(log)
	return out, err
}

// authority is the API server of --kube-auth.
func (f *accessFlags) authority(log *slog.Logger) (*kubeauth.Authority, error) {
	o := kubeauth.Options{Audience: f.audience, Cluster: f.cluster, Log: log}
	for _, text := range f.agents {
		a, err := kubeauth.ParseAccount(text)
		if err != nil {
			return nil, fmt.Errorf("--agent-service-account: %w", err)
		}
		o.Agents = append(o.Agents, a)
	}
	var err error
	if o.Config, err = kubeapi.LoadConfig(f.kubeconfig); err != nil {
		return nil, fmt.Errorf("--kube-auth: %w", err)
	}
	return kubeauth.New(o)
}

// deliver is who may deliver, nil where everybody may.
func (r roles) deliver() ingest.Auth {
	if r.open {
		return nil
	}
	return deliverers{r}
}

// people is who may ask and change, nil where everybody may.
func (r roles) people() api.Auth {
	if r.open {
		return nil
	}
	return people{r}
}

// deliverers are the agents.
type deliverers struct{ roles }

func (d deliverers) Authorize(r *http.Request) (access.Sender, error) {
	token, err := ingest.Bearer(r)
	if err != nil {
		return access.Sender{}, &access.Denied{Why: err.Error(), Hint: "give the agent a token: --server-token-file FILE"}
	}
	if d.agents != nil {
		if sender, ok, err := d.agents.Find(token); ok || err != nil {
			return sender, err
		}
	}
	if d.kube == nil {
		return access.Sender{}, d.none("--agent-token-file", d.agents != nil)
	}
	return d.kube.Agent(r.Context(), token)
}

// people are all others.
type people struct{ roles }

// kubePrefix stands before the API's paths in rules of ClusterRoles. Without it
// the role system:discovery, which Kubernetes gives to every user and every
// ServiceAccount, would let all of them read: it has get on /api/*.
const kubePrefix = "/gputally"

func (p people) Authorize(r *http.Request, change bool) (user string, err error) {
	verb := "get" // a question, also where it is sent with POST
	if change {
		verb = strings.ToLower(r.Method)
	}
	return p.may(r, change, verb, kubePrefix+r.URL.Path, kubePrefix+api.Prefix+"/*")
}

// may lets pass who has a token of the files' roles, or who may, as Kubernetes
// says, do the verb on the path. Who that is is known in the second case.
func (p people) may(r *http.Request, change bool, verb, path, grant string) (user string, err error) {
	token, err := ingest.Bearer(r)
	if err != nil {
		return "", &access.Denied{Why: err.Error(), Hint: p.takes()}
	}
	switch role, err := p.byFile(token); {
	case err != nil:
		return "", err
	case role == "write", role == "read" && !change:
		return "", nil
	case role == "read":
		return "", &access.Denied{Known: true, Why: "this token may read, not change anything", Hint: "use a token of the role write"}
	}
	if p.kube != nil {
		return p.kube.May(r.Context(), token, verb, path, grant)
	}
	if change {
		return "", p.none("--write-token-file", p.writers != nil)
	}
	return "", p.none("--read-token-file", p.readers != nil || p.writers != nil)
}

// byFile is the role of a token in the files, "" where it is in none.
func (p people) byFile(token string) (role string, err error) {
	for _, f := range []struct {
		role string
		file *ingest.TokenFile
	}{{"write", p.writers}, {"read", p.readers}} {
		if f.file == nil {
			continue
		}
		if _, ok, err := f.file.Find(token); ok || err != nil {
			return f.role, err
		}
	}
	return "", nil
}

// none refuses a token that nothing knows.
func (r roles) none(flag string, given bool) error {
	if !given {
		return &access.Denied{Why: "this server was given no tokens for that", Hint: "start it with " + flag + ", or with --kube-auth"}
	}
	return &access.Denied{Why: "the bearer token is none of the server's", Hint: r.takes()}
}

// takes says which tokens there are.
func (r roles) takes() string {
	if r.kube == nil {
		return "send a token that the server was given: Authorization: Bearer TOKEN"
	}
	return "send Authorization: Bearer TOKEN, with the token of your kubeconfig or ServiceAccount, one that is made for this server (kubectl create token NAME --audience " +
		r.kube.Audience + "), or one of the server's files"
}

// metrics lets pass who may read: by a file, or, as for other programs of a
// cluster, by a rule for /metrics.
func (r roles) metrics(next http.Handler) http.Handler {
	if r.open {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, err := (people{r}).may(req, false, "get", "/metrics", "/metrics"); err != nil {
			refuse(w, err)
			return
		}
		next.ServeHTTP(w, req)
	})
}
