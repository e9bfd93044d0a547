// Package model says what halflife must recommend for a constant usage, by exact arithmetic of its own.
package model

import (
	"fmt"
	"math/big"
)

// Resource is one of the two, with the first bucket and the unit of its numbers.
type Resource struct {
	Name  string
	first *big.Rat // in cores or bytes
	unit  *big.Rat // 1m or 1Mi
	units int64    // of one printed number: millicores or bytes
	most  int      // the last bucket
}

var (
	CPU    = Resource{"cpu", big.NewRat(1, 100), big.NewRat(1, 1000), 1, 175}
	Memory = Resource{"memory", big.NewRat(10_000_000, 1), big.NewRat(1<<20, 1), 1 << 20, 175}
)

// start is where bucket n begins: first · (r^n − 1) ÷ (r − 1), r = 21/20.
func (r Resource) start(n int) *big.Rat {
	power := big.NewRat(1, 1)
	for range n {
		power.Mul(power, big.NewRat(21, 20))
	}
	power.Sub(power, big.NewRat(1, 1))
	power.Mul(power, big.NewRat(20, 1))
	return power.Mul(power, r.first)
}

// edge is the upper edge of the bucket that holds a usage.
func (r Resource) edge(usage *big.Rat) *big.Rat {
	n := 0
	for n < r.most && r.start(n+1).Cmp(usage) <= 0 {
		n++
	}
	if n < r.most {
		n++
	}
	return r.start(n)
}

// Safe says whether a usage lies well inside its bucket, so that the jitter of a scrape cannot move it to another.
func (r Resource) Safe(usage int64) bool {
	u := r.rat(usage)
	low, high := new(big.Rat).Mul(u, big.NewRat(997, 1000)), new(big.Rat).Mul(u, big.NewRat(1003, 1000))
	return r.edge(low).Cmp(r.edge(high)) == 0
}

// rat turns millicores into cores; bytes stay bytes.
func (r Resource) rat(usage int64) *big.Rat {
	if r.units == 1 {
		return big.NewRat(usage, 1000)
	}
	return big.NewRat(usage, 1)
}

// Model is what a constant usage (millicores or bytes) gives: the edge, up to a whole millicore or Mi.
func (r Resource) Model(usage int64) int64 { return r.up(r.edge(r.rat(usage))) }

// Lower and Upper are the bounds at no confidence: half of the edge, and twice the model.
func (r Resource) Lower(usage int64) int64 {
	return r.up(new(big.Rat).Mul(r.edge(r.rat(usage)), big.NewRat(1, 2)))
}

func (r Resource) Upper(usage int64) int64 { return 2 * r.Model(usage) }

func (r Resource) up(v *big.Rat) int64 {
	v = new(big.Rat).Quo(v, r.unit)
	whole, rest := new(big.Int).QuoRem(v.Num(), v.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return whole.Int64() * r.units
}

// Policy is what a profile says of one resource; a bound of 0 is none.
type Policy struct {
	Thousandths int64 // of the multiplier
	RoundTo     int64
	Min, Max    int64
}

// Defaults are the schema's.
var (
	CPUDefault    = Policy{1100, 1, 10, 0}
	MemoryDefault = Policy{1150, 1 << 20, 16 << 20, 0}
)

// Target is what the rules make of a model where nothing holds it: never above the original.
func (p Policy) Target(model, original int64) int64 {
	t := up(model*p.Thousandths, 1000)
	t = up(t, p.RoundTo) * p.RoundTo
	t = max(t, p.Min)
	if p.Max > 0 {
		t = min(t, p.Max)
	}
	return min(t, original)
}

func up(a, b int64) int64 { return (a + b - 1) / b }

// Text prints millicores or bytes as Kubernetes does.
func (r Resource) Text(v int64) string {
	switch {
	case r.units == 1 && v%1000 == 0:
		return decimal(v/1000, "", "k", "M")
	case r.units == 1:
		return fmt.Sprintf("%dm", v)
	}
	suffix := []string{"", "Ki", "Mi", "Gi", "Ti"}
	i := 0
	for v != 0 && v%1024 == 0 && i < len(suffix)-1 {
		v, i = v/1024, i+1
	}
	if i == 0 {
		return decimal(v, "", "k", "M", "G")
	}
	return fmt.Sprintf("%d%s", v, suffix[i])
}

func decimal(v int64, suffix ...string) string {
	i := 0
	for v != 0 && v%1000 == 0 && i < len(suffix)-1 {
		v, i = v/1000, i+1
	}
	return fmt.Sprintf("%d%s", v, suffix[i])
}

// EdgeOf is the upper edge of the bucket that holds a usage in cores or bytes.
func (r Resource) EdgeOf(usage float64) float64 {
	edge, _ := r.edge(new(big.Rat).SetFloat64(usage)).Float64()
	return edge
}

// Apart is by how many buckets two upper edges differ; the first may be rounded up to a whole unit.
func (r Resource) Apart(rounded, edge float64) int {
	unit, _ := r.unit.Float64()
	at := func(v float64) int {
		n := 0
		for ; n < r.most; n++ {
			if start, _ := r.start(n + 1).Float64(); start >= v-unit {
				break
			}
		}
		return n
	}
	return max(at(rounded)-at(edge), at(edge)-at(rounded))
}
