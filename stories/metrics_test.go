package stories_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/quota"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/progressive"
)

const metricsAt = "127.0.0.1:9464"

var sample = regexp.MustCompile(`(?m)^(parley_\w+)(?:\{([^}]*)\})? (\S+)(?: # (\{.*?\}).*)?$`)

// scrape reads the metrics as Prometheus does. It returns the values by their names, summed over labels, and the whole text.
func (s *harness) scrape() (map[string]float64, string) {
	s.Helper()
	r := require.Value(http.NewRequestWithContext(s.Context(), http.MethodGet, "http://"+metricsAt+"/metrics", nil))(s)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	resp := require.Value(s.browser.HTTP.Do(r))(s)
	defer resp.Body.Close()
	text := require.Value(io.ReadAll(resp.Body))(s)
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/openmetrics-text") || !strings.HasSuffix(string(text), "# EOF\n") {
		s.Fatalf("%d %s\n%s", resp.StatusCode, resp.Header.Get("Content-Type"), text)
	}
	found := map[string]float64{}
	for _, m := range sample.FindAllStringSubmatch(string(text), -1) {
		if v, err := strconv.ParseFloat(m[3], 64); err == nil && !strings.Contains(m[2], "le=") {
			found[m[1]] += v
		}
	}
	return found, string(text)
}

// elsewhere are the metrics that the story below does not move, with the tests that do.
var elsewhere = map[string]string{
	"parley_trace_spans_dropped_total": "TestTracesOfSlowCollector",
	"parley_events_missed_total":       "TestState",
	"parley_steps_failed_total":        "TestState",
	"parley_redis_seconds":             "TestState, TestCommandsAreReported",
}

// Each metric moves when what it counts happens, and no metric has a text or the name of a room or a user.
func TestMetricsMove(t *testing.T) {
	onPlatform(t, platforms()[0], func(cfg *config.Config) {
		cfg.Metrics.Listen, cfg.Limits.Parallel, cfg.Limits.ParallelTotal = metricsAt, 1, 1
		cfg.Turns.FirstEvent, cfg.Turns.Idle = time.Hour, time.Hour
		rate := quota.Rate(1e6)
		cfg.Models.Large.Price = config.Price{Input: &rate, Output: &rate}
	}, func(c *chatHarness) {
		withShop(c, nil)
		most := map[string]float64{}
		look := func() (text string) {
			var found map[string]float64
			found, text = c.scrape()
			for name, v := range found {
				most[name] = max(most[name], v)
			}
			return text
		}
		c.queueCall("shop__list", `{"item":"tea"}`, "There is tea.")
		c.Say(connectortest.Ada, c.ada, "Is there tea?")
		c.waitShown(c.ada, "There is tea.")

		c.InjectFault(connectortest.Fault{Op: progressive.Edit, Hold: 20 * time.Second})
		c.model.Queue(slowScript(tale))
		c.Say(connectortest.Ada, c.ada, "Tell me")
		c.Pass(5 * time.Second)
		look()
		c.waitShown(c.ada, tale)

		c.queueCall("shop__order", `{"item":"secret-item"}`, "It is on its way.")
		c.Say(connectortest.Ada, c.ada, "Order it")
		c.waitShown(c.ada, "secret-item")
		look()
		c.pressIn(c.Platform.(buttonPlatform))(0)
		c.waitShown(c.ada, "It is on its way.")

		c.model.Queue(modelfake.Script{modelfake.Status(http.StatusUnauthorized, "")})
		c.Say(connectortest.Ada, c.ada, "Fail")
		c.WaitIdle()

		st := c.send(c.newConversation(), "m", "Hi")
		c.readUntil(st, "Hi")
		c.readAll(st)
		for _, text := range []string{"one", "two", "three"} {
			c.model.Queue(modelfake.Script{modelfake.Open(), modelfake.Pause(time.Hour)})
			c.send(c.newConversation(), text, text)
		}
		c.Pass(time.Second)
		look()
		var text string
		for range 40 {
			c.Pass(time.Minute)
			text = look()
		}
		c.WaitIdle()

		for name, v := range most {
			if strings.HasSuffix(name, "_sum") { // the clock of the test stands still while a tool runs
				continue
			}
			if (v > 0) != (elsewhere[name] == "") {
				c.Errorf("%s is %v", name, v)
			}
		}
		for _, file := range []string{"../deploy/grafana/parley.json", "../deploy/prometheus/alerts.yaml", "../deploy/prometheus/alerts.test.yaml"} {
			data := require.Value(os.ReadFile(file))(c)
			for _, name := range regexp.MustCompile(`\bparley_\w+`).FindAllString(string(data), -1) {
				name = strings.TrimSuffix(name, "_bucket")
				if most[name]+most[name+"_count"] == 0 && elsewhere[name] == "" {
					c.Errorf("%s has %s, which is no metric, or does not move", file, name)
				}
			}
		}
		for _, secret := range append(c.secrets, "secret-item", "is there tea", tale, "tell me", string(c.ada), c.Account(connectortest.Ada)[len("telegram:"):]) {
			if strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
				c.Errorf("the metrics contain %q:\n%s", secret, text)
			}
		}
	})
}

// Each alert fires when it should, and not otherwise.
func TestAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED: there is no promtool; Debian's package prometheus has it")
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts.test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
	rules := require.Value(os.ReadFile("../deploy/prometheus/alerts.yaml"))(t)
	tests := require.Value(os.ReadFile("../deploy/prometheus/alerts.test.yaml"))(t)
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if n := strings.Count(string(tests), "alertname: "+m[1]); n < 2 {
			t.Errorf("%s has %d tests; want one that fires and one that doesn't", m[1], n)
		}
	}
}
