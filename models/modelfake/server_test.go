package modelfake_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/require"
	"parley/models/modelfake"
)

func TestModelsAndKey(t *testing.T) {
	s := onLoopback(t, modelfake.Options{Key: "sk-test", Models: []string{"small", "large"}})
	for key, want := range map[string]string{"": "401 Unauthorized", "Bearer sk-other": "401 Unauthorized", "Bearer sk-test": "200 OK"} {
		for _, path := range []string{"GET /v1/models", "POST /v1/chat/completions"} {
			method, path, _ := strings.Cut(path, " ")
			req, _ := http.NewRequest(method, s.base+path, strings.NewReader(strings.Replace(ask, `"m"`, `"small"`, 1)))
			req.Header.Set("Authorization", key)
			resp := require.Value(s.client.Do(req))(t)
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.Status != want || (resp.StatusCode == 401) != strings.Contains(string(body), `"code":"invalid_api_key"`) {
				t.Errorf("%s %s with %q: %s %s", method, path, key, resp.Status, body)
			}
			if method == http.MethodGet && resp.StatusCode == 200 && !strings.Contains(string(body), `{"object":"list","data":[{"id":"small","object":"model","created":1710000000,"owned_by":"modelfake"},{"id":"large"`) {
				t.Errorf("models: %s", body)
			}
		}
	}
	if rejected := s.Rejected(); len(rejected) != 2 || rejected[0].Status != 401 {
		t.Errorf("rejected %+v", rejected)
	}
}

func TestUnknownModelAndPath(t *testing.T) {
	s := onLoopback(t, modelfake.Options{Models: []string{"small"}})
	if resp, body, _ := s.say(t, ask); resp.StatusCode != 404 || !strings.Contains(body, `"code":"model_not_found"`) {
		t.Errorf("%s %s", resp.Status, body)
	}
	resp := require.Value(s.client.Get(s.base + "/v1/responses"))(t)
	defer resp.Body.Close()
	var body struct {
		Error struct{ Message, Type string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || resp.StatusCode != 404 || body.Error.Type != "invalid_request_error" {
		t.Errorf("%s %+v %v", resp.Status, body, err)
	}
}

func TestQueueThenChooseThenLog(t *testing.T) {
	s := onLoopback(t, modelfake.Options{Choose: func(r modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Text(r.System() + "|" + r.LastUser() + "|" + r.Last().Role)}
	}})
	s.Queue(modelfake.Script{modelfake.Text("first")}, modelfake.Script{modelfake.Text("second")})
	const rich = `{"model":"m","messages":[{"role":"system","content":"be brief"},
		{"role":"user","content":[{"type":"text","text":"see "},{"type":"image_url","image_url":{"url":"https://pic.test/1"}},{"type":"text","text":"this"}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"a","content":"a cat"}],
		"tools":[{"type":"function","function":{"name":"look","description":"sees","parameters":{"type":"object","properties":{}}}}]}`
	for i, want := range []string{`"first"`, `"second"`, `"be brief|see this|tool"`} {
		if _, body, err := s.say(t, rich); err != nil || !strings.Contains(body, `"content":`+want) {
			t.Errorf("answer %d: %s, %v", i, body, err)
		}
	}
	all := s.Requests()
	last := all[len(all)-1]
	if len(all) != 3 || last.Number != 3 || last.Status != 200 || last.Model != "m" || last.Tools[0].Function.Name != "look" ||
		last.Messages[1].Parts[1].ImageURL.URL != "https://pic.test/1" || last.Messages[2].ToolCalls[0] != (modelfake.Call{"a", "look", "{}"}) ||
		last.Messages[3].ToolCallID != "a" || last.Ended.Before(last.At) || !last.Cancelled.IsZero() {
		t.Errorf("log: %+v", last)
	}
}

// TestServeStops shows that stop ends what is under way, and that a bubble is left empty (a goroutine left would fail it).
func TestServeStops(t *testing.T) {
	inBubble(t, modelfake.Options{Choose: func(modelfake.Request) modelfake.Script { return modelfake.Script{modelfake.Open(), modelfake.Stall()} }}, func(t *testing.T, s endpoint) {
		var clients sync.WaitGroup
		for range 3 {
			resp := require.Value(s.post(t.Context(), t, askStream))(t)
			clients.Go(func() {
				if _, err := io.ReadAll(resp.Body); err == nil {
					t.Error("the answer looks whole")
				}
			})
		}
		time.Sleep(time.Minute)
		for _, r := range s.Requests() {
			if !r.Ended.IsZero() {
				t.Errorf("request %d has ended", r.Number)
			}
		}
		s.stop()
		for _, r := range s.Requests() {
			if r.Cancelled.IsZero() {
				t.Errorf("request %d goes on", r.Number)
			}
		}
		clients.Wait()
	})
}
