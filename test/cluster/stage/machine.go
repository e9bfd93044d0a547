package stage

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Limits are made for a machine that does a fixed piece of work, once on each processor, in reference. Slowness says how
// many times as long this one takes, and all limits are multiplied by it. A limit that is too long costs time only where
// something is wrong.
const (
	reference = 400 * time.Millisecond
	work      = 512 << 20 // bytes that are hashed on each processor
	tick      = 50 * time.Millisecond
)

var (
	slowness   = sync.OnceValue(measure)
	standstill = sync.OnceValue(watch)
)

// Slowness is at least 1. E2E_SLOWNESS sets it; else it is measured once.
func Slowness() float64 { return slowness() }

func measure() float64 {
	if given, err := strconv.ParseFloat(os.Getenv("E2E_SLOWNESS"), 64); err == nil && given >= 1 {
		fmt.Printf("limits are %.1f times as long, by E2E_SLOWNESS\n", given)
		return given
	}
	began := time.Now()
	var wait sync.WaitGroup
	for range runtime.NumCPU() {
		wait.Go(func() {
			block := make([]byte, 1<<20)
			for range work / len(block) {
				sha256.Sum256(block)
			}
		})
	}
	wait.Wait()
	factor := max(1, float64(time.Since(began))/float64(reference))
	fmt.Printf("limits are %.1f times as long: hashing took %.0f ms\n", factor, time.Since(began).Seconds()*1000)
	return factor
}

// Scaled is a limit for this machine.
func Scaled(limit time.Duration) time.Duration { return time.Duration(float64(limit) * Slowness()) }

// watch counts the nanoseconds in which this process, and so probably the whole machine, stood still.
func watch() *atomic.Int64 {
	var lost atomic.Int64
	go func() {
		last := time.Now()
		for {
			time.Sleep(tick)
			now := time.Now()
			if gap := now.Sub(last); gap > 10*tick {
				lost.Add(int64(gap - tick))
			}
			last = now
		}
	}()
	return &lost
}

// Moment is when something began.
type Moment struct {
	time time.Time
	lost int64
}

// Begin is now.
func Begin() Moment { return Moment{time.Now(), standstill().Load()} }

// Took is how long ago that was, without the time in which the machine stood still.
func (m Moment) Took() time.Duration {
	time.Sleep(2 * tick) // whoever counts what stood still looks first
	return time.Since(m.time) - 2*tick - time.Duration(standstill().Load()-m.lost)
}
