package admin_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/admin"
	"parley/internal/require"
)

// fetch stands in for the connectors. The content of a file is its reference.
func (p *page) fetch(_ context.Context, connector string, f chat.Attachment, limit int64) (llm.File, error) {
	p.tell("fetch", connector, f.Ref)
	switch {
	case f.Ref == "gone":
		return llm.File{}, chat.ErrNotFound
	case f.Ref == "broken":
		return llm.File{}, errors.New("the platform is down")
	case f.Size > limit:
		return llm.File{}, chat.ErrTooLarge
	}
	return llm.File{Name: f.Name, Type: f.Type, Data: []byte(f.Ref)}, nil
}

// sent stores a message with files, and returns the address of the nth.
func (p *page) sent(id chat.MemoryID, files ...chat.Attachment) func(n string) string {
	p.Helper()
	_, err := p.store.Accept(p.Context(), chat.Message{
		Memory:  chat.Memory{ID: id, Room: "fake/r", Author: "fake/ada", Name: "Ada", Text: "See", At: time.Now(), Files: files},
		Place:   chat.Room{ID: "fake/r", Kind: chat.Direct, Connector: "fake"},
		Address: chat.Address{Connector: "fake", Room: "fake/r"},
	}, chat.JoinRule{})
	p.must(err)
	return func(n string) string { return "/admin/file?id=" + url.QueryEscape(string(id)) + "&n=" + n }
}

// SE-26: owners and staff open the files of messages, others don't. Only pictures are shown in the page; no type and no name of a sender is markup or executed. Pages
// that a message links to are not fetched.
func TestFiles(t *testing.T) {
	p := newPage(t, nil)
	markup := "<script>alert(1)</script>"
	at := p.sent("fake/r/files",
		chat.Attachment{Ref: "pixels", Name: evil + ".png", Type: "image/png"},
		chat.Attachment{Ref: markup, Name: "../a\"b\r\n.html", Type: "text/html"},
		chat.Attachment{Ref: markup, Name: "a.svg", Type: "image/svg+xml"},
		chat.Attachment{Ref: markup, Name: "a.png", Type: "image/png; x=<script>"},
		chat.Attachment{Ref: markup},
		chat.Attachment{Ref: "https://internal.example/", Type: "text/html", Link: true},
		chat.Attachment{Ref: "gone", Name: "gone"}, chat.Attachment{Ref: "large", Size: 21 << 20}, chat.Attachment{Ref: "broken"},
	)
	none, staff, owner := p.visitor(), p.logIn("fake/sam"), p.logIn("fake/olga")
	for n, status := range map[string]int{
		"0": 200, "1": 200, "2": 200, "3": 200, "4": 200, "5": 404, "6": 404, "7": 413, "8": 500, "9": 404, "-1": 404, "": 404, "x": 404,
	} {
		for who, want := range map[*http.Client]int{none: http.StatusSeeOther, staff: status, owner: status} {
			r := require.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+at(n), http.NoBody))(p)
			resp := require.Value(who.Do(r))(p)
			p.must(resp.Body.Close())
			h := resp.Header
			download := strings.HasPrefix(h.Get("Content-Disposition"), "attachment")
			if resp.StatusCode != want || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("file %s: %d, %v; want %d", n, resp.StatusCode, h, want)
			}
			if want == http.StatusOK && (download != (n != "0") || h.Get("Content-Security-Policy") != "default-src 'none'; sandbox") {
				t.Errorf("file %s can be executed: %v", n, h)
			}
		}
	}
	if all := strings.Join(p.told, "\n"); strings.Contains(all, "internal.example") || !strings.Contains(all, "fetch fake pixels") {
		t.Errorf("fetched are %s", all)
	}
	run := require.Value(p.store.RunOf(t.Context(), "fake/r/files"))(p)
	for _, path := range []string{"/admin/room?id=fake%2Fr", "/admin/talk?id=fake%2Fr", "/admin/run?id=" + url.QueryEscape(string(run.ID))} {
		_, body := p.get(staff, path)
		if strings.Count(body, "<img ") != 1 || strings.Count(body, `class="attached"`) != 8 || strings.Contains(body, "<script>alert") || strings.Contains(body, "n=5") {
			t.Errorf("%s is %s", path, body)
		}
	}
	if _, body := p.get(staff, "/admin/talk?id=fake%2Fr"); strings.Contains(body, "[File: ../a") || !strings.Contains(body, "[Linked page") {
		t.Errorf("the talk does not name each file once: %s", body)
	}
	p.must(p.store.Forget(t.Context(), "fake/r/files"))
	if status, _ := p.get(owner, at("0")); status != http.StatusNotFound {
		t.Errorf("the file of a deleted message: %d", status)
	}
}

// Four files are held at a time; others wait.
func TestManyFiles(t *testing.T) {
	var held atomic.Int32
	entered, leave := make(chan bool, 6), make(chan bool)
	p := newPage(t, func(o *admin.Options) {
		o.Fetch = func(context.Context, string, chat.Attachment, int64) (llm.File, error) {
			held.Add(1)
			entered <- true
			<-leave
			return llm.File{Data: []byte("x")}, nil
		}
	})
	at, staff := p.sent("fake/r/files", chat.Attachment{Ref: "x"}), p.logIn("fake/sam")
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() { p.get(staff, at("0")) })
	}
	for range 4 {
		select {
		case <-entered:
		case <-time.After(5 * time.Second):
			t.Fatal("a file does not begin")
		}
	}
	time.Sleep(50 * time.Millisecond) // for a fifth one, which should wait
	if held.Load() != 4 {
		t.Errorf("%d files are held at a time; want 4", held.Load())
	}
	close(leave)
	all.Wait()
}

// Files that the calls of an answer have shown are below it, as those of users, and go with it.
func TestFilesOfAnswers(t *testing.T) {
	p := newPage(t, nil)
	acc, err := p.store.Accept(t.Context(), chat.Message{
		Memory:  chat.Memory{ID: "fake/q/1", Room: "fake/q", Author: "fake/ada", Name: "Ada", Text: "Draw", At: time.Now()},
		Place:   chat.Room{ID: "fake/q", Kind: chat.Direct, Connector: "fake"},
		Address: chat.Address{Connector: "fake", Room: "fake/q"},
	}, chat.JoinRule{})
	p.must(err)
	run, err := p.store.Start(t.Context(), acc.Run, "me")
	p.must(err)
	done := answer.Outcome{Status: answer.Completed}
	files := []llm.File{{Name: evil + ".png", Type: "image/png", Data: []byte("pixels")}, {Name: "a.html", Type: "text/html", Data: []byte("<script>alert(1)</script>")}}
	p.must(p.store.Note(t.Context(), run.ID, run.Epoch, chat.Note{Verdict: &chat.Verdict{Outcome: done, Text: "Here", Files: 2}, Files: files}))
	p.must(p.store.Finish(t.Context(), run.ID, run.Epoch, done, chat.Memory{
		ID: run.Said(), Room: "fake/q", Author: "agent", Text: "Here", At: time.Now(), InReplyTo: "fake/q/1",
		Calls: []answer.PastCall{{ID: "c", Files: []llm.PastFile{{N: 0, Name: files[0].Name, Type: files[0].Type}, {N: 1, Name: files[1].Name, Type: files[1].Type}}}},
	}))
	none, staff := p.visitor(), p.logIn("fake/sam")
	for _, path := range []string{"/admin/room?id=fake%2Fq", "/admin/run?id=" + url.QueryEscape(string(run.ID))} {
		_, body := p.get(staff, path)
		if strings.Count(body, "<img ") != 1 || strings.Count(body, `class="attached"`) != 2 || strings.Contains(body, "<script>alert") {
			t.Errorf("%s is %s", path, body)
		}
	}
	at := "/admin/file?id=" + url.QueryEscape(string(run.Said())) + "&n="
	for n, want := range []string{"pixels", "<script>alert(1)</script>"} {
		if status, body := p.get(staff, at+strconv.Itoa(n)); status != http.StatusOK || body != want {
			t.Errorf("file %d: %d %s", n, status, body)
		}
		if status, _ := p.get(none, at+strconv.Itoa(n)); status != http.StatusSeeOther {
			t.Errorf("file %d without a login: %d", n, status)
		}
	}
	p.must(p.store.Forget(t.Context(), "fake/q/1"))
	for _, n := range []string{"0", "2", "-1", "x"} {
		if status, _ := p.get(staff, at+n); status != http.StatusNotFound {
			t.Errorf("file %s of a deleted answer, or one that is not there: %d", n, status)
		}
	}
}
