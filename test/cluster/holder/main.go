// SPDX-License-Identifier: Apache-2.0

// Command holder is the program of the test pods: a process that is simply there, so
// that the mock NVML can give GPU memory to its process id. Without an argument it
// stays until it is told to end; with a duration (holder 2s) it ends by itself.
// As process 1 of a pod it also reaps what is left behind, which a pause image must.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	stay := time.Duration(1<<63 - 1)
	if len(os.Args) > 1 {
		d, err := time.ParseDuration(os.Args[1])
		if err != nil {
			fmt.Fprintf(os.Stderr, "holder: argument 1 must be how long to stay, such as 2s: %v\n", err)
			os.Exit(2)
		}
		stay = d
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	over := time.After(stay)
	for {
		select {
		case <-end:
			return
		case <-over:
			return
		case <-children:
			reap()
		}
	}
}

func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}
