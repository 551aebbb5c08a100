// SPDX-License-Identifier: Apache-2.0

package api

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const documentPath = "../../../docs/api/openapi.yaml"

// TestDocumentIsCommitted: docs/api/openapi.yaml is what the code makes.
func TestDocumentIsCommitted(t *testing.T) {
	made, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(kept), string(made)); diff != "" {
		t.Errorf("docs/api/openapi.yaml is not what the code makes; run make docs\n%s", diff)
	}
}
