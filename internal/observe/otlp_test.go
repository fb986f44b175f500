package observe

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/subtest"
	"parley/internal/trace"
)

// hanging is a collector that answers no request.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// A collector that hangs does not keep the gateway from stopping, also while an export is in progress.
func TestStopWithHangingCollector(t *testing.T) {
	for name, before := range map[string]time.Duration{"at the end": time.Second, "in progress": exportEvery + time.Second} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			x := NewExporter("http://collector.test", "test", &http.Client{Transport: hanging{}}, slog.New(slog.DiscardHandler))
			x.span(trace.Span{Trace: [16]byte{1}, ID: [8]byte{1}}, trace.Span{}, "receive", 1, time.Now(), time.Now(), "")
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); x.Run(ctx) }()
			time.Sleep(before)
			began := time.Now()
			cancel()
			<-ended
			if took := time.Since(began); took > 2*time.Second || x.Dropped() != 1 {
				t.Errorf("it ends after %v, %d dropped", took, x.Dropped())
			}
		}))
	}
}
