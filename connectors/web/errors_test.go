package web

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/require"
)

// Every error of the API is JSON with a sentence, as docs/web-api.md says.
func TestErrorsAreJSON(t *testing.T) {
	const choices = "/api/conversations/c/choices/stream"
	serve(t, nil, ignored, func(client *http.Client, _ *answer.Answer) {
		for name, c := range map[string]struct {
			method, path, kind, body string
			want                     int
			allow                    string
		}{
			"no address":           {"GET", "/api/nothing", "", "", 404, ""},
			"no page":              {"GET", "/nothing", "", "", 404, ""},
			"a page with POST":     {"POST", "/widget.js", "", "", 405, "GET, HEAD"},
			"the description":      {"POST", openapiPath, "application/json", "{}", 405, "GET, HEAD"},
			"messages with GET":    {"GET", streamPath, "", "", 405, "POST"},
			"a history with POST":  {"POST", historyPath, "application/json", "{}", 405, "GET, HEAD"},
			"a history with PUT":   {"PUT", historyPath, "application/json", "{}", 405, "GET, HEAD"},
			"a stop with DELETE":   {"DELETE", "/api/conversations/c/stop", "", "", 405, "POST"},
			"a conversation, GET":  {"GET", "/api/conversations/c", "", "", 405, "DELETE, PATCH"},
			"an empty choice":      {"POST", choices, "application/json", "{}", 400, ""},
			"a choice of nothing":  {"POST", choices, "application/json", `{"id":"q"}`, 400, ""},
			"an option of nothing": {"POST", choices, "application/json", `{"option":0}`, 400, ""},
			"an option null":       {"POST", choices, "application/json", `{"id":"q","option":null}`, 400, ""},
			"a choice":             {"POST", choices, "application/json", `{"id":"q","option":0}`, 200, ""},
			"no type":              {"POST", streamPath, "", `{"text":"a"}`, 415, ""},
			"a form":               {"POST", streamPath, "text/plain", `{"text":"a"}`, 415, ""},
			"a choice as text":     {"POST", choices, "text/plain", `{"id":"q","option":0}`, 415, ""},
			"a charset":            {"POST", streamPath, "application/json; charset=utf-8", `{"text":"a"}`, 200, ""},
			"garbage below":        {"POST", streamPath, "application/json", `{"text":"a"} x`, 400, ""},
			"two objects":          {"POST", streamPath, "application/json", `{"text":"a"}{}`, 400, ""},
			"a key with a space":   {"POST", streamPath, "application/json", `{"text":"a","clientMessageId":"a b"}`, 400, ""},
			"no such part":         {"GET", filePath, "range", "", 416, ""},
		} {
			r := require.Value(http.NewRequest(c.method, "http://127.0.0.1:8080"+c.path, strings.NewReader(c.body)))(t)
			if c.kind == "range" {
				r.Header.Set("Range", "bytes=1000-")
			} else if c.kind != "" {
				r.Header.Set("Content-Type", c.kind)
			}
			resp := require.Value(client.Do(r))(t)
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != c.want || resp.Header.Get("Allow") != c.allow || err != nil {
				t.Errorf("%s: %d %s, allowed %q, %v", name, resp.StatusCode, body, resp.Header.Get("Allow"), err)
			}
			var said struct{ Error string }
			if c.want >= 400 && (json.Unmarshal(body, &said) != nil || said.Error == "" || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json")) {
				t.Errorf("%s: %q as %q", name, body, resp.Header.Get("Content-Type"))
			}
		}
	})
}

// A client that sends all of its body before it reads the reply gets the reply, also to a body that is far too large.
func TestRefusedBodyIsAnswered(t *testing.T) {
	host := strings.TrimPrefix(loopback(t, nil, nil), "http://")
	for name, c := range map[string]struct {
		path, body string
		want       int
	}{
		"30 MB":           {streamPath, `{"text":"` + strings.Repeat("x", 30_000_000) + `"}`, http.StatusRequestEntityTooLarge},
		"many images":     {streamPath, `{"images":[` + strings.Repeat("{},", 5<<20) + `{}]}`, http.StatusBadRequest},
		"a large choice":  {"/api/conversations/c/choices/stream", strings.Repeat(" ", 10<<20), http.StatusRequestEntityTooLarge},
		"30 MB in chunks": {streamPath, "", http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			conn := require.Value(net.Dial("tcp", host))(t)
			defer conn.Close()
			how, body := fmt.Sprint("Content-Length: ", len(c.body)), c.body
			if body == "" {
				chunk := strings.Repeat(" ", 1<<20)
				how, body = "Transfer-Encoding: chunked", strings.Repeat(fmt.Sprintf("%x\r\n%s\r\n", len(chunk), chunk), 30)+"0\r\n\r\n"
			}
			if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s\r\n\r\n%s", c.path, host, how, body); err != nil {
				t.Fatal(err)
			}
			resp := require.Value(http.ReadResponse(bufio.NewReader(conn), nil))(t)
			said, err := io.ReadAll(resp.Body)
			if resp.StatusCode != c.want || !strings.Contains(string(said), `"error":`) || err != nil {
				t.Errorf("%d %s, %v", resp.StatusCode, said, err)
			}
		})
	}
}

// docs/web-api.md names every kind of failure that an answer can have.
func TestFailureKindsAreDocumented(t *testing.T) {
	doc := require.Value(os.ReadFile("../../docs/web-api.md"))(t)
	for _, kind := range []llm.FailureKind{llm.InsufficientCredits, llm.NoProvider, llm.NoModel, llm.WrongAddress, llm.WrongCertificate, llm.LocalInference, llm.RateLimited,
		llm.GenerationTimeout, llm.ProviderIssue, llm.PromptTooLong, llm.ConversationTooLong, llm.SetAside} {
		if !strings.Contains(string(doc), "`"+string(kind)+"`") {
			t.Errorf("%s is not there", kind)
		}
	}
}
