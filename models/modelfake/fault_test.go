package modelfake_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/require"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

// TestStatus covers LM-01: what comes instead of a stream.
func TestStatus(t *testing.T) {
	s := onLoopback(t, modelfake.Options{})
	for name, c := range map[string]struct {
		step        modelfake.Step
		status      int
		retryAfter  string
		contentType string
		body        string // a part of it
	}{
		"rate limit":        {modelfake.RateLimit(3 * time.Second), 429, "3", "application/json", `"code":"rate_limit_exceeded"`},
		"without header":    {modelfake.RateLimit(0), 429, "", "application/json", `"type":"requests"`},
		"quota":             {modelfake.NoQuota(), 429, "", "application/json", `"code":"insufficient_quota"`},
		"broken":            {modelfake.Status(500, ""), 500, "", "application/json", `"message":"Internal Server Error","type":"server_error","param":null,"code":null`},
		"unavailable":       {modelfake.Status(503, "", "Retry-After", "7"), 503, "7", "application/json", `"type":"server_error"`},
		"overloaded":        {modelfake.Status(modelfake.StatusOverloaded, ""), 529, "", "application/json", `"code":"overloaded"`},
		"key":               {modelfake.Status(401, ""), 401, "", "application/json", `"code":"invalid_api_key"`},
		"gateway":           {modelfake.BadGateway(), 502, "", "text/html; charset=utf-8", "<h1>502"},
		"own text":          {modelfake.Status(418, "short and stout"), 418, "", "text/plain; charset=utf-8", "short"},
		"in place of event": {modelfake.After(0, modelfake.Status(500, `{"error":null}`)), 500, "", "application/json", `{"error":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ask := range []string{ask, askStream} {
				s.Queue(modelfake.Script{c.step, modelfake.Text("never")})
				resp, body, err := s.say(t, ask)
				require.NoError(t, err)
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
	faults := map[string]modelfake.Step{"cut": modelfake.Cut(), "error": modelfake.ErrorEvent("overloaded", "later"), "status": modelfake.Status(500, "")}
	answer := modelfake.Text("one two three", modelfake.ByWord)
	const all = 5 // role, three words, finish
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			real := onLoopback(t, modelfake.Options{})
			for k := range all + 2 {
				inBubble(t, modelfake.Options{}, func(t *testing.T, s endpoint) {
					disturbed(t, s, modelfake.Script{modelfake.After(k, fault), answer}, name, k, all)
				})
				disturbed(t, real, modelfake.Script{modelfake.After(k, fault), answer}, name, k, all)
			}
		})
	}
}

func disturbed(t *testing.T, s endpoint, script modelfake.Script, fault string, k, all int) {
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
		script   modelfake.Script
		headers  bool
		data     int
		comments int
	}{
		"no answer at all": {modelfake.Script{modelfake.Stall()}, false, 0, 0},
		"role only":        {modelfake.Script{modelfake.Open(), modelfake.Stall()}, true, 1, 0},
		"comments only":    {modelfake.Script{modelfake.Comments(15 * time.Second)}, true, 0, 7},
		"after some text":  {modelfake.Script{modelfake.Text("one two", modelfake.ByWord), modelfake.Stall()}, true, 3, 0},
		"late fault":       {modelfake.Script{modelfake.After(2, modelfake.Stall()), modelfake.Text("one two", modelfake.ByWord)}, true, 2, 0},
	} {
		t.Run(name, subtest.With(inBubble, modelfake.Options{}, func(t *testing.T, s endpoint) {
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
				t.Errorf("%d events and %d comments: %s; want %d and %d", len(data), comments, body, c.data, c.comments)
			}
			time.Sleep(time.Second)
			r := s.Requests()[0]
			if r.Cancelled.Sub(start) != 100*time.Second || r.Ended != r.Cancelled || r.Events != c.data {
				t.Errorf("the server saw %+v", r)
			}
		}))
	}
}

// TestCancelledIsCharged covers LM-12: an answer that is broken off costs what was generated.
func TestCancelledIsCharged(t *testing.T) {
	inBubble(t, modelfake.Options{}, func(t *testing.T, s endpoint) {
		s.Queue(modelfake.Script{modelfake.Pace(time.Second), modelfake.Text(strings.Repeat("word ", 100), modelfake.ByWord), modelfake.ReportUsage(1000, 1000)})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		resp := require.Value(s.post(ctx, t, askStream))(t)
		io.Copy(io.Discard, resp.Body)
		time.Sleep(time.Second)
		if got := s.Requests()[0].Usage; got != (modelfake.Usage{Prompt: 2, Completion: 13}) {
			t.Errorf("charged %+v for 10 words of 5 runes", got)
		}
	})
}

func TestCutOfAWholeAnswer(t *testing.T) {
	s := onLoopback(t, modelfake.Options{})
	s.Queue(modelfake.Script{modelfake.Text("one"), modelfake.Cut()})
	if _, body, err := s.say(t, ask); err == nil {
		t.Errorf("answers %q", body)
	}
	if r := s.Requests()[0]; !r.Cancelled.IsZero() {
		t.Error("the request counts as cancelled by the client; want the fault of the server")
	}
}

func TestScriptsAreReusable(t *testing.T) {
	script := modelfake.Script{modelfake.After(1, modelfake.ErrorEvent("overloaded", "later")), modelfake.ToolCall("a", "b", "{}")}
	s := onLoopback(t, modelfake.Options{})
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
