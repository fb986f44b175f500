package connectors_test

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors"
)

// DR-22, TR-34: however much is asked for, a bounded number of jobs runs and waits, in order within a key, keys in turn.
func TestJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, waiting = 4, 300
		jobs, before := connectors.NewJobs[int](workers, waiting), runtime.NumGoroutine()
		type done struct {
			key, n int
			at     time.Duration
		}
		const taken = waiting + workers // at most: workers can start while jobs are still added
		ended, began, most := make(chan done, taken), time.Now(), 0
		for n := range 500 {
			key := 0
			if n%100 == 99 {
				key = n
			}
			jobs.Add(key, func() {
				time.Sleep(time.Second)
				ended <- done{key, n, time.Since(began)}
			})
			most = max(most, runtime.NumGoroutine()-before)
		}
		synctest.Wait()
		if most > workers {
			t.Errorf("%d goroutines run", most)
		}
		jobs.Wait()
		close(ended)
		var all []int
		for d := range ended {
			if d.key == 0 {
				all = append(all, d.n)
			} else if d.at > 2*time.Second {
				t.Errorf("key %d waited %v for another one", d.key, d.at)
			}
		}
		if len(all) < 250 || len(all) > taken || !slices.IsSorted(all) {
			t.Errorf("%d jobs of a key ran, in order: %v", len(all), slices.IsSorted(all))
		}
		if !jobs.Add(1, func() {}) {
			t.Error("Add refused a job after all others were done; want it accepted")
		}
		jobs.Wait()
	})
}
