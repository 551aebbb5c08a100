// SPDX-License-Identifier: Apache-2.0

package inquiry

// BackupMade is a copy of the store.
type BackupMade struct {
	Dir    string // on the server
	Bytes  int64
	TookMS int64
}
