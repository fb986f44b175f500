// Package observe reports the work of a gateway to its operator: as metrics for Prometheus, and as traces for a collector of
// OpenTelemetry. It learns everything from the events of package event and from the gate of requests, and has no effect on
// either. Neither metrics nor traces name rooms, users or texts, unless the operator asks for the texts.
package observe

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"parley/core/event"
	"parley/core/quota"
	"parley/internal/trace"
)

// mostValues is the maximum number of values of a label. Further ones share the value other.
const mostValues = 100

// Metrics counts and measures. It is an [event.Observer]; its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	messages, runs, failures, modelCalls, tokens, cost, toolCalls, permits, refusals, holds *counters
	firstText, lastText, queued, staleness, gateWait, models, tools, store, redis           *histograms
	gateWaiting                                                                             prometheus.Gauge
}

// Buckets in seconds: of things that users wait for, and of accesses to a store.
var (
	waits    = []float64{.05, .1, .25, .5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 900}
	accesses = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}
)

// NewMetrics returns metrics that all have the value 0.
func NewMetrics(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.messages = m.counters("messages_total", "Stored messages of users.", "connector", "kind")
	m.runs = m.counters("runs_total", "Ended runs: attempts to answer.", "connector", "outcome")
	m.failures = m.counters("run_failures_total", "Failed runs, by the kind of the failure.", "kind")
	m.firstText = m.histograms("first_text_seconds", "From the acceptance of a message until users could see the first text of its answer.", waits, "connector")
	m.lastText = m.histograms("last_text_seconds", "From the acceptance of a message until its answer was shown completely.", waits, "connector")
	m.queued = m.histograms("queue_seconds", "From the acceptance of a message until a process started its run.", waits, "connector")
	m.staleness = m.histograms("staleness_seconds", "The age of the oldest text that users did not see, when a request showed it.", waits, "scope")
	m.gateWaiting = prometheus.NewGauge(prometheus.GaugeOpts{Name: "parley_gate_waiting", Help: "Requests that wait for the limits of a platform."})
	m.gateWait = m.histograms("gate_wait_seconds", "How long requests to platforms waited for their limits.", waits, "scope", "priority")
	m.permits = m.counters("gate_permits_total", "Requests to platforms.", "scope", "priority")
	m.refusals = m.counters("gate_refusals_total", "Requests that a platform refused with 429.", "scope")
	m.holds = m.counters("gate_hold_seconds_total", "Time for which refusals closed scopes.", "scope")
	m.modelCalls = m.counters("model_calls_total", "Calls of models. The outcome is ok or the kind of the failure.", "model", "purpose", "outcome")
	m.models = m.histograms("model_seconds", "The duration of calls of models.", waits, "model", "purpose")
	m.tokens = m.counters("model_tokens_total", "Tokens of models; cached ones are part of the input.", "model", "direction")
	m.cost = m.counters("model_cost_dollars_total", "The cost of calls of models in US dollars, as far as prices are known.", "model")
	m.toolCalls = m.counters("tool_calls_total", "Calls of tools.", "tool", "outcome")
	m.tools = m.histograms("tool_seconds", "The duration of calls of tools.", waits, "tool")
	m.store = m.histograms("store_seconds", "The duration of accesses to the store, with all waiting.", accesses, "kind")
	m.redis = m.histograms("redis_seconds", "The duration of commands to Redis.", accesses)
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "parley_build_info", Help: "The version of this process.", ConstLabels: prometheus.Labels{"version": version}})
	info.Set(1)
	m.registry.MustRegister(m.gateWaiting, info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Observe implements [event.Observer].
func (m *Metrics) Observe(e event.Event) {
	switch e := e.(type) {
	case event.MessageReceived:
		count(m.messages, 1, e.Message.Place.Connector, "text")
	case event.VoiceMessageReceived:
		count(m.messages, 1, e.Message.Place.Connector, "voice")
	case event.RunEnded:
		m.ended(e.RunInfo, e.RunEnd)
	case event.RunTimeout:
		m.ended(e.RunInfo, e.RunEnd)
	case event.ActionCompleted:
		count(m.toolCalls, 1, e.Action, string(e.Status))
		observe(m.tools, e.Duration, e.Trace, e.Action)
	case event.ModelUsed:
		m.used(e)
	}
}

// ended counts the end of a run.
func (m *Metrics) ended(i event.RunInfo, e event.RunEnd) {
	count(m.runs, 1, i.Source, string(e.Status))
	if e.Failure != "" {
		count(m.failures, 1, string(e.Failure))
	}
	if e.Opened.IsZero() {
		return
	}
	observe(m.queued, i.Start.Sub(e.Opened), i.Trace, i.Source)
	if !e.FirstText.IsZero() {
		observe(m.firstText, e.FirstText.Sub(e.Opened), i.Trace, i.Source)
		observe(m.lastText, e.End.Sub(e.Opened), i.Trace, i.Source)
	}
}

// used counts a call of a model.
func (m *Metrics) used(e event.ModelUsed) {
	outcome := string(e.Failure)
	if outcome == "" {
		outcome = "ok"
	}
	count(m.modelCalls, 1, e.Model, e.Purpose, outcome)
	observe(m.models, e.Took, e.Trace, e.Model, e.Purpose)
	count(m.tokens, float64(e.Usage.Prompt), e.Model, "input")
	count(m.tokens, float64(e.Usage.Cached), e.Model, "cached")
	count(m.tokens, float64(e.Usage.Completion), e.Model, "output")
	count(m.cost, float64(e.Cost)/float64(quota.Dollar), e.Model)
}

// Store begins an access to the store. It is the Observe of its options.
func (m *Metrics) Store(kind string) (done func()) {
	began := time.Now()
	return func() { observe(m.store, time.Since(began), trace.Span{}, kind) }
}

// Redis measures a command to Redis.
func (m *Metrics) Redis(took time.Duration) { observe(m.redis, took, trace.Span{}) }

// mostLabels is the number of labels of the metric with the most of them.
const mostLabels = 3

// family is a metric for each combination of labels. Its methods are safe for concurrent use.
type family[M any] struct {
	with  func(...string) M
	mu    sync.Mutex
	known map[[mostLabels]string]M // combinations that came before
	seen  map[int]map[string]bool  // the values of each label
}

// of returns the metric of these values. Those that are too many are replaced: the names of tools, for example, come from MCP servers.
func (f *family[M]) of(values []string) M {
	var key [mostLabels]string
	if copy(key[:], values) < len(values) {
		panic("a metric has more than mostLabels labels")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if m, ok := f.known[key]; ok {
		return m
	}
	for i, v := range values {
		if f.seen[i] == nil {
			f.seen[i] = map[string]bool{}
		}
		if !f.seen[i][v] && len(f.seen[i]) >= mostValues {
			values[i] = "other"
		} else {
			f.seen[i][v] = true
		}
	}
	m := f.with(values...)
	copy(key[:], values) // those that were replaced are too many to be remembered
	f.known[key] = m
	return m
}

func newFamily[M any](with func(...string) M) *family[M] {
	return &family[M]{with: with, known: map[[mostLabels]string]M{}, seen: map[int]map[string]bool{}}
}

type (
	counters   = family[prometheus.Counter]
	histograms = family[prometheus.Observer]
)

func (m *Metrics) counters(name, help string, labels ...string) *counters {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "parley_" + name, Help: help}, labels)
	m.registry.MustRegister(c)
	return newFamily(c.WithLabelValues)
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *histograms {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "parley_" + name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return newFamily(h.WithLabelValues)
}

func count(c *counters, n float64, values ...string) { c.of(values).Add(max(n, 0)) }

// observe adds a duration, with its trace as an example if it is recorded.
func observe(h *histograms, d time.Duration, of trace.Span, values ...string) {
	if o := h.of(values); of.On() {
		o.(prometheus.ExemplarObserver).ObserveWithExemplar(max(d, 0).Seconds(), prometheus.Labels{"trace_id": of.TraceID()})
	} else {
		o.Observe(max(d, 0).Seconds())
	}
}
