// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"
)

// probe dials the socket to learn why gRPC could not: its own error hides the
// cause in text. It returns nil when the socket can be reached after all.
func probe(socket string) error {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		return conn.Close()
	}
	return explainDial(err)
}

func explainDial(err error) error {
	for _, known := range []struct {
		cause  error
		advice string
	}{
		{fs.ErrPermission, "permission denied: run as root or mount the socket"},
		{fs.ErrNotExist, "no such socket: is this a kubelet's node, and is the directory mounted?"},
		{syscall.ECONNREFUSED, "connection refused: the kubelet is not running or is restarting"},
	} {
		if errors.Is(err, known.cause) {
			return &socketError{text: known.advice, cause: err}
		}
	}
	return fmt.Errorf("dial: %w", err)
}

// socketError says plainly what the cause means.
type socketError struct {
	text  string
	cause error
}

func (e *socketError) Error() string { return e.text }
func (e *socketError) Unwrap() error { return e.cause }
