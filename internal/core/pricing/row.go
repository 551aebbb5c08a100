// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/gputally/gputally/internal/core/money"
)

// Row is one price: whom it is for, when, and how much.
type Row struct {
	// ID names the row within its book; it stands on the bill.
	ID string
	Selector
	// The row is in effect in [From, To), Unix milliseconds. From 0: since
	// ever; To 0: until further notice.
	From, To int64
	Currency money.Currency
	Price    Price
	Shape    Shape
	// Source says where the price was found. FirstSeen and Retrieved are the
	// days on which it was first and last seen there, Unix milliseconds; 0:
	// not said.
	Source               string
	FirstSeen, Retrieved int64
	// Notes stand on every cost of the row: what is out of the ordinary about it.
	Notes []string
}

// Selector chooses nodes. What is empty matches anything; everything given
// must match. Texts are compared without regard to case, names of labels and of
// nodes exactly.
type Selector struct {
	Provider     string // "aws", "gcp", "azure", or any other name
	Region       string
	Zone         string
	Cluster      string
	Node         string // name of the Kubernetes node
	ProviderID   string // spec.providerID, or its end: an instance id
	InstanceType string
	Labels       map[string]string // labels of the node
	// Model chooses devices, not nodes: the name NVML gives, with or without
	// "NVIDIA", blanks or hyphens between words, "*" for any text.
	Model    string
	Capacity Capacity
}

// Capacity is how a node was bought.
type Capacity string

// The ways a node is bought. Empty: not known, or any.
const (
	OnDemand Capacity = "on-demand"
	Spot     Capacity = "spot"
	Reserved Capacity = "reserved"
)

func (c Capacity) check() error {
	switch c {
	case "", OnDemand, Spot, Reserved:
		return nil
	}
	return fmt.Errorf("capacity %q: write on-demand, spot or reserved", string(c))
}

// Price is how much. It has one of these forms:
//
//   - Node or OnPrem: the whole node per hour; a policy splits it.
//   - Node or OnPrem, and GPU: the GPUs' part is stated, the rest is the host's.
//   - Host and GPU: the node is the host and its GPUs.
//   - GPU, perhaps with VCPU and GiB: each slot, each vCPU and each GiB per
//     hour; the node's price is their sum.
//   - Charge: what a bill says for the time of the row.
type Price struct {
	Node   *money.Nano
	OnPrem *OnPrem
	Host   *money.Nano
	GPU    *money.Nano
	VCPU   *money.Nano
	GiB    *money.Nano
	// HostIncluded: the GPU price covers the node's CPU and memory. Without it
	// and without VCPU and GiB, these have no price, and the cost says so.
	HostIncluded bool
	Charge       *Charge
}

// Charge is an amount of a bill for one node over the time of its row. All
// charges of a bill that cover a moment count together.
type Charge struct {
	Amount money.Nano
	// Part is what was billed: the node (empty), or one part of it where the
	// bill has lines of its own for GPUs, CPUs and memory.
	Part Part
}

// Part is a part of a node that a price can be of.
type Part string

// The parts of a node. PartNode is the node as a whole.
const (
	PartNode   Part = ""
	PartGPU    Part = "gpu"
	PartCPU    Part = "cpu"
	PartMemory Part = "memory"
)

// Shape is what the node of a price has, as its provider states it. It fills
// in what is not known of a node, and lets a price be checked. 0: not stated.
type Shape struct {
	GPUs  int    // whole GPUs
	Model string // of the GPUs, for people and checks
	// GPUMemoryGiB is the memory of one GPU, GPUMemoryTotalGiB that of all.
	GPUMemoryGiB, GPUMemoryTotalGiB int64
	CPUMilli                        int64
	MemoryBytes                     uint64
}

// active says whether the row is in effect at a moment.
func (r *Row) active(ms int64) bool { return ms >= r.From && (r.To == 0 || ms < r.To) }

// Check returns an error that says what is wrong with the row.
func (r *Row) Check() error {
	if err := r.Currency.Check(); err != nil {
		return err
	}
	switch {
	case r.To != 0 && r.To <= r.From:
		return fmt.Errorf("it ends on %s, before it begins on %s", day(r.To), day(r.From))
	}
	if err := r.Capacity.check(); err != nil {
		return err
	}
	if err := r.checkShape(); err != nil {
		return err
	}
	if err := r.Price.check(); err != nil {
		return err
	}
	return r.checkForm()
}

func (r *Row) checkShape() error {
	s := r.Shape
	if s.GPUs < 0 || s.GPUs > maxSlots || s.GPUMemoryGiB < 0 || s.GPUMemoryTotalGiB < 0 || s.CPUMilli < 0 {
		return fmt.Errorf("the shape has a number that cannot be: GPUs 0 to %d, nothing below 0", maxSlots)
	}
	return nil
}

// maxSlots bounds the GPUs of one node: a rack of 72 fits ten times.
const maxSlots = 1024

// checkForm refuses selectors that cannot go with the form of the price.
func (r *Row) checkForm() error {
	p := r.Price
	switch {
	case r.Model != "" && p.GPU == nil:
		return errors.New("a model chooses devices, so its price is one per GPU: give gpu_hour, or choose nodes by label or instance type")
	case r.Model != "" && (p.Node != nil || p.OnPrem != nil || p.Host != nil):
		return errors.New("a model chooses devices: give either a price of the node or a model, not both")
	case p.Charge != nil && r.Node == "" && r.ProviderID == "":
		return errors.New("a charge is one node's: give its node or provider_id")
	case p.Charge != nil && r.To == 0:
		return errors.New("a charge is for a time that ends: give from and to")
	}
	return nil
}

func (p *Price) check() error {
	for _, n := range []*money.Nano{p.Node, p.Host, p.GPU, p.VCPU, p.GiB} {
		if n != nil && *n < 0 {
			return fmt.Errorf("the price %s is negative", *n)
		}
	}
	whole := p.Node != nil || p.OnPrem != nil
	host := p.VCPU != nil || p.GiB != nil
	switch {
	case p.Charge != nil:
		if whole || host || p.GPU != nil || p.Host != nil {
			return errors.New("a charge stands alone, without a price per hour")
		}
		return p.Charge.check()
	case p.Node != nil && p.OnPrem != nil:
		return errors.New("it has two prices of the node: keep node_hour or on_prem")
	case p.Host != nil && (whole || host || p.GPU == nil || p.HostIncluded):
		return errors.New("host_hour goes with gpu_hour alone: together they are the price of the node")
	case whole && host:
		return errors.New("the price of the node covers its CPU and memory: leave out vcpu_hour and gib_hour, or give gpu_hour in place of the node's price")
	case host && p.HostIncluded:
		return errors.New("the GPU price covers the host, and the host has a price: keep one of them")
	case !whole && !host && p.GPU == nil:
		return errors.New("it has no price: give node_hour, gpu_hour or on_prem")
	case whole && p.HostIncluded:
		return errors.New("host_included goes with gpu_hour alone: a price of the node covers the host anyway")
	}
	if p.OnPrem != nil {
		_, err := p.OnPrem.Hourly()
		return err
	}
	return nil
}

func (c *Charge) check() error {
	switch c.Part {
	case PartNode, PartGPU, PartCPU, PartMemory:
	default:
		return fmt.Errorf("charge for %q: write gpu, cpu, memory, or nothing for the node", c.Part)
	}
	if c.Amount < 0 {
		return fmt.Errorf("the charge %s is negative: net credits against what they are for", c.Amount)
	}
	return nil
}

// node is the price of a whole node with so many GPUs per hour, where the row
// has one.
func (p *Price) node(gpus int) (hourly money.Nano, ok bool, err error) {
	switch {
	case p.Host != nil:
		sum := new(big.Rat).Mul(nanos(*p.GPU), big.NewRat(int64(gpus), 1))
		hourly, err = Rate(sum.Add(sum, nanos(*p.Host)))
		return hourly, true, err
	case p.Node != nil:
		return *p.Node, true, nil
	case p.OnPrem != nil:
		hourly, err = p.OnPrem.Hourly()
		return hourly, true, err
	}
	return 0, false, nil
}
