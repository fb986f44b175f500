package generate_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/toolcall"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
)

// script is a model that records its requests. Each call writes the next round; an empty round fails, and can be tried again. Calls after
// the rounds write then, and fail with err if it is not nil.
type script struct {
	rounds [][]llm.Chunk
	then   []llm.Chunk
	err    error
	asked  []llm.Request
}

var errDown = &llm.Failure{Kind: llm.RateLimited, Retry: true, Err: errors.New("down")}

func (s *script) Generate(_ context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	chunks, err := s.then, s.err
	if n := len(s.asked); n < len(s.rounds) {
		if chunks, err = s.rounds[n], nil; len(chunks) == 0 {
			err = errDown
		}
	} else if len(s.rounds) > 0 && err == nil && chunks == nil {
		panic(fmt.Sprintf("the model was asked more than %d times", n))
	}
	s.asked = append(s.asked, req)
	return func(yield func(llm.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		if err != nil {
			yield(llm.Chunk{}, err)
		}
	}
}

// A round is tried again while nothing of it can be seen, with growing pauses, three times in all. In both modes the text is the answer.
func TestWrite(t *testing.T) {
	said := []llm.Chunk{{Text: "It is "}, {Text: "noon."}, {Finish: llm.FinishStop}}
	form := []llm.Chunk{{Text: "<response><thought>a secret</thought><actions>REPLY</actions><text>It is noon.</text></response>"}, {Finish: llm.FinishStop}}
	silent := []llm.Chunk{{Text: "<response><actions>IGNORE</actions></response>"}, {Finish: llm.FinishStop}}
	for name, c := range map[string]struct {
		mode   generate.Mode
		rounds [][]llm.Chunk
		text   string
		err    error
		took   time.Duration
	}{
		"natively":   {generate.Native, [][]llm.Chunk{said}, "It is noon.", nil, 0},
		"as a form":  {generate.XML, [][]llm.Chunk{form}, "It is noon.", nil, 0},
		"at last":    {generate.Native, [][]llm.Chunk{nil, nil, said}, "It is noon.", nil, 6 * time.Second},
		"not at all": {generate.Native, [][]llm.Chunk{nil, nil, nil}, "", errDown, 6 * time.Second},
		"a word":     {generate.Native, [][]llm.Chunk{{{Text: "It"}, {Finish: llm.FinishStop}}}, "It", nil, 0},
		"nothing":    {generate.XML, [][]llm.Chunk{silent, silent}, "", chat.ErrNothingToSay, 0},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			model, a := &script{rounds: c.rounds}, new(answer.Answer)
			begun, err := time.Now(), write(t, []llm.Named{{Name: "a", Model: model}}, a, c.mode)
			if got := a.View().Text(); got != c.text || !errors.Is(err, c.err) || len(model.asked) > len(c.rounds) || time.Since(begun) != c.took {
				t.Errorf("after %d calls and %v: %q, %v", len(model.asked), time.Since(begun), got, err)
			}
		}))
	}
}

func write(t *testing.T, models []llm.Named, a *answer.Answer, mode generate.Mode) error {
	t.Helper()
	return writeWith(t, models, a, mode, nil)
}

func writeWith(t *testing.T, models []llm.Named, a *answer.Answer, mode generate.Mode, journal toolcall.Journal) error {
	t.Helper()
	return writeTo(t, action.TurnContext{}, models, a, mode, journal)
}

// writeTo has a turn answered of which only who asks, and where, is given, and perhaps a conversation before.
func writeTo(t *testing.T, turn action.TurnContext, models []llm.Named, a *answer.Answer, mode generate.Mode, journal toolcall.Journal) error {
	t.Helper()
	asked := chat.Memory{ID: "asked", Author: "ada", Text: "What is the time?"}
	turn.Run, turn.Message, turn.Recent, turn.Answered = "run", asked, append(turn.Recent, asked), []chat.MemoryID{asked.ID}
	composer := require.Value(prompt.NewComposer(nil, nil, prompt.Recall{Prompt: 8000, History: 8000}, mode == generate.Native, nil))(t)
	log, emit := slog.New(slog.DiscardHandler), func(event.Event) {}
	w := generate.Writer{
		Config: generate.Config{Mode: mode}, Route: generate.NewModelTable(models).Route(""), First: time.Minute, Idle: time.Minute, Answer: a, Emit: emit, Log: log,
		Jitter: func(d time.Duration) time.Duration { return d },
		Calls:  &toolcall.Calls{Turn: &turn, Answer: a, Toolbox: &action.Toolbox{}, Emit: emit, Log: log, Life: t.Context(), Journal: journal},
	}
	return w.Write(t.Context(), composer.Turn(turn))
}

// When a model fails, the next one answers. What people have seen of the first one's text is withdrawn, and a notice says that
// another model answers. It is not remembered.
func TestAnotherModelContinues(t *testing.T) {
	notice := "_(" + lang.Voice{}.Say("notice.another_model") + ")_"
	half := []llm.Chunk{{Text: "It is mid"}}
	said := []llm.Chunk{{Text: "It is noon."}, {Finish: llm.FinishStop}}
	form := []llm.Chunk{{Text: "<response><text>It is noon.</text></response>"}, {Finish: llm.FinishStop}}
	call := []llm.Chunk{{Call: &llm.CallDelta{ID: "c", Name: "LOOK", Parameters: "{"}}}
	final := &llm.Failure{Kind: llm.NoProvider, Err: errors.New("wrong key")}
	for name, c := range map[string]struct {
		mode  generate.Mode
		first []llm.Chunk
		err   error
		then  []llm.Chunk
		text  string
	}{
		"before the first token":     {generate.Native, nil, errDown, said, notice + "\n\nIt is noon."},
		"in mid-text":                {generate.Native, half, errDown, said, notice + "\n\nIt is noon."},
		"for good":                   {generate.Native, half, final, said, notice + "\n\nIt is noon."},
		"in a form":                  {generate.XML, []llm.Chunk{{Text: "<response><text>It is mid"}}, errDown, form, notice + "\n\nIt is noon."},
		"while it writes a call":     {generate.Native, call, errDown, said, notice + "\n\nIt is noon."},
		"after nothing at all":       {generate.Native, []llm.Chunk{{Finish: llm.FinishStop}}, nil, said, notice + "\n\nIt is noon."},
		"the next one fails as well": {generate.Native, half, errDown, nil, notice},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			then := &script{then: c.then}
			if c.then == nil {
				then.err = final
			}
			a := new(answer.Answer)
			err := write(t, []llm.Named{{Name: "a", Model: &script{then: c.first, err: c.err}, Fallback: []string{"b"}}, {Name: "b", Model: then}}, a, c.mode)
			v := a.View()
			if v.Text() != c.text || errors.Is(err, final) != (c.then == nil) || c.then != nil && err != nil {
				t.Errorf("%q, %v", v.Text(), err)
			}
			if got, want := v.Remembered().Text(), strings.TrimPrefix(strings.TrimPrefix(c.text, notice), "\n\n"); got != want {
				t.Errorf("it remembers %q; want %q", got, want)
			}
			told := false
			changes, _ := a.Since(0)
			for _, change := range changes { // a reader between two changes never sees text disappear without the reason
				told = told || change.Notice
				if change.Kind == answer.Withdrawn && !told {
					t.Errorf("text is withdrawn before the notice: %+v", changes)
				}
			}
			for _, s := range v.Segments {
				if s.Call != "" && (s.Tool.Stage != answer.StageEnd || s.Tool.Error == "") {
					t.Errorf("a call that was never made stands as %+v", s.Tool)
				}
			}
		}))
	}
}

// A model without tools is given none, also when it goes on for another one: calls that were made are text to it.
func TestModelWithoutTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := []llm.Chunk{{Call: &llm.CallDelta{ID: "c", Name: "LOOK", Parameters: "{}"}}, {Finish: llm.FinishCalls}}
		first := &script{rounds: [][]llm.Chunk{call, nil, nil, nil}}
		plain := &script{then: []llm.Chunk{{Text: "It is noon."}, {Finish: llm.FinishStop}}}
		a := new(answer.Answer)
		err := write(t, []llm.Named{{Name: "a", Model: first, Fallback: []string{"b"}}, {Name: "b", Model: plain, NoTools: true}}, a, generate.Native)
		if err != nil || len(plain.asked) != 1 || !strings.HasSuffix(a.View().Text(), "It is noon.") {
			t.Fatalf(`%v, %d calls: %q; want 1 and it to end with "It is noon."`, err, len(plain.asked), a.View().Text())
		}
		told := ""
		for _, m := range plain.asked[0].Messages {
			if m.Role == llm.RoleTool || len(m.Calls) > 0 {
				t.Errorf("it is told of calls as %+v", m)
			}
			told += m.Text + "\n"
		}
		if len(plain.asked[0].Tools) != 0 || !strings.Contains(told, "Result of LOOK:\n") {
			t.Errorf(`it is given %d tools and told %q; want none and it to contain "Result of LOOK:\n"`, len(plain.asked[0].Tools), told)
		}
	})
}

// The names of the models are for the owner, and only where no one else reads them.
func TestFailoverNamesModelsToTheOwner(t *testing.T) {
	for turn, want := range map[*action.TurnContext]string{
		{Owner: true, Private: true}: "_(The usual model `a_1` is not available. `b` answers.)_",
		{Owner: true}:                "_(" + lang.Voice{}.Say("notice.another_model") + ")_",
		{Private: true}:              "_(" + lang.Voice{}.Say("notice.another_model") + ")_",
	} {
		synctest.Test(t, func(t *testing.T) {
			a := new(answer.Answer)
			then := &script{then: []llm.Chunk{{Text: "It is noon."}, {Finish: llm.FinishStop}}}
			err := writeTo(t, *turn, []llm.Named{{Name: "a_1", Model: &script{err: errDown}, Fallback: []string{"b"}}, {Name: "b", Model: then}}, a, generate.Native, nil)
			if got := a.View().Text(); err != nil || got != want+"\n\nIt is noon." {
				t.Errorf("%+v: %q, %v", turn, got, err)
			}
		})
	}
}
