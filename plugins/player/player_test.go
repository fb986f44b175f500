package player

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"parley/core/action"
	"parley/core/action/actiontest"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

func TestFind(t *testing.T) {
	var tracks []track
	for _, name := range []string{"Clair_de_Lune.mp3", "Clair de Lune (live, long).ogg", "so-what.flac", "Blue in Green.mp3", "Blue Train.mp3", "Blue Monk.mp3", "take five.mp3", "taken fives.mp3"} {
		tracks = append(tracks, track{title: title(name)})
	}
	for query, want := range map[string]string{
		"clair lune": "Clair de Lune",
		"LUNE live":  "Clair de Lune (live, long)",
		"so what?":   "so what",
		"blu tra":    "Blue Train",
		"blue mon":   "Blue Monk",
		"mon blue":   "Blue Monk",
		"blue":       "Blue Train, Blue Monk",
		"take":       "take five", // not one that only begins so
		"tak fiv":    "take five, taken fives",
		"":           "so what", // any: the first with the shortest title
		"blue moon":  "near: Blue in Green, Blue Train, Blue Monk",
		"nothing":    "near: ",
	} {
		best, near := find(tracks, query)
		got := titles(best)
		if len(best) == 0 {
			got = "near: " + titles(near)
		}
		if got != want {
			t.Errorf("%q finds %q; want %q", query, got, want)
		}
	}
}

func titles(tracks []track) string {
	var all []string
	for _, t := range tracks {
		all = append(all, t.title)
	}
	return strings.Join(all, ", ")
}

// Tracks of one title are told apart by where they are, unless that is a secret.
func TestLabels(t *testing.T) {
	at := func(address string) track {
		found := require.Value(trackAt(address))(t)
		return found
	}
	got := labels([]track{
		{title: "so what", path: "jazz/so_what.mp3"}, {title: "so what", path: "so-what.ogg"}, {title: "Blue Train", path: "blue_train.mp3"},
		at("https://music.test/so_what.mp3"), at("https://hidden.test/so_what.mp3?key=hush"),
	})
	want := []string{"so what (jazz/so what.mp3)", "so what (so-what.ogg)", "Blue Train", "so what (music.test)", "so what"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLink(t *testing.T) {
	for address, want := range map[string]string{
		"https://music.test/a/So%20What.mp3":    "[So What](https://music.test/a/So%20What.mp3)",
		"https://music.test/x(1)[*].mp3":        "[x(1)](https://music.test/x%281%29[*].mp3)",
		"https://ada:pw@music.test/secret.mp3":  "**secret**", // where it is stays here
		"https://music.test/secret.mp3?token=x": "**secret**",
	} {
		got, err := trackAt(address)
		if err != nil || got.link() != want {
			t.Errorf("%s: %s, %v; want %s", address, got.link(), err, want)
		}
	}
}

func TestOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, o := range []Options{{Folder: file}, {Folder: file + "/none"}, {URLs: []string{"ftp://x/y.mp3"}}, {URLs: []string{"clair"}}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "plugins.player.") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// folder holds music and what is none.
func folder(t *testing.T, files map[string]string) action.Action {
	t.Helper()
	at := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(at, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o600))
	}
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("hush"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(at, "leads_away.mp3")))
	p := require.Value(New(Options{Folder: at}))(t)
	return p.Actions[0]
}

// now calls an action that needs no time, however slow the disk is.
func now(t *testing.T, a action.Action, c actiontest.Call) (made actiontest.Made) {
	synctest.Test(t, func(t *testing.T) { made = actiontest.Make(t, a, c) })
	return made
}

// What is there is played at once, and comes as a file: nothing else is worth showing. SE-06: not what a link leads to.
func TestPlayFromFolder(t *testing.T) {
	large := strings.Repeat("s", mostSound)
	music := folder(t, map[string]string{
		"jazz/so_what.mp3": "sound", "empty.mp3": "", "notes.txt": "so what", "large.OGG": large, "larger.m4a": large + "s",
		"dir.mp3/tea.txt": "tea",
	})
	file := func(name, kind, data string) []llm.File {
		return []llm.File{{Name: name, Type: kind, Data: []byte(data)}}
	}
	for title, want := range map[string]struct {
		shown string
		files []llm.File
	}{
		"so what": {"🎵 Now playing: **so what**", file("so_what.mp3", "audio/mpeg", "sound")},
		"larger":  {"🎵 Now playing: **larger**", nil},
		"empty":   {"⚠️ “empty” can't be played right now.", nil},
		"away":    {"⚠️ “leads away” can't be played right now.", nil},
		"so cold": {"⚠️ I don't have that track. Similar: “so what”.", nil},
		"dir":     {"⚠️ I don't have that track.", nil},
	} {
		made := now(t, music, actiontest.Call{Parameters: `{"title":"` + title + `"}`})
		if diff := cmp.Diff([]string{want.shown}, made.Shown); diff != "" || (made.Err == nil) != strings.HasPrefix(want.shown, "🎵") {
			t.Errorf("%s: %v\n%s", title, made.Err, diff)
		}
		if diff := cmp.Diff(want.files, made.ShownFiles); diff != "" || strings.Contains(made.Text, "gets the file") != (want.files != nil) {
			t.Errorf("%s: the model is told %q\n%s", title, made.Text, diff)
		}
	}
	made := now(t, music, actiontest.Call{Parameters: `{"title":"large"}`})
	if len(made.ShownFiles) != 1 || len(made.ShownFiles[0].Data) != mostSound || made.ShownFiles[0].Type != "audio/ogg" {
		t.Errorf("the largest is %v with %d files: %v", made.Shown, len(made.ShownFiles), made.Err)
	}
}

// Which of several is meant is asked, of those whose title fits as well as any.
func TestAmbiguousTitleIsAskedAbout(t *testing.T) {
	music := folder(t, map[string]string{"blue_monk.mp3": "monk", "blue_train.mp3": "train", "blue_in_green.mp3": "green"})
	const (
		which = "❓ Which one?"
		there = "✨ Setting up blue "
		monk  = "🎵 Now playing: **blue monk**"
		train = "🎵 Now playing: **blue train**"
	)
	for name, c := range map[string]struct {
		chosen []int
		err    error
		shown  []string
		file   string
		failed error
	}{
		"the first":         {[]int{0}, nil, []string{which, which + "\n\n→ **blue monk**", there + "monk…", monk}, "monk", nil},
		"the second":        {[]int{1}, nil, []string{which, which + "\n\n→ **blue train**", there + "train…", train}, "train", nil},
		"no choice":         {nil, nil, []string{which, "⚠️ No track was chosen: “blue monk”, “blue train”. Ask again with more of the title."}, "", chat.ErrUnanswered},
		"it can't be asked": {nil, chat.ErrUnseen, []string{which, there + "monk…", monk + "\n\nOther matches: “blue train”."}, "monk", nil},
		"asking fails":      {nil, fs.ErrClosed, []string{which, "⚠️ No track was chosen: “blue monk”, “blue train”. Ask again with more of the title."}, "", fs.ErrClosed},
	} {
		made := now(t, music, actiontest.Call{Parameters: `{"title":"blue"}`, Chosen: c.chosen, Unaskable: c.err})
		if diff := cmp.Diff(c.shown, made.Shown); diff != "" || !errors.Is(made.Err, c.failed) || (made.Err == nil) != (c.failed == nil) {
			t.Errorf("%s: %v\n%s", name, made.Err, diff)
		}
		if made.Err != nil && !strings.Contains(made.Err.Error(), "“blue monk”, “blue train”") {
			t.Errorf("%s: the model is told %q", name, made.Err)
		}
		if got := made.ShownFiles; len(got) != min(len(c.file), 1) || len(got) > 0 && string(got[0].Data) != c.file {
			t.Errorf("%s: the files are %v", name, got)
		}
		for _, q := range made.Asked {
			if diff := cmp.Diff([]string{"blue monk", "blue train"}, q.Options); diff != "" {
				t.Errorf("%s: %s; want none", name, diff)
			}
		}
	}
}

// No more are offered than can be, and people are told.
func TestWhichOfMany(t *testing.T) {
	files := map[string]string{}
	for n := range 14 {
		files[fmt.Sprintf("take_%02d.mp3", n)] = "sound"
	}
	made := now(t, folder(t, files), actiontest.Call{Parameters: `{"title":"take"}`, Chosen: []int{9}})
	if len(made.Asked) != 1 || len(made.Asked[0].Options) != 10 || made.Shown[0] != "❓ Which one? These are 10 of 14." || made.Shown[3] != "🎵 Now playing: **take 09**" {
		t.Errorf("%q, asked %+v: %v", made.Shown, made.Asked, made.Err)
	}
}

// A stopped action reads no further.
func TestStoppedWhileItReads(t *testing.T) {
	music := folder(t, map[string]string{"so_what.mp3": "sound"}).(*player)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if files, err := music.sound(ctx, track{path: "so_what.mp3"}); !errors.Is(err, stopped) || files != nil {
		t.Errorf("it read %v: %v", files, err)
	}
}
