package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

func TestImagesRefused(t *testing.T) {
	one := func(data, mime, name string) picture { return picture{data, mime, name} }
	const ok = "aGVsbG8="
	for name, c := range map[string]struct {
		pictures []picture
		want     int
	}{
		"good":            {[]picture{one(ok, "image/png", "a.png")}, 0},
		"five":            {slices.Repeat([]picture{one(ok, "image/png", "")}, 5), http.StatusBadRequest},
		"a data URL":      {[]picture{one("data:image/png;base64,"+ok, "image/png", "")}, http.StatusBadRequest},
		"too large":       {[]picture{one(strings.Repeat("a", maxImage+4), "image/png", "")}, http.StatusRequestEntityTooLarge},
		"far too large":   {[]picture{one(strings.Repeat("a", 2*maxImage), "image/png", "")}, http.StatusRequestEntityTooLarge},
		"SVG (SE-06)":     {[]picture{one(ok, "image/svg+xml", "")}, http.StatusBadRequest},
		"a long name":     {[]picture{one(ok, "image/png", strings.Repeat("a", 256))}, http.StatusBadRequest},
		"no base64":       {[]picture{one("%%%", "image/png", "")}, http.StatusBadRequest},
		"nothing":         {[]picture{one("", "image/png", "")}, http.StatusBadRequest},
		"one of two good": {[]picture{one(ok, "image/png", ""), one("%", "image/png", "")}, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Web{kept: &kept{uploads: &share{all: maxUploads, each: maxUploads}}}
			body := require.Value(json.Marshal(map[string]any{"text": "a", "images": c.pictures}))(t)
			rec := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			_, no := w.readQuestion(rec, r)
			if (no == nil) != (c.want == 0) || no != nil && no.status != c.want {
				t.Errorf("%v", no)
			}
		})
	}
}

// A picture of an answer is given to who knows its conversation, and is nothing but a picture there (SE-06).
func TestFiles(t *testing.T) {
	serve(t, nil, accept, func(client *http.Client, _ *answer.Answer) {
		for path, want := range map[string]int{
			"/api/conversations/c/messages/web%2Fc%231/files/0":       http.StatusOK,
			"/api/conversations/c/messages/web%2Fc%231/files/1":       http.StatusNotFound,
			"/api/conversations/c/messages/web%2Fc%231/files/x":       http.StatusNotFound,
			"/api/conversations/c/messages/web%2Fother%231/files/0":   http.StatusNotFound,
			"/api/conversations/c/messages/nothing/files/0":           http.StatusNotFound,
			"/api/conversations/unknown/messages/web%2Fc%231/files/0": http.StatusNotFound,
		} {
			resp := require.Value(client.Get("http://127.0.0.1:8080" + path))(t)
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
	song := llm.File{Name: "a \"b\"\r\nX: y.html", Type: "text/html; charset=utf-8", Data: []byte("0123456789")}
	store := func(o *Options) { o.Store = oneFile{rooms{}, song} }
	serve(t, store, accept, func(client *http.Client, _ *answer.Answer) {
		r := require.Value(http.NewRequest(http.MethodGet, "http://127.0.0.1:8080/api/conversations/c/messages/web%2Fc%231/files/0", nil))(t)
		r.Header.Set("Range", "bytes=2-4")
		resp := require.Value(client.Do(r))(t)
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
	file llm.File
}

func (s oneFile) File(context.Context, chat.RunID, int) (llm.File, error) { return s.file, nil }

func (s oneFile) FilePart(_ context.Context, _ chat.RunID, _ int, from, length int64) (chat.FilePart, error) {
	return partOf(s.file, from, length), nil
}
