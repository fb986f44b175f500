package openai

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"parley/core/llm"
	"parley/internal/require"
	"parley/models/wire"
)

// readAll reads a stream from its bytes.
func readAll(r io.Reader, n wire.Names) (chunks []llm.Chunk, err error) {
	s := stream{names: n, release: func(error) {}}
	err = s.read(r, func(c llm.Chunk) bool {
		chunks = append(chunks, c)
		return true
	})
	return chunks, err
}

// events writes JSON deltas of the first choice as a stream that ends well.
func events(deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"choices":[{"index":0,"delta":` + d + `}]}` + "\n\n")
	}
	return b.String() + "data: [DONE]\n\n"
}

func pieces(deltas ...llm.CallDelta) (chunks []llm.Chunk) {
	for _, d := range deltas {
		chunks = append(chunks, llm.Chunk{Call: &d})
	}
	return chunks
}

// TestDeltas covers LM-05 and LM-06: what real servers send, odd pieces included.
func TestDeltas(t *testing.T) {
	tests := map[string]struct {
		stream string
		want   []llm.Chunk
	}{
		"text":            {events(`{"content":"a"}`, `{"content":"b"}`), []llm.Chunk{{Text: "a"}, {Text: "b"}}},
		"role only":       {events(`{"role":"assistant"}`, `{"role":"assistant","content":""}`, `{"content":null}`, `{}`), nil},
		"null fields":     {events(`{"content":null,"tool_calls":null,"refusal":null,"reasoning_content":null}`), nil},
		"refusal is said": {events(`{"refusal":"I can't."}`), []llm.Chunk{{Text: "I can't."}}},
		"reasoning": {events(`{"reasoning_content":"a"}`, `{"reasoning":"b"}`, `{"reasoning_content":""}`, `{"reasoning_details":[{"text":"c"}]}`),
			[]llm.Chunk{{Alive: true, Reasoning: "a"}, {Alive: true, Reasoning: "b"}, {Alive: true}}},
		"reasoning twice":    {events(`{"reasoning":"\"a\"","reasoning_content":"\"a\""}`), []llm.Chunk{{Alive: true, Reasoning: `"a"`}}},
		"reasoning is a map": {events(`{"reasoning":{"text":"a"}}`), []llm.Chunk{{Alive: true}}},
		"reasoning as parts": {events(`{"content":[{"type":"thinking","thinking":[]}]}`), []llm.Chunk{{Alive: true}}},
		"reasoning and text": {events(`{"reasoning":"b","content":"t"}`), []llm.Chunk{{Text: "t", Alive: true, Reasoning: "b"}}},
		"thinking aloud":     {events(`{"content":"<think>hm"}`, `{"content":"</think>yes"}`), []llm.Chunk{{Text: "<think>hm"}, {Text: "</think>yes"}}}, // core tells it from the answer
		"no choices":         {`data: {"choices":[]}` + "\n\n" + `data: {"object":"x"}` + "\n\ndata: [DONE]\n\n", nil},
		"other choices":      {`data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\ndata: [DONE]\n\n", nil},
		"comments":           {": ping\n\n: OPENROUTER PROCESSING\n\n" + events(`{"content":"a"}`), []llm.Chunk{{Text: "a"}}},
		"no error":           {`data: {"error":null,"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\ndata: [DONE]\n\n", []llm.Chunk{{Text: "a"}}},
		"carriage returns":   {strings.ReplaceAll(events(`{"content":"a"}`), "\n", "\r\n"), []llm.Chunk{{Text: "a"}}},
		"finish once": {`data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n",
			[]llm.Chunk{{Text: "a"}, {Finish: "stop"}}},
		"filter":         {`data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}` + "\n\n", []llm.Chunk{{Finish: llm.FinishFilter}}},
		"unknown finish": {`data: {"choices":[{"index":0,"delta":{},"finish_reason":"eos"}]}` + "\n\n", []llm.Chunk{{Finish: "eos"}}},
		"last usage": {`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}` + "\n\n" +
			`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":5}}` + "\n\n" + events(),
			[]llm.Chunk{{Usage: &llm.Usage{Prompt: 1, Completion: 5}}}},
		"cache of DeepSeek": {`data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1,"prompt_cache_hit_tokens":7,"prompt_cache_miss_tokens":3}}` + "\n\n" + events(),
			[]llm.Chunk{{Usage: &llm.Usage{Prompt: 10, Completion: 1, Cached: 7}}}},
		"cache twice": {`data: {"choices":[],"usage":{"prompt_cache_hit_tokens":7,"prompt_tokens":10,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":6}}}` + "\n\n" + events(),
			[]llm.Chunk{{Usage: &llm.Usage{Prompt: 10, Completion: 1, Cached: 6}}}},
		"no usage": {`data: {"choices":[],"usage":null}` + "\n\n" + events(), nil},
		"call": {events(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"F","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`),
			pieces(llm.CallDelta{ID: "a", Name: "F"}, llm.CallDelta{Parameters: `{"x":`}, llm.CallDelta{Parameters: `1}`})},
		"mixed calls": {events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"F"}},{"index":1,"id":"b","function":{"name":"G"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"0"}}]}`, `{"tool_calls":[{"index":1,"function":{"arguments":"1"}},{"index":0,"function":{"arguments":"2"}}]}`),
			pieces(llm.CallDelta{ID: "a", Name: "F"}, llm.CallDelta{Index: 1, ID: "b", Name: "G"},
				llm.CallDelta{Parameters: "0"}, llm.CallDelta{Index: 1, Parameters: "1"}, llm.CallDelta{Parameters: "2"})},
		"null arguments":    {events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"F","arguments":null}}]}`), pieces(llm.CallDelta{ID: "a", Name: "F"})},
		"object arguments":  {events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"F","arguments":{"x":1}}}]}`), pieces(llm.CallDelta{ID: "a", Name: "F", Parameters: `{"x":1}`})},
		"empty name":        {events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"","arguments":"{}"}}]}`), pieces(llm.CallDelta{ID: "a", Parameters: "{}"})},
		"empty piece":       {events(`{"tool_calls":[{"index":0,"function":{}}]}`), nil},
		"repeated id, name": {events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"F","arguments":"1"}}]}`, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"F","arguments":"2"}}]}`), pieces(llm.CallDelta{ID: "a", Name: "F", Parameters: "1"}, llm.CallDelta{Parameters: "2"})},
		"id before name":    {events(`{"tool_calls":[{"index":0,"id":"a"}]}`, `{"tool_calls":[{"index":0,"function":{"name":"F"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`), pieces(llm.CallDelta{ID: "a", Name: "F"}, llm.CallDelta{Parameters: "{}"})},
		"made-up ids":       {events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"F","arguments":"1"}}]}`, `{"tool_calls":[{"index":0,"id":"b","function":{"arguments":"2"}}]}`), pieces(llm.CallDelta{ID: "a", Name: "F", Parameters: "1"}, llm.CallDelta{Parameters: "2"})},
		"one index for all": {events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"F","arguments":"1"}},{"index":0,"id":"b","function":{"name":"F","arguments":"2"}}]}`), pieces(llm.CallDelta{ID: "a", Name: "F", Parameters: "1"}, llm.CallDelta{Index: 1, ID: "b", Name: "F", Parameters: "2"})},
		"no index":          {events(`{"tool_calls":[{"id":"a","function":{"name":"F","arguments":"1"}},{"id":"b","function":{"name":"G","arguments":"2"}}]}`, `{"tool_calls":[{"id":"a","function":{"arguments":"3"}}]}`), pieces(llm.CallDelta{ID: "a", Name: "F", Parameters: "1"}, llm.CallDelta{Index: 1, ID: "b", Name: "G", Parameters: "2"}, llm.CallDelta{Parameters: "3"})},
		"one id for two":    {events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"F","arguments":"1"}},{"index":1,"id":"a","function":{"name":"G","arguments":"2"}}]}`), pieces(llm.CallDelta{ID: "a", Name: "F", Parameters: "1"}, llm.CallDelta{Index: 1, ID: "a", Name: "G", Parameters: "2"})},
		"nameless calls":    {events(`{"tool_calls":[{"function":{"name":"F","arguments":"1"}},{"function":{"name":"F","arguments":"2"}}]}`), pieces(llm.CallDelta{Name: "F", Parameters: "1"}, llm.CallDelta{Index: 1, Name: "F", Parameters: "2"})},
		"translated name":   {events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"a_b"}}]}`), pieces(llm.CallDelta{ID: "a", Name: "a.b"})},
	}
	n := wire.NamesOf(llm.Request{Tools: []llm.Tool{{Name: "a.b"}}})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := require.Value(readAll(strings.NewReader(test.stream), n))(t)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			slow, err := readAll(iotest.OneByteReader(strings.NewReader(test.stream)), n)
			if diff := cmp.Diff(got, slow); diff != "" || err != nil {
				t.Errorf("byte by byte: %v\n%s", err, diff)
			}
		})
	}
}

// FuzzChunking: however a stream's bytes are cut on their way, the chunks are the same; and nothing contain.
func FuzzChunking(f *testing.F) {
	f.Add(events(`{"content":"a ü 👩‍👩‍👧"}`, `{"reasoning":"x"}`), uint64(1))
	f.Add(events(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"F","arguments":"{}"}}]}`), uint64(2))
	f.Add(": c\r\n\r\nevent: error\r\ndata: {\"message\":\"no\"}\r\n\r\n", uint64(3))
	f.Add("data: {\"error\":{\"code\":429}}\n\ndata: [DONE]", uint64(4))
	f.Add("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1,\"function\":{\"arguments\":[]}}]}}]}\n\n", uint64(5))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		want, wantErr := readAll(strings.NewReader(text), wire.Names{})
		got, err := readAll(&chancy{bytes.NewReader([]byte(text)), rand.New(rand.NewPCG(seed, 0))}, wire.Names{})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Errorf("error %v, else %v", err, wantErr)
		}
	})
}

// chancy reads a few bytes at a time.
type chancy struct {
	r    io.Reader
	luck *rand.Rand
}

func (c *chancy) Read(p []byte) (int, error) {
	return c.r.Read(p[:min(len(p), 1+c.luck.IntN(9))])
}
