package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/rest"
)

// step is the time that PLAY_DEMO shows each status.
const step = 700 * time.Millisecond

const (
	defaultTitle = "Clair de Lune"
	maxTitle     = 80 // runes that are shown
)

// pieces returns the pieces to choose from.
func pieces() []string { return []string{defaultTitle, "So What"} }

// player pretends to play something: PLAY_DEMO.
type player struct{}

func (player) Spec() action.Spec {
	return action.Spec{
		Name:        "PLAY_DEMO",
		Description: "Pretend to find and play a piece of music, showing progress. There is no sound.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string","description":"what to play"},` +
			`"choose":{"type":"boolean","description":"true to ask which of two pieces to play; then omit title"}}}`),
		Effect: action.Reads,
		Limit:  6 * time.Minute, // users have five minutes to choose
	}
}

func (player) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	var parameters struct {
		Title  string
		Choose bool
	}
	if err := c.Read(&parameters); err != nil {
		return action.Result{}, err
	}
	return play(ctx, func(text string) { c.Update(text) }, func() (string, error) {
		if !parameters.Choose {
			return parameters.Title, nil
		}
		return which(ctx, c)
	})
}

// which asks for the piece to play. If the user makes no choice, it returns the first.
func which(ctx context.Context, c *action.Call) (string, error) {
	q, err := c.Choose(ctx, "❓ Which one?", chat.Question{Options: pieces()})
	if errors.Is(err, chat.ErrUnanswered) || errors.Is(err, chat.ErrUnseen) {
		return pieces()[0], nil
	}
	return q.Options[q.Choice], err
}

// play shows one status after the other. It calls title after the search.
func play(ctx context.Context, show func(string), title func() (string, error)) (action.Result, error) {
	for _, status := range []string{"🔍 Looking up…", "🔍 Searching…"} {
		show(status)
		if err := rest.For(ctx, step); err != nil {
			return action.Result{}, err
		}
	}
	wanted, err := title()
	if err != nil {
		return action.Result{}, err
	}
	show("✨ Setting up…")
	if err := rest.For(ctx, step); err != nil {
		return action.Result{}, err
	}
	piece := shown(wanted)
	show("Now playing: **" + piece + "**")
	return action.Result{
		Text:  fmt.Sprintf("%q is now playing. This is a demo: there is no sound.", piece),
		Short: "Now playing: " + piece,
	}, nil
}

// shown returns a title as one line of at most maxTitle runes, without characters that would end the bold type around it.
func shown(title string) string {
	title = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`~|[]<>\\", r) {
			return -1
		}
		return r
	}, title)), " ")
	if title == "" {
		return defaultTitle
	}
	return text.Excerpt(title, maxTitle)
}
