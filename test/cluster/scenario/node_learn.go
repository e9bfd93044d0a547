package scenario

import (
	"fmt"
	"time"

	"halflife.dev/cluster/model"
	"halflife.dev/cluster/stage"
)

const (
	enough = 5    // samples of which something is said
	spike  = 0.06 // cores: a machine that has much else to do gives less than is asked for, and measures late
)

// near is an error unless a model lies in the bucket of one of the measured usages, or in the next one.
func near(r model.Resource, got string, used []float64) error {
	for _, u := range used {
		if r.Apart(stage.Amount(got), r.EdgeOf(u)) <= 1 {
			return nil
		}
	}
	return fmt.Errorf("%s is %s, and what was measured is %.4g", r.Name, got, used)
}

func cpuOf(list []stage.Sample) (all []float64) {
	for _, s := range list {
		all = append(all, s.CPU)
	}
	return all
}

func memoryOf(list []stage.Sample) (all []float64) {
	for _, s := range list {
		all = append(all, s.Memory)
	}
	return all
}

// A program uses what is known; the node measures it, and the recommendation is of that. While too little is known, nothing
// is told that would stand still.
func nodeLearn(t *stage.T) {
	t.Namespace()
	seen := t.NewWitness()
	defer seen.Stop()
	profile := stage.QuickProfile("Recommend")
	profile["apply"].(M)["minHistory"] = "30s"
	t.Profile(profile)
	t.Apply(t.NewBurnerWorkload("Deployment", "web", 1, stage.Burner{Requests: M{"cpu": "300m", "memory": "400Mi"},
		Limits: M{"cpu": "1", "memory": "600Mi"}, Steps: []string{"cpu=0.2,mem=120Mi"}}))
	pod := t.WaitOnePod("web")
	young := t.RecIn("deployment-web", "Learning", stage.Soon).Object("status")
	if young.At("samples") != nil || young.At("lastSample") != nil {
		t.Fatalf("it is learned yet, and its status tells of samples: %s", young)
	}
	began, before := time.Now(), t.CPUSeconds(pod)
	var cpu, memory string
	var counted float64 // cores
	t.Eventually("the recommendation is of what is used", stage.Soon, func() error {
		used := seen.Of(pod.Name())
		if len(used) < enough {
			return fmt.Errorf("%d samples", len(used))
		}
		r, err := t.Rec("deployment-web")
		if err != nil {
			return err
		}
		box := r.Named("app", "status", "containers")
		cpu, memory = box.Text("cpu", "model"), box.Text("memory", "model")
		if err := near(model.CPU, cpu, cpuOf(used)); err != nil {
			return err
		}
		if err := near(model.Memory, memory, memoryOf(used)); err != nil {
			return err
		}
		// Less than 0.2 where the machine has no more for it; the first samples may be of its worst moments.
		counted = (t.CPUSeconds(pod) - before) / time.Since(began).Seconds()
		if got := stage.Amount(cpu); got < 0.9*counted || got > 0.27 {
			return fmt.Errorf("the program uses 0.2 cores, the kernel counts %.3f, and the model is %s", counted, cpu)
		}
		return nil
	})
	if got := stage.Amount(memory) / stage.Mi; got < 118 || got > 145 {
		t.Fatalf("the program holds 120Mi, and the model is %s", memory)
	}
	t.Notef("0.2 cores (%.3f by the kernel) and 120Mi are a model of %s and %s", counted, cpu, memory)
}

// What a program uses as it starts is in its model as long as the percentile wants it: 95 covers the start, 50 does not.
func nodeStartup(t *stage.T) {
	t.Namespace()
	seen := t.NewWitness()
	defer seen.Stop()
	t.Profile(stage.QuickProfile("Recommend"))
	median := stage.QuickProfile("Recommend")
	median["resources"] = M{"cpu": M{"percentile": 50}, "memory": M{"enabled": true}}
	median["selector"], median["priority"] = M{"matchLabels": M{"app": "calm"}}, 10
	t.ProfileNamed("e2e-node-startup-calm", median)
	// On a machine that has much else to do the first sample is of a minute later.
	starts := stage.Burner{Requests: M{"cpu": "150m", "memory": "100Mi"},
		Steps: []string{"cpu=0.4,mem=40Mi,for=80", "cpu=0.02,mem=40Mi"}}
	t.Apply(t.NewBurnerWorkload("Deployment", "calm", 1, starts))
	t.Apply(t.NewBurnerWorkload("Deployment", "keen", 1, starts))
	calm, keen := t.WaitOnePod("calm").Name(), t.WaitOnePod("keen").Name()
	above := func(list []float64, bound float64) (n int) {
		for _, u := range list {
			if u > bound {
				n++
			}
		}
		return n
	}
	var high, low string
	t.Eventually("the start is covered by one of both", stage.Soon, func() error {
		for _, pod := range []string{calm, keen} {
			used := cpuOf(seen.Of(pod))
			if spikes := above(used, spike); spikes == 0 || len(used) < 2*spikes+2 {
				return fmt.Errorf("pod %s used %.3g", pod, used)
			}
		}
		k, err := t.Rec("deployment-keen")
		if err != nil {
			return err
		}
		c, err := t.Rec("deployment-calm")
		if err != nil {
			return err
		}
		high = k.Named("app", "status", "containers").Text("cpu", "model")
		low = c.Named("app", "status", "containers").Text("cpu", "model")
		if stage.Amount(high) < spike || stage.Amount(low) >= spike {
			return fmt.Errorf("the models are %s at 95 and %s at 50; they used %.3g and %.3g", high, low,
				cpuOf(seen.Of(keen)), cpuOf(seen.Of(calm)))
		}
		return nil
	})
	t.Notef("0.4 cores for 80 s, then 0.02: the model is %s at 95 per cent and %s at 50", high, low)
}
