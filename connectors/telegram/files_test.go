package telegram

import (
	"testing"

	"parley/core/chat"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFiles(t *testing.T) {
	for name, c := range map[string]struct {
		extra, text string
		want        chat.Attachment
	}{
		"voice":       {`"voice":{"file_id":"V","duration":2,"mime_type":"audio/ogg","file_size":9}`, "", chat.Attachment{Ref: "V", Name: "voice.ogg", Type: "audio/ogg", Size: 9, Voice: true}},
		"audio":       {`"audio":{"file_id":"A","duration":2,"title":"A song","file_name":"s.mp3","mime_type":"audio/mpeg","file_size":9},"caption":"listen"`, "listen", chat.Attachment{Ref: "A", Name: "s.mp3", Type: "audio/mpeg", Size: 9, Title: "A song"}},
		"photo":       {`"photo":[{"file_id":"S","width":90,"height":60,"file_size":1},{"file_id":"L","width":1280,"height":853,"file_size":9},{"file_id":"M","width":320,"height":213,"file_size":2}]`, "", chat.Attachment{Ref: "L", Name: "photo.jpg", Type: "image/jpeg", Size: 9}},
		"captioned":   {`"photo":[{"file_id":"S","width":90,"height":60}],"caption":"what is this?"`, "what is this?", chat.Attachment{Ref: "S", Name: "photo.jpg", Type: "image/jpeg"}},
		"document":    {`"document":{"file_id":"D","file_name":"../a.pdf","mime_type":"application/pdf","file_size":5000000000}`, "", chat.Attachment{Ref: "D", Name: "../a.pdf", Type: "application/pdf", Size: 5000000000}},
		"nameless":    {`"document":{"file_id":"D"}`, "", chat.Attachment{Ref: "D", Name: "document"}},
		"video":       {`"video":{"file_id":"V","width":1,"height":1,"duration":1}`, "", chat.Attachment{Ref: "V", Name: "video.mp4", Type: "video/mp4"}},
		"round video": {`"video_note":{"file_id":"N","length":1,"duration":1}`, "", chat.Attachment{Ref: "N", Name: "video.mp4", Type: "video/mp4"}},
		"animation":   {`"animation":{"file_id":"G","file_name":"g.gif.mp4","width":1,"height":1,"duration":1},"document":{"file_id":"D"}`, "", chat.Attachment{Ref: "G", Name: "g.gif.mp4", Type: "video/mp4"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, ok := read(t, inPrivate, c.extra).(chat.Message)
			if !ok {
				t.Fatal("the update is not a message; want chat.Message")
			}
			if diff := cmp.Diff([]chat.Attachment{c.want}, m.Files); diff != "" || m.Text != c.text {
				t.Errorf("the text is %q, the files (-want +got):\n%s", m.Text, diff)
			}
		})
	}
}

func TestStickersAreWords(t *testing.T) {
	for extra, want := range map[string]string{
		`"sticker":{"file_id":"S","width":1,"height":1,"emoji":"😀"}`: "*Sticker 😀*",
		`"sticker":{"file_id":"S","width":1,"height":1}`:             "*Sticker*",
	} {
		m, ok := read(t, inPrivate, extra).(chat.Message)
		if !ok || m.Text != want || !cmp.Equal(m.Files, []chat.Attachment(nil), cmpopts.EquateEmpty()) {
			t.Errorf("%s is %+v", extra, m.Memory)
		}
	}
}
