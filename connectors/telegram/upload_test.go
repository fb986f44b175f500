package telegram

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"parley/connectors/telegram/telegramfake"
	"parley/core/llm"
	"parley/internal/require"
	"parley/progressive"
)

func picture(t *testing.T, width, height int) progressive.Part {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	return progressive.Part{File: &llm.File{Name: "picture-1.png", Type: "image/png", Data: b.Bytes()}, Plain: "(no picture)"}
}

// What Telegram takes as a photo is one, anything else a document, with all its bytes. Either goes where the question
// stands, and can be deleted.
func TestUpload(t *testing.T) {
	for name, c := range map[string]struct {
		width, height, more int
		method              string
	}{
		"a picture":        {40, 30, 0, "sendPhoto"},
		"as large as any":  {40, 30, mostPhoto, "sendPhoto"},
		"a larger one":     {40, 30, mostPhoto + 1, "sendDocument"},
		"a long one":       {210, 10, 0, "sendDocument"},
		"one of many dots": {9000, 1001, 0, "sendDocument"},
	} {
		withBot(t, func(t *testing.T, r *botHarness) {
			r.run(r.bot)
			ada := r.AddUser("Ada", "ada")
			forum := r.AddSupergroup("Forum", true)
			topic := r.AddTopic(forum, "One")
			s := r.ask(forum, ada, "@"+r.Bot().Username+" draw", telegramfake.InTopic(topic))
			p := picture(t, c.width, c.height)
			if c.more > 0 { // what follows a picture in its file is nothing
				p.File.Data = append(p.File.Data, make([]byte, c.more-len(p.File.Data))...)
			}
			id, err := s.Post(t.Context(), p, "")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all := r.Messages(forum)
			m := all[len(all)-1]
			if m.Upload == nil || m.Upload.Method != c.method || !bytes.Equal(m.Upload.Data, p.File.Data) || m.Upload.Name != "picture-1.png" || m.Thread != topic {
				t.Errorf("%s: %+v", name, m)
			}
			if err := s.Delete(t.Context(), id); err != nil || len(r.Messages(forum)) != len(all)-1 {
				t.Errorf("%s: deleted: %v", name, err)
			}
		})
	}
}

// TR-12, TR-24, TR-30: what a refusal of a file means.
func TestUploadIsRefused(t *testing.T) {
	body := func(code, text string) telegramfake.Fault {
		status := map[string]int{"400": 400, "401": 401, "403": 403, "413": 413}[code]
		return telegramfake.Fault{Method: "sendPhoto", Status: status, Body: `{"ok":false,"error_code":` + code + `,"description":"` + text + `"}`}
	}
	for name, c := range map[string]struct {
		fault telegramfake.Fault
		want  error
	}{
		"no right":         {body("400", "Bad Request: not enough rights to send photos to the chat"), progressive.ErrUnparsable},
		"no photo":         {body("400", "Bad Request: IMAGE_PROCESS_FAILED"), progressive.ErrUnparsable},
		"too large":        {body("413", "Request Entity Too Large"), progressive.ErrUnparsable},
		"left the group":   {body("403", "Forbidden: bot was kicked"), progressive.ErrUnparsable},
		"the token is old": {body("401", "Unauthorized"), progressive.ErrForbidden},
		"a proxy":          {telegramfake.Fault{Method: "sendPhoto", Status: 502}, progressive.ErrAmbiguous},
		"cut off":          {telegramfake.Fault{Method: "sendPhoto", Drop: true, Apply: true}, progressive.ErrAmbiguous},
	} {
		withBot(t, func(t *testing.T, r *botHarness) {
			_, s := r.private()
			r.Fault(c.fault)
			if _, err := s.Post(t.Context(), picture(t, 4, 3), ""); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	withBot(t, func(t *testing.T, r *botHarness) {
		_, s := r.private()
		r.Fault(telegramfake.Fault{Method: "sendPhoto", RetryAfter: 7})
		_, err := s.Post(t.Context(), picture(t, 4, 3), "")
		if slow := (progressive.RetryAfter{}); !errors.As(err, &slow) || slow.After.Seconds() != 7 || errors.Is(err, progressive.ErrUnparsable) {
			t.Errorf("a hold: %v", err)
		}
	})
}

// Voice messages and other recordings have the first sentence as a caption, which notifies no one and is within Telegram's limit; an edit of
// the file has it too.
func TestUploadHasCaption(t *testing.T) {
	long := strings.Repeat("😀 <b> & words ", 40)
	for name, c := range map[string]struct{ data, kind, method, words, want string }{
		"voice":   {"OggS\x00OpusHead", "audio/ogg", "sendVoice", "# Hello <Ada> & @bob. Another sentence.", "Hello <Ada> & @bob."},
		"music":   {"ID3", "audio/mpeg", "sendAudio", "One\ntwo", "One"},
		"long":    {"OggS\x00OpusHead", "audio/ogg", "sendVoice", long, string([]rune(long)[:199]) + "…"},
		"nothing": {"OggS\x00OpusHead", "audio/ogg", "sendVoice", " ", ""},
	} {
		withBot(t, func(t *testing.T, r *botHarness) {
			chat, s := r.private()
			f := llm.Spoken(llm.File{Name: "voice", Type: c.kind, Data: []byte(c.data)}, c.words)
			id := require.Value(s.Post(t.Context(), progressive.Part{File: &f, Plain: "(no voice)"}, ""))(t)
			check := func() {
				t.Helper()
				all := r.Messages(chat)
				u := all[len(all)-1].Upload
				if u == nil || u.Method != c.method && u.Method != "sendAudio" || strings.ReplaceAll(u.Caption, "\u2060", "") != c.want {
					t.Errorf("%s: %+v", name, u)
				}
				for _, e := range u.Entities {
					t.Errorf("%s: %+v", name, e)
				}
			}
			check()
			if c.method == "sendAudio" {
				f.Data = append(f.Data, 1)
				require.NoError(t, s.Edit(t.Context(), id, progressive.Part{File: &f}))
				check()
			}
		})
	}
}
