// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"gputally":    func() { os.Exit(start(os.Args, os.Stdout, os.Stderr)) },
		pluginName:    func() { os.Exit(start(os.Args, os.Stdout, os.Stderr)) },
		completerName: func() { os.Exit(start(os.Args, os.Stdout, os.Stderr)) },
	})
}

var update = flag.Bool("update", false, "write what the scripts compare with anew (make golden)")

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, UpdateScripts: *update})
}
