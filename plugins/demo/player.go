package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"parley/core"
)

// step is how long each status of PLAY_DEMO stands.
const step = 700 * time.Millisecond

const (
	defaultTitle = "Clair de Lune"
	maxTitle     = 80 // runes that are shown
)

// player pretends to play something: PLAY_DEMO.
type player struct{}

func (player) Spec() core.ActionSpec {
	return core.ActionSpec{
		Name:        "PLAY_DEMO",
		Description: "Pretends to look up and play a piece of music, and shows how far it is. There is no sound.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"title":{"type":"string","description":"what to play"}}}`),
		Effect:      core.Reads,
	}
}

func (player) Act(ctx context.Context, c *core.Call) (core.Result, error) {
	var parameters struct{ Title string }
	if err := c.Read(&parameters); err != nil {
		return core.Result{}, err
	}
	return play(ctx, parameters.Title, func(text string) { c.Update(text) })
}

// play shows one status after the other.
func play(ctx context.Context, title string, show func(string)) (core.Result, error) {
	title = shown(title)
	for _, status := range []string{"🔍 Looking up…", "🔍 Searching…", "✨ Setting up…"} {
		show(status)
		if err := wait(ctx, step); err != nil {
			return core.Result{}, err
		}
	}
	show("Now playing: **" + title + "**")
	return core.Result{
		Text:  fmt.Sprintf("%q is playing now. It is a demo: there is no sound.", title),
		Short: "Now playing: " + title,
	}, nil
}

// shown is a title as one line of at most maxTitle runes that can't end the bold type around it.
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
	if runes := []rune(title); len(runes) > maxTitle {
		return string(runes[:maxTitle]) + "…"
	}
	return title
}

// wait returns after d, or with the cause of ctx.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
