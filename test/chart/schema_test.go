// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

// TestLint: "helm lint --strict" has nothing to say but that there is no icon, for any set of values.
func TestLint(t *testing.T) {
	for _, v := range variants(t) {
		version, err := chartutil.ParseKubeVersion(newest)
		if err != nil {
			t.Fatal(err)
		}
		linter := lint.AllWithKubeVersion(chartDir, v.values, "gputally", version)
		for _, m := range linter.Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %s", v.name, m)
			}
		}
	}
}

// TestWrongValues: a value that is wrong is refused, and the message names it.
func TestWrongValues(t *testing.T) {
	for name, c := range map[string]struct{ values, want string }{
		"typo at the top":             {"agents: {}", "agents"},
		"typo deep down":              {"agent: {gpuAccess: {modus: dra}}", "modus"},
		"unknown mode":                {"agent: {gpuAccess: {mode: magic}}", "/agent/gpuAccess/mode"},
		"time without unit":           {"agent: {interval: 5}", "/agent/interval"},
		"time that is a word":         {"server: {backup: {every: daily}}", "/server/backup/every"},
		"relative path":               {"agent: {gpuAccess: {driverRoot: run/nvidia}}", "/agent/gpuAccess/driverRoot"},
		"digest that is a tag":        {"image: {digest: latest}", "/image/digest"},
		"CDI device without kind":     {"agent: {gpuAccess: {cdiDevices: [all]}}", "/agent/gpuAccess/cdiDevices/0"},
		"setting that there is not":   {"server: {config: {keep: 3h}}", "keep"},
		"setting that the chart has":  {"server: {config: {listen: ':80'}}", "listen"},
		"account without namespace":   {"server: {auth: {kubernetes: {agentServiceAccounts: [agent]}}}", "/server/auth/kubernetes/agentServiceAccounts/0"},
		"price book as a map":         {"server: {priceBooks: [{name: a, content: {pricebook: 1}}]}", "/server/priceBooks/0"},
		"price book of two places":    {"server: {priceBooks: [{name: a, content: x, configMap: y}]}", "/server/priceBooks/0"},
		"port":                        {"server: {service: {port: 70000}}", "/server/service/port"},
		"two replicas":                {"server: {replicas: 2}", "replicas"},
		"nothing to install":          {"{agent: {enabled: false}, server: {enabled: false}}", "agent.enabled and server.enabled are both false"},
		"server that nobody ships to": {"agent: {server: {url: 'https://a:1'}}", "server.enabled=false"},
		"nobody knows the agents":     {"server: {auth: {kubernetes: {enabled: false}}}", "agent.server.tokenSecret"},
		"half of a static token": {"{agent: {server: {tokenSecret: a}}, server: {auth: {kubernetes: {enabled: false}}}}",
			"server.auth.tokens.agentsSecret"},
		"scrape without a token": {"{agent: {enabled: false}, server: {auth: {kubernetes: {enabled: false}}}, monitoring: {serviceMonitor: true}}",
			"monitoring.tokenSecret"},
		"secret without a name":      {"server: {tls: {mode: secret}}", "server.tls.secretName"},
		"backup of what is not kept": {"server: {backup: {enabled: true}, persistence: {enabled: false}}", "server.persistence.enabled"},
		"engine that is not known":   {"agent: {engines: {targets: ['vLLM@a/b=c']}}", "/agent/engines/targets/0"},
		"too many labels":            {"agent: {costLabels: [a,b,c,d,e,f,g,h,i,j,k,l,m,nn,o,p,q]}", "16 at most"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Render(load(t), inline(t, c.values), Release{Name: "gputally", Namespace: "gputally", KubeVersion: newest})
			if err == nil {
				t.Fatalf("%s was taken", c.values)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: the message does not say %q:\n%v", c.values, c.want, err)
			}
		})
	}
}

// TestVersions: 1.30 to 1.37 are rendered for, older ones refused; a claim with
// adminAccess is refused where it is not on yet.
func TestVersions(t *testing.T) {
	for _, version := range []string{"1.30.0", "1.33.4", "1.37.2", "1.30.5-gke.1014001", "1.37.0-eks-1234567"} {
		objects(t, render(t, nil, version))
	}
	for version, values := range map[string]string{"1.29.9": "{}", "1.33.0": "agent: {gpuAccess: {mode: dra}}"} {
		_, err := Render(load(t), inline(t, values), Release{Name: "gputally", Namespace: "gputally", KubeVersion: version})
		if err == nil || !strings.Contains(err.Error(), "equires Kubernetes") && !strings.Contains(err.Error(), "needs Kubernetes") {
			t.Errorf("Kubernetes %s with %s: %v", version, values, err)
		}
	}
}

// open are the values below which keys are yours; everywhere else a key that the
// chart does not know is an error.
var open = []string{"/global", "/agent/affinity", "/agent/updateStrategy/rollingUpdate", "/agent/tolerations/items", "/agent/extraEnv/items",
	"/server/affinity", "/server/tolerations/items", "/server/extraEnv/items",
	"/networkPolicy/*/items/podSelector", "/networkPolicy/*/items/namespaceSelector"}

// TestSchemaIsStrict: each object of the schema lists its keys, or takes texts under
// any, or is one of those that are open.
func TestSchemaIsStrict(t *testing.T) {
	walkSchema(t, "", valuesSchema(t), func(path string, s map[string]any) {
		_, closed := s["additionalProperties"]
		if !isType(s, "object") || closed {
			return
		}
		general := regexp.MustCompile(`^/networkPolicy/\w+/`).ReplaceAllString(path, "/networkPolicy/*/")
		if !slices.Contains(open, general) {
			t.Errorf("%s takes any key: a typo would be no error", path)
		}
	})
}

// TestSchemaAndValuesAgree: each value has a place in the schema, and each place in
// the schema a value that says what it is.
func TestSchemaAndValuesAgree(t *testing.T) {
	var want, got []string
	walkSchema(t, "", valuesSchema(t), func(path string, _ map[string]any) {
		if path != "" && path != "/global" && !strings.Contains(path, "/items") {
			want = append(want, path)
		}
	})
	rows, err := Table([]byte(read(t, chartDir+"/values.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		parts := strings.Split(r.Key, ".")
		for i := range parts {
			if p := "/" + strings.Join(parts[:i+1], "/"); !seen[p] {
				seen[p] = true
				got = append(got, p)
			}
		}
		if r.About == "" {
			t.Errorf("values.yaml: %s: no comment that begins with \"# --\" says what it is", r.Key)
		}
	}
	for _, p := range want {
		if !seen[p] && !insideLeaf(p, rows) {
			t.Errorf("the schema knows %s, values.yaml does not", p)
		}
	}
	for _, p := range got {
		if !slices.Contains(want, p) {
			t.Errorf("values.yaml has %s, the schema does not", p)
		}
	}
}

// insideLeaf reports whether a place is within a value that is described as a whole.
func insideLeaf(path string, rows []Row) bool {
	return slices.ContainsFunc(rows, func(r Row) bool {
		return strings.HasPrefix(path, "/"+strings.ReplaceAll(r.Key, ".", "/")+"/")
	})
}

// TestServerSettings: server.config takes what docs/server-config.md lists, but what
// the chart sets itself.
func TestServerSettings(t *testing.T) {
	var want []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(read(t, repo+"/docs/server-config.md"), -1) {
		if !slices.Contains(chartSets, m[1]) {
			want = append(want, m[1])
		}
	}
	settings := valuesSchema(t)["properties"].(map[string]any)["server"].(map[string]any)["properties"].(map[string]any)["config"].(map[string]any)
	got := slices.Sorted(maps.Keys(settings["properties"].(map[string]any)))
	slices.Sort(want)
	if !slices.Equal(want, got) {
		t.Errorf("the schema's server.config has\n%v, docs/server-config.md without what the chart sets has\n%v", got, want)
	}
}

// chartSets are the settings of the server that the chart writes.
var chartSets = []string{"agent-service-account", "agent-token-file", "audience", "backup-dir", "backup-every", "backup-keep", "behind-proxy",
	"cluster", "data-dir", "kube-auth", "kubeconfig", "listen", "log-format", "memory", "policy-file", "price-book", "read-token-file",
	"threads", "tls-cert", "tls-key", "write-token-file"}

func valuesSchema(t *testing.T) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal([]byte(read(t, chartDir+"/values.schema.json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func walkSchema(t *testing.T, path string, s map[string]any, visit func(string, map[string]any)) {
	t.Helper()
	visit(path, s)
	if items, ok := s["items"].(map[string]any); ok {
		walkSchema(t, path+"/items", items, visit)
	}
	props, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		walkSchema(t, path+"/"+name, props[name].(map[string]any), visit)
	}
}

func isType(s map[string]any, want string) bool {
	switch v := s["type"].(type) {
	case string:
		return v == want
	case []any:
		return slices.Contains(v, any(want))
	}
	return false
}
