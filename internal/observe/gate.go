package observe

import (
	"context"
	"errors"
	"strconv"
	"time"

	"parley/internal/trace"
	"parley/progressive"
)

// Gate returns gate with its requests measured and traced.
func Gate(gate progressive.Gate, m *Metrics, t *Traces) progressive.Gate {
	return watchedGate{gate, m, t}
}

type watchedGate struct {
	progressive.Gate
	metrics *Metrics
	traces  *Traces
}

// Enter implements [progressive.Gate].
func (g watchedGate) Enter(ctx context.Context, t progressive.Ticket) (func(error), error) {
	if len(t.Scopes) == 0 {
		return g.Gate.Enter(ctx, t)
	}
	began := time.Now()
	g.metrics.gateWaiting.Inc()
	leave, err := g.Gate.Enter(ctx, t)
	g.metrics.gateWaiting.Dec()
	if err != nil {
		return nil, err
	}
	admitted := time.Now()
	return func(err error) {
		leave(err)
		if errors.Is(err, progressive.ErrUnused) {
			return
		}
		g.metrics.left(t, admitted.Sub(began), err, trace.Of(ctx))
		g.traces.left(t, began, admitted, err, trace.Of(ctx))
	}, nil
}

// left counts a request that was made.
func (m *Metrics) left(t progressive.Ticket, waited time.Duration, err error, of trace.Span) {
	scope, priority := t.Scopes[0].Kind(), t.Priority.String()
	count(m.permits, 1, scope, priority)
	observe(m.gateWait, waited, of, scope, priority)
	if refused := (progressive.RetryAfter{}); errors.As(err, &refused) {
		if refused.Scope != "" {
			scope = refused.Scope.Kind()
		}
		count(m.refusals, 1, scope)
		count(m.holds, refused.After.Seconds(), scope)
	}
	if err == nil && t.Priority != progressive.PriorityTyping && !t.UnshownSince.IsZero() {
		observe(m.staleness, time.Since(t.UnshownSince), of, scope)
	}
}

// left records a request that was made.
func (t *Traces) left(k progressive.Ticket, began, admitted time.Time, err error, of trace.Span) {
	if !of.On() {
		return
	}
	failed, scope := "", k.Scopes[0].Kind()
	if err != nil {
		failed = "refused"
	}
	t.span(of.At(strconv.FormatUint(t.requests.Add(1), 10)+scope, began), of, "deliver "+k.Priority.String(), kindClient, began, time.Now(), failed, "parley.scope", scope, "parley.waited", admitted.Sub(began))
}
