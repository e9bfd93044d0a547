package model

import "math"

// Load is what a scheduler's plug-ins know of a node: per cent of its size, as load-watcher tells it.
type Load struct {
	Mean, Deviation, Latest float64
}

// PackingScore is what TargetLoadPacking gives a node, by its defaults: the best is 40 % of the capacity with the pod.
// predicted is what the pod and those placed lately will use. All in millicores.
func PackingScore(cpu Load, capacity, predicted float64) float64 {
	const target = 40
	use := cpu.Latest + 100*predicted/capacity
	switch {
	case use > 100:
		return 0
	case use > target:
		return target * (100 - use) / (100 - target)
	}
	return (100-target)*use/target + target
}

// VariationScore is what LoadVariationRiskBalancing gives a node by its defaults. asks is the pod's share of what the node
// has for pods, of each resource.
func VariationScore(load [2]Load, asks [2]float64) float64 {
	score := 100.0
	for i, l := range load {
		mean, deviation := min(l.Mean/100+asks[i], 1), min(l.Deviation/100, 1)
		score = min(score, 100*(1-(mean+deviation)/2))
	}
	return score
}

// Asked is what pods on a node ask for, as shares of what it has for pods.
type Asked struct {
	Before      float64 // requests of those that run there
	With, Limit float64 // requests and limits of these and the pod
	LimitBefore float64
}

// RiskScore is what LowRiskOverCommitment gives a node by its defaults.
func RiskScore(load [2]Load, asked [2]Asked) float64 {
	score := 100.0
	for i, l := range load {
		score = min(score, 100*(1-risk(l, asked[i])))
	}
	return score
}

func risk(l Load, a Asked) float64 {
	const window, weight, most = 5, 0.5, 0.99
	ofLimits := 0.0
	if a.Limit > 1 {
		ofLimits = (a.Limit - 1) / (a.Limit - min(a.With, 1))
	}
	mean := l.Mean / 100
	deviation := min(l.Deviation/100*math.Sqrt(window), math.Sqrt(most*mean*(1-mean)))
	below := loadBelow(mean, deviation, min(a.Before, 1))
	if a.LimitBefore < 1 {
		if limit := loadBelow(mean, deviation, a.LimitBefore); limit > 0 && deviation > 0 {
			below = min(below/limit, 1)
		}
	}
	return weight*ofLimits + (1-weight)*(1-below)
}

// loadBelow is the probability that a load of that mean and deviation is at most a share, by the beta distribution of these
// moments.
func loadBelow(mean, deviation, share float64) float64 {
	if deviation == 0 || mean == 0 {
		if mean <= share {
			return 1
		}
		return 0
	}
	t := mean*(1-mean)/(deviation*deviation) - 1
	return betaBelow(mean*t, (1-mean)*t, share)
}

// betaBelow is the beta distribution's probability of at most x: its continued fraction, from the side where that converges.
func betaBelow(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - betaBelow(b, a, 1-x)
	}
	sum, _ := math.Lgamma(a + b)
	ofA, _ := math.Lgamma(a)
	ofB, _ := math.Lgamma(b)
	front := math.Exp(sum-ofA-ofB+a*math.Log(x)+b*math.Log1p(-x)) / a
	// d(k) of DLMF 8.17.22, from the innermost outwards.
	fraction := 1.0
	for k := 2000; k > 0; k-- {
		m, n := float64(k/2), float64(k)
		d := m * (b - m) * x / ((a + n - 1) * (a + n))
		if k%2 == 1 {
			d = -(a + m) * (a + b + m) * x / ((a + n - 1) * (a + n))
		}
		fraction = 1 + d/fraction
	}
	return front / fraction
}

// Power is a node's power by its load x in per cent: K0 + K1·e^(K2·x).
type Power struct{ K1, K2 float64 }

// PeaksScores is what Peaks gives each node: the less its power jumps, the more. asks is the pod's share of the capacity.
func PeaksScores(cpu []Load, asks []float64, power []Power) []float64 {
	jump := make([]float64, len(cpu))
	least, most := math.Inf(1), math.Inf(-1)
	for i, l := range cpu {
		if with := l.Mean + 100*asks[i]; with <= 100 {
			jump[i] = power[i].K1 * (math.Exp(power[i].K2*with) - math.Exp(power[i].K2*l.Mean))
		}
		least, most = min(least, jump[i]), max(most, jump[i])
	}
	scores := make([]float64, len(cpu))
	for i := range jump {
		if scores[i] = 100; most > least {
			scores[i] = 100 - 100*(jump[i]-least)/(most-least)
		}
	}
	return scores
}
