// Package player is a plugin that finds music by its title and plays it, from a folder or from addresses, and shows in
// the chat how far it is.
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

	"parley/core"
)

// Options say where the music is.
type Options struct {
	Folder string   // with its folders; may be empty
	URLs   []string // of tracks; may be empty
	// Dial opens connections. Nil means the system's way.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// New makes the plugin. It fails if the folder is none, or an address can't be one.
func New(o Options) (core.Plugin, error) {
	p := &player{http: &http.Client{Transport: &http.Transport{DialContext: o.Dial, DisableKeepAlives: true}}}
	if o.Folder != "" {
		info, err := os.Stat(o.Folder)
		if err != nil {
			return core.Plugin{}, fmt.Errorf("plugins.player.folder: %w", err)
		} else if !info.IsDir() {
			return core.Plugin{}, fmt.Errorf("plugins.player.folder: %s is no folder", o.Folder)
		}
		p.folder = os.DirFS(o.Folder)
	}
	for _, address := range o.URLs {
		t, err := trackAt(address)
		if err != nil {
			return core.Plugin{}, fmt.Errorf("plugins.player.urls: %w", err)
		}
		p.fixed = append(p.fixed, t)
	}
	return core.Plugin{Name: "player", Actions: []core.Action{p}}, nil
}

// player is PLAY_MUSIC.
type player struct {
	folder fs.FS // nil without one
	fixed  []track
	http   *http.Client
}

// Spec implements [core.Action].
func (*player) Spec() core.ActionSpec {
	return core.ActionSpec{
		Name:        "PLAY_MUSIC",
		Similes:     []string{"PLAY_AUDIO", "PLAY_SONG"},
		Description: "Plays a piece of music that is at hand, found by words of its title. Without a title it plays any.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"title":{"type":"string","description":"words of the title, such as \"clair lune\""}}}`),
		Effect: core.Reads,
	}
}

var errNone = errors.New("no such track")

// Act implements [core.Action].
func (p *player) Act(ctx context.Context, c *core.Call) (core.Result, error) {
	var parameters struct{ Title string }
	if err := c.Read(&parameters); err != nil {
		return core.Result{}, err
	}
	progress := core.NewProgress(c)
	progress.Update("🔍 Looking up the music…")
	tracks, err := p.tracks(ctx)
	if err != nil {
		progress.Fail("The music can't be reached right now.")
		return core.Result{}, fmt.Errorf("look up the music: %w", err)
	}
	progress.Update(fmt.Sprintf("🔍 Searching %d tracks…", len(tracks)))
	found, near := find(tracks, parameters.Title)
	if found == nil {
		progress.Fail("I have no such track." + suggest(near))
		return core.Result{}, fmt.Errorf("%w: %q.%s", errNone, parameters.Title, suggest(near))
	}
	name := plain(found.title)
	progress.Update("✨ Setting up " + name + "…")
	again := func() {
		progress.Important("🔁 The server of “" + name + "” does not answer; I try once more…")
	}
	if err := p.ready(ctx, *found, again); err != nil {
		progress.Fail("“" + name + "” can't be played right now.")
		return core.Result{}, fmt.Errorf("set up %q: %w", found.title, err)
	}
	progress.Complete("🎵 Now playing: " + found.link())
	return core.Result{Text: fmt.Sprintf("%q is playing now; people see that, with the link if there is one.", found.title), Short: "it plays"}, nil
}
