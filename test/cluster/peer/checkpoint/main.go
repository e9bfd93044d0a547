// Command checkpoint is a VPA recommender's memory without its cluster: it feeds VPA's own aggregation with random usage,
// saves it with VPA's own code and prints, of each container, the checkpoint's status and what the recommender itself makes
// of it when it starts with that.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand"
	"os"
	"time"

	vpa "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/util"
)

type result struct {
	Status vpa.VerticalPodAutoscalerCheckpointStatus `json:"status"`
	CPU    map[string]float64                        `json:"cpu"`
	Memory map[string]float64                        `json:"memory"`
}

func percentiles(h util.Histogram) map[string]float64 {
	of := map[string]float64{}
	for name, p := range map[string]float64{"50": 0.5, "90": 0.9, "95": 0.95} {
		of[name] = h.Percentile(p)
	}
	return of
}

// learn is some days of one container: a minute's CPU each, and of memory a peak a day.
func learn(r *rand.Rand, end time.Time) *model.AggregateContainerState {
	a := model.NewAggregateContainerState()
	days := 1 + r.Intn(8)
	busy, spread := math.Exp(r.Float64()*7-4), r.Float64()*1.5
	memory := math.Exp(r.Float64()*9) * 5e6
	for minute := days * 1440; minute > 0; minute -= 1 + r.Intn(3) {
		at := end.Add(-time.Duration(minute) * time.Minute)
		a.AddSample(&model.ContainerUsageSample{MeasureStart: at, Resource: model.ResourceCPU,
			Usage: model.CPUAmountFromCores(busy * math.Exp(r.NormFloat64()*spread))})
	}
	for day := days; day > 0; day-- {
		a.AddSample(&model.ContainerUsageSample{MeasureStart: end.Add(-time.Duration(day) * 24 * time.Hour), Resource: model.ResourceMemory,
			Usage: model.MemoryAmountFromBytes(memory * (1 + r.Float64()))})
	}
	return a
}

func main() {
	seed, count := flag.Int64("seed", 1, "of the random usage"), flag.Int("count", 1, "of containers")
	flag.Parse()
	random := rand.New(rand.NewSource(*seed))
	var all []result
	for range *count {
		status, err := learn(random, time.Now().Truncate(time.Second)).SaveToCheckpoint()
		if err == nil {
			restarted := model.NewAggregateContainerState()
			if err = restarted.LoadFromCheckpoint(status); err == nil {
				all = append(all, result{*status, percentiles(restarted.AggregateCPUUsage), percentiles(restarted.AggregateMemoryPeaks)})
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		os.Exit(1)
	}
}
