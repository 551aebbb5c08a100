// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
)

// What repeats hour after hour in the ledger stands once, under a number.

var wordTable = table{name: "ledger_word", columns: columnsOf("id", bigint, "text", text)}

var ledgerPodTable = table{name: "ledger_pod", columns: columnsOf(
	"id", bigint, "owner_kind", text, "owner_name", text, "owner_uid", text, "labels_json", text,
)}

var ratingTable = table{name: "ledger_rating", columns: columnsOf(
	"id", bigint, "hour", integer, "records", text, "prices", text, "policy", text, "bill", text, "at_ms", bigint, "by_whom", text, "reason", text,
)}

// dictionary is what the writer of the ledger remembers: which words it has
// written, and the next numbers. It may forget words; then they are written again.
type dictionary struct {
	sorts *sorts
	words map[string]int64
	pods  map[factsKey]int64
	next  ledgerNumbers
}

// ledgerNumbers are the next numbers of a word or pod, and of a rating.
type ledgerNumbers struct{ word, rating, filed int64 }

// wordsKept bounds what a dictionary remembers of each kind.
const wordsKept = 1 << 16

// readDictionary learns what is in the database.
func readDictionary(ctx context.Context, conn *columnar) (*dictionary, error) {
	d := &dictionary{words: map[string]int64{}, pods: map[factsKey]int64{}}
	var err error
	if d.sorts, err = readSorts(ctx, conn); err != nil {
		return nil, err
	}
	for _, q := range []struct {
		into  *int64
		query string
	}{
		{&d.next.word, "SELECT 1 + coalesce(greatest((SELECT max(id) FROM ledger_word), (SELECT max(id) FROM ledger_pod)), 0)"},
		{&d.next.rating, "SELECT 1 + coalesce(max(id), 0) FROM ledger_rating"},
		{&d.next.filed, "SELECT 1 + coalesce(max(id), 0) FROM bill_filed"},
	} {
		if err := conn.rows(ctx, q.query, []column{{"next", bigint}}, newMemo(), func(r *row) { *q.into = r.i64() }); err != nil {
			return nil, fmt.Errorf("read the ledger's numbers: %w", err)
		}
	}
	return d, nil
}

// speller writes words into a transaction. What it learns becomes the
// dictionary's with settle, once the transaction is committed.
type speller struct {
	bulks
	known   *dictionary
	sorts   []lineSort
	fresh   map[lineSort]int32
	words   map[string]int64
	pods    map[factsKey]int64
	ratings map[ratingKey]int64
	next    ledgerNumbers
	// lastRating and lastBasis are what was written last: of the lines of an hour
	// all have one and the same.
	lastRating spelled[ratingKey]
	lastBasis  spelled[*pricing.Basis]
}

// spelled is something and its number.
type spelled[T comparable] struct {
	of     T
	number int64
}

// ratingKey is a revision, and the hour that it is of.
type ratingKey struct {
	hour int32
	ledger.Revision
}

func newSpeller(conn *columnar, known *dictionary) *speller {
	return &speller{bulks: bulks{conn: conn}, known: known, fresh: map[lineSort]int32{}, words: map[string]int64{},
		pods: map[factsKey]int64{}, ratings: map[ratingKey]int64{}, next: known.next}
}

// settle makes the dictionary know what was committed.
func (s *speller) settle() *dictionary {
	d := &dictionary{sorts: s.known.sorts.with(s.sorts), words: s.known.words, pods: s.known.pods, next: s.next}
	if len(d.words)+len(s.words) > wordsKept {
		d.words = map[string]int64{}
	}
	if len(d.pods)+len(s.pods) > wordsKept {
		d.pods = map[factsKey]int64{}
	}
	for k, v := range s.words {
		d.words[k] = v
	}
	for k, v := range s.pods {
		d.pods[k] = v
	}
	return d
}

func (s *speller) sort(of lineSort) (int32, error) {
	if n, ok := s.known.sorts.number(of); ok {
		return n, nil
	}
	if n, ok := s.fresh[of]; ok {
		return n, nil
	}
	n := int32(len(s.known.sorts.all) + len(s.sorts))
	b, err := s.to(sortTable)
	if err != nil {
		return 0, err
	}
	s.sorts, s.fresh[of] = append(s.sorts, of), n
	return n, writeSort(b, n, &of)
}

// word is the number of a text.
func (s *speller) word(t string) (int64, error) {
	if n, ok := s.known.words[t]; ok {
		return n, nil
	}
	if n, ok := s.words[t]; ok {
		return n, nil
	}
	b, err := s.to(wordTable)
	if err != nil {
		return 0, err
	}
	n := s.next.word
	s.next.word++
	s.words[t] = n
	b.i64(n)
	b.text(t)
	return n, b.end()
}

// part is the number of a nested part's wire form.
func (s *speller) part(v any) (int64, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	return s.word(string(data))
}

// basis is the number of where a price came from.
func (s *speller) basis(of *pricing.Basis) (int64, error) {
	if of != s.lastBasis.of || s.lastBasis.number == 0 {
		n, err := s.part(of)
		if err != nil {
			return 0, err
		}
		s.lastBasis = spelled[*pricing.Basis]{of, n}
	}
	return s.lastBasis.number, nil
}

func (s *speller) pod(p *report.PodDimensions) (int64, error) {
	k := factsKey{owner: p.Owner, labels: joinedMap(p.Labels)}
	if n, ok := s.known.pods[k]; ok {
		return n, nil
	}
	if n, ok := s.pods[k]; ok {
		return n, nil
	}
	b, err := s.to(ledgerPodTable)
	if err != nil {
		return 0, err
	}
	n := s.next.word
	s.next.word++
	s.pods[k] = n
	b.i64(n)
	b.text(p.Owner.Kind)
	b.text(p.Owner.Name)
	b.text(p.Owner.UID)
	if p.Labels == nil {
		b.null()
	} else {
		b.text(wireMap(p.Labels).(string))
	}
	return n, b.end()
}

func (s *speller) rating(hour int32, r ledger.Revision) (int64, error) {
	k := ratingKey{hour, r}
	if k != s.lastRating.of || s.lastRating.number == 0 {
		n, err := s.newRating(k)
		if err != nil {
			return 0, err
		}
		s.lastRating = spelled[ratingKey]{k, n}
	}
	return s.lastRating.number, nil
}

func (s *speller) newRating(k ratingKey) (int64, error) {
	if n, ok := s.ratings[k]; ok {
		return n, nil
	}
	b, err := s.to(ratingTable)
	if err != nil {
		return 0, err
	}
	n := s.next.rating
	s.next.rating++
	s.ratings[k] = n
	b.i64(n)
	b.i32(k.hour)
	for _, v := range []string{k.Records, k.Prices, k.Policy, k.Bill} {
		b.text(v)
	}
	b.i64(k.AtMS)
	b.text(k.By)
	b.text(k.Reason)
	return n, b.end()
}

func readRating(r *row) (id int64, rev ledger.Revision) {
	id, _ = r.i64(), r.i32()
	rev = ledger.Revision{Records: r.text(), Prices: r.text(), Policy: r.text(), Bill: r.text(), AtMS: r.i64(), By: r.text(), Reason: r.text()}
	return id, rev
}

func readLedgerPod(r *row) (id int64, p *report.PodDimensions) {
	id = r.i64()
	p = &report.PodDimensions{}
	p.Owner.Kind, p.Owner.Name, p.Owner.UID = r.text(), r.text(), r.text()
	p.Labels = readWire[map[string]string](r)
	return id, p
}

// reader reads words by their numbers, and remembers them.
type wordReader struct {
	conn    *columnar
	memo    *memo
	words   map[int64]string
	parts   map[int64]any
	ratings map[int64]ledger.Revision
	pods    map[int64]*report.PodDimensions
}

func newWordReader(conn *columnar) *wordReader {
	return &wordReader{conn: conn, memo: newMemo(), words: map[int64]string{}, parts: map[int64]any{},
		ratings: map[int64]ledger.Revision{}, pods: map[int64]*report.PodDimensions{}}
}

// wanted are the numbers among some that are not known yet, in order, each once.
func wanted[T any](ids []int64, known map[int64]T) []int64 {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return slices.DeleteFunc(ids, func(id int64) bool { _, ok := known[id]; return ok })
}

// fewNumbers is up to how many numbers are asked for one by one; of more, all from
// the first to the last are read.
const fewNumbers = 4096

func among(column string, ids []int64) string {
	if len(ids) > fewNumbers {
		return fmt.Sprintf("%s BETWEEN %d AND %d", column, ids[0], ids[len(ids)-1])
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return column + " IN (" + strings.Join(texts, ", ") + ")"
}

// need makes words known. What is remembered is bounded between needs.
func (w *wordReader) need(ctx context.Context, ids []int64) error {
	if len(w.words) > wordsKept {
		clear(w.words)
		clear(w.parts)
	}
	ids = wanted(ids, w.words)
	if len(ids) == 0 {
		return nil
	}
	return w.conn.rows(ctx, "SELECT "+wordTable.list()+" FROM ledger_word WHERE "+among("id", ids), wordTable.columns, w.memo, func(r *row) {
		id := r.i64()
		w.words[id] = string(r.bytes())
	})
}

func (w *wordReader) needRatings(ctx context.Context, ids []int64) error {
	if len(w.ratings) > wordsKept {
		clear(w.ratings)
	}
	ids = wanted(ids, w.ratings)
	if len(ids) == 0 {
		return nil
	}
	return w.conn.rows(ctx, "SELECT "+ratingTable.list()+" FROM ledger_rating WHERE "+among("id", ids), ratingTable.columns, w.memo, func(r *row) {
		id, rev := readRating(r)
		w.ratings[id] = rev
	})
}

func (w *wordReader) needPods(ctx context.Context, ids []int64) error {
	ids = wanted(ids, w.pods)
	if len(ids) == 0 {
		return nil
	}
	return w.conn.rows(ctx, "SELECT "+ledgerPodTable.list()+" FROM ledger_pod WHERE "+among("id", ids), ledgerPodTable.columns, w.memo, func(r *row) {
		id, p := readLedgerPod(r)
		w.pods[id] = p
	})
}

func (w *wordReader) word(id int64) (string, error) {
	t, ok := w.words[id]
	if !ok {
		return "", fmt.Errorf("word %d is not in the journal", id)
	}
	return t, nil
}

func (w *wordReader) rating(id int64) (ledger.Revision, error) {
	r, ok := w.ratings[id]
	if !ok {
		return r, fmt.Errorf("rating %d is not in the journal", id)
	}
	return r, nil
}

// partOf is a nested part by the number of its wire form. What it points to is
// shared.
func partOf[T any](w *wordReader, id int64) (v T, err error) {
	if have, ok := w.parts[id].(T); ok {
		return have, nil
	}
	t, err := w.word(id)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal([]byte(t), &v); err != nil {
		return v, fmt.Errorf("word %d, %.100q: %w", id, t, err)
	}
	w.parts[id] = v
	return v, nil
}
