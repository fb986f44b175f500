package telegram

import (
	"bytes"
	"errors"
	"testing"

	"parley/connectors/telegram/telegramfake"
	"parley/core/llm"
	"parley/internal/require"
	"parley/progressive"
)

func filePart(name, kind, data string) progressive.Part {
	return progressive.Part{File: &llm.File{Name: name, Type: kind, Data: []byte(data)}, Plain: "(no file)"}
}

// showsFile posts a picture and returns its message.
func (r *botHarness) showsFile(s *sink) (id string) {
	r.t.Helper()
	id = require.Value(s.Post(r.t.Context(), picture(r.t, 4, 3), ""))(r.t)
	return id
}

// ST-01, TR-07, TR-25: a message that shows a file shows another in its place, of whatever kind, in a topic too. What can be
// heard is for the player.
func TestFileIsReplaced(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		ada := r.AddUser("Ada", "ada")
		forum := r.AddSupergroup("Forum", true)
		topic := r.AddTopic(forum, "One")
		s := r.ask(forum, ada, "@"+r.Bot().Username+" draw", telegramfake.InTopic(topic))
		id := r.showsFile(s)
		stood := len(r.Messages(forum))
		for _, c := range []struct {
			part         progressive.Part
			method, name string
		}{
			{picture(t, 8, 6), "sendPhoto", "picture-1.png"},
			{picture(t, 8, 6), "sendPhoto", "picture-1.png"}, // TR-07: what stands there already
			{filePart("report.pdf", "application/pdf", "%PDF"), "sendDocument", "report.pdf"},
			{picture(t, 210, 10), "sendDocument", "picture-1.png"},
			{filePart("song.MP3", "audio/mpeg", "ID3"), "sendAudio", "song.MP3"},
			{filePart("speech", "audio/mp4; codecs=mp4a", "ftyp"), "sendAudio", "speech.m4a"},
			{filePart("speech.ogg", "audio/ogg", "OggS"), "sendDocument", "speech.ogg"},
			{filePart("a\"; name=\"b\r\nX-Evil: 1\r\n\r\nпривет😀.txt", "text/plain", "x"), "sendDocument", "a_; name=_b__X-Evil: 1____привет😀.txt"}, // SE-05
			{picture(t, 4, 3), "sendPhoto", "picture-1.png"},
		} {
			if err := s.Edit(t.Context(), id, c.part); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			all := r.Messages(forum)
			m := all[len(all)-1]
			if len(all) != stood || m.Upload == nil || m.Upload.Method != c.method || m.Upload.Name != c.name || !bytes.Equal(m.Upload.Data, c.part.File.Data) || m.Thread != topic {
				t.Errorf("%s: %d messages, the last is %+v", c.name, len(all), m)
			}
		}
		if n := r.count("editMessageMedia"); n != 9 || r.count("sendPhoto") != 1 {
			t.Errorf("%d edits", n)
		}
	}, telegramfake.WithoutFlood())
}

// The kinds of files are posted by the same rule.
func TestFilesArePosted(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		chat, s := r.private()
		for _, c := range []struct {
			part         progressive.Part
			method, name string
		}{
			{filePart("../song.mp3", "audio/mpeg", "ID3"), "sendAudio", ".._song.mp3"},
			{filePart("song", "audio/x-m4a", "ftyp"), "sendAudio", "song.m4a"},
			{filePart("song.wav", "audio/wav", "RIFF"), "sendDocument", "song.wav"},
			{filePart("x\r\ny\".txt", "text/plain", "x"), "sendDocument", "x__y_.txt"}, // SE-05
		} {
			if _, err := s.Post(t.Context(), c.part, ""); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			all := r.Messages(chat)
			if m := all[len(all)-1]; m.Upload == nil || m.Upload.Method != c.method || m.Upload.Name != c.name || !bytes.Equal(m.Upload.Data, c.part.File.Data) {
				t.Errorf("%s: %+v", c.name, m)
			}
		}
	}, telegramfake.WithoutFlood())
}

// TR-08, TR-12, TR-30: what is said to an edit of a file is judged like what is said to its post; a message that is gone is
// gone.
func TestFileEditErrors(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		drop   bool
		want   error
	}{
		"no right":         {400, bad("not enough rights to send photos to the chat"), false, progressive.ErrUnparsable},
		"no photo":         {400, bad("IMAGE_PROCESS_FAILED"), false, progressive.ErrUnparsable},
		"unknown words":    {400, bad("something new"), false, progressive.ErrUnparsable},
		"too large":        {413, `{"ok":false,"error_code":413,"description":"Request Entity Too Large"}`, false, progressive.ErrUnparsable},
		"left the group":   {403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked"}`, false, progressive.ErrUnparsable},
		"no message":       {400, bad("message to edit not found"), false, progressive.ErrGone},
		"can't edit":       {400, bad("message can't be edited"), false, progressive.ErrStale},
		"the token is old": {401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, false, progressive.ErrForbidden},
		"a proxy":          {502, "", false, progressive.ErrAmbiguous},
		"cut off":          {0, "", true, progressive.ErrAmbiguous},
	} {
		withBot(t, func(t *testing.T, r *botHarness) {
			_, s := r.private()
			id := r.showsFile(s)
			r.Fault(telegramfake.Fault{Method: "editMessageMedia", Status: c.status, Body: c.body, Drop: c.drop, Apply: c.drop})
			if err := s.Edit(t.Context(), id, picture(t, 8, 6)); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TR-03, TR-08, TR-24: a rate limit closes the chat; a message that was deleted, or that stayed behind when its group
// moved, is gone.
func TestFileEditWaitsAndEnds(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		ada := r.AddUser("Ada", "ada")
		group := r.AddGroup("Group")
		s := r.ask(group, ada, "draw")
		id := r.showsFile(s)
		r.Fault(telegramfake.Fault{Method: "editMessageMedia", RetryAfter: 7})
		err := s.Edit(t.Context(), id, picture(t, 8, 6))
		slow := progressive.RetryAfter{}
		if !errors.As(err, &slow) || slow.After.Seconds() != 7 || errors.Is(err, progressive.ErrUnparsable) {
			t.Errorf("a hold: %v", err)
		}
		wait(slow.After)
		all := r.Messages(group)
		r.UserDelete(all[len(all)-1])
		wantError(t, s.Edit(t.Context(), id, picture(t, 8, 6)), progressive.ErrGone)
		id = r.showsFile(s)
		now := r.Migrate(group)
		wantError(t, s.Edit(t.Context(), id, picture(t, 8, 6)), progressive.ErrStale)
		if got := r.bot.moves.now(group.ID); got != now.ID {
			t.Errorf("the group is thought to be %d, not %d", got, now.ID)
		}
	}, telegramfake.WithReadAllGroupMessages())
}
