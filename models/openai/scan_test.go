package openai

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/require"
	"parley/models/wire"
)

// usual are events as common servers send them, each in its own manner.
var usual = []string{
	`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt","service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":"word "},"logprobs":null,"finish_reason":null}],"usage":null}`,
	`{"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"obfuscation":"x"}`,
	`{"choices":[{"delta":{"content":"a\n\"b\" \u00e4 \ud83d\ude00 ü"},"index":0}]}`,
	`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
	`{"choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":0}}}`,
	`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]}}]}`,
	`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1.5e3}"}},{"id":"b"}]}}]}`,
	`{"provider":"P","error":null,"choices":[{"index":0,"delta":{"content":"","reasoning":"hm","reasoning_details":[{"type":"t","text":"hm"}]}}]}`,
	`{"choices":[{"index":0,"delta":{"reasoning_content":"hm","content":null},"logprobs":{"content":[{"token":"a","logprob":-0.1,"top_logprobs":[]}]}}]}`,
	` { "choices" : [ { "index" : 0 , "delta" : { "content" : "a" , "tool_calls" : null } } ] , "usage" : null } `,
	`{"choices":[{"index":0,"delta":null,"finish_reason":"length"}],"x":[true,false,-0.5E-7,{}]}`,
	`{"choices":[{"index":0,"delta":{"content":null,"refusal":null,"reasoning_content":"hm"}}]}`,
	`{"choices":[{"index":1,"delta":{"content":"no"}}]}`,
}

// unusual are events that are left to decodeAny.
var unusual = []string{
	`{"error":{"message":"no"}}`, `{"error":"no"}`, `null`, `[]`, `{`, `{"choices":[`, `{"choices":[{}]}x`, `{"choices":5}`,
	`{"choices":[{"index":0,"delta":{"content":[{"type":"thinking"}]}}]}`, `{"choices":[{"delta":{"content":{"a":1}}}]}`,
	`{"choices":[{"delta":{"content":5}}]}`, `{"choices":[{"index":0,"index":1,"delta":{"content":"a","content":"b"}}]}`,
	`{"choices":[{"delta":{"content":"\ud83d"}}]}`, "{\"choices\":[{\"delta\":{\"content\":\"\xff\\n\"}}]}",
	"{\"choices\":[{\"delta\":{\"content\":\"\n\"}}]}", `{"choices":[{"delta":{"content":"\x"}}]}`,
	`{"choices":[{"delta":{"con\u0074ent":"a"}}]}`, `{"choices":[{"index":0.0,"delta":{}},{"delta":{"content":"b"}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":null,"id":1,"function":null}]}}]}`, `{"usage":{"prompt_tokens":"5"}}`,
	`{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":1e}`, `{"a":nul}`, `{"a":"\u00"}`, `{"a" 1}`, `{"a":1,}`, `{"usage":5}`, `{"choices":[{"index":99999999999999999999}]}`,
	`{"choices":[{"delta":{"reasoning":"a","reasoning":""}}]}`, `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
}

func TestScanUnderstandsWhatServersSend(t *testing.T) {
	for _, event := range usual {
		var c chunk
		if !c.scan([]byte(event)) {
			t.Errorf("left to decodeAny: %s", event)
		}
	}
	for _, event := range append(usual, unusual...) {
		sameAsAny(t, event)
	}
}

// sameAsAny checks that an event that is scanned means what decodeAny makes of it.
func sameAsAny(t *testing.T, event string) {
	t.Helper()
	var got, want chunk
	if !got.scan([]byte(event)) {
		return
	}
	if err := want.decodeAny([]byte(event)); err != nil {
		t.Fatalf("decodeAny refuses %q: %v", event, err)
	}
	options := cmp.Options{cmp.AllowUnexported(chunk{}, choice{}, piece{}), cmpopts.IgnoreFields(chunk{}, "only"), cmpopts.EquateEmpty()}
	if diff := cmp.Diff(want, got, options); diff != "" {
		t.Fatalf("%q: decodeAny has -, the scanner +\n%s", event, diff)
	}
}

// FuzzScan compares the scanner with decodeAny.
func FuzzScan(f *testing.F) {
	for _, event := range append(usual, unusual...) {
		f.Add(event)
	}
	f.Fuzz(func(t *testing.T, event string) { sameAsAny(t, event) })
}

// TestScanOfMutations is a short FuzzScan that always runs. It exchanges parts of events, so that most are valid JSON.
func TestScanOfMutations(t *testing.T) {
	luck := rand.New(rand.NewPCG(1, 2))
	all := append(usual, unusual...)
	parts := []string{"null", "0", "1", "-1", "1e2", `""`, `"x"`, `"\u0041"`, `"\ud800"`, "[]", "{}", "true", `"index":0,`, `"content":"y",`, `"error":null,`, "{", "}", "]", ",", "\\", "\xc3"}
	scanned := 0
	for range 50_000 {
		event := all[luck.IntN(len(all))]
		for range 1 + luck.IntN(2) {
			from := luck.IntN(len(event) + 1)
			to := min(len(event), from+luck.IntN(6))
			if cut := strings.IndexAny(event[from:], ":,[{"); luck.IntN(2) == 0 && cut >= 0 { // at a token's border
				from += cut + 1
				to = from + max(0, strings.IndexAny(event[from:], ",]}"))
			}
			event = event[:from] + parts[luck.IntN(len(parts))] + event[to:]
		}
		sameAsAny(t, event)
		if (&chunk{}).scan([]byte(event)) {
			scanned++
		}
	}
	if scanned < 2000 {
		t.Errorf("only %d of the mutated events are scanned", scanned)
	}
}

// BenchmarkChunk is the time for one event, with the scanner and with decodeAny.
func BenchmarkChunk(b *testing.B) {
	for _, event := range []int{0, 2, 6} {
		data := []byte(usual[event])
		b.Run(fmt.Sprintf("event=%d/scan", event), func(b *testing.B) {
			var c chunk
			b.ReportAllocs()
			for b.Loop() {
				if !c.scan(data) {
					b.Fatal("scan returned false; want the chunk understood")
				}
			}
		})
		b.Run(fmt.Sprintf("event=%d/any", event), func(b *testing.B) {
			var c chunk
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, c.decodeAny(data))
			}
		})
	}
}

// plainEvent has the fields that an answer needs, for encoding/json alone.
type plainEvent struct {
	Choices []struct {
		Index        int64  `json:"index"`
		FinishReason string `json:"finish_reason"`
		Delta        struct {
			Content   json.RawMessage `json:"content"`
			Refusal   string          `json:"refusal"`
			Reasoning json.RawMessage `json:"reasoning"`
			ToolCalls []struct {
				Index    *int64 `json:"index"`
				ID       string `json:"id"`
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
	Usage, Error json.RawMessage
}

func (c *chunk) decodePlain(data []byte) error {
	var e plainEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	*c = chunk{}
	for _, from := range e.Choices {
		var to choice
		if err := json.Unmarshal(from.Delta.Content, &to.text); err != nil {
			return err
		}
		c.choices = append(c.choices, to)
	}
	return nil
}

// BenchmarkDecoders is the time for a stream of 2,000 chunks, with the scanner, with encoding/json, and with decodeAny: see
// docs/engineering/adr/0023-three-things-that-stay.md.
func BenchmarkDecoders(b *testing.B) {
	const events = 2000
	stream := strings.Repeat("data: "+usual[0]+"\n\n", events)
	for name, decode := range map[string]func(*chunk, []byte) error{"scan": (*chunk).decode, "json": (*chunk).decodePlain, "any": (*chunk).decodeAny} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var c chunk
				n, e := 0, wire.NewEventReader(strings.NewReader(stream), maxEvent)
				for ; e.Next(); n++ {
					if err := decode(&c, e.Data); err != nil || c.choices[0].text != "word " {
						b.Fatal(err, c.choices)
					}
				}
				if n != events {
					b.Fatalf("%d events; want %d", n, events)
				}
			}
		})
	}
}

// BenchmarkStream is the time for one chunk from the bytes of a stream to what is yielded.
func BenchmarkStream(b *testing.B) {
	text := strings.Repeat("data: "+usual[0]+"\n\n", 1000) + "data: [DONE]\n\n"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readAll(strings.NewReader(text), wire.Names{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(1000*b.N), "ns/chunk")
}
