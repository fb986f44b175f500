package discord_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/core/llm"
	"parley/internal/require"
	"parley/progressive"
)

func filePart(name, kind, data string) progressive.Part {
	return progressive.Part{File: &llm.File{Name: name, Type: kind, Data: []byte(data)}, Plain: "(no file)"}
}

// showsFile posts a file and returns its message.
func (w *botHarness) showsFile(s progressive.Sink) (id string) {
	w.Helper()
	id = require.Value(s.Post(w.Context(), filePart("one.png", "image/png", "1"), "run/files.1/0"))(w)
	return id
}

func (w *botHarness) replace(s progressive.Sink, id string, p progressive.Part) error {
	return s.(progressive.Editor).Edit(w.Context(), id, p)
}

// ST-01, DR-09, DR-13: a message that shows a file shows another in its place, of any type, without mentions.
func TestFileIsReplaced(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		id := w.showsFile(s)
		for _, next := range []progressive.Part{
			filePart("two.png", "image/png", "22"), filePart("report.pdf", "application/pdf", "333"),
			filePart("song.mp3", "audio/mpeg", "4444"), filePart("Bericht für Zoë 😀.txt", "text/plain; charset=utf-8", "55555"),
			filePart("Bericht für Zoë 😀.txt", "text/plain; charset=utf-8", "55555"), // TR-07: what stands there already
		} {
			if err := w.replace(s, id, next); err != nil {
				t.Fatalf("%s: %v", next.File.Name, err)
			}
			shown := w.fake.Messages(w.channel)
			if len(shown) != 2 || shown[1].ID != id || shown[1].Content != "" || len(shown[1].Attachments) != 1 {
				t.Fatalf("%s: shown %+v", next.File.Name, shown)
			}
			if a := shown[1].Attachments[0]; a.Filename != next.File.Name || a.ContentType != next.File.Type || !bytes.Equal(a.Data, next.File.Data) {
				t.Errorf("%+v stands there instead of %+v", a, next.File)
			}
			var body struct {
				Content *string
				Allowed *struct{ Parse []string } `json:"allowed_mentions"`
				Flags   int
				Files   []struct{ ID, Filename string } `json:"attachments"`
			}
			log := w.fake.Log()
			last := log[len(log)-1]
			if err := json.Unmarshal(last.Body, &body); err != nil || last.Route != discordfake.EditMessage ||
				body.Content == nil || body.Allowed == nil || body.Allowed.Parse == nil || body.Flags != 4 || len(body.Files) != 1 {
				t.Errorf("%s %s: %v", last.Route, last.Body, err)
			}
		}
	})
}

// SE-05: neither a file's name nor its type says more than it may.
func TestFileNamesEndNoHeader(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		evil := filePart("a\"; name=\"b\r\nX-Evil: 1\r\n\r\nпривет😀.png", "image/png\r\nX-Evil: 1", "1")
		id := require.Value(s.Post(w.Context(), evil, "run/files.1/0"))(t)
		evil.File.Name, evil.File.Type = "b"+evil.File.Name, ""
		require.NoError(t, w.replace(s, id, evil))
		a := w.fake.Messages(w.channel)[1].Attachments[0]
		if a.Filename != "ba_; name=_b__X-Evil: 1____привет😀.png" || a.ContentType != "application/octet-stream" || string(a.Data) != "1" {
			t.Errorf("shown %+v", a)
		}
	})
}

// What Discord says to an edit of a file is judged like what it says to its post, and the sink goes on.
func TestFileEditErrors(t *testing.T) {
	for name, c := range map[string]struct {
		fault discordfake.Fault
		size  int
		want  error
	}{
		"no right to attach": {discordfake.ErrorCode(403, 50013, "Missing Permissions"), 10, progressive.ErrUnparsable},
		"not liked":          {discordfake.ErrorCode(400, 50035, "Invalid Form Body"), 10, progressive.ErrUnparsable},
		"too large":          {discordfake.Fault{}, 10<<20 + 1, progressive.ErrUnparsable},
		"DR-27 gone":         {discordfake.ErrorCode(404, 10008, "Unknown Message"), 10, progressive.ErrGone},
		"DR-11 too old":      {discordfake.ErrorCode(429, 30046, "Maximum number of edits"), 10, progressive.ErrStale},
		"DR-24 archived":     {discordfake.ErrorCode(400, 50083, "Thread is archived"), 10, progressive.ErrStale},
		"cut off":            {discordfake.DropAfter(), 10, progressive.ErrAmbiguous},
		"a proxy":            {discordfake.Respond(502, nil, "<h1>502</h1>"), 10, progressive.ErrAmbiguous},
	} {
		withBot(t, func(w *botHarness) {
			s := w.askedSink()
			id := w.showsFile(s)
			w.fake.Fault(discordfake.Match{Route: discordfake.EditMessage}, c.fault)
			if err := w.replace(s, id, filePart("two.png", "image/png", strings.Repeat("2", c.size))); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
			if err := w.replace(s, id, filePart("three.png", "image/png", "333")); err != nil {
				t.Errorf("%s: the next one: %v", name, err)
			}
			if a := w.fake.Messages(w.channel)[1].Attachments; len(a) != 1 || a[0].Filename != "three.png" {
				t.Errorf("%s: shown %+v", name, a)
			}
		})
	}
}

// DR-01, I6: a rate limit applies to its request; a deleted message is reported as gone.
func TestFileEditWaitsAndEnds(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		id := w.showsFile(s)
		w.fake.Fault(discordfake.Match{Route: discordfake.EditMessage}, discordfake.TooManyRequests(discordfake.ScopeUser, 7*time.Second))
		var wait progressive.RetryAfter
		if err := w.replace(s, id, filePart("two.png", "image/png", "22")); !errors.As(err, &wait) || wait.After < 7*time.Second || wait.Scope != s.Scopes(progressive.Edit)[0] {
			t.Errorf("%v", err)
		}
		time.Sleep(wait.After)
		w.fake.UserDelete(id)
		if err := w.replace(s, id, filePart("two.png", "image/png", "22")); !errors.Is(err, progressive.ErrGone) {
			t.Errorf("a removed message: %v", err)
		}
	})
}
