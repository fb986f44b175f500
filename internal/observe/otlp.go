package observe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"parley/internal/rest"
	"parley/internal/trace"
)

// Bounds of the export: spans that the collector does not take in time are dropped and counted.
const (
	mostQueued    = 4096
	mostExported  = 512 // spans of one request
	exportEvery   = 2 * time.Second
	exportTimeout = 10 * time.Second
	stopTimeout   = time.Second // of all requests after the end
	mostText      = 8 << 10     // bytes of one attribute
)

// Exporter sends spans to a collector in OTLP over HTTP, as JSON. The SDK of OpenTelemetry would add gRPC to the program. Like the SDK,
// it reads OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. Its methods are safe for concurrent use.
type Exporter struct {
	endpoint string
	client   *http.Client
	resource []attribute
	headers  map[string]string
	log      *slog.Logger
	queue    chan span
	dropped  atomic.Uint64
}

// span is a span in OTLP's JSON.
type span struct {
	TraceID    string         `json:"traceId"`
	SpanID     string         `json:"spanId"`
	ParentID   string         `json:"parentSpanId,omitempty"`
	Name       string         `json:"name"`
	Kind       int            `json:"kind"`
	Start      string         `json:"startTimeUnixNano"`
	End        string         `json:"endTimeUnixNano"`
	Attributes []attribute    `json:"attributes"`
	Status     map[string]any `json:"status,omitempty"`
}

type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

// attributes returns pairs of keys and values. Empty values are left out.
func attributes(pairs ...any) (all []attribute) {
	for i := 0; i < len(pairs); i += 2 {
		key := pairs[i].(string)
		switch v := pairs[i+1].(type) {
		case string:
			if v != "" {
				all = append(all, attribute{key, map[string]any{"stringValue": strings.ToValidUTF8(v[:min(len(v), mostText)], "")}})
			}
		case []string:
			values := []any{}
			for _, s := range v {
				values = append(values, map[string]any{"stringValue": s})
			}
			all = append(all, attribute{key, map[string]any{"arrayValue": map[string]any{"values": values}}})
		case int:
			all = append(all, attribute{key, map[string]any{"intValue": strconv.Itoa(v)}})
		case time.Duration:
			all = append(all, attribute{key, map[string]any{"doubleValue": v.Seconds()}})
		}
	}
	return all
}

// NewExporter returns an exporter to the collector at a base URL.
func NewExporter(endpoint, version string, client *http.Client, log *slog.Logger) *Exporter {
	resource := pairsOf("OTEL_RESOURCE_ATTRIBUTES")
	resource["service.name"] = cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), resource["service.name"], "parley")
	resource["service.version"] = version
	x := &Exporter{
		endpoint: strings.TrimSuffix(endpoint, "/") + "/v1/traces", client: client, log: log, queue: make(chan span, mostQueued), headers: pairsOf("OTEL_EXPORTER_OTLP_HEADERS"),
	}
	for k, v := range resource {
		x.resource = append(x.resource, attributes(k, v)...)
	}
	return x
}

// pairsOf returns the pairs of a variable in the form a=b,c=d.
func pairsOf(variable string) map[string]string {
	all := map[string]string{}
	for pair := range strings.SplitSeq(os.Getenv(variable), ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if decoded, err := url.PathUnescape(value); err == nil && key != "" {
			all[key] = decoded
		}
	}
	return all
}

// span queues a span, unless it is not recorded. It never waits.
func (x *Exporter) span(s, parent trace.Span, name string, kind int, start, end time.Time, failed string, pairs ...any) {
	if !s.On() {
		return
	}
	out := span{
		TraceID: s.TraceID(), SpanID: hex.EncodeToString(s.ID[:]), Name: name, Kind: kind, Attributes: attributes(append(pairs, errorType, failed)...),
		Start: strconv.FormatInt(start.UnixNano(), 10), End: strconv.FormatInt(end.UnixNano(), 10),
	}
	if parent.On() {
		out.ParentID = hex.EncodeToString(parent.ID[:])
	}
	if failed != "" {
		out.Status = map[string]any{"code": 2, "message": failed}
	}
	select {
	case x.queue <- out:
	default:
		x.dropped.Add(1)
	}
}

// Dropped returns the number of spans that were not exported.
func (x *Exporter) Dropped() uint64 { return x.dropped.Load() }

// Run exports until ctx ends, and then the rest of the queue, unless the collector refuses it or is slow.
func (x *Exporter) Run(ctx context.Context) {
	exports, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopTimeout, func() { cancel(context.Cause(ctx)) }) })()
	for failing := false; ctx.Err() == nil; {
		_ = rest.For(ctx, exportEvery) // the rest of the queue follows in any case
		for len(x.queue) > 0 {
			batch := make([]span, min(len(x.queue), mostExported))
			for i := range batch {
				batch[i] = <-x.queue
			}
			err := x.export(exports, batch)
			if err != nil {
				x.dropped.Add(uint64(len(batch)))
				if !failing {
					x.log.Warn("traces can't be exported; they are dropped until the collector accepts them", "err", err)
				}
			}
			if failing = err != nil; failing && ctx.Err() != nil {
				return
			}
		}
	}
}

// export sends spans in one request.
func (x *Exporter) export(ctx context.Context, spans []span) error {
	scope := map[string]any{"scope": map[string]any{"name": "parley"}, "spans": spans}
	body, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{"resource": map[string]any{"attributes": x.resource}, "scopeSpans": []any{scope}}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	for k, v := range x.headers {
		r.Header.Set(k, v)
	}
	resp, err := x.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered %s", resp.Status)
	}
	return nil
}
