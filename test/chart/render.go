// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// Release is what a rendering needs besides values.
type Release struct {
	Name, Namespace string
	// KubeVersion is of the cluster that is rendered for, such as 1.37.0.
	KubeVersion string
}

// Rendered are the files of a chart, by path below templates/.
type Rendered map[string]string

// Load reads a chart from its directory.
func Load(dir string) (*chart.Chart, error) {
	c, err := loader.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("load chart %s: %w", dir, err)
	}
	return c, nil
}

// Render renders a chart as "helm template" does: the values are checked against
// the schema, and no cluster is asked (lookup finds nothing).
func Render(c *chart.Chart, values map[string]any, r Release) (Rendered, error) {
	return renderWith(c, values, r, engine.Render)
}

// renderWith renders with a function of Helm's engine, which may ask a cluster.
func renderWith(c *chart.Chart, values map[string]any, r Release, do func(*chart.Chart, chartutil.Values) (map[string]string, error)) (Rendered, error) {
	version, err := chartutil.ParseKubeVersion(r.KubeVersion)
	if err != nil {
		return nil, fmt.Errorf("kubernetes version %q: %w", r.KubeVersion, err)
	}
	if c.Metadata.KubeVersion != "" && !chartutil.IsCompatibleRange(c.Metadata.KubeVersion, version.String()) {
		return nil, fmt.Errorf("chart requires Kubernetes %s, the cluster has %s", c.Metadata.KubeVersion, version)
	}
	caps := chartutil.DefaultCapabilities.Copy()
	caps.KubeVersion = *version
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{
		Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true,
	}, caps)
	if err != nil {
		return nil, err
	}
	files, err := do(c, all)
	if err != nil {
		return nil, err
	}
	out := Rendered{}
	for path, text := range files {
		_, name, ok := strings.Cut(path, "/templates/")
		if ok && !strings.HasPrefix(name, "_") && strings.TrimSpace(text) != "" {
			out[name] = text
		}
	}
	return out, nil
}

// ReadValues reads values as Helm does. Empty text has none.
func ReadValues(text []byte) (map[string]any, error) {
	values, err := chartutil.ReadValues(text)
	if err != nil {
		return nil, fmt.Errorf("read values: %w", err)
	}
	return values, nil
}

// Object is one rendered object: its text, and what names it.
type Object struct {
	File, Text       string
	APIVersion, Kind string
	Name, Namespace  string
}

// Objects takes the files apart, in the order in which they are to be applied:
// what others refer to comes first.
func (r Rendered) Objects() ([]Object, error) {
	var out []Object
	for file, text := range r {
		if !strings.HasSuffix(file, ".yaml") {
			continue
		}
		for _, doc := range strings.Split("\n"+text, "\n---") {
			o, err := objectOf(file, doc)
			if err != nil {
				return nil, err
			}
			if o.Kind != "" {
				out = append(out, o)
			}
		}
	}
	slices.SortFunc(out, func(a, b Object) int {
		if n := rank(a.Kind) - rank(b.Kind); n != 0 {
			return n
		}
		return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name)
	})
	return out, nil
}

func objectOf(file, doc string) (Object, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
		return Object{}, fmt.Errorf("templates/%s: %w", file, err)
	}
	return Object{File: file, Text: strings.Trim(doc, "\n") + "\n", APIVersion: head.APIVersion, Kind: head.Kind,
		Name: head.Metadata.Name, Namespace: head.Metadata.Namespace}, nil
}

// order is the order of kinds; kinds not in it come last.
var order = []string{"Namespace", "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount", "Secret", "ConfigMap", "PersistentVolumeClaim",
	"ClusterRole", "ClusterRoleBinding", "Role", "Service", "ResourceClaimTemplate", "Issuer", "Certificate", "DaemonSet", "StatefulSet"}

func rank(kind string) int {
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}

// Write writes objects as one stream of YAML.
func Write(w io.Writer, objects []Object) error {
	for i, o := range objects {
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(w, o.Text); err != nil {
			return err
		}
	}
	return nil
}
