package telegramfake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"strings"
	"testing"
	"time"

	"parley/connectors/telegram/telegramfake"
	"parley/internal/require"
)

// upload calls a method with files, by the parameter that they are. Their names are what precedes a colon.
func (b *bot) upload(method string, p params, files map[string]string) answer {
	b.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for name, value := range p {
		_ = w.WriteField(name, fmt.Sprint(value)) // into memory
	}
	for field, file := range files {
		name, data, _ := strings.Cut(file, ":")
		part := require.Value(w.CreateFormFile(field, name))(b.t)
		_, _ = io.WriteString(part, data)
	}
	_ = w.Close()
	resp := require.Value(b.http.Post("http://api/bot"+b.Token()+"/"+method, w.FormDataContentType(), &form))(b.t)
	defer resp.Body.Close()
	var a answer
	require.NoError(b.t, json.NewDecoder(resp.Body).Decode(&a))
	if a.OK && b.spec != nil {
		if err := b.spec.CheckResult(method, a.Result); err != nil {
			b.t.Errorf("%v\n%s", err, a.Result)
		}
	}
	return a
}

func painted(t *testing.T, name string, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	return name + ":" + b.String()
}

// withSpec compares requests with the specification where there is one.
func withSpec(t *testing.T) (opts []telegramfake.Option) {
	t.Helper()
	spec := require.Value(telegramfake.SharedSpec())(t)
	if spec != nil {
		opts = append(opts, telegramfake.WithSpec(spec))
	}
	return append(opts, telegramfake.WithoutFlood())
}

// TR-07, TR-08: editMessageMedia shows another file, or says why not.
func TestEditMessageMedia(t *testing.T) {
	const photo = `{"type":"photo","media":"attach://x"}`
	for name, c := range map[string]struct {
		media    string
		files    map[string]string
		want     string // the refusal; none if empty
		rejected bool   // for what no correct client does
	}{
		"another":         {photo, map[string]string{"x": painted(t, "b.png", 8, 6)}, "", false},
		"a document":      {`{"type":"document","media":"attach://x"}`, map[string]string{"x": "b.txt:hello"}, "", false},
		"music":           {`{"type":"audio","media":"attach://y"}`, map[string]string{"y": "b.mp3:ID3"}, "", false},
		"the same":        {photo, map[string]string{"x": painted(t, "a.png", 4, 3)}, "message is not modified", false},
		"no photo":        {photo, map[string]string{"x": "b.png:hello"}, "IMAGE_PROCESS_FAILED", false},
		"long photo":      {photo, map[string]string{"x": painted(t, "b.png", 210, 10)}, "PHOTO_INVALID_DIMENSIONS", false},
		"large photo":     {photo, map[string]string{"x": painted(t, "b.png", 4, 3) + strings.Repeat("x", 10_000_000)}, "is too big for a photo", false},
		"empty":           {photo, map[string]string{"x": "b.png:"}, "file must be non-empty", false},
		"no music":        {`{"type":"audio","media":"attach://x"}`, map[string]string{"x": "b.txt:ID3"}, "neither an .mp3 nor an .m4a", true},
		"not attached":    {photo, map[string]string{"y": "b.png:x"}, "unknown parameter", true},
		"nothing":         {photo, nil, "x is no upload", true},
		"one too many":    {photo, map[string]string{"x": painted(t, "b.png", 4, 3), "y": "b.png:x"}, "unknown parameter", true},
		"unknown type":    {`{"type":"song","media":"attach://x"}`, map[string]string{"x": "b:x"}, "is unsupported", true},
		"of the server's": {`{"type":"photo","media":"AgAC"}`, nil, "not modelled", true},
		"no JSON":         {`{"type":"photo"`, map[string]string{"x": "b:x"}, "parameter", true},
		"no media":        {"", nil, "\"media\" is required", true},
	} {
		bubble(t, func(t *testing.T, b *bot) {
			chat := b.AddPrivate(b.AddUser("Ann", "ann"))
			id := b.upload("sendPhoto", params{"chat_id": chat.ID}, map[string]string{"photo": painted(t, "a.png", 4, 3)}).message(t).ID
			time.Sleep(time.Second) // the bubble's clock
			p := params{"chat_id": chat.ID, "message_id": id}
			if c.media != "" {
				p["media"] = c.media
			}
			a := b.upload("editMessageMedia", p, c.files)
			if a.OK != (c.want == "") || !strings.Contains(a.Description, c.want) {
				t.Errorf("%s: %d %s", name, a.ErrorCode, a.Description)
			}
			if a.OK && showsIn(t, a) != kindIn(t, c.media) {
				t.Errorf("%s: shows %s", name, a.Result)
			}
			if rejected := len(b.Rejected()) > 0; rejected != c.rejected {
				t.Errorf("%s: rejected %+v", name, b.Rejected())
			}
			m := b.Messages(chat)[0]
			past := b.History(m)
			if a.OK != (len(past) == 2) || past[0].Upload.Name != "a.png" || past[len(past)-1].Upload != m.Upload || a.OK == (m.Upload.Name == "a.png") {
				t.Errorf("%s: %+v, before %+v", name, m, past)
			}
		}, withSpec(t)...)
	}
}

// showsIn is what a message has instead of a text.
func showsIn(t *testing.T, a answer) (kind string) {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(a.Result, &fields))
	for _, k := range []string{"photo", "audio", "document"} {
		if fields[k] != nil {
			kind += k
		}
	}
	return kind
}

func kindIn(t *testing.T, media string) string {
	t.Helper()
	var in struct{ Type string }
	require.NoError(t, json.Unmarshal([]byte(media), &in))
	return in.Type
}

// TR-02, TR-08: it can be done to what the bot shows, and spends what other edits do.
func TestWhatMediaCanBeEdited(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		chat := b.AddPrivate(ann)
		file := map[string]string{"x": "b.txt:hello"}
		edit := func(id int) string {
			return b.upload("editMessageMedia", params{"chat_id": chat.ID, "message_id": id, "media": `{"type":"document","media":"attach://x"}`}, file).Description
		}
		id := b.upload("sendAudio", params{"chat_id": chat.ID}, map[string]string{"audio": "a.m4a:ftyp"}).message(t).ID
		if u := b.Messages(chat)[0].Upload; u.Type != "audio/mp4" || u.Method != "sendAudio" {
			t.Errorf("music is %+v", u)
		}
		theirs := b.Say(chat, ann, "hi")
		text := b.send(chat, "text")
		b.refused(400, "Bad Request: there is no text in the message to edit", "editMessageText", params{"chat_id": chat.ID, "message_id": id, "text": "x"})
		for n, want := range map[int]string{
			theirs.ID: "Bad Request: message can't be edited", 999: "Bad Request: message to edit not found", text: "Bad Request: a text becomes a file: not modelled",
		} {
			if got := edit(n); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		b.ok("deleteMessage", params{"chat_id": chat.ID, "message_id": id})
		if got := edit(id); got != "Bad Request: message to edit not found" {
			t.Errorf(`deleted: %q; want "Bad Request: message to edit not found"`, got)
		}
	}, telegramfake.WithoutFlood())
	bubble(t, func(t *testing.T, b *bot) {
		chat := b.AddPrivate(b.AddUser("Ann", "ann"))
		id := b.upload("sendDocument", params{"chat_id": chat.ID}, map[string]string{"document": "a.txt:0"}).message(t).ID
		for i := range 5 {
			a := b.upload("editMessageMedia", params{"chat_id": chat.ID, "message_id": id, "media": `{"type":"document","media":"attach://x"}`},
				map[string]string{"x": fmt.Sprintf("a.txt:%d", i+1)})
			if a.OK != (i < 4) || !a.OK && a.ErrorCode != 429 {
				t.Errorf("edit %d: %d %s", i, a.ErrorCode, a.Description)
			}
		}
	})
}
