// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"time"

	"github.com/gputally/gputally/internal/core/sample"
)

type sampleEvent = sample.Event

func msDuration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
