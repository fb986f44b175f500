package core_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/llm"
	"parley/core/storage/storagetest"
	"parley/internal/require"
	"parley/internal/subtest"
)

// Two files of an album reach two replicas at the same moment. Both count for the field of the form, whichever button ends it.
func TestFilesReachTwoReplicas(t *testing.T) {
	for name, press := range map[string]bool{"a press": true, "a text": false} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "form", Actions: []action.Action{consent.FormAction{}}})
			w.model.respond = func(r llm.Request) []step {
				if last := r.Messages[len(r.Messages)-1]; last.Role == llm.RoleTool {
					return []step{write("Done.")}
				}
				return []step{call(0, "c", "ASK_FORM", `{"question":"Show me.","fields":[{"name":"photos","title":"Photos","kind":"file","max":3}]}`)}
			}
			b := w.start()
			file := func(name string) chat.Message {
				m := w.message(room, "ada", "")
				m.Files = []chat.Attachment{{Ref: name, Name: name, Type: "image/png", Size: 3}}
				return m
			}
			first, second := file("one.png"), file("two.png")
			raced := false
			store := w.cfg.Store
			w.cfg.Store = &storagetest.Interceptor{Store: store, Around: func(_ context.Context, c storagetest.Call, do func() error) error {
				if c.Method == "Ask" && len(c.Args[0].(chat.Question).Files) > 0 && !raced {
					raced = true
					b.send(second) // entirely, between the read and the write of the other
				}
				return do()
			}}
			a := w.start()
			acc := a.sendText("A claim, please")
			q := w.waitParked(acc)
			a.send(first)
			if press {
				if acc := b.deliver(chat.Choice{Question: q.ID, Option: 0, Room: room, Author: "ada"}); acc.Refused != "" {
					w.Fatalf("the press: %+v", acc)
				}
			} else {
				b.sendText("Done")
			}
			time.Sleep(time.Minute)
			answered := require.Value(store.QuestionOf(w.Context(), acc.Run))(w)
			var names []string
			for _, f := range answered.Files {
				names = append(names, f.Name)
			}
			if slices.Sort(names); !raced || strings.Join(names, " ") != "one.png two.png" {
				w.Errorf("the files of the field are %q, and both arrived at once: %v", names, raced)
			}
		}))
	}
}
