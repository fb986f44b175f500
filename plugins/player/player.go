// Package player is a plugin that plays music by title, from a folder or from URLs, and shows its progress in the chat.
// If several tracks match, it asks which one is meant.
package player

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/internal/lang"
)

// Options locate the music.
type Options struct {
	Folder string   // including its subfolders; can be empty
	URLs   []string // of tracks; can be empty
	// Dial opens connections. Nil means the system's network, with the proxy of the environment.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// New returns the plugin. It fails if the folder doesn't exist, or if a URL is invalid.
func New(o Options) (action.Plugin, error) {
	// Unlike internal/guard, this uses a proxy: all addresses come from the owner, so none is forbidden.
	transport := &http.Transport{DialContext: o.Dial, DisableKeepAlives: true}
	if o.Dial == nil {
		transport.Proxy = http.ProxyFromEnvironment
	}
	p := &player{http: &http.Client{Transport: transport}}
	if o.Folder != "" {
		root, err := os.OpenRoot(o.Folder) // never closed; links that lead out of the folder are not followed
		if err != nil {
			return action.Plugin{}, fmt.Errorf("plugins.player.folder: %w", err)
		}
		p.folder = root.FS()
	}
	for _, address := range o.URLs {
		t, err := trackAt(address)
		if err != nil {
			return action.Plugin{}, fmt.Errorf("plugins.player.urls: %w", err)
		}
		p.fixed = append(p.fixed, t)
	}
	return action.Plugin{Name: "player", Actions: []action.Action{p}}, nil
}

// player is PLAY_MUSIC. It does not change, so it is safe for concurrent use.
type player struct {
	folder fs.FS // nil without one
	fixed  []track
	http   *http.Client
}

// Spec implements [action.Action].
func (*player) Spec() action.Spec {
	return action.Spec{
		Name:        "PLAY_MUSIC",
		Similes:     []string{"PLAY_AUDIO", "PLAY_SONG"},
		Description: "Play an available track matched by title; without a title, any track.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"title":{"type":"string","description":"words from the title, such as \"clair lune\""}}}`),
		Effect:  action.Reads,
		Compact: wanted,
		Limit:   timeToChoose + time.Minute,
	}
}

// wanted returns the title that is asked for.
func wanted(params map[string]any) string {
	title, _ := params["title"].(string)
	return title
}

const timeToChoose = 5 * time.Minute // for users

var (
	errNone = errors.New("no such track")
	errMany = errors.New("several tracks match equally well")
)

// Act implements [action.Action].
func (p *player) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	var parameters struct{ Title string }
	if err := c.Read(&parameters); err != nil {
		return action.Result{}, err
	}
	progress := action.NewProgress(c)
	progress.Update(lang.Say(ctx, "player.looking"))
	tracks, err := p.tracks(ctx)
	if err != nil {
		progress.Fail(lang.Say(ctx, "player.unreachable"))
		return action.Result{}, fmt.Errorf("look up the music: %w", err)
	}
	progress.Update(lang.Say(ctx, "player.searching", "n", len(tracks)))
	best, near := find(tracks, parameters.Title)
	if len(best) == 0 {
		progress.Fail(lang.Say(ctx, "player.none") + suggest(near))
		return action.Result{}, fmt.Errorf("%w: %q.%s", errNone, parameters.Title, suggest(near))
	}
	chosen, others, err := choose(ctx, progress, best)
	if err != nil {
		return action.Result{}, err
	}
	return p.play(ctx, progress, chosen, others)
}

// choose asks which of the tracks is meant. If the question can't be shown, it returns the first and the others.
// Without an answer in time, or after a stop, it fails.
func choose(ctx context.Context, progress *action.Progress, tracks []track) (chosen track, others []track, err error) {
	if len(tracks) == 1 {
		return tracks[0], nil, nil
	}
	offered := tracks[:min(len(tracks), mostOffered)]
	text := lang.Say(ctx, "player.which")
	if len(offered) < len(tracks) {
		text += " " + lang.Say(ctx, "player.offered", "offered", len(offered), "all", len(tracks))
	}
	q, err := progress.Choose(ctx, text, chat.Question{Options: labels(offered), Expires: time.Now().Add(timeToChoose)})
	switch {
	case err == nil:
		return offered[q.Choice], nil, nil
	case errors.Is(err, chat.ErrUnseen):
		return offered[0], offered[1:], nil
	}
	progress.Fail(lang.Say(ctx, "player.not_chosen", "tracks", list(offered)))
	return track{}, nil, fmt.Errorf("%w: %s: %w", errMany, list(offered), err)
}

// play sets up a track and shows it. others are the other tracks that match. Users and the model get
// different texts: users see the link, and the model learns that they do.
func (p *player) play(ctx context.Context, progress *action.Progress, t track, others []track) (action.Result, error) {
	name := plain(t.title)
	progress.Update(lang.Say(ctx, "player.setting_up", "track", name))
	again := func() {
		progress.Important(lang.Say(ctx, "player.retrying", "track", name))
	}
	if err := p.ready(ctx, t, again); err != nil {
		progress.Fail(lang.Say(ctx, "player.broken", "track", name))
		return action.Result{}, fmt.Errorf("set up %q: %w", t.title, err)
	}
	sound, err := p.sound(ctx, t)
	if err != nil {
		progress.Fail(lang.Say(ctx, "player.broken", "track", name))
		return action.Result{}, fmt.Errorf("read %q: %w", t.title, err)
	}
	shown, told := lang.Say(ctx, "player.playing", "track", t.link()), fmt.Sprintf("%q is now playing; the user sees that, with the link if there is one.", t.title)
	if len(sound) > 0 {
		told = fmt.Sprintf("%q is now playing; the user sees that and gets the file.", t.title)
	}
	if len(others) > 0 {
		also := "Other matches: " + list(others) + "."
		shown, told = shown+"\n\n"+also, told+" "+also
	}
	progress.Complete(shown, sound...)
	return action.Result{Text: told, Short: "playing"}, nil
}
