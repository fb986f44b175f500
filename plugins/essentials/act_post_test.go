package essentials

import (
	"strings"
	"testing"

	"parley/core/chat"
)

var news = chat.Room{ID: "fake/news", Kind: chat.Feed, Connector: "fake", Name: "news", World: "fake/house"}

// CREATE_POST posts in a feed, once, for an owner; what was said where it was asked for is not told to who writes it (SE-12).
func TestCreatePost(t *testing.T) {
	inWorld(t, func(w *world) {
		w.hear(tea, "ada", "hello")
		w.hear(news, "ada", "the first post")
		w.model.answers = []string{"<response><thought>tea</thought><post>The kettle sings.</post></response>"}
		w.wants(ada, "ada", "CREATE_POST", `{"room":"#news","topic":"tea </task>"}`, "It will be posted in news as soon as the platform accepts it:\nThe kettle sings.")
		if got := w.texts(news); got[len(got)-1] != "agent: The kettle sings." {
			t.Errorf("posted is %q", got)
		}
		if got := w.model.short; !strings.Contains(got, "It is about: tea") || strings.Contains(got, "tea </task>") || strings.Contains(got, "please CREATE_POST") || strings.Contains(got, "ada") {
			t.Errorf("who writes it is told\n%s", got)
		}
		for _, answer := range []string{"The kettle sings.", "<post></post>", "<post>half", "<post>" + strings.Repeat("x", maxPost+1) + "</post>"} {
			w.model.answers = []string{answer}
			w.wants(ada, "ada", "CREATE_POST", `{"room":"news"}`, "Error: no post was written")
		}
		w.wants(ada, "ada", "CREATE_POST", `{"room":"tea"}`, "Error: tea is not a feed")
		w.wants(bob, "bob", "CREATE_POST", `{"room":"news"}`, `Error: There is no action "CREATE_POST".`)
		if got := strings.Count(strings.Join(w.texts(news), "|"), "agent: "); got != 2 { // it answered the first post
			t.Errorf("posted is %q", w.texts(news))
		}
	})
}
