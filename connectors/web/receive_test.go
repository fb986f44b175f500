package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage/storagetest"
	"parley/internal/require"
)

const filesPath = "/api/conversations/c/files"

// put sends a file, and returns the status and what the reply says of the file, or why there is none.
func put(t *testing.T, c *http.Client, key, name, kind string, body io.Reader) (status int, file map[string]any, why string) {
	t.Helper()
	r := require.Value(http.NewRequest(http.MethodPost, fmt.Sprintf("http://127.0.0.1:8080%s?clientFileId=%s&name=%s", filesPath, key, name), body))(t)
	r.Header.Set("Content-Type", kind)
	resp := require.Value(c.Do(r))(t)
	defer resp.Body.Close()
	var said struct {
		File  map[string]any
		Error string
	}
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		t.Error(err)
	}
	return resp.StatusCode, said.File, said.Error
}

func get(t *testing.T, c *http.Client, path string) (*http.Response, string) {
	t.Helper()
	resp := require.Value(c.Get("http://127.0.0.1:8080" + path))(t)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp, string(body)
}

// A file is stored in pieces, can be read by who knows its conversation, and belongs to the message that names it.
func TestUpload(t *testing.T) {
	large := strings.Repeat("0123456789", 150_000)
	var sent chat.Message
	submit := func(in chat.Inbound) (chat.Accepted, error) {
		sent, _ = in.(chat.Message)
		return chat.Accepted{}, nil
	}
	serveOn(t, nil, submit, func(w *Web, n network) {
		status, file, why := put(t, n.client, "k1", "a%20%22b%22.pdf", "application/pdf", strings.NewReader(large))
		if want := fmt.Sprint(map[string]any{"id": "k1", "name": `a "b".pdf`, "type": "application/pdf", "size": 1.5e6, "url": "api/conversations/c/files/k1"}); status != http.StatusCreated || fmt.Sprint(file) != want {
			t.Fatalf("%d %v %s", status, file, why)
		}
		again, file, _ := put(t, n.client, "k1", "other", "text/plain", strings.NewReader("other"))
		if again != http.StatusOK || file["size"] != 1.5e6 {
			t.Errorf("the same again: %d %v", again, file)
		}
		resp, body := get(t, n.client, filesPath+"/k1")
		if resp.StatusCode != http.StatusOK || body != large || resp.Header.Get("Content-Disposition") == "" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%d, %d bytes, %v", resp.StatusCode, len(body), resp.Header)
		}
		for _, path := range []string{"/api/conversations/other/files/k1", filesPath + "/k1/thumbnail", filesPath + "/k2"} {
			if resp, _ := get(t, n.client, path); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %d", path, resp.StatusCode)
			}
		}
		if resp, body := post(t, n.client, streamPath, `{"files":["k1"],"clientMessageId":"m"}`); resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		if sent.Text != wordlessFiles || len(sent.Files) != 1 || sent.Files[0].Ref != "web/c/k1" || sent.Files[0].Size != int64(len(large)) {
			t.Errorf("the message is %+v", sent.Memory)
		}
		f, err := w.Fetch(t.Context(), sent.Files[0], maxFile)
		if err != nil || string(f.Data) != large {
			t.Errorf("it is read as %d bytes, %v", len(f.Data), err)
		}
		if _, err := w.Fetch(t.Context(), sent.Files[0], 100); !errors.Is(err, chat.ErrTooLarge) {
			t.Errorf("too large: %v", err)
		}
		if resp, _ := post(t, n.client, streamPath, `{"files":["k1"],"clientMessageId":"m"}`); resp.StatusCode != http.StatusOK {
			t.Errorf("the message again: %d", resp.StatusCode)
		}
		if resp, body := post(t, n.client, streamPath, `{"files":["k1"],"clientMessageId":"n"}`); resp.StatusCode != http.StatusConflict || !strings.Contains(body, "attach it again") {
			t.Errorf("in another message: %d %s", resp.StatusCode, body)
		}
	})
}

// A picture goes without a thumbnail if that is too large or can't be made.
func TestThumbnailIsLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		size int
		err  error
		want bool
	}{
		"the largest":    {maxThumbnail, nil, true},
		"too large":      {maxThumbnail + 1, nil, false},
		"not a picture":  {1, errors.New("unknown format"), false},
		"an empty image": {0, nil, false},
	} {
		serve(t, func(o *Options) {
			o.Thumbnail = func(context.Context, []byte) ([]byte, error) { return make([]byte, c.size), c.err }
		}, accept, func(client *http.Client, _ *answer.Answer) {
			status, file, why := put(t, client, "k1", "a.png", "image/png", strings.NewReader("\x89PNG\r\n\x1a\n"))
			if _, got := file["thumbnail"]; status != http.StatusCreated || got != c.want {
				t.Errorf("%s: %d %q; a thumbnail: %v; want %v", name, status, why, got, c.want)
			}
		})
	}
}

func TestUploadsRefused(t *testing.T) {
	form := &bytes.Buffer{}
	m := multipart.NewWriter(form)
	if p, err := m.CreateFormFile("file", "a.txt"); err != nil || m.Close() != nil {
		t.Fatal(p, err)
	}
	for name, c := range map[string]struct {
		key, name, kind string
		body            io.Reader
		want            int
		says            string
	}{
		"empty":           {"k", "a.txt", "text/plain", strings.NewReader(""), http.StatusBadRequest, "empty"},
		"too large":       {"k", "a.txt", "text/plain", bytes.NewReader(make([]byte, maxFile+1)), http.StatusRequestEntityTooLarge, "20 MiB"},
		"a bad key":       {"a%2Fb", "a.txt", "text/plain", strings.NewReader("a"), http.StatusBadRequest, "clientFileId"},
		"the key .":       {".", "a.txt", "text/plain", strings.NewReader("a"), http.StatusBadRequest, "clientFileId"},
		"the key ..":      {"..", "a.txt", "text/plain", strings.NewReader("a"), http.StatusBadRequest, "clientFileId"},
		"an encoded ..":   {"%2e%2e", "a.txt", "text/plain", strings.NewReader("a"), http.StatusBadRequest, "clientFileId"},
		"a dotted key":    {"..a", "a.txt", "text/plain", strings.NewReader("a"), http.StatusCreated, ""},
		"a long name":     {"k", strings.Repeat("a", 256), "text/plain", strings.NewReader("a"), http.StatusBadRequest, "255"},
		"without length":  {"k", "a.txt", "text/plain", io.MultiReader(strings.NewReader("a")), http.StatusLengthRequired, "Content-Length"},
		"a form":          {"k", "a.txt", m.FormDataContentType(), form, http.StatusUnsupportedMediaType, "without a form"},
		"unreadable":      {"k", "a.exe", "application/x-msdownload", bytes.NewReader(append([]byte("MZ"), make([]byte, 1<<20)...)), http.StatusUnsupportedMediaType, "This file can't be read: a.exe 524288."},
		"without a type":  {"k", "a.txt", "", strings.NewReader("a"), http.StatusCreated, ""},
		"no picture":      {"k", "a.png", "image/png", strings.NewReader("a"), http.StatusCreated, ""},
		"without a name":  {"", "", "text/plain", strings.NewReader("a"), http.StatusCreated, ""},
		"the largest key": {strings.Repeat("k", maxKey), "a", "text/plain", strings.NewReader("a"), http.StatusCreated, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kept := keptUploads()
			refuse := func(o *Options) {
				o.Store = rooms{Uploads: kept}
				o.Refuse = func(name, _ string, head []byte) string {
					if bytes.HasPrefix(head, []byte("MZ")) {
						return fmt.Sprint(name, " ", len(head))
					}
					return ""
				}
			}
			serve(t, refuse, ignored, func(client *http.Client, _ *answer.Answer) {
				status, file, why := put(t, client, c.key, c.name, c.kind, c.body)
				if status != c.want || !strings.Contains(why, c.says) || (status == http.StatusCreated) != (file != nil) {
					t.Errorf("%d %v %q", status, file, why)
				}
				if file != nil && file["type"] == "image/png" {
					t.Error("the file counts as a picture; want it refused as one")
				}
				if _, err := kept.Upload(t.Context(), "web/c/k"); c.want != http.StatusCreated && !errors.Is(err, chat.ErrNotFound) {
					t.Errorf("it is kept: %v", err)
				}
			})
		})
	}
}

// What an address can have waiting is bounded, and a message frees it; what goes beyond the whole space is refused.
func TestWaitingFilesAreBounded(t *testing.T) {
	serve(t, nil, ignored, func(client *http.Client, _ *answer.Answer) {
		for i := range maxWaiting + 1 {
			status, _, why := put(t, client, fmt.Sprint("k", i), "a", "text/plain", strings.NewReader("a"))
			if full := status == http.StatusConflict; full != (i == maxWaiting) || full && !strings.Contains(why, "at most 16") {
				t.Errorf("file %d: %d %s", i, status, why)
			}
		}
		r := require.Value(http.NewRequest(http.MethodDelete, "http://127.0.0.1:8080"+filesPath+"/k0", nil))(t)
		if resp, err := client.Do(r); err != nil || resp.StatusCode != http.StatusOK || resp.Body.Close() != nil {
			t.Fatal(resp, err)
		}
		if status, _, why := put(t, client, "k16", "a", "text/plain", strings.NewReader("a")); status != http.StatusCreated {
			t.Errorf("after one was removed: %d %s", status, why)
		}
		resp, body := post(t, client, streamPath, `{"text":"a","files":["1","2","3","4","5","6","7","8","9"]}`)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "At most 8") {
			t.Errorf("nine files: %d %s", resp.StatusCode, body)
		}
	})
	full := noSpace{rooms{Uploads: keptUploads()}}
	serve(t, func(o *Options) { o.Store = full }, ignored, func(client *http.Client, _ *answer.Answer) {
		if status, _, why := put(t, client, "k", "a", "text/plain", strings.NewReader("a")); status != http.StatusServiceUnavailable || !strings.Contains(why, "no space") {
			t.Errorf("%d %s", status, why)
		}
		if u, err := full.Upload(t.Context(), "web/c/k"); !errors.Is(err, chat.ErrNotFound) {
			t.Errorf("it is kept: %+v, %v", u, err)
		}
	})
}

// noSpace is a store that has no space for any piece within the limit of the web API.
type noSpace struct{ rooms }

func (s noSpace) AddPiece(_ context.Context, _, _ string, _ int, _ []byte, rule chat.UploadRule) error {
	if rule.Total == chat.MaxUploads {
		return chat.ErrNoSpace
	}
	return nil
}

// startFile begins to send a file of that length.
func startFile(t *testing.T, n network, length int) *sender {
	t.Helper()
	c, err := n.dial("tcp", "127.0.0.1:8080")
	require.NoError(t, err)
	if _, err = fmt.Fprintf(c, "POST %s?clientFileId=k HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", filesPath, length); err != nil {
		t.Fatal(err)
	}
	s := &sender{t, c, make(chan *http.Response, 1)}
	go func() {
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			resp = nil
		}
		s.resp <- resp
	}()
	return s
}

// WB-15: a file that arrives slowly is read as long as it keeps the minimum rate. One that stops, or ends early, leaves nothing that
// a message could name, and the next attempt succeeds.
func TestSlowAndCutUploads(t *testing.T) {
	kept := storagetest.NewUploads()
	serveOn(t, func(o *Options) { o.Store = rooms{Uploads: kept} }, ignored, func(_ *Web, n network) {
		begun := time.Now()
		stuck := startFile(t, n, 1<<20)
		go stuck.drip(time.Second, "a")
		if status := stuck.ends(time.Minute); status == http.StatusCreated || time.Since(begun) > rateEvery+time.Second {
			t.Errorf("a stuck one ended with %d after %v", status, time.Since(begun))
		}
		_ = stuck.conn.Close()
		cut := startFile(t, n, 1<<20)
		require.NoError(t, cut.send(strings.Repeat("b", 600<<10)))
		time.Sleep(time.Second)
		_ = cut.conn.Close()
		time.Sleep(time.Second)
		if u, err := kept.Upload(t.Context(), "web/c/k"); !errors.Is(err, chat.ErrNotFound) {
			t.Errorf("of what was cut is left %+v, %v", u, err)
		}
		slow := startFile(t, n, 3<<20)
		for range 48 { // longer than a message can take
			require.NoError(t, slow.send(strings.Repeat("c", 64<<10)))
			time.Sleep(5 * time.Second)
		}
		if status := slow.ends(time.Minute); status != http.StatusCreated {
			t.Errorf("a slow one ended with %d", status)
		}
		_ = slow.conn.Close()
		if piece, err := kept.Piece(t.Context(), "web/c/k", 5); err != nil || strings.Trim(string(piece), "c") != "" {
			t.Errorf("%q, %v", piece[:min(len(piece), 10)], err)
		}
		time.Sleep(3 * time.Second)
	})
}

// Of two that send the same file, the later one goes on, and the file is that one's.
func TestUploadTwice(t *testing.T) {
	kept := storagetest.NewUploads()
	serveOn(t, func(o *Options) { o.Store = rooms{Uploads: kept} }, ignored, func(_ *Web, n network) {
		first := startFile(t, n, 1<<20)
		require.NoError(t, first.send(strings.Repeat("a", 600<<10)))
		time.Sleep(time.Second)
		if status, _, why := put(t, n.client, "k", "a", "text/plain", strings.NewReader("b")); status != http.StatusCreated {
			t.Errorf("the second: %d %s", status, why)
		}
		require.NoError(t, first.send(strings.Repeat("a", 1<<20-600<<10)))
		if status := first.ends(time.Minute); status != http.StatusConflict {
			t.Errorf("the first: %d", status)
		}
		_ = first.conn.Close()
		if piece, err := kept.Piece(t.Context(), "web/c/k", 0); err != nil || string(piece) != "b" {
			t.Errorf("%d bytes, %v", len(piece), err)
		}
		time.Sleep(3 * time.Second)
	})
}

// No name and no address can hold what a store does not take: it would fail every time.
func TestUncleanNames(t *testing.T) {
	var sent chat.Message
	submit := func(in chat.Inbound) (chat.Accepted, error) {
		sent, _ = in.(chat.Message)
		return chat.Accepted{}, nil
	}
	kept := keptUploads()
	serve(t, func(o *Options) { o.Store = rooms{Uploads: kept} }, submit, func(client *http.Client, _ *answer.Answer) {
		status, file, why := put(t, client, "k", "a%00b%ff.txt", "text/plain", strings.NewReader("a"))
		if status != http.StatusCreated || file["name"] != "ab\uFFFD.txt" {
			t.Errorf("a file: %d %v %q", status, file, why)
		}
		if resp, body := post(t, client, streamPath, `{"clientMessageId":"m","images":[{"data":"aGk=","mimeType":"image/png","name":"a\u0000b"}]}`); resp.StatusCode != http.StatusOK || sent.Files[0].Name != "ab" {
			t.Errorf("an image: %d %s, named %+v", resp.StatusCode, body, sent.Files)
		}
		for _, id := range []string{"%00", "a%ffb", "a%0ab"} {
			for _, path := range []string{"/api/conversations/" + id + "/messages", filesPath + "/" + id, filesPath + "/" + id + "/thumbnail", "/api/conversations/c/messages/" + id + "/files/0"} {
				if resp, body := get(t, client, path); resp.StatusCode != http.StatusNotFound {
					t.Errorf("%s: %d %s", path, resp.StatusCode, body)
				}
			}
			for _, path := range []string{"/api/conversations/" + id + "/messages/stream", "/api/conversations/" + id + "/files?clientFileId=k", "/api/conversations/" + id + "/stop", "/api/hooks/" + id} {
				if resp, body := post(t, client, path, `{"text":"a"}`); resp.StatusCode != http.StatusNotFound {
					t.Errorf("%s: %d %s", path, resp.StatusCode, body)
				}
			}
		}
	})
}
