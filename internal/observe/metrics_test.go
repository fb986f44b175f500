package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/core/chat"
	"parley/core/event"
	"parley/core/schedule"
	"parley/internal/require"
	"parley/internal/trace"
	"parley/sim"
)

// noState is a gateway without work.
func noState() State {
	return State{
		Fleet:  func(context.Context) (chat.Fleet, error) { return chat.Fleet{}, nil },
		Counts: func() schedule.Counts { return schedule.Counts{} }, Overdue: func() int { return 0 }, Readers: func() int64 { return 0 },
		Missed: func() uint64 { return 0 }, Dropped: func() uint64 { return 0 },
	}
}

// serve serves m on the loopback interface until the test ends, and returns its address.
func serve(t *testing.T, m *Metrics) string {
	t.Helper()
	l := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Serve(ctx, l, Readers{}, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() { stop(); <-done })
	return l.Addr().String()
}

// scrape returns the metrics at an address in the format of OpenMetrics.
func scrape(t *testing.T, at string) string {
	t.Helper()
	r := require.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/metrics", nil))(t)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	resp := require.Value(http.DefaultClient.Do(r))(t)
	defer resp.Body.Close()
	text := require.Value(io.ReadAll(resp.Body))(t)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", resp.Status, text)
	}
	return string(text)
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains(text, want+"\n") && !strings.Contains(text, want+" # ") {
			t.Errorf("no line %s in\n%s", want, text)
		}
	}
}

// The state of the gateway is read for each scrape. While the store can't be read, that is all that is known of it.
func TestState(t *testing.T) {
	m, s, now, down := NewMetrics("1.2.3"), noState(), time.Now(), errors.New("down")
	var failed error
	s.Fleet = func(context.Context) (chat.Fleet, error) {
		return chat.Fleet{
			Replicas: []chat.Replica{{AliveUntil: now.Add(time.Hour), Runs: 2}, {AliveUntil: now.Add(-time.Hour), Runs: 7}}, Waiting: 3, Oldest: now.Add(-time.Hour), Approvals: 4,
		}, failed
	}
	s.Counts = func() schedule.Counts {
		return schedule.Counts{Undecided: 1, Providers: 2, Evaluators: 3, Skipped: 4}
	}
	s.Overdue, s.Readers, s.Missed, s.Dropped = func() int { return 5 }, func() int64 { return 6 }, func() uint64 { return 7 }, func() uint64 { return 8 }
	m.Read(s)
	m.Store("read")()
	m.Redis(time.Millisecond)
	at := serve(t, m)
	text := scrape(t, at)
	wantLines(t, text, `parley_build_info{version="1.2.3"} 1.0`, "parley_store_up 1.0", "parley_replicas 1.0", "parley_runs_running 2.0", "parley_runs_waiting 3.0", "parley_approvals_waiting 4.0",
		"parley_runs_overdue 5.0", "parley_readers 6.0", "parley_events_missed_total 7.0", "parley_trace_spans_dropped_total 8.0", `parley_steps_failed_total{step="decision"} 1.0`,
		`parley_steps_failed_total{step="provider"} 2.0`, `parley_steps_failed_total{step="evaluator"} 3.0`, `parley_steps_failed_total{step="evaluator_skipped"} 4.0`,
		`parley_store_seconds_count{kind="read"} 1`, "parley_redis_seconds_count 1")
	if !strings.Contains(text, "parley_runs_waiting_oldest_seconds 36") {
		t.Errorf("the oldest run waits for another time than an hour:\n%s", text)
	}
	failed = down
	if text = scrape(t, at); !strings.Contains(text, "parley_store_up 0.0\n") || strings.Contains(text, "parley_replicas") {
		t.Errorf("without a store:\n%s", text)
	}
}

// The dashboard has every metric.
func TestDashboardIsComplete(t *testing.T) {
	dashboard := require.Value(os.ReadFile("../../deploy/grafana/parley.json"))(t)
	m := NewMetrics("")
	m.Read(noState())
	all, n := make(chan *prometheus.Desc, 100), 0
	m.registry.Describe(all)
	close(all)
	names := ""
	for d := range all {
		names += d.String()
	}
	names += scrape(t, serve(t, m))
	for _, name := range regexp.MustCompile(`(?:fqName: "|# TYPE )(parley_\w+)`).FindAllStringSubmatch(names, -1) {
		if n++; !regexp.MustCompile(`\b` + name[1] + `(_bucket|_total)?\b`).Match(dashboard) {
			t.Errorf("the dashboard lacks %s", name[1])
		}
	}
	if n < 30 {
		t.Errorf("%d metrics; want more", n)
	}
}

// A label has at most a hundred values, however many there are: the others share one.
func TestBoundedLabels(t *testing.T) {
	m := NewMetrics("")
	for i := range 1_000_000 {
		m.Observe(event.ActionCompleted{ActionInfo: event.ActionInfo{Action: fmt.Sprint("TOOL_", i)}})
	}
	m.Read(noState())
	text := scrape(t, serve(t, m))
	if n := strings.Count(text, "parley_tool_calls_total{"); n != mostValues+1 {
		t.Errorf("%d values; want %d", n, mostValues+1)
	}
	wantLines(t, text, fmt.Sprintf(`parley_tool_calls_total{outcome="",tool="other"} %.1f`, 1e6-mostValues), `parley_tool_calls_total{outcome="",tool="TOOL_99"} 1.0`)
}

// A measurement of a traced run has its trace as an example, and no other has.
func TestExemplars(t *testing.T) {
	m := NewMetrics("")
	at := time.Now()
	end := event.RunEnd{End: at.Add(3 * time.Second), Opened: at, FirstText: at.Add(time.Second), Status: "completed"}
	root := trace.Sampler{Key: "k", Share: 1}.Root("run")
	m.Observe(event.RunEnded{RunInfo: event.RunInfo{Source: "traced", Start: at, Trace: root}, RunEnd: end})
	m.Observe(event.RunTimeout{RunInfo: event.RunInfo{Source: "other", Start: at}, RunEnd: end})
	m.Read(noState())
	text := scrape(t, serve(t, m))
	wantLines(t, text, `parley_first_text_seconds_bucket{connector="traced",le="1.0"} 1`, `parley_last_text_seconds_bucket{connector="other",le="4.0"} 1`, `parley_runs_total{connector="other",outcome="completed"} 1.0`)
	if n := strings.Count(text, `# {trace_id="`+root.TraceID()+`"}`); n != 3 {
		t.Errorf("%d examples; want one for each duration\n%s", n, text)
	}
}

// Clients that send half a request, or never read, lose their connections soon, however many they are. Meanwhile events are counted.
func TestScraperThatNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, network := NewMetrics(""), sim.NewNet()
		m.Read(noState())
		l := require.Value(network.Listen("tcp", "127.0.0.1:9464"))(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.Serve(ctx, l, Readers{}, slog.New(slog.DiscardHandler))
		}()
		for i := range 2 * mostConnections {
			c := require.Value(network.Dial(ctx, "tcp", "127.0.0.1:9464"))(t)
			defer c.Close()
			request := "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
			go func() { _, _ = io.WriteString(c, request[:len(request)-i%2]) }() // the connection ends
			m.Observe(event.RunEnded{RunInfo: event.RunInfo{Source: "x"}})
		}
		time.Sleep(5 * time.Minute)
		client := &http.Client{Transport: &http.Transport{DialContext: network.Dial, DisableKeepAlives: true}}
		resp := require.Value(client.Get("http://127.0.0.1:9464/metrics"))(t)
		defer resp.Body.Close()
		text := require.Value(io.ReadAll(resp.Body))(t)
		if want := fmt.Sprintf(`parley_runs_total{connector="x",outcome=""} %d`, 2*mostConnections); !strings.Contains(string(text), want) {
			t.Errorf("%s: %s", resp.Status, text)
		}
		stop()
		<-done
	})
}

// Only this machine and named clients can read the metrics.
func TestAdmits(t *testing.T) {
	clients := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}
	for address, want := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true, "10.1.2.3:1": true, "[::ffff:10.1.2.3]:1": true, "[fd00::1%eth0]:1": true, "10.2.0.1:1": false, "[2001:db8::1]:1": false,
		"": false, "10.1.2.3": false, "@": false,
	} {
		if admits(clients, address) != want {
			t.Errorf("%q: %v", address, !want)
		}
	}
}
