package observe

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/core/chat"
	"parley/core/schedule"
)

// State reads the state of a gateway for each scrape. All fields are set.
type State struct {
	Fleet   func(context.Context) (chat.Fleet, error) // the processes of the store, and their work
	Counts  func() schedule.Counts
	Overdue func() int
	Readers func() int64  // open streams of the web chat
	Missed  func() uint64 // events that slow observers missed
	Dropped func() uint64 // spans that were not exported
}

// stateTimeout is the maximum time that a scrape waits for the store.
const stateTimeout = 2 * time.Second

// Read adds the metrics that are read from s.
func (m *Metrics) Read(s State) { m.registry.MustRegister(state(s)) }

// state is the collector of a State.
type state State

// Describe implements [prometheus.Collector]. The metrics are those that Collect returns.
func (state) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector]. If the store can't be read, the metrics of the fleet are left out.
func (s state) Collect(to chan<- prometheus.Metric) {
	send := func(kind prometheus.ValueType, name, help string, v float64, labels prometheus.Labels) {
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc("parley_"+name, help, nil, labels), kind, v)
	}
	count := func(name, help string, n uint64) { send(prometheus.CounterValue, name, help, float64(n), nil) }
	gauge := func(name, help string, v float64) { send(prometheus.GaugeValue, name, help, v, nil) }
	c := s.Counts()
	for step, n := range map[string]uint64{"decision": c.Undecided, "provider": c.Providers, "evaluator": c.Evaluators, "evaluator_skipped": c.Skipped} {
		send(prometheus.CounterValue, "steps_failed_total", "Optional steps of answers that failed, were late, or were skipped under load.", float64(n), prometheus.Labels{"step": step})
	}
	count("events_missed_total", "Events that metrics, traces and plugins missed because they were too slow.", s.Missed())
	count("trace_spans_dropped_total", "Spans that were not exported, because the collector is too slow or refuses them.", s.Dropped())
	gauge("readers", "Open streams of the web chat in this process.", float64(s.Readers()))
	gauge("runs_overdue", "Runs that wait longer than a turn can take.", float64(s.Overdue()))
	ctx, cancel := context.WithTimeout(context.Background(), stateTimeout)
	defer cancel()
	fleet, err := s.Fleet(ctx)
	if err != nil {
		gauge("store_up", "1 if the store can be read.", 0)
		return
	}
	now, alive, runs, age := time.Now(), 0, 0, 0.0
	for _, r := range fleet.Replicas {
		if r.AliveUntil.After(now) {
			alive++
			runs += r.Runs
		}
	}
	if !fleet.Oldest.IsZero() {
		age = max(0, now.Sub(fleet.Oldest).Seconds())
	}
	gauge("store_up", "1 if the store can be read.", 1)
	gauge("replicas", "Processes that are alive and share the store.", float64(alive))
	gauge("runs_running", "Runs that a process has started, in all processes.", float64(runs))
	gauge("runs_waiting", "Runs that no living process has started, in all processes.", float64(fleet.Waiting))
	gauge("runs_waiting_oldest_seconds", "The age of the oldest run that waits.", age)
	gauge("approvals_waiting", "Approvals that users have not decided.", float64(fleet.Approvals))
}
