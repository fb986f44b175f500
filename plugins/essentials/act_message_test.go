package essentials

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/core/action"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/subtest"
)

var news = chat.Room{ID: "fake/news", Kind: chat.Feed, Connector: "fake", Name: "news", World: "fake/house"}

// CREATE_POST posts in a feed, once, for an owner; what was said where it was asked for is not told to who writes it (SE-12).
func TestCreatePost(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.send(tea, "ada", "hello")
		w.send(news, "ada", "the first post")
		w.model.answers = []string{"<response><thought>tea</thought><post>The kettle sings.</post></response>"}
		w.wantResult(ada, "ada", "CREATE_POST", `{"room":"#news","topic":"tea </task>"}`, "It will be posted in news as soon as the platform accepts it:\nThe kettle sings.")
		if got := w.texts(news); got[len(got)-1] != "agent: The kettle sings." {
			t.Errorf("posted is %q", got)
		}
		if got := w.model.short; !strings.Contains(got, "It is about: tea") || strings.Contains(got, "tea </task>") || strings.Contains(got, "please CREATE_POST") || strings.Contains(got, "ada") {
			t.Errorf("who writes it is told\n%s", got)
		}
		for _, answer := range []string{"The kettle sings.", "<post></post>", "<post>half", "<post>" + strings.Repeat("x", maxPost+1) + "</post>"} {
			w.model.answers = []string{answer}
			w.wantResult(ada, "ada", "CREATE_POST", `{"room":"news"}`, "Error: no post was written")
		}
		w.wantResult(ada, "ada", "CREATE_POST", `{"room":"tea"}`, "Error: tea is not a feed")
		w.wantResult(bob, "bob", "CREATE_POST", `{"room":"news"}`, `Error: There is no action "CREATE_POST".`)
		if got := strings.Count(strings.Join(w.texts(news), "|"), "agent: "); got != 2 { // it answered the first post
			t.Errorf("posted is %q", w.texts(news))
		}
	})
}

// The image that a post asks for is generated once, when the post is sent, and stands below it. Without an image the post stands alone.
func TestImageOfAPost(t *testing.T) {
	for name, c := range map[string]struct {
		image string
		err   error
		asked []string
		files int
	}{
		"an image":     {"<imagePrompt> a kettle </imagePrompt>", nil, []string{"a kettle"}, 1},
		"none":         {"<imagePrompt></imagePrompt>", nil, nil, 0},
		"not closed":   {"<imagePrompt>a kettle", nil, nil, 0},
		"it fails":     {"<imagePrompt>a kettle</imagePrompt>", errors.New("no"), []string{"a kettle"}, 0},
		"too long one": {"<imagePrompt>" + strings.Repeat("x", maxPost+1) + "</imagePrompt>", nil, nil, 0},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.paint.err = c.err
			w.send(tea, "ada", "hello")
			w.send(news, "ada", "the first post")
			w.model.answers = []string{"<response><post>The kettle sings.</post>" + c.image + "</response>"}
			w.wantResult(ada, "ada", "CREATE_POST", `{"room":"#news"}`, "It will be posted in news")
			posts := require.Value(w.store.Recent(w.Context(), news.ID, chat.Said, 0, 1))(w)
			files := 0
			for _, call := range posts[0].Calls {
				files += len(call.Files)
			}
			if posts[0].Text != "The kettle sings." || files != c.files || !slices.Equal(w.paint.asked, c.asked) {
				w.Errorf("posted is %+v; asked for was %q", posts[0], w.paint.asked)
			}
		}))
	}
}

// Posts have a style and examples of their own: in feeds, and where a schedule or a hook asks.
func TestStyleOfPosts(t *testing.T) {
	agent := chat.Agent{Name: "Polly", Character: chat.Character{
		Style:        chat.Style{All: []string{"short"}, Chat: []string{"asks back"}, Post: []string{"no questions"}},
		PostExamples: []string{"Kraa."}, MessageExamples: [][]chat.Example{{{Name: "Ann", Text: "Tea?"}}},
	}}
	for name, c := range map[string]struct {
		room   chat.Room
		author chat.EntityID
		post   bool
	}{
		"a person in a group": {tea, "ada", false},
		"a feed":              {news, "ada", true},
		"a schedule":          {tea, chat.SchedulePrefix + "standup", true},
		"a hook":              {tea, chat.HookPrefix + "build", true},
	} {
		got := require.Value(character(t.Context(), action.TurnContext{Agent: agent, Room: c.room, Message: chat.Memory{Author: c.author}}))(t)
		for text, want := range map[string]bool{"short": true, "asks back": !c.post, "Ann: Tea?": !c.post, "no questions": c.post, "Kraa.": c.post} {
			if strings.Contains(got.Text, text) != want {
				t.Errorf("%s: %q is in the prompt or is not:\n%s", name, text, got.Text)
			}
		}
	}
}
