// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"time"
)

// steering are the variables kept of a process's environment. Nothing else of
// it is: environments hold secrets.
var steering = []string{"NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "CUDA_MPS_PIPE_DIRECTORY"}

// parseEnviron picks the steering variables out of /proc/PID/environ. Of a
// variable given twice the first counts, as it does for getenv.
func parseEnviron(text []byte) map[string]string {
	var kept map[string]string
	for len(text) > 0 {
		entry, rest, _ := bytes.Cut(text, []byte{0})
		text = rest
		name, value, ok := bytes.Cut(entry, []byte{'='})
		if !ok || !isSteering(name) {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		if _, twice := kept[string(name)]; !twice {
			kept[string(name)] = string(value)
		}
	}
	return kept
}

func isSteering(name []byte) bool {
	for _, s := range steering {
		if string(name) == s {
			return true
		}
	}
	return false
}

// environWait is how long a sample waits for an environment. Reading it takes
// a lock of the process's memory, which a process stuck in a driver may hold
// for ever; the other files do not.
const environWait = 250 * time.Millisecond

// stuckReads bounds the readers that wait for such a lock.
var stuckReads = make(chan struct{}, 8)

// readEnviron reads the steering variables of a process. ok is false where
// they cannot be read, which includes being denied.
func readEnviron(path string) (env map[string]string, ok bool) {
	select {
	case stuckReads <- struct{}{}:
	default:
		return nil, false
	}
	done := make(chan map[string]string, 1)
	go func() {
		defer func() { <-stuckReads }()
		defer close(done)
		if text, err := readInto(path, nil, maxFile); err == nil {
			done <- parseEnviron(text)
		}
	}()
	wait := time.NewTimer(environWait)
	defer wait.Stop()
	select {
	case env, ok = <-done:
		return env, ok
	case <-wait.C:
		return nil, false
	}
}
