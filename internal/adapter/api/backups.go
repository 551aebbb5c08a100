// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

type backupInput struct {
	Body v1.BackupRequest
}

func (h *handler) routeBackups() {
	get(h, operation(http.MethodPost, "/backups", "backUp", "Copy the store", "While it serves on, to a new directory below the one that the server has for backups (--backup-dir).", writes, heavy),
		func(ctx context.Context, in *backupInput) (v1.Backup, error) {
			b, err := h.Books.Backup(ctx, in.Body.Name)
			if err != nil {
				return v1.Backup{}, err
			}
			return v1.BackupOf(&b), nil
		})
}
