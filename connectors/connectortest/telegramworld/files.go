package telegramworld

import (
	"strings"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/telegram/telegramfake"
)

// SendFile implements [connectortest.People].
func (w *Platform) SendFile(from connectortest.User, in connectortest.Room, text string, f connectortest.File) {
	w.visit(in)
	if in == w.Group() {
		text = "@" + w.Fake.Bot().Username + " " + text
	}
	w.Fake.Say(Chat(in), w.users[from], text, telegramfake.WithMedia(w.media(f)))
}

// Attach sends a file without a mention.
func (w *Platform) Attach(from connectortest.User, in connectortest.Room, f connectortest.File) {
	w.Send(from, in, "", telegramfake.WithMedia(w.media(f)))
}

// Undelivered sends a file of which the bot is not told.
func (w *Platform) Undelivered(from connectortest.User, in connectortest.Room, text string, f connectortest.File) connectortest.Message {
	m := w.Send(from, in, text, telegramfake.WithMedia(w.media(f)), telegramfake.Undelivered())
	return connectortest.Message{ID: messageID(m.Chat, m.ID)}
}

// media are the fields by which a message has f.
func (w *Platform) media(f connectortest.File) map[string]any {
	id := w.Fake.AddFile(f.Name, f.Data, 0)
	fields := map[string]any{"file_id": id, "file_unique_id": "u" + id, "file_size": len(f.Data)}
	switch {
	case f.Voice:
		fields["duration"], fields["mime_type"] = 2, f.Type
		return map[string]any{"voice": fields}
	case strings.HasPrefix(f.Type, "image/"):
		fields["width"], fields["height"] = 2, 2
		return map[string]any{"photo": []any{fields}}
	}
	fields["file_name"], fields["mime_type"] = f.Name, f.Type
	return map[string]any{"document": fields}
}

// LoseFiles implements [connectortest.Weather].
func (w *Platform) LoseFiles() {
	w.Fake.Fault(telegramfake.Fault{
		Method: "getFile", Times: -1, Status: 400,
		Body: `{"ok":false,"error_code":400,"description":"Bad Request: wrong file_id or the file is temporarily unavailable"}`,
	})
}

// SlowFiles implements [connectortest.Weather].
func (w *Platform) SlowFiles(by time.Duration) {
	w.Fake.Fault(telegramfake.Fault{Method: telegramfake.Download, Times: -1, Delay: by})
}
