package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"parley/core/chat"
	"parley/internal/require"
)

// description is the served openapi.json.
type description struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]*jsonschema.Schema }
}

type operation struct {
	Summary     string
	Parameters  []struct{ Name, In string }
	RequestBody *struct{ Content map[string]media }
	Responses   map[string]struct{ Content map[string]media }
}

type media struct {
	Schema struct {
		Ref   string `json:"$ref"`
		Items struct {
			Ref string `json:"$ref"`
		} // of an array
	}
}

func described(t testing.TB, h http.Handler) (d description) {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "https://shop.example"+openapiPath, http.NoBody))
	if rec.Code != http.StatusOK || json.Unmarshal(rec.Body.Bytes(), &d) != nil || !strings.HasPrefix(d.OpenAPI, "3.1") {
		t.Fatalf("%d %.200s", rec.Code, rec.Body)
	}
	if _, unnamed := d.Components.Schemas[""]; unnamed {
		t.Error("a schema has no name")
	}
	return d
}

// schema returns the schema behind a body, or nil.
func (d description) schema(m map[string]media) *jsonschema.Schema {
	for _, is := range m {
		if name, ok := strings.CutPrefix(cmp.Or(is.Schema.Ref, is.Schema.Items.Ref), "#/components/schemas/"); ok {
			return d.Components.Schemas[name]
		}
	}
	return nil
}

// members collects the names of the members of a schema, at all depths.
func members(s *jsonschema.Schema, into map[string]bool) {
	if s == nil {
		return
	}
	for name, p := range s.Properties {
		into[name] = true
		members(p, into)
	}
	members(s.Items, into)
}

// The guide names each route of the description, and each name in its examples is one of the route's bodies.
func TestGuideMatchesDescription(t *testing.T) {
	s := newSite(t, nil)
	d := described(t, s.api)
	guide := require.Value(os.ReadFile("../../docs/web-api.md"))(t)
	others := require.Value(os.ReadFile("../../docs/clients.md"))(t)
	text := strings.ReplaceAll(string(guide), "…/", "/api/conversations/{id}/")
	inGuide := map[string]bool{}
	alternatives := map[string]reflect.Type{ // replies that can be JSON, by the summaries of their routes
		"Returns a shared copy, as text or JSON":       reflect.TypeFor[sharedConversation](),
		"Exports the conversation as Markdown or JSON": reflect.TypeFor[exported](),
	}
	rows := 0
	for row := range strings.SplitSeq(text, "\n") {
		var ops []operation
		for _, found := range regexp.MustCompile("`(GET|POST|PUT|PATCH|DELETE) (/[^` ?]*)[^`]*`").FindAllStringSubmatch(row, -1) {
			path := strings.NewReplacer("web/user/ada", "{reader}").Replace(found[2])
			op, ok := d.Paths[path][strings.ToLower(found[1])]
			if !ok && path != openapiPath {
				t.Errorf("the guide names %s %s, which is no route", found[1], path)
			}
			inGuide[strings.ToLower(found[1])+" "+path] = true
			ops = append(ops, op)
		}
		if !strings.HasPrefix(row, "| `") || len(ops) == 0 {
			continue
		}
		known := map[string]bool{}
		for _, op := range ops[:1] {
			if op.RequestBody != nil {
				members(d.schema(op.RequestBody.Content), known)
			}
			for _, r := range op.Responses {
				members(d.schema(r.Content), known)
			}
			if alternative := alternatives[op.Summary]; alternative != nil {
				is := require.Value(jsonschema.ForType(alternative, nil))(t)
				members(is, known)
			}
		}
		for _, example := range regexp.MustCompile("`(\\{\"[^`]*)`").FindAllStringSubmatch(row, -1) {
			for _, name := range regexp.MustCompile(`[{,] ?"(\w+)"`).FindAllStringSubmatch(example[1], -1) {
				if rows++; !known[name[1]] {
					t.Errorf("%q is no member of the bodies in this row: %s", name[1], row)
				}
			}
		}
	}
	if rows < 50 {
		t.Errorf("only %d names were checked", rows)
	}
	for path, ops := range d.Paths {
		for method := range ops {
			own := strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/api/chat") || path == "/healthz" || path == "/readyz"
			if own && !inGuide[method+" "+path] && !(path == "/api/login" && method != "post") {
				t.Errorf("the guide lacks %s %s", method, path)
			}
			if !own && !strings.Contains(string(others), strings.Split(path, "{")[0]) {
				t.Errorf("docs/clients.md lacks %s", path)
			}
		}
	}
}

// The examples of bodies in the guide are valid.
func TestExamplesAreValid(t *testing.T) {
	d := described(t, newSite(t, nil).api)
	guide := require.Value(os.ReadFile("../../docs/web-api.md"))(t)
	seen := 0
	for _, line := range regexp.MustCompile(`(?m)^    (\{.*\})$`).FindAllStringSubmatch(string(guide), -1) {
		var body map[string]any
		if err := json.Unmarshal([]byte(line[1]), &body); err != nil {
			t.Errorf("%s: %v", line[1], err)
			continue
		}
		name := "question"
		if event, ok := body["event"].(map[string]any); ok {
			name, body = "frame", event
		} else if of, ok := body["body"].(map[string]any); ok {
			name, body = "failure", of
		} else if body["status"] != nil {
			continue
		}
		seen++
		resolved := require.Value(d.Components.Schemas[name].Resolve(nil))(t)
		if err := resolved.Validate(body); err != nil {
			t.Errorf("%s is no %s: %v", line[1], name, err)
		}
	}
	if seen < 3 {
		t.Errorf("only %d examples were checked", seen)
	}
}

// odd are values that a member or a part of a path can have.
var odd = []any{
	nil, true, -1, 1e300, "", "x", " ", ".", "..", "a/b", "a\x00b", "\r\n", "\u202e", strings.Repeat("é", 5000), []any{}, map[string]any{}, []any{[]any{1}}, "2030-01-01T00:00:00Z",
}

// broken returns a request for an operation that is wrong in one or more ways.
func broken(rnd *rand.Rand, d description, method, path string, op operation, conversation string) *http.Request {
	pick := func(all ...string) string { return all[rnd.IntN(len(all))] }
	oddText := func() string { return fmt.Sprint(odd[rnd.IntN(len(odd))]) }
	address := regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(path, func(name string) string {
		if name == "{id}" && rnd.IntN(3) > 0 {
			return conversation
		}
		return escape(pick("0", "x", "web/user/ada", "f", oddText()))
	})
	query := []string{}
	for _, p := range op.Parameters {
		if p.In == "query" && rnd.IntN(2) == 0 {
			query = append(query, p.Name+"="+escape(oddText()))
		}
	}
	body := map[string]any{}
	if op.RequestBody != nil {
		for _, name := range slices.Sorted(maps.Keys(d.schema(op.RequestBody.Content).Properties)) {
			if rnd.IntN(3) > 0 {
				body[name] = odd[rnd.IntN(len(odd))]
			}
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	switch rnd.IntN(8) {
	case 0:
		text = text[:rnd.IntN(len(text))]
	case 1:
		text = []byte(pick("", "null", "[]", "hello", "{", `{"text":"a"} {}`, strings.Repeat("[", 100), `{"text":"`+strings.Repeat("a", 1<<20)+`"}`, "\xff\xfe", `{"a":1e999}`))
	}
	r := httptest.NewRequest(method, "https://shop.example/", bytes.NewReader(text))
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = unescape(address), address, strings.Join(query, "&")
	r.RemoteAddr = fmt.Sprintf("198.51.100.%d:4000", rnd.IntN(250))
	r.Header.Set("Content-Type", pick("application/json", "application/json", "application/json", "text/plain", "multipart/form-data; boundary=x", "", "a/b/c"))
	headers := map[string][]string{
		"Authorization": {"", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "Bearer x", "Bearer", "Basic eA==", "Bearer parley_X", "Bearer visitor_X", "Bearer a.b.c"},
		"Origin":        {"", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "https://shop.example", "https://shop.example", "https://shop.example", "https://evil.example", "null", "::"},
		"Accept":        {"", "text/event-stream", "application/json", "%"}, "Range": {"", "bytes=5-2", "bytes=a", "bytes=0-0,2-3"},
		"Idempotency-Key": {"", "a b", strings.Repeat("k", 200)}, "Cookie": {"", "parley_visitor=x; parley_owner=y; parley_deepchat=z"},
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if v := pick(headers[name]...); v != "" {
			r.Header.Set(name, v)
		}
	}
	return r
}

func escape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func unescape(s string) string {
	out, err := http.NewRequest(http.MethodGet, "http://x"+s, http.NoBody)
	if err != nil {
		panic(err)
	}
	return out.URL.Path
}

// Bad input of every route has one of the documented statuses, with a sentence and a code, and is never an internal error. No request
// hangs. The requests are other ones each time; PARLEY_FUZZ_SEED repeats them.
func TestBadInput(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		want   []int
	}{
		"without limits": {want: []int{200, 201, 400, 401, 403, 404, 405, 415}},
		"with limits":    {Limits{MessagesPerMinute: 2, ConversationsPerHour: 2, OpenRequests: 2}, []int{200, 400, 404, 405}},
	} {
		t.Run(name, func(t *testing.T) { badInput(t, c.limits, c.want) })
	}
}

// badInput sends broken requests, whose statuses must include want.
func badInput(t *testing.T, limits Limits, want []int) {
	s := newSite(t, func(o *Options) {
		o.Limits, o.Contact = limits, func(context.Context, Contact) error { return nil }
	})
	said := s.web.submit
	s.web.submit = func(ctx context.Context, in chat.Inbound) (chat.Accepted, error) {
		acc, err := said(ctx, in)
		acc.Run = "" // no answer
		return acc, err
	}
	d := described(t, s.api)
	_, opened := s.ask(http.MethodPost, "/api/conversations", "", "")
	conversation := opened["conversation"].(map[string]any)["id"].(string)
	seed := rand.Uint64()
	if given, err := strconv.ParseUint(os.Getenv("PARLEY_FUZZ_SEED"), 10, 64); err == nil {
		seed = given
	}
	defer func() {
		if t.Failed() {
			t.Logf("again: PARLEY_FUZZ_SEED=%d go test ./connectors/web -run TestBadInput", seed)
		}
	}()
	rnd := rand.New(rand.NewPCG(seed, 2))
	seen := map[int]int{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		ops := d.Paths[path]
		for _, method := range []string{"get", "post", "put", "patch", "delete", "head", "trace", "brew"} {
			op, ok := ops[method]
			times := 30
			if !ok {
				times = 2
			}
			for range times {
				r := broken(rnd, d, strings.ToUpper(method), path, op, conversation)
				what := fmt.Sprintf("%s %.200s?%.80s %v", r.Method, r.URL.RawPath, r.URL.RawQuery, r.Header)
				rec := httptest.NewRecorder()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					s.api.ServeHTTP(rec, r)
				}()
				select {
				case <-ended:
				case <-time.After(time.Minute):
					t.Fatalf("%s hangs", what)
				}
				seen[rec.Code]++
				if err := checkReply(path, method, rec); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
	}
	for _, status := range want {
		if seen[status] == 0 {
			t.Errorf("no request has the status %d: %v", status, seen)
		}
	}
}

// checkReply checks the status of a reply, and the form of an error.
func checkReply(path, method string, rec *httptest.ResponseRecorder) error {
	if rec.Code < 300 {
		return nil
	}
	if !slices.Contains([]int{400, 401, 403, 404, 405, 409, 411, 413, 415, 416, 422, 426, 429}, rec.Code) {
		return fmt.Errorf("the status is %d %.200s", rec.Code, rec.Body)
	}
	if rec.Code == http.StatusMethodNotAllowed && rec.Header().Get("Allow") == "" || rec.Code == http.StatusTooManyRequests && rec.Header().Get("Retry-After") == "" {
		return fmt.Errorf("the status %d has the headers %v", rec.Code, rec.Header())
	}
	var own failure
	var openai struct {
		Error struct{ Message, Code string }
	}
	sentence, code := rec.Body.String(), "NONE"
	switch kind := rec.Header().Get("Content-Type"); {
	case strings.HasPrefix(path, "/api/chat"):
	case !strings.HasPrefix(kind, "application/json"):
		return fmt.Errorf("an error is %s", kind)
	case strings.HasPrefix(path, "/v1/"):
		if err := json.Unmarshal(rec.Body.Bytes(), &openai); err != nil {
			return err
		}
		sentence, code = openai.Error.Message, openai.Error.Code
	default:
		if err := json.Unmarshal(rec.Body.Bytes(), &own); err != nil {
			return err
		}
		sentence, code = own.Error, own.Code
	}
	if sentence = strings.TrimSpace(sentence); !strings.HasSuffix(sentence, ".") || !regexp.MustCompile("^[A-Z_]+$").MatchString(code) {
		return fmt.Errorf("%s: the error is %q, with the code %q", method, sentence, code)
	}
	return nil
}
