package web

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"

	"parley/core"
)

func TestImagesRefused(t *testing.T) {
	image := func(data, mime, name string) picture { return picture{data, mime, name} }
	const ok = "aGVsbG8="
	for name, c := range map[string]struct {
		pictures []picture
		want     int
	}{
		"good":            {[]picture{image(ok, "image/png", "a.png")}, 0},
		"five":            {make([]picture, 5), http.StatusBadRequest},
		"a data URL":      {[]picture{image("data:image/png;base64,"+ok, "image/png", "")}, http.StatusBadRequest},
		"too large":       {[]picture{image(strings.Repeat("a", maxImage+4), "image/png", "")}, http.StatusRequestEntityTooLarge},
		"SVG (SE-06)":     {[]picture{image(ok, "image/svg+xml", "")}, http.StatusBadRequest},
		"a long name":     {[]picture{image(ok, "image/png", strings.Repeat("a", 256))}, http.StatusBadRequest},
		"no base64":       {[]picture{image("%%%", "image/png", "")}, http.StatusBadRequest},
		"nothing":         {[]picture{image("", "image/png", "")}, http.StatusBadRequest},
		"one of two good": {[]picture{image(ok, "image/png", ""), image("%", "image/png", "")}, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Web{}
			files, no := w.shelve("web/c/m", c.pictures)
			if got := no; (got == nil) != (c.want == 0) || got != nil && got.status != c.want {
				t.Errorf("%+v", got)
			}
			if c.want != 0 && (files != nil || w.shelf.size != 0) {
				t.Error("something of it is kept")
			}
		})
	}
}

// SE-11: however many pictures come, what is held is bounded; the newest are there.
func TestShelf(t *testing.T) {
	w := &Web{}
	one := base64.StdEncoding.EncodeToString(make([]byte, 3<<20))
	for i := range 40 {
		if _, no := w.shelve(core.MemoryID(fmt.Sprint(i)), []picture{{one, "image/png", ""}}); no != nil {
			t.Fatal(no.sentence)
		}
	}
	if w.shelf.size > maxShelf || len(w.shelf.files) != len(w.shelf.order) {
		t.Errorf("%d bytes in %d files", w.shelf.size, len(w.shelf.files))
	}
	if _, err := w.Fetch(t.Context(), core.File{Ref: "39/0"}, 4<<20); err != nil {
		t.Errorf("the newest: %v", err)
	}
	if _, err := w.Fetch(t.Context(), core.File{Ref: "0/0"}, 4<<20); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("the oldest: %v", err)
	}
}

// A picture of an answer is given to who knows its conversation, and is nothing but a picture there (SE-06).
func TestFiles(t *testing.T) {
	serve(t, nil, accept, func(client *http.Client, _ *core.Answer) {
		for path, want := range map[string]int{
			"/api/conversations/c/messages/web%2Fc%231/files/0":       http.StatusOK,
			"/api/conversations/c/messages/web%2Fc%231/files/1":       http.StatusNotFound,
			"/api/conversations/c/messages/web%2Fc%231/files/x":       http.StatusNotFound,
			"/api/conversations/c/messages/web%2Fother%231/files/0":   http.StatusNotFound,
			"/api/conversations/c/messages/nothing/files/0":           http.StatusNotFound,
			"/api/conversations/unknown/messages/web%2Fc%231/files/0": http.StatusNotFound,
		} {
			resp, err := client.Get("http://127.0.0.1:8080" + path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != want || err != nil {
				t.Errorf("%s: %d %s, %v", path, resp.StatusCode, body, err)
			} else if want == http.StatusOK && (string(body) != "web/c#1" || resp.Header.Get("Content-Type") != "image/png" ||
				!strings.Contains(resp.Header.Get("Content-Security-Policy"), "sandbox") || resp.Header.Get("X-Content-Type-Options") != "nosniff") {
				t.Errorf("%s: %q with %v", path, body, resp.Header)
			}
		}
	})
}

// What is no picture is for saving, whatever it is called; players get the part that they ask for (SE-06).
func TestFilesAreSaved(t *testing.T) {
	song := core.Blob{Name: "a \"b\"\r\nX: y.html", Type: "text/html; charset=utf-8", Data: []byte("0123456789")}
	store := func(o *Options) { o.Store = oneFile{rooms{}, song} }
	serve(t, store, accept, func(client *http.Client, _ *core.Answer) {
		r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:8080/api/conversations/c/messages/web%2Fc%231/files/0", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Range", "bytes=2-4")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusPartialContent || string(body) != "234" {
			t.Errorf("%d %q, %v", resp.StatusCode, body, err)
		}
		kind, parameters, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition"))
		if err != nil || kind != "attachment" || parameters["filename"] != song.Name || resp.Header.Get("Content-Type") != song.Type ||
			resp.Header.Get("X") != "" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%v, %v", resp.Header, err)
		}
	})
}

// oneFile is a store with one file.
type oneFile struct {
	rooms
	file core.Blob
}

func (s oneFile) File(context.Context, core.RunID, int) (core.Blob, error) { return s.file, nil }
