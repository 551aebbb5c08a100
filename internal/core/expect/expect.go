// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Expect is what is right about a capture.
type Expect struct {
	// Must are sentences for people; nothing checks them by itself.
	Must     []string  `json:"must,omitempty"`
	Splits   []Split   `json:"splits,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	// Absent findings must not occur. Allowed ones may; any finding that is
	// neither expected nor allowed is a failure.
	Absent  []Finding `json:"absent_findings,omitempty"`
	Allowed []Finding `json:"allowed_findings,omitempty"`
	// Nulls are figures that must be unknown: "NAMESPACE/POD memory at 600",
	// "pid 79 memory at 600", "GPU-… memory at 600".
	Nulls []Null `json:"nulls,omitempty"`
	// Grades are those of a pod's memory, by namespace/name: the same through
	// the whole window.
	Grades map[string]string `json:"grades,omitempty"`
	// Identities are, by PID, "PODUID/CONTAINERID", "host" or "unknown".
	Identities map[string]string `json:"identities,omitempty"`
	// Owners and Money are carried along for the audit and the ledger.
	Owners json.RawMessage `json:"owners,omitempty"`
	Money  json.RawMessage `json:"money,omitempty"`
}

// Split is one partition at one moment, in MiB: holders, leaks, daemons, host,
// unknown, unattributed, reserved and free sum to the whole. Holders and leaks
// that are not named hold nothing; a size that is not given is not checked,
// except those of daemons, host and unknown, which then must be 0.
type Split struct {
	At Offset `json:"at"`
	// Partition is a GPU or MIG UUID, or "node/index" without UUIDs.
	Partition    string            `json:"partition"`
	Holders      map[string]uint64 `json:"holders,omitempty"`
	Leaks        map[string]uint64 `json:"leaks,omitempty"`
	Daemons      uint64            `json:"daemons_mib,omitempty"`
	Host         uint64            `json:"host_mib,omitempty"`
	Unknown      uint64            `json:"unknown_mib,omitempty"`
	Unattributed *uint64           `json:"unattributed_mib,omitempty"`
	Reserved     *uint64           `json:"reserved_mib,omitempty"`
	Free         *uint64           `json:"free_mib,omitempty"`
}

// Finding describes a finding by the fields that are given; the others may be
// anything.
type Finding struct {
	Kind string `json:"kind"`
	// Pod is namespace/name; Partition and Partitions are GPU or MIG UUIDs.
	Pod        string   `json:"pod,omitempty"`
	Partition  string   `json:"partition,omitempty"`
	Partitions []string `json:"partitions,omitempty"`
	Victim     string   `json:"victim,omitempty"`
	// By is the size concerned, in MiB; Foreign a count of devices.
	By       *uint64 `json:"by_mib,omitempty"`
	Foreign  *int64  `json:"foreign,omitempty"`
	PID      *int    `json:"pid,omitempty"`
	Resource string  `json:"resource,omitempty"`
	Node     string  `json:"node,omitempty"`
	// Reason says to readers why a finding is allowed.
	Reason string `json:"reason,omitempty"`
}

// String is the finding as it is written in a capture.
func (f Finding) String() string {
	b, _ := json.Marshal(f) // plain fields always have a JSON form
	return string(b)
}

// Offset is a moment, in milliseconds from the start of the window; written in
// seconds.
type Offset int64

// UnmarshalJSON reads seconds, with up to three decimals.
func (o *Offset) UnmarshalJSON(b []byte) error {
	var s json.Number
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	f, err := s.Float64()
	if err != nil || f < -1e10 || f > 1e10 {
		return fmt.Errorf("at is %s; write seconds from the start of the window", b)
	}
	*o = Offset(f * 1000)
	return nil
}

// MarshalJSON writes seconds.
func (o Offset) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(o) / 1000)
}

// Null is a figure that must be unknown at a moment.
type Null struct {
	// Subject is a pod (namespace/name), "pid N", or a partition's UUID.
	Subject string
	At      Offset
}

// UnmarshalText reads "SUBJECT memory at SECONDS".
func (n *Null) UnmarshalText(b []byte) error {
	subject, at, ok := strings.Cut(string(b), " memory at ")
	if !ok || subject == "" {
		return fmt.Errorf(`nulls has %q; write "NAMESPACE/POD memory at SECONDS", "pid N memory at SECONDS" or "UUID memory at SECONDS"`, b)
	}
	n.Subject = subject
	if err := n.At.UnmarshalJSON([]byte(at)); err != nil {
		return fmt.Errorf("nulls has %q: %w", b, err)
	}
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (n Null) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s memory at %v", n.Subject, float64(n.At)/1000), nil
}
