// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
)

// cluster answers what the chart looks up: its own Secrets.
type cluster struct{ *fake.FakeDynamicClient }

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// GetClientFor gives Helm's engine a client for a kind.
func (c cluster) GetClientFor(_, _ string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return c.Resource(secrets), true, nil
}

// upgrade renders as "helm upgrade" does, and keeps the Secrets in the cluster.
func (c cluster) upgrade(t *testing.T, values string) map[string]*corev1.Secret {
	t.Helper()
	r, err := renderWith(load(t), inline(t, values), Release{Name: "gputally", Namespace: "gputally", KubeVersion: newest},
		func(chrt *chart.Chart, v chartutil.Values) (map[string]string, error) {
			return engine.RenderWithClientProvider(chrt, v, c)
		})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*corev1.Secret{}
	for _, o := range objects(t, r) {
		if s, ok := decoded(t, o).(*corev1.Secret); ok {
			out[s.Name] = s
			c.keep(t, s)
		}
	}
	return out
}

func (c cluster) keep(t *testing.T, s *corev1.Secret) {
	t.Helper()
	c.drop(t, s.Name)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resource(secrets).Namespace(s.Namespace).Create(context.Background(), &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c cluster) drop(t *testing.T, name string) {
	t.Helper()
	_ = c.Resource(secrets).Namespace("gputally").Delete(context.Background(), name, metav1.DeleteOptions{})
}

// TestGeneratedCertificates: the chart's own CA signs for the names of the Service;
// upgrades keep both; the certificate is made again when it was deleted or is to have
// other names, and the CA stays, so that nobody has to be told.
func TestGeneratedCertificates(t *testing.T) {
	c := cluster{fake.NewSimpleDynamicClient(scheme.Scheme)}
	first := c.upgrade(t, "{}")
	leaf, ca := first["gputally-server-tls"], first["gputally-ca"]
	if leaf == nil || ca == nil {
		t.Fatalf("Secrets are %v", first)
	}
	for _, name := range []string{"gputally-server.gputally.svc", "gputally-server", "localhost"} {
		verify(t, leaf, ca, name)
	}
	if _, err := tls.X509KeyPair(leaf.Data["tls.crt"], leaf.Data["tls.key"]); err != nil {
		t.Error(err)
	}
	if _, ok := leaf.Data["ca.key"]; ok {
		t.Error("the key of the CA is where agents mount from")
	}

	second := c.upgrade(t, "{}")
	for name, s := range first {
		for key := range s.Data {
			if !bytes.Equal(s.Data[key], second[name].Data[key]) {
				t.Errorf("an upgrade made %s of %s again", key, name)
			}
		}
	}

	c.drop(t, "gputally-server-tls")
	third := c.upgrade(t, "{}")
	renewed(t, third, leaf, ca, "gputally-server.gputally.svc")
	fourth := c.upgrade(t, "server: {tls: {extraNames: [gputally.example.com, 10.1.2.3]}}")
	renewed(t, fourth, third["gputally-server-tls"], ca, "gputally.example.com")
	verify(t, fourth["gputally-server-tls"], ca, "10.1.2.3")
}

// renewed checks that the certificate is another, by the same CA.
func renewed(t *testing.T, now map[string]*corev1.Secret, leaf, ca *corev1.Secret, name string) {
	t.Helper()
	got := now["gputally-server-tls"]
	if bytes.Equal(got.Data["tls.crt"], leaf.Data["tls.crt"]) {
		t.Error("the certificate is the old one")
	}
	if !bytes.Equal(now["gputally-ca"].Data["tls.crt"], ca.Data["tls.crt"]) || !bytes.Equal(now["gputally-ca"].Data["tls.key"], ca.Data["tls.key"]) {
		t.Error("the CA is another one: nobody trusts it")
	}
	verify(t, got, ca, name)
}

// verify checks a certificate as a client of the server does.
func verify(t *testing.T, leaf, ca *corev1.Secret, name string) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(leaf.Data["ca.crt"]) || !bytes.Equal(leaf.Data["ca.crt"], ca.Data["tls.crt"]) {
		t.Fatal("ca.crt is not the CA's certificate")
	}
	block, _ := pem.Decode(leaf.Data["tls.crt"])
	if block == nil {
		t.Fatal("tls.crt is no PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cert.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		t.Errorf("for %s: %v", name, err)
	}
	if left := time.Until(cert.NotAfter); left < 3649*24*time.Hour {
		t.Errorf("valid for %v", left)
	}
}
