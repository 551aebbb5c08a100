// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/workload"
)

const (
	hugeint = mapping.TypeHugeInt
	uuid    = mapping.TypeUUID
	blob    = mapping.TypeBlob
)

var lineTable = table{name: "ledger_line", columns: slices.Concat(columnsOf(
	"hour", integer, "start_ms", bigint, "duration_ms", bigint, "hour_ms", bigint, "id", uuid, "entry", uuid, "adjusts", uuid,
	"seq", integer, "booking", integer, "period", integer, "sort", integer, "rating", bigint, "basis", bigint,
	"cluster", text, "node", text, "slot", text, "device", text, "instance", uinteger, "since_ms", bigint, "model", text, "profile", text,
	"namespace", text, "pod_name", text, "pod_uid", text, "container", text, "unit", text, "account", text, "note", text, "pod", bigint,
	"amount", bigint, "moved", bigint, "share_ms", bigint, "used_ms", bigint, "unused_ms", bigint, "byte_ms", hugeint,
	"present_ms", bigint, "granted_ms", bigint, "cpu_nanos", bigint, "cpu_request_milli_ms", bigint, "request_byte_ms", hugeint,
	"graded", boolean,
), gradeColumns())}

// gradeColumns are the parts by grade.
func gradeColumns() (out []column) {
	for i := range gpu.Grades() {
		out = append(out, columnsOf(fmt.Sprintf("share%d_ms", i), bigint, fmt.Sprintf("amount%d", i), bigint, fmt.Sprintf("moved%d", i), bigint)...)
	}
	return out
}

// chargeHour is the hour of a time that is charged for.
func chargeHour(ms int64) (int32, error) {
	h := ms / hourMS
	if ms < 0 || h > math.MaxInt32 {
		return 0, fmt.Errorf("%d ms since 1970 is no time of a charge", ms)
	}
	return int32(h), nil
}

// line writes one line. pod is the number of the pod's dimensions.
func (s *speller) line(l *ledger.Line, pod *int64) error {
	if err := s.putLine(l, pod); err != nil {
		return fmt.Errorf("line %s of %s: %w", l.ID, l.NodeHour, err)
	}
	return nil
}

func (s *speller) putLine(l *ledger.Line, pod *int64) error {
	hour, err := chargeHour(l.StartMS)
	if err != nil {
		return err
	}
	of := sortOf(l)
	sort, err := s.sort(of)
	if err != nil {
		return err
	}
	rating, err := s.rating(hour, l.Revision)
	if err != nil {
		return err
	}
	b, err := s.to(lineTable)
	if err != nil {
		return err
	}
	b.i32(hour)
	b.i64(l.StartMS)
	b.i64(l.DurationMS)
	if l.HourMS == int64(hour)*hourMS {
		b.null()
	} else {
		b.i64(l.HourMS)
	}
	b.id(l.ID)
	b.id(l.Entry)
	if l.Adjusts == "" {
		b.null()
	} else {
		b.id(l.Adjusts)
	}
	b.number(l.Seq)
	b.number(l.Booking)
	b.number(int(l.Period))
	b.i32(sort)
	b.i64(rating)
	if l.Basis == nil {
		b.null()
	} else {
		basis, err := s.basis(l.Basis)
		if err != nil {
			return err
		}
		b.i64(basis)
	}
	putFacts(b, l, &of, pod)
	putNumbers(b, l)
	if err := putGrades(b, l); err != nil {
		return err
	}
	return b.end()
}

// putFacts writes what a line is about.
func putFacts(b *bulk, l *ledger.Line, of *lineSort, pod *int64) {
	b.text(l.Cluster)
	b.text(l.Node)
	b.text(l.Slot)
	b.text(string(l.Partition.Device))
	b.u32(l.Partition.Instance)
	b.i64(l.Partition.SinceMS)
	b.text(l.Model)
	b.text(l.Profile)
	h := &l.Holder
	for _, v := range []string{h.Namespace, h.Pod, h.PodUID, h.Container, h.Unit} {
		b.text(v)
	}
	b.optText(l.Account, !of.hasAccount && l.Account != h.Account())
	b.optText(l.Note, l.Note != of.note)
	bulkOptional(b, pod)
}

func putNumbers(b *bulk, l *ledger.Line) {
	bulkOptional(b, (*int64)(l.Amount))
	bulkOptional(b, (*int64)(l.Moved))
	b.i64(l.ShareMS)
	b.i64(l.UsedMS)
	b.i64(l.UnusedMS)
	b.wide(l.ByteMS.Halves())
	b.i64(l.PresentMS)
	b.i64(l.GrantedMS)
	b.i64(l.CPUNanos)
	b.i64(l.CPURequestMilliMS)
	b.wide(l.RequestByteMS.Halves())
}

// whole is the parts by grade of a line that is all of its own grade.
func whole(l *ledger.Line) []ledger.GradePart {
	p := ledger.GradePart{Grade: l.Grade, ShareMS: l.ShareMS}
	if l.Amount != nil {
		p.Amount = *l.Amount
	}
	if l.Moved != nil {
		p.Moved = *l.Moved
	}
	if p.ShareMS == 0 && p.Amount == 0 && p.Moved == 0 {
		return nil
	}
	return []ledger.GradePart{p}
}

func putGrades(b *bulk, l *ledger.Line) error {
	graded := !slices.Equal(l.Grades, whole(l))
	b.boolean(graded)
	parts := l.Grades
	if !graded {
		parts = nil
	}
	for _, g := range gpu.Grades() {
		if len(parts) == 0 || parts[0].Grade != g {
			b.null()
			b.null()
			b.null()
			continue
		}
		b.i64(parts[0].ShareMS)
		b.i64(int64(parts[0].Amount))
		b.i64(int64(parts[0].Moved))
		parts = parts[1:]
	}
	if len(parts) > 0 {
		return fmt.Errorf("its part of grade %q is not in its place: grades are %v, each once", parts[0].Grade, gpu.Grades())
	}
	return nil
}

// rawLine is a line as its row has it: what it names by number is still to be
// filled in.
type rawLine struct {
	ledger.Line
	rating, basis int64 // basis 0: none
	graded        bool
}

func (r *row) uuid() string {
	h := at[halves](r)
	h.high ^= math.MinInt64
	var raw [16]byte
	for i := range 8 {
		raw[i], raw[8+i] = byte(h.high>>(56-8*i)), byte(h.low>>(56-8*i))
	}
	return hex.EncodeToString(raw[:])
}

func (r *row) wide() ledger.Wide {
	h := at[halves](r)
	return ledger.WideFrom(h.high, h.low)
}

func (r *row) sum() money.Sum {
	h := at[halves](r)
	return money.SumOf(h.high, h.low)
}

func (r *row) optNano() *money.Nano { return (*money.Nano)(r.optI64()) }

// readLine reads a row of lineTable.
func readLine(r *row, known *sorts) (l rawLine, err error) {
	hour := r.i32()
	l.StartMS, l.DurationMS = r.i64(), r.i64()
	if l.HourMS = int64(hour) * hourMS; !r.null() {
		l.HourMS = r.i64()
	}
	l.ID, l.Entry = r.uuid(), r.uuid()
	if !r.null() {
		l.Adjusts = r.uuid()
	}
	l.Seq, l.Booking, l.Period = int(r.i32()), int(r.i32()), ledger.Month(r.i32())
	of, err := known.get(r.i32())
	if err != nil {
		return l, err
	}
	of.apply(&l.Line)
	l.rating = r.i64()
	if !r.null() {
		l.basis = r.i64()
	}
	readFactsOfLine(r, &l.Line, of)
	readNumbers(r, &l.Line)
	if l.graded = r.boolean(); l.graded {
		readGrades(r, &l.Line)
	} else {
		l.Grades = whole(&l.Line)
	}
	return l, nil
}

func readFactsOfLine(r *row, l *ledger.Line, of *lineSort) {
	l.Cluster, l.Node, l.Slot = r.text(), r.text(), r.text()
	l.Partition = gpu.PartitionID{Device: gpu.UUID(r.text()), Instance: r.u32(), SinceMS: r.i64()}
	l.Model, l.Profile = r.text(), r.text()
	l.Holder = workload.Holder{Kind: of.holderKind, Namespace: r.text(), Pod: r.text(), PodUID: r.text(), Container: r.text(), Unit: r.text()}
	switch {
	case !r.null():
		l.Account = r.text()
	case !of.hasAccount:
		l.Account = r.memo.text([]byte(l.Holder.Account()))
	}
	if !r.null() {
		l.Note = r.text()
	}
	r.skip(1) // pod
}

func readNumbers(r *row, l *ledger.Line) {
	l.Amount, l.Moved = r.optNano(), r.optNano()
	l.ShareMS, l.UsedMS, l.UnusedMS, l.ByteMS = r.i64(), r.i64(), r.i64(), r.wide()
	l.PresentMS, l.GrantedMS, l.CPUNanos, l.CPURequestMilliMS, l.RequestByteMS = r.i64(), r.i64(), r.i64(), r.i64(), r.wide()
}

func readGrades(r *row, l *ledger.Line) {
	for _, g := range gpu.Grades() {
		if r.null() {
			r.skip(2)
			continue
		}
		l.Grades = append(l.Grades, ledger.GradePart{Grade: g, ShareMS: r.i64(), Amount: money.Nano(r.i64()), Moved: money.Nano(r.i64())})
	}
}

// fill sets what the row names by number.
func (l *rawLine) fill(w *wordReader) (err error) {
	if l.Revision, err = w.rating(l.rating); err != nil || l.basis == 0 {
		return err
	}
	basis, err := partOf[pricing.Basis](w, l.basis)
	if err == nil {
		basis.Notes = slices.Clone(basis.Notes)
		l.Basis = &basis
	}
	return err
}
