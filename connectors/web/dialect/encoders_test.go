package dialect_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley/connectors/web/agui"
	"parley/connectors/web/aisdk"
	"parley/connectors/web/deepchat"
	"parley/connectors/web/dialect"
	"parley/connectors/web/openai"
	"parley/core/answer"
	"parley/core/llm"
	wire "parley/internal/agui"
	"parley/internal/require"
	"parley/internal/uistream"
)

var update = flag.Bool("update", false, "write the golden files")

// encoders returns a new encoder of each format.
func encoders() map[string]dialect.Encoder {
	url := func(f llm.File) string { return "/files/" + f.Name }
	return map[string]dialect.Encoder{
		"chat":      openai.NewChat("1", "agent", 1, true),
		"responses": openai.NewResponses("resp_1", "agent", "", 1),
		"agui":      &agui.Encoder{Thread: "t", Run: "r", Version: wire.Version, State: true, ID: "m1"},
		"deepchat":  &deepchat.Encoder{},
		"aisdk":     &aisdk.Encoder{MessageID: "m1", Approvals: true, URL: url},
	}
}

// player writes an answer, and encodes its states.
type player struct {
	*testing.T
	answer answer.Answer
	at     answer.Cursor
	read   dialect.Reader
	enc    dialect.Encoder
	out    []byte
	over   bool
}

func play(t *testing.T, enc dialect.Encoder, details bool) *player {
	t.Helper()
	p := &player{T: t, enc: enc, read: dialect.Reader{Details: details, Reasons: true}}
	p.out = enc.Begin(nil)
	return p
}

// show encodes the state of the answer.
func (p *player) show() dialect.State {
	p.Helper()
	changes, v := p.answer.Read(p.at)
	p.at = v.At
	s := p.read.State("m1", changes, v)
	if p.over {
		return s
	}
	p.out = p.enc.Encode(p.out, s)
	p.over = s.Over()
	return s
}

func (p *player) tool(t answer.Tool) {
	p.answer.Apply(answer.Change{Kind: answer.ToolStage, Call: "c1", Tool: &t})
}

// example writes an answer with everything in it.
func (p *player) example() {
	step := func(c answer.Change) { p.answer.Apply(c); p.show() }
	step(answer.Change{Kind: answer.Thinking})
	step(answer.Change{Kind: answer.Reasoning, Text: "Hm."})
	step(answer.Change{Kind: answer.Text, Text: "I look "})
	step(answer.Change{Kind: answer.Text, Text: "it up\u2028."})
	p.tool(answer.Tool{Name: "SEARCH", Label: "Web search", Stage: answer.StageStart})
	p.show()
	p.tool(answer.Tool{Name: "SEARCH", Label: "Web search", Stage: answer.StageStreaming, ParametersChunk: `{"q":`})
	p.show()
	p.tool(answer.Tool{Name: "SEARCH", Label: "Web search", Stage: answer.StageRunning, Parameters: `{"q":"tea"}`})
	p.show()
	step(answer.Change{Kind: answer.Callback, Call: "c1", Text: "Searching…"})
	step(answer.Change{Kind: answer.Text, Step: 1, Text: "meanwhile "})
	step(answer.Change{Kind: answer.Callback, Call: "c1", Text: "Read 3 pages.", Files: []llm.File{{Name: "tea.png", Type: "image/png", Data: []byte("x")}}})
	p.tool(answer.Tool{Name: "SEARCH", Label: "Web search", Stage: answer.StageEnd, Success: true, Parameters: `{"q":"tea"}`, Result: "green", ShortResult: "3 pages"})
	p.show()
	step(answer.Change{Kind: answer.Text, Notice: true, Text: "_(Another model answers.)_"})
	step(answer.Change{Kind: answer.Text, Step: 2, Text: "It is <green>."})
	step(answer.Change{Kind: answer.Ended, Outcome: &answer.Outcome{Status: answer.Completed, Usage: &llm.UsageSum{Prompt: 3, Completion: 2}}})
}

func TestGoldens(t *testing.T) {
	for name := range encoders() {
		p := play(t, encoders()[name], name != "chat")
		p.example()
		asks := play(t, encoders()[name], true)
		asks.tool(answer.Tool{Name: "ASK", Stage: answer.StageRunning, Parameters: "{}"})
		asks.answer.Apply(answer.Change{Kind: answer.Callback, Call: "c1", Text: "Sure?"})
		asks.answer.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: &answer.Choices{ID: "q1", Options: []string{"Yes", "No"}}})
		asks.show()
		fails := play(t, encoders()[name], true)
		fails.answer.Apply(answer.Change{Kind: answer.Text, Text: "No credit."})
		fails.answer.End(answer.Outcome{Status: answer.Failed, Failure: llm.InsufficientCredits})
		fails.show()
		got := bytes.Join([][]byte{p.out, asks.out, fails.out}, []byte("== next\n"))
		file := filepath.Join("testdata", name+".sse")
		if *update {
			require.NoError(t, os.WriteFile(file, got, 0o600))
		}
		want := require.Value(os.ReadFile(file))(t)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if strings.Contains(string(p.out), `"q"`) && name == "chat" {
			t.Error("a reader without details sees parameters")
		}
	}
}

// What ends a client's stream is not sent to it: types and finish reasons that an old version does not know, fields that are null, events
// with names, a [DONE], and other separators than two line feeds. Line separators of Unicode are escaped.
func TestStreamsHaveNothingThatClientsReject(t *testing.T) {
	known := map[string]string{
		"aisdk": `start|start-step|finish-step|text-(start|delta|end)|reasoning-(start|delta|end)|tool-input-(start|delta|available|error)|` +
			`tool-output-(available|error)|source-url|source-document|file|data-[a-z]+|message-metadata|error|abort|finish`,
		"agui": `RUN_(STARTED|FINISHED|ERROR)|STEP_(STARTED|FINISHED)|TEXT_MESSAGE_(START|CONTENT|END)|TOOL_CALL_(START|ARGS|END|RESULT)|STATE_(SNAPSHOT|DELTA)|` +
			`MESSAGES_SNAPSHOT|ACTIVITY_SNAPSHOT|REASONING_(START|END|MESSAGE_START|MESSAGE_CONTENT|MESSAGE_END)|CUSTOM`,
	}
	for name, enc := range encoders() {
		p := play(t, enc, true)
		p.example()
		out := string(p.out)
		if strings.ContainsAny(out, "\r\u2028\u2029") || strings.Contains(out, "\n\n\n") {
			t.Errorf("%s: a separator is wrong: %q", name, out)
		}
		if names := strings.Contains(out, "event: "); names != (name == "responses") {
			t.Errorf("%s: events with names: %v", name, names)
		}
		if name == "agui" && (strings.Contains(out, "[DONE]") || regexp.MustCompile(`"type":"(?:[^S]|ST[^A])[^\n]*":null`).MatchString(out)) { // a state's value can be null
			t.Errorf("%s: %s", name, out)
		}
		for _, found := range regexp.MustCompile(`"finishReason":"([^"]*)"`).FindAllStringSubmatch(out, -1) {
			if !slices.Contains([]string{"stop", "length", "content-filter", "tool-calls", "error", "other"}, found[1]) {
				t.Errorf("%s: the finish reason is %s", name, found[1])
			}
		}
		if known[name] == "" {
			continue
		}
		types := regexp.MustCompile(`^(` + known[name] + `)$`)
		for _, found := range regexp.MustCompile(`(?m)^data: \{"type":"([^"]*)"`).FindAllStringSubmatch(out, -1) {
			if !types.MatchString(found[1]) {
				t.Errorf("%s: an old client does not know %s", name, found[1])
			}
		}
	}
}

// Any answer, in pieces of any size, is valid in every format, and has the whole text at its end.
func FuzzEncoders(f *testing.F) {
	f.Add([]byte("abcdefgh"))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 200, 10, 4, 4, 7, 3, 1, 255})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 200 {
			return
		}
		for name, enc := range encoders() {
			p := play(t, enc, true)
			withdrawn, ended := false, map[string]bool{} // a step's text only grows until one of its calls has ended
			for i, b := range script {
				call := []string{"c1", "c2", "c3"}[int(b/16)%3]
				if b%12 >= 3 && b%12 <= 6 && ended[call] {
					continue
				}
				switch b % 12 {
				case 0, 1, 2:
					p.answer.Apply(answer.Change{Kind: answer.Text, Step: len(ended), Text: "wört" + string(rune('a'+b%26))})
				case 3:
					p.answer.Apply(answer.Change{Kind: answer.ToolStage, Call: call, Tool: &answer.Tool{Name: "T", Stage: answer.StageRunning, Parameters: "{"}})
				case 4:
					p.answer.Apply(answer.Change{Kind: answer.ToolStage, Call: call, Tool: &answer.Tool{Name: "T", Stage: answer.StageStreaming, ParametersChunk: "{"}})
				case 5:
					ended[call] = true
					p.answer.Apply(answer.Change{Kind: answer.ToolStage, Call: call, Tool: &answer.Tool{Name: "T", Stage: answer.StageEnd, Success: b > 99}})
				case 6:
					p.answer.Apply(answer.Change{Kind: answer.Callback, Call: call, Text: strings.ToValidUTF8(string(script[:i/2]), "?")})
				case 7:
					p.answer.Apply(answer.Change{Kind: answer.Withdrawn, Step: len(ended)})
					withdrawn = true
				case 8:
					p.answer.Apply(answer.Change{Kind: answer.Reasoning, Text: "so"})
				case 9:
					p.answer.Apply(answer.Change{Kind: answer.Text, Notice: true, Text: "_(note)_"})
				default:
					p.show()
				}
			}
			p.answer.End(answer.Outcome{Status: answer.Completed})
			s := p.show()
			got := readStream(t, name, p.out)
			if !withdrawn && strings.ReplaceAll(got, "\n", "") != strings.ReplaceAll(s.Text, "\n", "") {
				t.Errorf("%s: the client has %q, want %q", name, got, s.Text)
			}
		}
	})
}

// readStream checks a whole stream, and returns the text of the answer.
func readStream(t *testing.T, name string, out []byte) (text string) {
	t.Helper()
	if len(out) == 0 {
		return "" // the answer has no text
	}
	if !utf8.Valid(out) || bytes.Contains(out, []byte("\r")) || !bytes.HasSuffix(out, []byte("\n\n")) {
		t.Fatalf("%s: %q", name, out)
	}
	var datas []json.RawMessage
	for _, event := range strings.Split(strings.TrimSuffix(string(out), "\n\n"), "\n\n") {
		for _, line := range strings.Split(event, "\n") {
			data, ok := strings.CutPrefix(line, "data: ")
			if ok && data == "[DONE]" {
				continue
			}
			if ok && !json.Valid([]byte(data)) {
				t.Fatalf("%s: no JSON: %s", name, data)
			}
			if ok {
				datas = append(datas, json.RawMessage(data))
			}
		}
	}
	return map[string]func(*testing.T, []json.RawMessage) string{"chat": readChat, "responses": readResponses, "aisdk": readAISDK, "agui": readAGUI, "deepchat": readDeepChat}[name](t, datas)
}

func readChat(t *testing.T, events []json.RawMessage) (text string) {
	for _, e := range events {
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		require.NoError(t, json.Unmarshal(e, &c))
		for _, one := range c.Choices {
			text += one.Delta.Content
		}
	}
	return text
}

func readResponses(t *testing.T, events []json.RawMessage) (text string) {
	for n, e := range events {
		var c struct {
			Type, Delta string
			Number      int `json:"sequence_number"`
		}
		if err := json.Unmarshal(e, &c); err != nil || c.Number != n {
			t.Fatalf("event %d: %s, %v", n, e, err)
		}
		if c.Type == "response.output_text.delta" {
			text += c.Delta
		}
	}
	return text
}

// readAISDK checks the rules that the client enforces.
func readAISDK(t *testing.T, events []json.RawMessage) (text string) {
	open, calls := "", map[string]uistream.Type{}
	for n, e := range events {
		var c uistream.Chunk
		require.NoError(t, json.Unmarshal(e, &c))
		bad := false
		switch c.Type {
		case uistream.TextStart, uistream.ReasoningStart:
			bad, open = open != "", c.ID
		case uistream.TextDelta, uistream.ReasoningDelta:
			bad = open != c.ID || c.Delta == ""
			if c.Type == uistream.TextDelta {
				text += c.Delta
			}
		case uistream.TextEnd, uistream.ReasoningEnd:
			bad, open = open != c.ID, ""
		case uistream.InputStart:
			bad, calls[c.CallID] = calls[c.CallID] != "", c.Type
		case uistream.InputDelta:
			bad = calls[c.CallID] != uistream.InputStart
		case uistream.InputAvailable:
			bad, calls[c.CallID] = calls[c.CallID] != uistream.InputStart, c.Type
		case uistream.OutputAvailable, uistream.OutputError:
			bad, calls[c.CallID] = calls[c.CallID] != uistream.InputAvailable, c.Type
		case uistream.Start:
			bad = n != 0
		case uistream.Finish:
			bad = n != len(events)-1 || open != ""
		}
		if bad {
			t.Fatalf("event %d is wrong here: %s", n, e)
		}
	}
	return text
}

// readAGUI checks the rules that the client enforces: 0.0.x is the stricter one.
func readAGUI(t *testing.T, events []json.RawMessage) (text string) {
	open, calls := "", map[string]wire.Type{}
	for n, e := range events {
		var c wire.Event
		require.NoError(t, json.Unmarshal(e, &c))
		bad := bytes.Contains(e, []byte(`":null`)) && c.Type != wire.StateDelta
		switch c.Type {
		case wire.RunStarted:
			bad = bad || n != 0
		case wire.TextStart, wire.ReasoningMessageStart:
			bad, open = bad || open != "", c.MessageID
		case wire.TextContent, wire.ReasoningMessageContent:
			bad = bad || open != c.MessageID
			var more string
			if err := json.Unmarshal(c.Delta, &more); err == nil && c.Type == wire.TextContent {
				text += more
			}
		case wire.TextEnd, wire.ReasoningMessageEnd:
			bad, open = bad || open != c.MessageID, ""
		case wire.CallStart:
			bad, calls[c.CallID] = bad || calls[c.CallID] != "", c.Type
		case wire.CallArgs:
			bad = bad || calls[c.CallID] != wire.CallStart
		case wire.CallEnd:
			bad, calls[c.CallID] = bad || calls[c.CallID] != wire.CallStart, c.Type
		case wire.MessagesSnapshot:
			text = ""
			bad = bad || json.Unmarshal(c.Messages[len(c.Messages)-1].Content, &text) != nil
		case wire.RunFinished:
			bad = bad || n != len(events)-1 || open != ""
			for _, was := range calls {
				bad = bad || was == wire.CallStart
			}
		}
		if bad {
			t.Fatalf("event %d is wrong here: %s", n, e)
		}
	}
	return text
}

func readDeepChat(t *testing.T, events []json.RawMessage) (text string) {
	for _, e := range events {
		var r deepchat.Response
		require.NoError(t, json.Unmarshal(e, &r))
		if r.Overwrite {
			text = ""
		}
		text += r.Text
	}
	return text
}
