package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/connectors/telegram/telegramfake"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/sim"
)

func TestFetch(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		id := r.AddFile("photo.jpg", []byte("picture"), 0)
		got, err := r.bot.Fetch(t.Context(), chat.Attachment{Ref: id, Name: "mine", Type: "image/jpeg"}, 100)
		if err != nil || string(got.Data) != "picture" || got.Name != "mine" || got.Type != "image/jpeg" {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := r.bot.Fetch(t.Context(), chat.Attachment{Ref: id}, 3); !errors.Is(err, chat.ErrTooLarge) {
			t.Errorf("more than is wanted comes with %v", err)
		}
	})
}

// TR-31: A file over the limit is not requested, no matter where its size comes from.
func TestFetchTooMuch(t *testing.T) {
	const much = 21 << 20
	withBot(t, func(t *testing.T, r *botHarness) {
		id := r.AddFile("film.mp4", []byte("x"), much)
		for name, f := range map[string]chat.Attachment{"the message says so": {Ref: id, Size: much}, "the server says so": {Ref: id}} {
			if _, err := r.bot.Fetch(t.Context(), f, 1<<30); !errors.Is(err, chat.ErrTooLarge) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, q := range r.Log() {
			if q.Method == telegramfake.Download {
				t.Error("the file was downloaded; want no download")
			}
		}
	})
}

// SE-02, TR-31: the address of a file holds the token. No error shows it, however the download fails.
func TestFetchFails(t *testing.T) {
	for name, c := range map[string]struct {
		fault telegramfake.Fault
		want  error // nil for any
	}{
		"lost":             {telegramfake.Fault{Method: "getFile", Status: 400, Body: `{"ok":false,"error_code":400,"description":"Bad Request: wrong file_id"}`}, chat.ErrNotFound},
		"too big":          {telegramfake.Fault{Method: "getFile", Status: 400, Body: `{"ok":false,"error_code":400,"description":"Bad Request: file is too big"}`}, chat.ErrTooLarge},
		"getFile dropped":  {telegramfake.Fault{Method: "getFile", Drop: true, Times: -1}, nil},
		"a proxy":          {telegramfake.Fault{Method: telegramfake.Download, Status: 502}, nil},
		"download dropped": {telegramfake.Fault{Method: telegramfake.Download, Drop: true, Times: -1}, nil},
		"download slow":    {telegramfake.Fault{Method: telegramfake.Download, Delay: time.Hour}, context.DeadlineExceeded},
		"gone":             {telegramfake.Fault{Method: telegramfake.Download, Status: 404}, chat.ErrNotFound},
	} {
		t.Run(name, subtest.Plain(withBot, func(t *testing.T, r *botHarness) {
			r.Fault(c.fault)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, err := r.bot.Fetch(ctx, chat.Attachment{Ref: r.AddFile("photo.jpg", []byte("x"), 0)}, 100)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || got.Data != nil {
				t.Errorf("%v, %v", got, err)
			}
			for _, leak := range sim.Leak("the error", fmt.Sprintf("%v %+v", err, err), r.Token()) {
				t.Error(leak)
			}
		}))
	}
	t.Run("no server", func(t *testing.T) {
		c := newClient(telegramfake.DefaultToken, "http://files.test", func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("refused")
		})
		_, err := c.download(t.Context(), "photos/a.jpg", 10)
		for _, leak := range sim.Leak("the error", fmt.Sprint(err), telegramfake.DefaultToken) {
			t.Error(leak)
		}
	})
}

// SE-05: the path comes from a server. It leads nowhere else, and to no disk.
func TestPathsOfFiles(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.EscapedPath())
		_, _ = io.WriteString(w, "x")
	}))
	defer server.Close()
	c := newClient(telegramfake.DefaultToken, server.URL, (&net.Dialer{}).DialContext)
	for path, want := range map[string]string{
		"photos/file 1.jpg":      "photos/file%201.jpg",
		"photos/a?b#c":           "photos/a%3Fb%23c",
		"../../bot1/deleteChat":  "",
		"photos/../../x":         "",
		"/var/lib/telegram/file": "",
		"":                       "",
		"a//b":                   "",
	} {
		asked = nil
		_, err := c.download(t.Context(), path, 10)
		got := strings.TrimPrefix(strings.Join(asked, " "), "/file/bot"+telegramfake.DefaultToken+"/")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: asked for %q, %v", path, got, err)
		}
	}
	if _, err := c.download(t.Context(), "/var/lib/file", 10); !errors.Is(err, errOnDisk) {
		t.Errorf("a server with files on its disk: %v", err)
	}
}

// A server in --local mode names files on its disk: they are read from the folder of the bot, and from no other place.
func TestFetchFromDisk(t *testing.T) {
	const token = "123456789:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	top := t.TempDir()
	own := filepath.Join(top, token)
	require.NoError(t, os.MkdirAll(filepath.Join(own, "documents"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(own, "documents", "file_1.txt"), []byte("hello"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(top, "secret"), []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(top, "secret"), filepath.Join(own, "link")))
	c := newClient(token, "", nil)
	for path, want := range map[string]error{
		own + "/documents/file_1.txt": nil, own + "/documents/none": errOnDisk, own + "/documents": errOnDisk, own + "/link": errOnDisk,
		own + "/../secret": errOnDisk, top + "/secret": errOnDisk, "/etc/passwd": errOnDisk,
	} {
		got, err := c.download(t.Context(), path, 10)
		if !errors.Is(err, want) || want == nil && string(got) != "hello" {
			t.Errorf("%s: %q, %v; want %v", path, got, err, want)
		}
		for _, leak := range sim.Leak("the error", fmt.Sprint(err), token) {
			t.Error(leak)
		}
	}
	if _, err := c.download(t.Context(), own+"/documents/file_1.txt", 4); !errors.Is(err, chat.ErrTooLarge) {
		t.Errorf("a file that is too large: %v", err)
	}
}
