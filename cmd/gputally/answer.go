// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// isTerminal says whether somebody can be asked on a stream.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// readAnswer reads a line; the end of the input is an answer of nothing. An
// interrupt ends the waiting.
func readAnswer(ctx context.Context, r io.Reader) (string, error) {
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(r).ReadString('\n') // what cannot be read is no yes
		line <- strings.TrimSpace(text)
	}()
	select {
	case text := <-line:
		return text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
