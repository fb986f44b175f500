package modelfake_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	. "parley/models/modelfake"
)

// TestStatus covers LM-01: what comes instead of a stream.
func TestStatus(t *testing.T) {
	s := onLoopback(t, Options{})
	for name, c := range map[string]struct {
		step        Step
		status      int
		retryAfter  string
		contentType string
		body        string // a part of it
	}{
		"rate limit":        {RateLimit(3 * time.Second), 429, "3", "application/json", `"code":"rate_limit_exceeded"`},
		"without header":    {RateLimit(0), 429, "", "application/json", `"type":"requests"`},
		"quota":             {NoQuota(), 429, "", "application/json", `"code":"insufficient_quota"`},
		"broken":            {Status(500, ""), 500, "", "application/json", `"message":"Internal Server Error","type":"server_error","param":null,"code":null`},
		"unavailable":       {Status(503, "", "Retry-After", "7"), 503, "7", "application/json", `"type":"server_error"`},
		"overloaded":        {Status(StatusOverloaded, ""), 529, "", "application/json", `"code":"overloaded"`},
		"key":               {Status(401, ""), 401, "", "application/json", `"code":"invalid_api_key"`},
		"gateway":           {BadGateway(), 502, "", "text/html; charset=utf-8", "<h1>502"},
		"own text":          {Status(418, "short and stout"), 418, "", "text/plain; charset=utf-8", "short"},
		"in place of event": {After(0, Status(500, `{"error":null}`)), 500, "", "application/json", `{"error":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ask := range []string{ask, askStream} {
				s.Queue(Script{c.step, Text("never")})
				resp, body, err := s.say(t, ask)
				if err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != c.status || resp.Header.Get("Retry-After") != c.retryAfter || resp.Header.Get("Content-Type") != c.contentType || !strings.Contains(body, c.body) || strings.Contains(body, "never") {
					t.Errorf("%s %v %s", resp.Status, resp.Header, body)
				}
			}
		})
	}
	if rejected := s.Rejected(); len(rejected) > 0 {
		t.Errorf("a fault is no rejection: %v", rejected)
	}
}

// TestAfter covers LM-02: a fault at every event index.
func TestAfter(t *testing.T) {
	faults := map[string]Step{"cut": Cut(), "error": ErrorEvent("overloaded", "later"), "status": Status(500, "")}
	answer := Text("one two three", ByWord)
	const all = 5 // role, three words, finish
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			real := onLoopback(t, Options{})
			for k := range all + 2 {
				inBubble(t, Options{}, func(t *testing.T, s site) { disturbed(t, s, Script{After(k, fault), answer}, name, k, all) })
				disturbed(t, real, Script{After(k, fault), answer}, name, k, all)
			}
		})
	}
}

func disturbed(t *testing.T, s site, script Script, fault string, k, all int) {
	t.Helper()
	s.Queue(script)
	_, body, err := s.say(t, askStream)
	got, _ := events(body)
	whole := k > all
	switch {
	case whole:
		if err != nil || len(got) != all+1 || got[all] != "[DONE]" {
			t.Errorf("undisturbed: %q, %v", got, err)
		}
	case fault == "error":
		if err != nil || len(got) != k+2 || !strings.HasPrefix(got[k], `{"error":`) || got[k+1] != "[DONE]" {
			t.Errorf("error after %d: %q, %v", k, got, err)
		}
	case fault == "status" && k == 0:
		if err != nil || !strings.HasPrefix(body, `{"error":`) {
			t.Errorf("status at once: %q, %v", body, err)
		}
	default:
		if err == nil || len(got) != k {
			t.Errorf("cut after %d: %q, %v", k, got, err)
		}
	}
}

// TestStall covers LM-03: the three silences, and that the server knows when the client has had enough.
func TestStall(t *testing.T) {
	for name, c := range map[string]struct {
		script   Script
		headers  bool
		data     int
		comments int
	}{
		"no answer at all": {Script{Stall()}, false, 0, 0},
		"role only":        {Script{Open(), Stall()}, true, 1, 0},
		"comments only":    {Script{Comments(15 * time.Second)}, true, 0, 7},
		"after some text":  {Script{Text("one two", ByWord), Stall()}, true, 3, 0},
		"late fault":       {Script{After(2, Stall()), Text("one two", ByWord)}, true, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, s site) {
				s.Queue(c.script)
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
				defer cancel()
				start := time.Now()
				resp, err := s.post(ctx, t, askStream)
				if c.headers != (err == nil) {
					t.Fatalf("headers: %v", err)
				}
				var body []byte
				if err == nil {
					body, err = io.ReadAll(resp.Body)
				}
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 100*time.Second {
					t.Errorf("%v after %v", err, time.Since(start))
				}
				data, comments := events(string(body))
				if len(data) != c.data || comments != c.comments {
					t.Errorf("%d events and %d comments: %s", len(data), comments, body)
				}
				time.Sleep(time.Second)
				r := s.Requests()[0]
				if r.Cancelled.Sub(start) != 100*time.Second || r.Ended != r.Cancelled || r.Events != c.data {
					t.Errorf("the server saw %+v", r)
				}
			})
		})
	}
}

// TestCancelledIsCharged covers LM-12: an answer that is broken off costs what was generated.
func TestCancelledIsCharged(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, s site) {
		s.Queue(Script{Pace(time.Second), Text(strings.Repeat("word ", 100), ByWord), ReportUsage(1000, 1000)})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		resp, err := s.post(ctx, t, askStream)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		time.Sleep(time.Second)
		if got := s.Requests()[0].Usage; got != (Usage{Prompt: 2, Completion: 13}) {
			t.Errorf("charged %+v for 10 words of 5 runes", got)
		}
	})
}

func TestCutOfAWholeAnswer(t *testing.T) {
	s := onLoopback(t, Options{})
	s.Queue(Script{Text("one"), Cut()})
	if _, body, err := s.say(t, ask); err == nil {
		t.Errorf("answers %q", body)
	}
	if r := s.Requests()[0]; !r.Cancelled.IsZero() {
		t.Error("the client is blamed")
	}
}

func TestScriptsAreReusable(t *testing.T) {
	script := Script{After(1, ErrorEvent("overloaded", "later")), ToolCall("a", "b", "{}")}
	s := onLoopback(t, Options{})
	s.Queue(script, script)
	var bodies []string
	for range 2 {
		_, body, _ := s.say(t, askStream)
		data, _ := events(body)
		bodies = append(bodies, strings.Join(slices.Delete(data, 0, 1), "\n"))
	}
	if bodies[0] != bodies[1] {
		t.Errorf("first %s, then %s", bodies[0], bodies[1])
	}
}
