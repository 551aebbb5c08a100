// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

func (h *handler) routeStatus() {
	get(h, operation(http.MethodGet, "/status", "getStatus", "How the ledger stands",
		"What was received and rated up to when, hours that wait, price books and policy in force, what went wrong."),
		func(ctx context.Context, _ *struct{}) (v1.Status, error) {
			s, err := h.Books.Status(ctx)
			if err != nil {
				return v1.Status{}, err
			}
			return v1.StatusOf(&s), nil
		})
	get(h, operation(http.MethodGet, "/dimensions", "listDimensions", "What reports can tell apart", ""),
		func(ctx context.Context, _ *struct{}) (v1.Dimensions, error) {
			s, err := h.Books.Status(ctx)
			if err != nil {
				return v1.Dimensions{}, err
			}
			return v1.DimensionsOf(s.Labels), nil
		})
}
