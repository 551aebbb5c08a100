// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"slices"
	"strings"
)

// Card is what NVIDIA states of a model of GPU. Figures of a data sheet are limits
// that no program reaches; they serve to compare two cards, and nothing is charged
// by them.
type Card struct {
	// SMs of the whole card.
	SMs uint32
	// Bandwidth of its memory in GB/s, Tensor in TFLOP/s of dense bf16 (fp16 on cards
	// without bf16).
	Bandwidth, Tensor float64
	// Capability is CUDA's compute capability times ten.
	Capability int
	// Profiles are its MIG profiles without media engines, nil without MIG.
	Profiles []CardProfile
}

// CardProfile is a MIG profile: its size as nvidia-smi mig -lgip prints it, its SMs
// and its memory slices. Drivers differ in the last megabytes: the size that NVML
// gives an instance that is there counts before this one.
type CardProfile struct {
	Name   string
	Bytes  uint64
	SMs    uint32
	Slices uint32
}

// card is one row of the table: every word must be in the model's name, and the card
// must have about so many GB.
type card struct {
	words string
	gb    uint64
	Card
}

// CardOf finds a card by the name that NVML gives it and its capacity in bytes. The
// row with the most words counts. It is false for a card that the table has not.
func CardOf(model string, capacity uint64) (Card, bool) {
	name := strings.ToUpper(model)
	best, words := -1, 0
	for i := range cards {
		of := strings.Fields(cards[i].words)
		if len(of) > words && near(cards[i].gb, capacity) && all(of, name) {
			best, words = i, len(of)
		}
	}
	if best < 0 {
		return Card{}, false
	}
	return cards[best].Card, true
}

// CardWith finds a card by its name and a MIG profile that it has: an instance does
// not tell the card's capacity.
func CardWith(model, profile string) (Card, bool) {
	name := strings.ToUpper(model)
	profile, _, _ = strings.Cut(profile, "+")
	best, words := -1, 0
	for i := range cards {
		has := slices.ContainsFunc(cards[i].Profiles, func(p CardProfile) bool { return p.Name == profile })
		if of := strings.Fields(cards[i].words); has && len(of) > words && all(of, name) {
			best, words = i, len(of)
		}
	}
	if best < 0 {
		return Card{}, false
	}
	return cards[best].Card, true
}

// Slices are the memory slices of the whole card, 0 without MIG.
func (c *Card) Slices() (n uint32) {
	for _, p := range c.Profiles {
		n = max(n, p.Slices)
	}
	return n
}

// Profile finds one of its MIG profiles; media engines after a + make no other size.
func (c *Card) Profile(name string) (CardProfile, bool) {
	plain, _, _ := strings.Cut(name, "+")
	for _, p := range c.Profiles {
		if p.Name == plain {
			return p, true
		}
	}
	return CardProfile{}, false
}

func all(words []string, name string) bool {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '-' || r == '_' })
	for _, w := range words {
		if !slices.Contains(parts, w) {
			return false
		}
	}
	return true
}

// near: names of cards say GB that are GiB or less, and the driver keeps some.
func near(gb, capacity uint64) bool {
	have := float64(capacity) / (1 << 30)
	return capacity == 0 || gb == 0 || have > 0.88*float64(gb) && have < 1.08*float64(gb)
}

// sevenths are the profiles of a part with 7 compute and 8 memory slices, from sizes
// in GiB of one, two, four and eight memory slices, and the SMs of 1g, 1g with
// double memory, 2g, 3g, 4g and 7g.
func sevenths(names [6]string, gib [4]float64, sms [6]uint32) []CardProfile {
	slices := [6]uint32{1, 2, 2, 4, 4, 8}
	size := map[uint32]float64{1: gib[0], 2: gib[1], 4: gib[2], 8: gib[3]}
	out := make([]CardProfile, len(names))
	for i := range names {
		out[i] = CardProfile{names[i], uint64(size[slices[i]] * (1 << 30)), sms[i], slices[i]}
	}
	return out
}

// quarters are those of a part with 4 and 4.
func quarters(names [3]string, gib [3]float64, sms [3]uint32) []CardProfile {
	out := make([]CardProfile, len(names))
	for i, n := range []uint32{1, 2, 4} {
		out[i] = CardProfile{names[i], uint64(gib[i] * (1 << 30)), sms[i], n}
	}
	return out
}

var (
	smsOfA100   = [6]uint32{14, 14, 28, 42, 56, 98}
	smsOfHopper = [6]uint32{16, 26, 32, 60, 64, 132}
	names80     = [6]string{"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}
)

// cards: NVIDIA's data sheets, and the tables of the MIG User Guide.
var cards = []card{
	{"A100", 40, Card{108, 1555, 312, 80, sevenths([6]string{"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}, [4]float64{4.75, 9.62, 19.5, 39.25}, smsOfA100)}},
	{"A100", 80, Card{108, 2039, 312, 80, sevenths(names80, [4]float64{9.62, 19.5, 39.25, 79}, smsOfA100)}},
	{"A800", 80, Card{108, 2039, 312, 80, sevenths(names80, [4]float64{9.62, 19.5, 39.25, 79}, smsOfA100)}},
	{"A30", 24, Card{56, 933, 165, 80, quarters([3]string{"1g.6gb", "2g.12gb", "4g.24gb"}, [3]float64{5.7, 11.4, 22.8}, [3]uint32{14, 28, 56})}},
	{"H100", 80, Card{132, 3350, 989, 90, sevenths(names80, [4]float64{9.62, 19.62, 39.5, 79.25}, smsOfHopper)}},
	{"H100 PCIE", 80, Card{114, 2039, 756, 90, sevenths(names80, [4]float64{9.62, 19.62, 39.5, 79.25}, [6]uint32{14, 26, 30, 46, 62, 114})}},
	{"H100 NVL", 94, Card{132, 3938, 835, 90, sevenths([6]string{"1g.12gb", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb"}, [4]float64{10.75, 21.62, 46.38, 93}, smsOfHopper)}},
	{"H200", 141, Card{132, 4800, 989, 90, sevenths([6]string{"1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"}, [4]float64{16, 32.25, 69.5, 140}, smsOfHopper)}},
	{"GH200", 144, Card{132, 4900, 990, 90, sevenths([6]string{"1g.18gb", "1g.36gb", "2g.36gb", "3g.72gb", "4g.72gb", "7g.144gb"}, [4]float64{17.5, 35.25, 71, 142}, smsOfHopper)}},
	{"B200", 180, Card{148, 8000, 2250, 100, sevenths([6]string{"1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"}, [4]float64{20.5, 44.25, 89, 178}, [6]uint32{18, 30, 36, 70, 72, 148})}},
	{"GB200", 186, Card{152, 8000, 2500, 100, sevenths([6]string{"1g.24gb", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb", "7g.186gb"}, [4]float64{20, 45.5, 92, 184}, [6]uint32{18, 32, 38, 72, 76, 152})}},
	{"RTX PRO 6000", 96, Card{188, 1597, 504, 120, quarters([3]string{"1g.24gb", "2g.48gb", "4g.96gb"}, [3]float64{23.12, 47.38, 95}, [3]uint32{46, 94, 188})}},
	{"L4", 24, Card{58, 300, 121, 89, nil}},
	{"L40S", 48, Card{142, 864, 362, 89, nil}},
	{"L40", 48, Card{142, 864, 181, 89, nil}},
	{"A40", 48, Card{84, 696, 150, 86, nil}},
	{"A10", 24, Card{72, 600, 125, 86, nil}},
	{"A10G", 24, Card{80, 600, 70, 86, nil}},
	{"T4", 16, Card{40, 320, 65, 75, nil}},
	{"V100", 16, Card{80, 900, 125, 70, nil}},
	{"V100", 32, Card{80, 900, 125, 70, nil}},
}
