package stories_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/models/modelfake"
)

const collectorAt = "collector.test:80"

// collected is a span as a collector of OpenTelemetry reads it.
type collected struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Start                               int64 `json:"startTimeUnixNano,string"`
	End                                 int64 `json:"endTimeUnixNano,string"`
	Attributes                          []struct {
		Key   string
		Value struct {
			StringValue, IntValue string
			DoubleValue           float64
		}
	}
	Status struct{ Code int }
}

// attribute returns the text of an attribute.
func (c collected) attribute(key string) string {
	for _, a := range c.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

// collector keeps the spans that it gets; it can also hang, or refuse them.
type collector struct {
	mu    sync.Mutex
	spans []collected
	texts string
	wrong []string
	state string // "", "hang", "refuse" or "redirect"
}

func (c *collector) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path != "/v1/traces" {
		c.wrong = append(c.wrong, r.URL.Path)
	}
	switch c.state {
	case "redirect":
		http.Redirect(rw, r, "/elsewhere", http.StatusTemporaryRedirect)
		return
	case "refuse":
		rw.WriteHeader(http.StatusServiceUnavailable)
		return
	case "hang":
		c.mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body) // the server notices the end of a connection only then
		<-r.Context().Done()
		c.mu.Lock()
		return
	}
	body, err := io.ReadAll(r.Body)
	var sent struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes []struct{ Key string } }
			ScopeSpans []struct{ Spans []collected }
		}
	}
	if err == nil {
		err = json.Unmarshal(body, &sent)
	}
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		c.wrong = append(c.wrong, r.Method+" "+r.URL.Path+" "+string(body))
	}
	c.texts += string(body)
	for _, rs := range sent.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

func (c *collector) set(state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = state
}

// withCollector plays on Telegram with a shop and a collector.
func withCollector(t *testing.T, edit func(*config.Config), play func(*chatHarness, *collector, *toolServer)) {
	t.Helper()
	col := &collector{}
	onPlatform(t, platforms()[0], func(cfg *config.Config) {
		cfg.Metrics.Listen, cfg.Traces.Endpoint, cfg.Traces.Sample = metricsAt, "http://collector.test", 1
		if edit != nil {
			edit(cfg)
		}
	}, func(c *chatHarness) {
		srv := &http.Server{Handler: col}
		l := c.listen(collectorAt)
		go func() { _ = srv.Serve(l) }()
		c.Cleanup(func() { _ = srv.Close() })
		play(c, col, withShop(c, nil))
		for _, w := range col.wrong {
			c.Errorf("the collector got %s", w)
		}
	})
}

// A message has one trace, from the event of the platform to the last edit, in which the MCP server takes part. It survives the process
// that began it. Neither texts nor rooms are in it.
func TestTraceOfMessage(t *testing.T) {
	withCollector(t, nil, func(c *chatHarness, col *collector, shop *toolServer) {
		c.queueCall("shop__order", `{"item":"tea"}`, "It is on its way.")
		c.Say(connectortest.Ada, c.ada, "Order some tea")
		c.waitShown(c.ada, `{"item":"tea"}`)
		c.Pass(5 * time.Second)
		c.restart()
		c.Pass(10 * time.Second)
		c.pressIn(c.Platform.(buttonPlatform))(0)
		c.waitShown(c.ada, "It is on its way.")
		c.Pass(10 * time.Second)

		root := slices.IndexFunc(col.spans, func(s collected) bool { return s.ParentSpanID == "" && s.attribute("parley.outcome") == "completed" })
		if root < 0 {
			c.Fatalf("no root in %+v", col.spans)
		}
		whole, names, ids := col.spans[root], map[string]int{}, map[string]bool{}
		for _, s := range col.spans {
			if s.TraceID != whole.TraceID {
				continue
			}
			names[s.Name]++
			if ids[s.SpanID] {
				c.Errorf("two spans have the id of %s", s.Name)
			}
			ids[s.SpanID] = true
			if s.ParentSpanID != "" && s.ParentSpanID != whole.SpanID || s.Start < whole.Start || s.End > whole.End || s.End < s.Start {
				c.Errorf("%s is not within the root: %+v", s.Name, s)
			}
		}
		for name, least := range map[string]int{
			"invoke_agent " + c.cfg.Agent.Name: 1, "receive": 1, "queue": 1, "chat fake-model": 2, "execute_tool shop__order": 1, "deliver first": 1, "deliver final": 1, "store answer": 1,
		} {
			if names[name] < least {
				c.Errorf("%d spans %s; want %d of %v", names[name], name, least, names)
			}
		}
		call := slices.IndexFunc(col.spans, func(s collected) bool { return s.Name == "execute_tool shop__order" })
		if want := "00-" + whole.TraceID + "-" + col.spans[call].SpanID + "-01"; shop.parent() != want {
			c.Errorf("the MCP server is told %q; want %q", shop.parent(), want)
		}
		if !strings.Contains(c.Logged.String(), "trace="+whole.TraceID) || whole.attribute("gen_ai.conversation.id") == "" || !strings.Contains(c.Logged.String(), "room_hash="+whole.attribute("gen_ai.conversation.id")) {
			c.Errorf("the log lacks the trace or the room of %+v", whole)
		}
		for _, secret := range append(c.secrets, "Order some", "on its way", "tea", string(c.ada)) {
			if strings.Contains(col.texts, secret) {
				c.Errorf("the traces contain %q", secret)
			}
		}
		if _, text := c.scrape(); !strings.Contains(text, `trace_id="`+whole.TraceID+`"`) {
			c.Errorf("no measurement has the trace as its example")
		}
	})
}

// Texts are in traces if the operator asks for them, and part of the messages is traced if the operator asks for that.
func TestTracedContentAndShare(t *testing.T) {
	withCollector(t, func(cfg *config.Config) { cfg.Traces.Content, cfg.Traces.Sample = true, 0.5 }, func(c *chatHarness, col *collector, _ *toolServer) {
		const all = 40
		for range all {
			c.queueCall("shop__list", `{"item":"tea"}`, "There is tea.")
			c.Say(connectortest.Ada, c.ada, "Is there any?")
			c.Pass(10 * time.Second)
		}
		c.WaitIdle()
		c.Pass(10 * time.Second)
		roots := 0
		for _, s := range col.spans {
			if s.ParentSpanID == "" {
				roots++
			}
		}
		if roots < all/5 || roots > all-all/5 {
			c.Errorf("%d of %d messages are traced", roots, all)
		}
		for _, text := range []string{"Is there any?", "There is tea.", `{\"item\":\"tea\"}`, "list: done"} {
			if !strings.Contains(col.texts, text) {
				c.Errorf("the traces lack %s", text)
			}
		}
	})
}

// A collector that hangs, refuses or redirects delays no answer, and no other address gets its spans. Dropped spans are counted, and later ones arrive.
func TestTracesOfSlowCollector(t *testing.T) {
	withCollector(t, nil, func(c *chatHarness, col *collector, _ *toolServer) {
		ask := func(state string) time.Duration {
			col.set(state)
			began := time.Now()
			c.model.Queue(modelfake.Script{modelfake.Text("It works: " + state + ".")})
			c.Say(connectortest.Ada, c.ada, "And now?")
			c.waitShown(c.ada, "It works: "+state+".")
			took := time.Since(began)
			c.Pass(time.Minute)
			return took
		}
		usual := ask("")
		n := len(col.spans)
		for _, state := range []string{"hang", "refuse", "redirect"} {
			before, _ := c.scrape()
			if took := ask(state); took > usual+time.Second {
				c.Errorf("with a collector that %ss an answer takes %v; want %v", state, took, usual)
			}
			if after, _ := c.scrape(); after["parley_trace_spans_dropped_total"] <= before["parley_trace_spans_dropped_total"] {
				c.Errorf("%s: no span was counted as dropped", state)
			}
		}
		if ask(""); len(col.spans) <= n || strings.Count(c.Logged.String(), "traces can't be exported") != 1 {
			c.Errorf("%d spans, %d before; the log:\n%s", len(col.spans), n, c.Logged.String())
		}
	})
}
