package player

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/core/actiontest"
)

func TestFind(t *testing.T) {
	var tracks []track
	for _, name := range []string{"Clair_de_Lune.mp3", "Clair de Lune (live, long).ogg", "so-what.flac", "Blue in Green.mp3", "Blue Train.mp3"} {
		tracks = append(tracks, track{title: title(name)})
	}
	for query, want := range map[string]string{
		"clair lune": "Clair de Lune",
		"LUNE live":  "Clair de Lune (live, long)",
		"so what?":   "so what",
		"blu tra":    "Blue Train",
		"":           "so what", // any: the one with the shortest title
		"blue moon":  "near: Blue in Green, Blue Train",
		"nothing":    "near: ",
	} {
		found, near := find(tracks, query)
		got := ""
		if found != nil {
			got = found.title
		} else {
			var titles []string
			for _, n := range near {
				titles = append(titles, n.title)
			}
			got = "near: " + strings.Join(titles, ", ")
		}
		if got != want {
			t.Errorf("%q finds %q; want %q", query, got, want)
		}
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
			t.Errorf("%s: %s, %v", address, got.link(), err)
		}
	}
}

func TestOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Folder: file}, {Folder: file + "/none"}, {URLs: []string{"ftp://x/y.mp3"}}, {URLs: []string{"clair"}}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "plugins.player.") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestPlayFromFolder(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"jazz/so_what.mp3": "sound", "empty.mp3": "", "notes.txt": "so what"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := New(Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	for parameters, want := range map[string]string{
		`{"title":"so what"}`: "🎵 Now playing: **so what**", // it is there at once: nothing else is worth showing
		`{"title":"empty"}`:   "⚠️ “empty” can't be played right now.",
		`{"title":"so cold"}`: "⚠️ I have no such track. Close to it: “so what”.",
	} {
		made := actiontest.Make(t, p.Actions[0], actiontest.Call{Parameters: parameters})
		if diff := cmp.Diff([]string{want}, made.Shown); diff != "" || (made.Err == nil) != strings.HasPrefix(want, "🎵") {
			t.Errorf("%s: %v\n%s", parameters, made.Err, diff)
		}
	}
}
