package discord_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/core/chat"
)

// Commands of plugins are registered as they come. One that goes stays for an hour, also over a restart, because its server may come back.
func TestPluginsBringCommands(t *testing.T) {
	withBot(t, func(w *botHarness) {
		has := func(name string) bool { return slices.Contains(w.fake.Commands(w.guild), name) }
		w.start()
		w.plugged.Store(&[]chat.CommandSpec{
			{Name: "review", Description: strings.Repeat("Reviews a file. ", 20), Options: []chat.CommandOption{{Name: "focus"}, {Name: "file", Description: "Which", Required: true}, {Name: "file"}}},
			{Name: "usage", Description: "not that one"},
		})
		time.Sleep(2 * time.Minute)
		if !has("review") || has("file") {
			t.Fatalf("users see %q", w.fake.Commands(w.guild))
		}
		w.command("review", "file", `say "hi".go`, "focus", "style")
		w.wantTexts(`/review file="say 'hi'.go" focus="style"`)
		if id := w.fake.Command(w.channel, w.ann, "review"); id != "" {
			t.Error("a command without its required option can be given")
		}
		w.plugged.Store(nil)
		time.Sleep(10 * time.Minute)
		w.restart()
		w.start()
		time.Sleep(10 * time.Minute)
		if n := w.count(discordfake.PutCommands); !has("review") || n != 2 {
			t.Errorf("after some minutes without the server: %q, registered %d times; want it kept, and twice", w.fake.Commands(w.guild), n)
		}
		time.Sleep(time.Hour)
		if has("review") {
			t.Error("the command is still there after an hour without the server")
		}
	})
}

// Suggestions come at once, or a sentence; an autocomplete is never deferred, and what Discord invents later breaks nothing.
func TestAutocomplete(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		var asked []chat.Completion
		var fail error
		w.HandleAs(func(ctx context.Context, in chat.Inbound) (chat.Accepted, error) {
			c, ok := in.(chat.Completion)
			if !ok {
				return chat.Accepted{}, nil
			}
			asked = append(asked, c)
			if c.Typed == "slow" {
				<-ctx.Done()
				return chat.Accepted{}, ctx.Err()
			}
			found := []chat.Suggestion{{Label: strings.Repeat("long ", 50), Value: "1"}}
			for range 40 {
				found = append(found, chat.Suggestion{Label: "x", Value: "x"})
			}
			return chat.Accepted{Suggestions: &found}, fail
		})
		last := func() discordfake.PressAnswer {
			time.Sleep(4 * time.Second)
			all := w.fake.PressAnswers()
			if a := all[len(all)-1]; a.Type != 8 || a.After > 3*time.Second || len(a.Choices) == 0 {
				t.Errorf("answered %+v; want choices within three seconds", a)
			}
			return all[len(all)-1]
		}
		w.fake.Autocomplete(w.channel, w.ann, "forget", "which", "te")
		if a := last(); len(a.Choices) != 25 || a.Choices[0].Value != "1" {
			t.Errorf("offered %+v", a.Choices)
		}
		if c := asked[0]; c.Typed != "te" || c.Command != chat.ForgetCommand || c.Place.Kind != chat.Group || c.Place.World == "" || !strings.HasSuffix(string(c.Author), w.ann) {
			t.Errorf("asked %+v", c)
		}
		for _, typed := range []string{"slow", "other"} {
			fail = errors.New("the store is away")
			w.fake.Autocomplete(w.channel, w.ann, "model", "which", typed)
			if a := last(); a.Choices[0].Name != "That didn't work. Please try again." || a.Choices[0].Value != typed {
				t.Errorf("offered %+v", a.Choices)
			}
		}
		fail = nil
		for _, options := range []any{
			nil, []any{map[string]any{"name": "which", "type": 4, "value": 1.5, "focused": true}},
			[]any{map[string]any{"name": "deep", "type": 1, "options": []any{map[string]any{"name": "x", "type": 99, "value": []any{}}}}}, "no list", []any{"?", 7},
		} {
			w.fake.Interact(4, w.channel, w.ann, map[string]any{"name": "no such", "type": 1, "options": options})
			last()
			w.fake.Interact(2, w.channel, w.ann, map[string]any{"name": "model", "type": 1, "options": options})
			w.settle()
		}
	})
}
