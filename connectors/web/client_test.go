package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

const (
	openaiForm = `{"model":"agent","messages":[{"role":"user","content":"hi"}]}`
	aisdkForm  = `{"id":"c","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"hi"}]}]}`
	aguiForm   = `{"threadId":"t","runId":"r","state":{},"messages":[{"id":"1","role":"user","content":"hi"}],"tools":[],"context":[],"forwardedProps":{}}`
	deepForm   = `{"messages":[{"role":"user","text":"hi"}]}`
)

// Each client reads errors in its own form: a sentence, and a status that fits.
func TestErrorsOfClients(t *testing.T) {
	long := strings.Repeat("x", maxText+1)
	for name, c := range map[string]struct {
		method, path, kind, body string
		want                     int
	}{
		"no address":           {"GET", "/v1/nothing", "", "", 404},
		"an unknown model":     {"GET", "/v1/models/gpt", "", "", 404},
		"completions, GET":     {"GET", "/v1/chat/completions", "", "", 405},
		"no JSON":              {"POST", "/v1/chat/completions", "application/json", "{", 400},
		"an array":             {"POST", "/v1/responses", "application/json", "[]", 400},
		"no type":              {"POST", "/v1/chat/completions", "", openaiForm, 415},
		"no messages":          {"POST", "/v1/chat/completions", "application/json", "{}", 400},
		"tools":                {"POST", "/v1/chat/completions", "application/json", `{"messages":[{"role":"user","content":"x"}],"tools":[{}]}`, 400},
		"two answers":          {"POST", "/v1/chat/completions", "application/json", `{"messages":[{"role":"user","content":"x"}],"n":2}`, 400},
		"too long":             {"POST", "/v1/chat/completions", "application/json", `{"messages":[{"role":"user","content":"` + long + `"}]}`, 413},
		"a response too long":  {"POST", "/v1/responses", "application/json", `{"input":"` + long + `"}`, 413},
		"no chat":              {"POST", "/api/chat", "application/json", `{"messages":[]}`, 400},
		"a chat too long":      {"POST", "/api/chat", "application/json", strings.Replace(aisdkForm, "hi", long, 1), 413},
		"a remote file":        {"POST", "/api/chat", "application/json", strings.Replace(aisdkForm, `"type":"text","text":"hi"`, `"type":"file","url":"https://a/b"`, 1), 400},
		"an unknown question":  {"POST", "/api/chat", "application/json", `{"id":"c","messages":[{"id":"a","role":"assistant","parts":[{"type":"dynamic-tool","state":"approval-responded","approval":{"id":"x","approved":true}}]}]}`, 409},
		"no thread":            {"POST", "/agui", "application/json", "{}", 400},
		"nothing to answer":    {"POST", "/agui", "application/json", `{"threadId":"t","runId":"r","messages":[]}`, 400},
		"an unknown interrupt": {"POST", "/agui", "application/json", `{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"x","status":"resolved"}]}`, 409},
		"another option":       {"POST", "/agui", "application/json", `{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"q","status":"resolved","payload":"Perhaps"}]}`, 400},
		"an empty bubble":      {"POST", "/deepchat", "application/json", `{"messages":[{"role":"user","text":" "}]}`, 400},
		"a broken form":        {"POST", "/deepchat", "multipart/form-data; boundary=x", "--x", 400},
		"a cut form":           {"POST", "/deepchat", "multipart/form-data; boundary=x", "--x\r\nContent-Disp", 400},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, nil, ignored, func(client *http.Client, _ *answer.Answer) {
				r := require.Value(http.NewRequest(c.method, "http://127.0.0.1:8080"+c.path, strings.NewReader(c.body)))(t)
				r.Header.Set("Content-Type", c.kind)
				r.Header.Set("Authorization", "Bearer any")
				if !strings.HasPrefix(c.path, "/v1/") {
					r.Header.Del("Authorization")
				}
				resp := require.Value(client.Do(r))(t)
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != c.want {
					t.Fatalf("%d %s, %v, want %d", resp.StatusCode, body, err, c.want)
				}
				if sentence := sentenceOf(t, c.path, body); strings.Contains(sentence, "MIME") || !strings.HasSuffix(strings.TrimSpace(sentence), ".") || len(sentence) < 8 {
					t.Errorf("the sentence is %q in %s", sentence, body)
				}
			})
		})
	}
}

// sentenceOf reads an error as the client of a path does.
func sentenceOf(t *testing.T, path string, body []byte) string {
	t.Helper()
	var of struct {
		Error struct{ Message, Type, Code string }
	}
	var own struct{ Error string }
	switch {
	case strings.HasPrefix(path, "/v1/"):
		if err := json.Unmarshal(body, &of); err != nil || of.Error.Type == "" || of.Error.Code == "" {
			t.Fatalf("%s, %v", body, err)
		}
		return of.Error.Message
	case strings.HasPrefix(path, "/api/chat"):
		return string(body)
	}
	if err := json.Unmarshal(body, &own); err != nil {
		t.Fatalf("%s, %v", body, err)
	}
	return own.Error
}

// The first byte of a stream comes at once, because proxies hold the header back until then. A stream that ends too early is no whole answer in
// any format.
func TestStreamsOfClients(t *testing.T) {
	for name, c := range map[string]struct{ path, body, first, cut string }{
		"chat completions": {"/v1/chat/completions", strings.Replace(openaiForm, "{", `{"stream":true,`, 1), `"role":"assistant"`, `"error":{"message":"The gateway is restarting.`},
		"responses":        {"/v1/responses", `{"input":"hi","stream":true}`, "response.created", "response.failed"},
		"AI SDK":           {"/api/chat", aisdkForm, `"type":"start"`, ""},
		"AG-UI":            {"/agui", aguiForm, "RUN_STARTED", "RUN_ERROR"},
		"deep-chat":        {"/deepchat", deepForm, ": open", `{"error":`},
	} {
		t.Run(name, func(t *testing.T) {
			serveUntil(t, nil, accept, func(client *http.Client, a *answer.Answer, stop func()) {
				r := require.Value(http.NewRequest(http.MethodPost, "http://127.0.0.1:8080"+c.path, strings.NewReader(c.body)))(t)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "text/event-stream")
				resp := require.Value(client.Do(r))(t)
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
					t.Fatalf("%s %v", resp.Status, resp.Header)
				}
				buf := make([]byte, 4096)
				n, err := resp.Body.Read(buf)
				synctest.Wait()
				if err == nil && !strings.Contains(string(buf[:n]), c.first) {
					var more int
					more, err = resp.Body.Read(buf[n:])
					n += more
				}
				if err != nil || !strings.HasPrefix(string(buf[:n]), ": open\n\n") || !strings.Contains(string(buf[:n]), c.first) {
					t.Fatalf("it begins with %q, %v", buf[:n], err)
				}
				a.Apply(answer.Change{Kind: answer.Text, Text: "One "})
				time.Sleep(beat + time.Second)
				synctest.Wait()
				stop()
				rest, err := io.ReadAll(resp.Body)
				if !strings.Contains(string(rest), ": alive\n\n") {
					t.Errorf("a quiet stream has no sign of life: %q", rest)
				}
				if c.cut == "" && err == nil || c.cut != "" && !strings.Contains(string(rest), c.cut) {
					t.Errorf("it ends with %q, %v", rest, err)
				}
			})
		})
	}
}

// A failed answer is an error with its sentence, which the SDK does not repeat by itself.
func TestFailedAnswerOfClients(t *testing.T) {
	serve(t, nil, accept, func(client *http.Client, a *answer.Answer) {
		a.Apply(answer.Change{Kind: answer.Text, Text: "The credit is used up."})
		a.End(answer.Outcome{Status: answer.Failed, Failure: llm.InsufficientCredits})
		for path, body := range map[string]string{"/v1/chat/completions": openaiForm, "/v1/responses": `{"input":"hi"}`} {
			resp, said := post(t, client, path, body)
			if resp.StatusCode != http.StatusBadGateway || resp.Header.Get("X-Should-Retry") != "false" || sentenceOf(t, path, []byte(said)) != "The credit is used up." {
				t.Errorf("%s: %s %s", path, resp.Status, said)
			}
		}
		for path, body := range map[string]string{"/api/chat": aisdkForm, "/agui": aguiForm, "/deepchat": deepForm} {
			if _, said := post(t, client, path, body); !strings.Contains(said, "The credit is used up.") {
				t.Errorf("%s: %s", path, said)
			}
		}
	})
}

// A store that is away is no answer, and the client may try again.
func TestBrokenStoreOfClients(t *testing.T) {
	edit := func(o *Options) { o.Store = rooms{broken: errors.New("away"), Uploads: keptUploads()} }
	serve(t, edit, func(chat.Inbound) (chat.Accepted, error) { return chat.Accepted{}, errors.New("away") }, func(client *http.Client, _ *answer.Answer) {
		for path, body := range map[string]string{"/v1/chat/completions": openaiForm, "/api/chat": aisdkForm, "/agui": aguiForm, "/deepchat": deepForm} {
			resp, said := post(t, client, path, body)
			if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || strings.Contains(said, "away") {
				t.Errorf("%s: %s %s", path, resp.Status, said)
			}
		}
	})
}
