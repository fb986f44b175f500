package stories_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/backends/postgres/postgrestest"
	"parley/config"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/storage"
	"parley/core/turn"
	"parley/internal/require"
	"parley/internal/search"
	"parley/models/modelfake"
	"parley/sim"
)

// A fact of the second exchange answers a question after sixty, on each store, by words and by meaning. Without recall it is gone, and
// another conversation never has it. The embedder is synthetic: it knows a few synonyms.
func TestFactOfLongAgo(t *testing.T) {
	for store, address := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(t.TempDir(), "parley.db") },
		"postgres": func() string { return postgrestest.Start(t).Create(t, "") },
	} {
		for recall, fact := range map[config.Recall]string{
			"words": "By the way, my cat is called Miso", config.RecallMeaning: "By the way, our kitten answers to Miso",
		} {
			t.Run(fmt.Sprintf("%s by %s", store, recall), func(t *testing.T) { longConversation(t, address(), recall, fact) })
		}
	}
}

func longConversation(t *testing.T, address string, recall config.Recall, fact string) {
	const question = "What is my cat called?"
	model := modelfake.New(modelfake.Options{Choose: func(r modelfake.Request) modelfake.Script {
		if bytes.Contains(r.Raw, []byte(fact)) && bytes.Contains(r.Raw, []byte(question)) {
			return modelfake.Script{modelfake.Text("Miso, of course.")}
		}
		return modelfake.Script{modelfake.Text("I see.")}
	}})
	cfg := postgresConfig(t, address, model)
	cfg.Agent.Summaries, cfg.Web.Limits, cfg.Agent.Recall = false, config.Limits{}, recall
	var kept storage.Store
	g, end := startGateway(t, cfg, parley.Env{
		Models: llm.Models{Embedder: modelfake.Concepts{"cat kitten", "called answers"}},
		Wrap:   func(s storage.Store) storage.Store { kept = s; return s },
	})
	defer func() { end() }()
	b := &sim.Browser{HTTP: http.DefaultClient, Base: "http://" + g.Addr().String()}
	open := func() string {
		id := require.Value(b.Open(t.Context()))(t)
		return id
	}
	n := 0
	ask := func(id, text string) string {
		n++
		st := require.Value(b.Send(t.Context(), id, fmt.Sprint("m", n), text))(t)
		require.Value(st.All())(t)
		return st.Text()
	}
	id, other := open(), open()
	for i := range 60 {
		text := fmt.Sprintf("This is line %d of many.", i+1)
		if i == 1 {
			text = fact
		}
		ask(id, text)
	}
	ask(other, "Hello")
	indexed(t, kept, id, recall)
	if got := ask(id, question); got != "Miso, of course." {
		t.Errorf(`the answer is %q; want "Miso, of course."`, got)
	}
	if why := ask(id, "/why"); !strings.Contains(why, fact) {
		t.Errorf("/why doesn't show the recalled message: %q", why)
	}
	receipt := func() string {
		r := require.Value(turn.ReceiptOf(t.Context(), kept, chat.RunID("web/"+id+"#61")))(t)
		return r.Whole()
	}
	if got := receipt(); !strings.Contains(got, "Recalled, ") || !strings.Contains(got, fact) || !strings.Contains(got, "This is line 60 of many.") || !strings.Contains(got, question) {
		t.Errorf("the receipt has not the whole prompt:\n%s", got)
	}
	if got := ask(other, question); got != "I see." {
		t.Errorf(`in another conversation the answer is %q; want "I see."`, got)
	}
	run := require.Value(kept.Run(t.Context(), chat.RunID("web/"+id+"#61")))(t)
	for _, id := range run.Outcome.Prompt.Recalled {
		require.NoError(t, kept.Forget(t.Context(), chat.MemoryID(id)))
	}
	if got := receipt(); strings.Contains(got, fact) || !strings.Contains(got, "Recalled: (deleted)") {
		t.Errorf("after the deletion the receipt is\n%s", got)
	}
	end()
	cfg.Agent.Recall = config.RecallOff
	g, end = startGateway(t, cfg, parley.Env{})
	b.Base = "http://" + g.Addr().String()
	if got := ask(id, question); got != "I see." {
		t.Errorf(`without recall the answer is %q; want "I see."`, got)
	}
}

// indexed returns when the gateway has indexed what was said in a conversation.
func indexed(t *testing.T, s storage.Store, id string, recall config.Recall) {
	t.Helper()
	room := chat.RoomID("web/" + id)
	for range 400 {
		last, err := s.Recent(t.Context(), room, chat.Said, 0, 1)
		if err != nil || len(last) == 0 {
			t.Fatal(last, err)
		}
		q := chat.Search{
			Room: room, Before: last[0].ID, Limit: 1, Words: search.Question("Miso"), Model: "the program's own", Vector: []float32{1, 1, 0.1},
		}
		found, err := s.FindWords(t.Context(), q)
		if recall == config.RecallMeaning && err == nil && len(found) > 0 {
			found, err = s.FindVectors(t.Context(), q)
		}
		require.NoError(t, err)
		if len(found) > 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the messages are not indexed")
}

// Prompts begin as the one before did: with recall on and the limit of the history passed, the beginning changes only where the history
// is trimmed, and not in each turn.
func TestPromptsRepeatTheirBeginning(t *testing.T) {
	withGateway(t, func(cfg *config.Config) { cfg.Agent.HistoryTokens, cfg.Agent.Summaries = 1000, false }, func(s *harness) {
		const turns = 100
		id := s.newConversation()
		for i := range turns {
			s.readAll(s.send(id, fmt.Sprint("m", i), fmt.Sprintf("This is line %d about the garden, the roses and the old well.", i)))
			if i%10 == 0 {
				time.Sleep(time.Minute) // everything is indexed
			}
		}
		all := s.model.Requests()
		if len(all) != turns {
			t.Fatalf("there are %d requests; want %d", len(all), turns)
		}
		repeats, recalled := 0, 0
		for i := 1; i < len(all); i++ {
			// The last message is the context with the question: what is before it is the stable part.
			before, now := all[i-1].Messages, all[i].Messages
			stable := before[:len(before)-1]
			if len(now) >= len(stable) && reflect.DeepEqual(stable, now[:len(stable)]) && bytes.Equal(tools(all[i-1]), tools(all[i])) {
				repeats++
			}
			if strings.Contains(now[len(now)-1].Content, "Earlier messages that may matter") {
				recalled++
			}
		}
		t.Logf("of %d prompts, %d begin as the one before, and %d recall something", turns, repeats, recalled)
		if repeats < turns*8/10 || repeats == turns-1 {
			t.Errorf("%d of %d prompts begin as the one before; want most, and not all", repeats, turns)
		}
		if recalled < turns/3 {
			t.Errorf("%d of %d prompts recall something", recalled, turns)
		}
	})
}

// tools returns the tools of a request as they came.
func tools(r modelfake.Request) []byte {
	var body struct{ Tools json.RawMessage }
	_ = json.Unmarshal(r.Raw, &body) // the server has read it
	return body.Tools
}
