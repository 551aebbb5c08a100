// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWaiting: on a terminal it is said that the server works, from a second on, and what was
// said is taken away; elsewhere nothing is.
func TestWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		terminal bool
		takes    time.Duration
		says     string
	}{
		"on a terminal":        {true, 3500 * time.Millisecond, "for 3 s"},
		"answered at once":     {true, 900 * time.Millisecond, ""},
		"not read by a person": {false, time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				p := &progress{w: &out, is: c.terminal}
				end := p.waiting("advice")
				time.Sleep(c.takes)
				end()
				if c.says == "" && out.Len() > 0 || !strings.Contains(out.String(), c.says) || c.says != "" && !strings.HasSuffix(out.String(), "\r\x1b[K") {
					t.Errorf("%q", out.String())
				}
			})
		})
	}
}
