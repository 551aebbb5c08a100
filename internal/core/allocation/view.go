// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// piece is a partition record with the records that belong to it.
type piece struct {
	rec     *usage.PartitionRecord
	holders []usage.Record
	grants  []usage.GrantRecord
}

func (p *piece) end() int64 { return p.rec.StartMS + p.rec.DurationMS }

// device is the pieces of one device in one batch.
type device struct {
	batch     *usage.Batch
	whole     []piece // of the device itself, or of the parent of its instances
	instances []piece
}

// place is where a record belongs.
type place struct {
	id    gpu.PartitionID
	start int64
}

func (p place) compare(o place) int {
	return cmp.Or(p.id.Compare(o.id), cmp.Compare(p.start, o.start))
}

func placeOfPartition(r *usage.PartitionRecord) place { return place{r.Partition, r.StartMS} }
func placeOfHolder(r *usage.Record) place             { return place{r.Partition, r.StartMS} }
func placeOfGrant(r *usage.GrantRecord) place         { return place{r.Partition, r.StartMS} }

// inPlace is the records in order of their places: those given, where they
// already are, as an agent writes them.
func inPlace[T any](list []T, of func(*T) place) []T {
	for i := 1; i < len(list); i++ {
		if of(&list[i-1]).compare(of(&list[i])) > 0 {
			list = slices.Clone(list)
			slices.SortStableFunc(list, func(a, b T) int { return of(&a).compare(of(&b)) })
			break
		}
	}
	return list
}

// devices takes batches apart by devices and pieces.
type devices struct {
	cards []card
	at    map[gpu.UUID]int // place in the list
	next  int              // the card to try first: batches name them in one order
	// room is for the pieces to come, and days how many a card may have.
	room []piece
	days int
}

// cardsOf is the devices that batches name, in order of their names.
func cardsOf(batches []*usage.Batch) ([]card, error) {
	parts := 0
	for _, b := range batches {
		parts += len(b.Partitions)
	}
	d := devices{at: map[gpu.UUID]int{}, room: make([]piece, parts), days: len(batches)}
	for _, b := range batches {
		if b.Gap != nil {
			continue
		}
		if err := d.add(b); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(d.cards, func(a, b card) int { return cmp.Compare(a.uuid, b.uuid) })
	return d.cards, nil
}

// add takes one batch apart.
func (d *devices) add(b *usage.Batch) error {
	parts := inPlace(b.Partitions, placeOfPartition)
	pieces := d.room[:len(parts):len(parts)]
	d.room = d.room[len(parts):]
	if !fillPieces(pieces, parts, b.Holders, b.Grants) {
		fillPieces(pieces, parts, inPlace(b.Holders, placeOfHolder), inPlace(b.Grants, placeOfGrant))
	}
	for i := range pieces {
		if err := checkPiece(pieces[i].rec); err != nil {
			return fmt.Errorf("batch %s/%s/%d: %s: %w", b.Agent, b.Boot, b.Seq, pieces[i].rec.Partition, err)
		}
	}
	for len(pieces) > 0 {
		id := pieces[0].rec.Partition.Device
		n, whole := 0, 0
		for ; n < len(pieces) && pieces[n].rec.Partition.Device == id; n++ {
			if !pieces[n].rec.Partition.IsInstance() {
				whole++ // the device itself comes first
			}
		}
		d.card(id).add(device{batch: b, whole: pieces[:whole], instances: pieces[whole:n]})
		pieces = pieces[n:]
	}
	return nil
}

// card is the one of a name.
func (d *devices) card(id gpu.UUID) *card {
	if d.next >= len(d.cards) {
		d.next = 0
	}
	i := d.next
	if i >= len(d.cards) || d.cards[i].uuid != id {
		var known bool
		if i, known = d.at[id]; !known {
			i = len(d.cards)
			d.at[id] = i
			d.cards = append(d.cards, card{uuid: id, days: make([]device, 0, d.days)})
		}
	}
	d.next = i + 1
	return &d.cards[i]
}

// fillPieces puts the records of each piece together; false where some were left
// over: the lists are not in order, or name pieces that are not there.
func fillPieces(out []piece, parts []usage.PartitionRecord, holders []usage.Record, grants []usage.GrantRecord) bool {
	taken, all := 0, len(holders)+len(grants)
	for i := range parts {
		at := placeOfPartition(&parts[i])
		out[i].rec = &parts[i]
		out[i].holders, holders = cutAt(holders, at, placeOfHolder)
		out[i].grants, grants = cutAt(grants, at, placeOfGrant)
		taken += len(out[i].holders) + len(out[i].grants)
	}
	return taken == all
}

// cutAt takes the records of one place off the front of a list, and drops those
// of earlier places.
func cutAt[T any](list []T, at place, of func(*T) place) (here, rest []T) {
	from := 0
	for from < len(list) && of(&list[from]) != at && of(&list[from]).compare(at) < 0 {
		from++
	}
	to := from
	for to < len(list) && of(&list[to]) == at {
		to++
	}
	return list[from:to], list[to:]
}

// hourMS is an hour in milliseconds.
const hourMS = 3_600_000

// maxSlices bounds the memory slices of a device; the largest part has 8.
const maxSlices = 64

// checkPiece refuses what no agent writes (usage.Batch.Check tells more): times
// that do not add up, and sizes beyond what the sums here can hold.
func checkPiece(r *usage.PartitionRecord) error {
	switch {
	case r.DurationMS <= 0 || r.DurationMS > hourMS:
		return fmt.Errorf("duration %d ms is not within an hour", r.DurationMS)
	case r.MeasuredMS < 0 || r.UnmeasuredMS < 0 || r.UnavailableMS < 0,
		r.MeasuredMS+r.UnmeasuredMS+r.UnavailableMS != r.DurationMS:
		return fmt.Errorf("measured %d + unmeasured %d + unavailable %d ms is not its duration %d ms",
			r.MeasuredMS, r.UnmeasuredMS, r.UnavailableMS, r.DurationMS)
	case r.Slices > maxSlices || r.DeviceSlices > maxSlices || r.StrandedSlices > maxSlices:
		return fmt.Errorf("has %d of %d memory slices, %d stranded; a device has at most %d",
			r.Slices, r.DeviceSlices, r.StrandedSlices, maxSlices)
	}
	return nil
}
