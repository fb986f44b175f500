package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/subtest"
)

// unclean returns v with a NUL in all its strings, which PostgreSQL can't store, and SQLite does not take either.
func unclean[T any](v T) T {
	spoil(reflect.ValueOf(&v).Elem())
	return v
}

func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Len() > 0 {
			v.SetString(v.String()[:1] + "\x00" + v.String()[1:])
		}
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	}
}

// Whatever a platform reports is accepted, whatever bytes its strings have. An event that can't be stored would be
// delivered again and again, and hold up later events.
func TestUncleanEvents(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		n := w.start()
		clean := func() chat.Message {
			m := w.message(room, "ada", "hello")
			m.WorldName, m.Place.World, m.Place.Chats, m.Place.Name, m.Roles, m.Group, m.Source = "World", "fake", []string{"1"}, "Room", []string{"role"}, "album", "api"
			m.Files = []chat.Attachment{{Ref: "ref", Name: "a.txt", Type: "text/plain", Title: "title", Text: "text"}}
			m.Quoted = chat.Quoted{Name: "Bob", Text: "quoted"}
			return m
		}
		first := clean()
		for _, m := range []chat.Message{unclean(clean()), first} {
			acc := n.deliver(m)
			if o, said := w.waitAnswer(acc); o.Status != answer.Completed || !strings.Contains(said, "hello") || strings.ContainsRune(said, 0) {
				w.Errorf("it is %+v, and said %q", o, said)
			}
		}
		for _, in := range []chat.Inbound{
			chat.Choice{Question: "question", Room: room, Author: "ada", Name: "Ada", BilledTo: "ada", Roles: []string{"role"}},
			chat.Command{Room: room, Author: "ada", Roles: []string{"role"}, Name: chat.Stop},
			chat.Edited{Message: chat.Message{Memory: chat.Memory{ID: first.ID, Room: room, Author: "ada", Name: "Ada", Text: "other", At: time.Now()}}},
			chat.Reaction{Room: room, Author: "ada", Name: "Ada", On: first.ID, Message: "12", Emoji: "👍", Added: true, At: time.Now()},
			chat.Joined{World: chat.World{ID: "fake", Connector: "fake", Name: "World"}, Room: first.Place, Entity: chat.Entity{ID: "bob", Connector: "fake", Names: []string{"Bob"}}, Role: "admin"},
			chat.Left{World: "fake", Room: room, Entity: "bob"},
			chat.Deleted{Room: room, ID: first.ID},
			chat.Task{Room: room, By: standup, Name: "Standup", Text: "Sum up.", Key: "1", Files: []chat.Attachment{{Name: "data", Text: "text"}}},
			chat.Cleared{Room: room, Entirely: true, Person: "ada"},
		} {
			if _, err := n.ProcessMessage(w.Context(), unclean(in)); err != nil {
				w.Errorf("%T: %v", in, err)
			}
		}
		w.accepted = nil // all is cleared
		w.Must(n.checkStillAnswers())
	})
}

// checkStillAnswers returns an error unless the room still works.
func (n *process) checkStillAnswers() error {
	_, err := n.ProcessMessage(n.h.Context(), n.h.message(room, "ada", "still there?"))
	return err
}

// A run ends in its usual time, whatever bytes the model and its tools return.
func TestUncleanAnswers(t *testing.T) {
	long := strings.Repeat("x", 4000)
	for name, script := range map[string][]step{
		"the text":            {write("a\x00b\xff")},
		"the id of a call":    {call(0, "i\x00d\xff", "DO", `{}`)},
		"a long id of a call": {call(0, long, "DO", `{}`)},
		"the name of a call":  {call(0, "id", "D\x00O", `{}`)},
		"its parameters":      {call(0, "id", "DO", `{"a":"b\u0000c"}`)},
		"no JSON":             {call(0, "id", "DO", "{\"a\":\"b\x00\xffc\"}")},
		"a remote call":       {remote(unclean(llm.RemoteCall{ID: "id", Name: "search", Parameters: "{}", Running: true})), remote(unclean(llm.RemoteCall{ID: "id", Ended: true, Result: "found", Error: "no"}))},
		"its reasoning": {func(context.Context) (*llm.Chunk, error) {
			return &llm.Chunk{Reasoning: "a\x00b\xff", Alive: true}, nil
		}},
		"the tags":       {write("<response><thought>a\x00b</thought><actions><action><name>D\x00O</name></action></actions><text>c\x00d</text></response>")},
		"a call as text": {write("{\"action\":\"D\\u0000O\",\"parameters\":{\"a\":\"\\u0000\"}}")},
	} {
		for _, effect := range []action.Effect{action.Reads, action.Writes} {
			t.Run(name, subtest.Of(withHarness, func(w *harness) {
				w.watchOnly()
				var got string
				w.addActions(&fakeAction{name: "DO", effect: effect, do: func(ctx context.Context, c *action.Call) (action.Result, error) {
					var p map[string]string
					if err := json.Unmarshal(c.Parameters, &p); err != nil {
						return action.Result{}, err
					}
					got = p["a"]
					c.Update("a\x00b\xff")
					if err := c.Ask(ctx, chat.Question{Options: []string{"y\x00es"}, Handler: action.AsMessage, Payload: "p\x00"}); err != nil {
						return action.Result{}, err
					}
					return action.Result{Text: "t\x00\xff", Short: "s\x00\xff", Files: []llm.File{{Name: "n\x00\xff", Type: "text/plain\x00", Data: []byte("a\x00")}}}, nil
				}})
				w.model.queue(append(script, write("Done.")), []step{write("Finished.")}, []step{write("Finished.")})
				acc := w.start().sendText("do it")
				begun := time.Now()
				if o, said := w.waitAnswer(acc); o.Status != answer.Completed || said == "" || time.Since(begun) > time.Minute {
					w.Errorf("it is %+v after %s, and said %q", o, time.Since(begun), said)
				}
				if strings.ContainsRune(got, 0) {
					w.Errorf("the action gets %q", got)
				}
			}))
		}
	}
}

func remote(c llm.RemoteCall) step {
	return func(context.Context) (*llm.Chunk, error) { return &llm.Chunk{Remote: &c}, nil }
}

// The calls that a provider runs are bounded in number and in length.
func TestBoundsOfRemoteCalls(t *testing.T) {
	with := func(bytes int) []step {
		c := llm.RemoteCall{ID: "id", Name: "search", Parameters: strings.Repeat("x", bytes)}
		return []step{remote(c), remote(llm.RemoteCall{ID: "id", Ended: true, Result: "found"}), write("Done.")}
	}
	calls := func(n int) (script []step) {
		for i := range n {
			script = append(script, remote(llm.RemoteCall{ID: fmt.Sprint(i), Name: "search", Ended: true, Result: "found"}))
		}
		return append(script, write("Done."))
	}
	for name, c := range map[string]struct {
		script []step
		want   answer.Status
	}{
		"the longest parameters":  {with(256 << 10), answer.Completed},
		"longer parameters":       {with(256<<10 + 1), answer.Failed},
		"the most calls":          {calls(200), answer.Completed},
		"more calls than allowed": {calls(201), answer.Failed},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.watchOnly()
			w.model.queue(c.script)
			if o, _ := w.waitAnswer(w.start().sendText("A")); o.Status != c.want {
				w.Errorf("it ends as %+v; want %s", o, c.want)
			}
		}))
	}
}
