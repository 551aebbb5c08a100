// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate writes a certificate for 127.0.0.1 and its key.
func certificate(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "gputally"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTLS: the client checks the server's certificate, and a new one counts
// without a restart.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key, old := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "old.crt")
	certificate(t, cert, key, 1)
	first, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, first, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(ListenOptions{Address: "127.0.0.1:0", CertFile: cert, KeyFile: key})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = Serve(t.Context(), l, Handler(Options{Taker: &taker{}})) }()
	ask := func(ca string) error {
		_, err := client(t, ClientOptions{Server: "https://" + l.Addr().String(), CAFile: ca}).Acks(t.Context(), "a")
		return err
	}
	if err := ask(old); err != nil {
		t.Error(err)
	}
	if err := ask(""); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
	certificate(t, cert, key, 2)
	later := time.Now().Add(time.Minute)
	for _, path := range []string{cert, key} {
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask(cert); err != nil {
		t.Errorf("after the change: %v", err)
	}
	if err := ask(old); err == nil {
		t.Error("the old certificate is still served")
	}
	if _, err := NewClient(ClientOptions{Server: "https://x", CAFile: key}); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("a CA file without certificates: %v", err)
	}
}
