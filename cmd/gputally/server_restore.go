// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/duck"
)

func newServerRestore() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "restore BACKUP --data-dir NEW",
		Short: "Make a data directory from a backup",
		Long: `Restore copies a backup to a new data directory and compares what is in it with
what the backup was made of. The directory must be empty or not there. Stop the
server first, restore to a new directory, and start it on that one: the old one
stays as it is until you delete it. Agents send again what they still have.`,
		Example: `  gputally server restore /backups/20261201T000000Z --data-dir /var/lib/gputally-new`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if dir == "" {
				return inputError{fmt.Errorf("--data-dir is missing: name the directory that is to be made")}
			}
			start := time.Now()
			b, err := duck.Restore(c.Context(), args[0], dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is restored from a backup of %s: %d batches, %d gaps, verified in %s\nstart the server with --data-dir %s\n",
				dir, b.TakenAt.UTC().Format(time.RFC3339), b.Totals.Batches, b.Totals.Gaps, time.Since(start).Round(time.Millisecond), dir)
			return nil
		},
	}
	c.Flags().StringVar(&dir, "data-dir", "", "directory to make")
	return c
}
