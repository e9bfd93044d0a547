// Package stage holds what scenarios on a real control plane stand on: the runs of a suite, the state of one scenario (T),
// waits, makers of objects, and the servers and clients that a scenario plays with.
package stage

import (
	"fmt"
	"slices"
	"strings"

	"halflife.dev/cluster/node"
)

// Needs is what a scenario has to find around it.
type Needs int

const (
	// NoHalflife is a control plane on which no halflife runs. Scenarios share it.
	NoHalflife Needs = iota
	// Learner is a halflife that learns. Scenarios share it.
	Learner
	// REST is a halflife that learns, and a replica whose REST API and webhooks the API server calls. Scenarios share
	// both.
	REST
	// Alone is a control plane to itself: the scenario takes it apart, loads it, or begins a halflife of its own.
	Alone
	// Older is a control plane of an older version of Kubernetes to itself. It takes minutes to build: such a scenario runs
	// only where it is named.
	Older
	// OnNode is a real node, whose containers run, and a halflife that learns. Scenarios that use a little of the node
	// share both.
	OnNode
	// OwnNode is a real node to itself: the scenario uses it up, or begins a halflife of its own.
	OwnNode
)

// Scenario is one story with one verdict.
type Scenario struct {
	Name       string
	Needs      Needs
	Kubernetes string        // for Older, as "1.30"
	Argo       bool          // runs the controller of Argo Rollouts
	Node       node.Settings // for OwnNode; zero: node.Usual
	Run        func(t *T)
}

// Suite is a list of scenarios.
type Suite struct {
	Scenarios []Scenario
	Longest   []string // names of those that begin before the others
	Passed    *Passed  // nil: none is left out
}

// NeedArgo says whether any scenario of those names (none: all) runs the controller of Argo Rollouts.
func (s Suite) NeedArgo(names []string) bool {
	return slices.ContainsFunc(s.Scenarios, func(one Scenario) bool {
		return one.Argo && s.plays(one.Name, names)
	})
}

// plays says whether a run of those names (none: all) plays the scenario.
func (s Suite) plays(name string, names []string) bool {
	return (len(names) == 0 || slices.Contains(names, name)) && !s.Passed.has(name)
}

// older returns the scenarios of those names that need an older version of Kubernetes.
func (s Suite) older(names []string) []Scenario {
	if len(names) == 0 {
		return nil
	}
	return s.pick(Older, names)
}

// Kubernetes returns the older versions of Kubernetes that scenarios of those names run on.
func (s Suite) Kubernetes(names []string) []string {
	var list []string
	for _, one := range s.older(names) {
		if !slices.Contains(list, one.Kubernetes) {
			list = append(list, one.Kubernetes)
		}
	}
	return list
}

// of returns the scenarios with those needs.
func (s Suite) of(needs ...Needs) []Scenario {
	var list []Scenario
	for _, n := range needs {
		for _, one := range s.Scenarios {
			if one.Needs == n {
				list = append(list, one)
			}
		}
	}
	return list
}

// known returns an error for a name that no scenario with those needs has.
func (s Suite) known(names []string, needs ...Needs) error {
	var all []string
	for _, one := range s.of(needs...) {
		all = append(all, one.Name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("no scenario '%s'; there are: %s", name, strings.Join(all, " "))
		}
	}
	return nil
}

// pick returns the scenarios of those names (none: all) with that need, the ones that take long first.
func (s Suite) pick(need Needs, names []string) []Scenario {
	chosen := slices.DeleteFunc(s.of(need), func(one Scenario) bool {
		return !s.plays(one.Name, names)
	})
	place := func(one Scenario) int {
		if i := slices.Index(s.Longest, one.Name); i >= 0 {
			return i
		}
		return len(s.Longest)
	}
	slices.SortStableFunc(chosen, func(a, b Scenario) int { return place(a) - place(b) })
	return chosen
}
