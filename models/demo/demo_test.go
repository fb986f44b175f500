package demo

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/llm"
	"parley/internal/require"
	"parley/internal/subtest"
)

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }
func assistant(text string) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Text: text}
}

var tools = []llm.Tool{{Name: playAction}, {Name: diceAction}, {Name: timeAction}}

// later is a conversation in which the model has introduced itself.
func later(turns ...llm.Message) llm.Request {
	return llm.Request{Messages: append([]llm.Message{user("hi"), assistant("Hello!")}, turns...), Tools: tools}
}

func TestAnswer(t *testing.T) {
	called := func(name, result string) []llm.Message {
		return []llm.Message{user("x"), {Role: llm.RoleAssistant, Calls: []llm.ToolCall{{ID: "c", Name: name}}}, {Role: llm.RoleTool, Call: "c", Text: result}}
	}
	tests := map[string]struct {
		req    llm.Request
		says   []string
		call   string // name and parameters
		failed bool
	}{
		"first":           {req: llm.Request{Messages: []llm.Message{user("hi")}}, says: []string{"demo model", "`OPENAI_API_KEY`", "`OPENAI_BASE_URL`", "`gateway check`", "> hi", "first message"}},
		"first, a call":   {req: llm.Request{Messages: []llm.Message{user("roll a die")}, Tools: tools}, says: []string{"demo model", "Let me roll"}, call: `ROLL_DICE {"sides":6}`},
		"nothing said":    {req: llm.Request{}, says: []string{"demo model", "without text"}},
		"echo":            {req: later(user("Nice\nday")), says: []string{"> Nice\n> day", "2 messages from you and 1 answer from me", "**bold**"}},
		"help":            {req: later(user("Help!")), says: []string{"**roll a die**", "**long**"}},
		"long":            {req: later(user("a long one, please")), says: []string{"# A long answer", "```go"}},
		"play a title":    {req: later(user("Play  Clair de Lune")), call: `PLAY_DEMO {"title":"Clair de Lune"}`, says: []string{"in place"}},
		"play in a group": {req: later(user("Ann: play jazz")), call: `PLAY_DEMO {"title":"jazz"}`},
		"play something":  {req: later(user("Play something!")), call: `PLAY_DEMO {"choose":true}`, says: []string{"asks you which", "in place"}},
		"progress":        {req: later(user("show progress")), call: `PLAY_DEMO {}`},
		"tool":            {req: later(user("use a tool")), call: `ROLL_DICE {"sides":6}`},
		"time":            {req: later(user("What time is it?")), call: `TELL_TIME {}`},
		"no tools":        {req: llm.Request{Messages: later(user("roll")).Messages}, says: []string{"`ROLL_DICE`", "isn't enabled"}},
		"after a call":    {req: later(called(diceAction, "4")...), says: []string{"`ROLL_DICE` answered", "> 4"}},
		"after play":      {req: later(called(playAction, "ok")...), says: []string{"rewritten in place"}},
		"after a failure": {req: later(called(diceAction, "Error: no dice")...), says: []string{"didn't work", "> Error: no dice"}},
		"fail":            {req: later(user("fail")), failed: true},
		"fail at first":   {req: llm.Request{Messages: []llm.Message{user("fail")}}, failed: true},
		"fail late":       {req: later(user("fail late")), says: []string{"first half"}, failed: true},
		"not a command":   {req: later(user("I fail to see why it takes you so long to help me")), says: []string{"You wrote"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := answerTo(test.req)
			for _, want := range test.says {
				if !strings.Contains(r.text, want) {
					t.Errorf("%q is missing in %q", want, r.text)
				}
			}
			call := ""
			if r.call != nil {
				call = r.call.Name + " " + string(r.call.Parameters)
			}
			if call != test.call || (r.failure != nil) != test.failed {
				t.Errorf("call %q, failure %v", call, r.failure)
			}
			if name != "first" && len(test.req.Messages) > 1 && strings.Contains(r.text, introduction) {
				t.Error("the demo introduces itself in a later answer; want it once")
			}
		})
	}
}

// TestLongIsLong: it goes on in a second message everywhere.
func TestLongIsLong(t *testing.T) {
	if n := len([]rune(long)); n <= 4096 {
		t.Errorf("%d characters", n)
	}
}

func TestStream(t *testing.T) {
	tests := map[string]llm.Request{
		"text": later(user("hello")), "call": later(user("play x")), "long": later(user("long")),
	}
	for name, req := range tests {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			start := time.Now()
			var text, parameters strings.Builder
			var got llm.ToolCall
			var finish llm.FinishReason
			chunks := 0
			for c, err := range New().Generate(t.Context(), req) {
				require.NoError(t, err)
				chunks++
				text.WriteString(c.Text)
				if c.Call != nil {
					got.ID, got.Name = got.ID+c.Call.ID, got.Name+c.Call.Name
					parameters.WriteString(c.Call.Parameters)
				}
				finish += c.Finish
			}
			want := answerTo(req)
			if text.String() != want.text || time.Since(start) != time.Duration(chunks)*wordTime {
				t.Errorf("%d chunks in %v: %q", chunks, time.Since(start), text.String())
			}
			if want.call == nil {
				if finish != llm.FinishStop || got.Name != "" {
					t.Errorf("finish %q, call %v", finish, got)
				}
				return
			}
			if finish != llm.FinishCalls || got.Name != want.call.Name || got.ID == "" || !json.Valid([]byte(parameters.String())) {
				t.Errorf("finish %q, call %v with %q", finish, got, parameters.String())
			}
		}))
	}
}

func TestFailureIsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := ""
		var last error
		for c, err := range New().Generate(t.Context(), later(user("fail late"))) {
			text, last = text+c.Text, err
		}
		f, ok := errors.AsType[*llm.Failure](last)
		if !ok || f.Retry || !strings.HasSuffix(text, "would ") {
			t.Errorf("%q, then %v", text, last)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("enough")
		time.AfterFunc(time.Second+wordTime/2, func() { cancel(stop) })
		start := time.Now()
		words := 0
		var last error
		for _, err := range New().Generate(ctx, later(user("long"))) {
			if last = err; err == nil {
				words++
			}
		}
		if last != stop || words != 25 || time.Since(start) != time.Second+wordTime/2 {
			t.Errorf("%d words in %v, then %v", words, time.Since(start), last)
		}
	})
}

// TestReaderLeaves: the iterator yields nothing after it was left, which would panic.
func TestReaderLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range New().Generate(t.Context(), later(user("fail late"))) {
			return
		}
	})
}
