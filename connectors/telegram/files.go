package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/chat"
	"parley/core/llm"
)

// filesOf returns the attachments of m. A ref is the server's id of the file for this bot; other bots can't use it.
// Most kinds have no name or type of their own, so they get the usual ones. Telegram sends an animation as a document
// too, for clients without animations, so animations come first. A sticker becomes text, see [said].
func filesOf(m *tgbotapi.Message) []chat.Attachment {
	switch {
	case m.Voice != nil:
		v := m.Voice
		return []chat.Attachment{{Ref: v.FileID, Name: "voice.ogg", Type: cmp.Or(v.MimeType, "audio/ogg"), Size: int64(v.FileSize), Voice: true}}
	case m.Audio != nil:
		a := m.Audio
		return []chat.Attachment{{Ref: a.FileID, Name: cmp.Or(a.FileName, "audio.mp3"), Type: cmp.Or(a.MimeType, "audio/mpeg"), Size: int64(a.FileSize), Title: a.Title}}
	case len(m.Photo) > 0:
		p := largest(m.Photo)
		return []chat.Attachment{{Ref: p.FileID, Name: "photo.jpg", Type: "image/jpeg", Size: int64(p.FileSize)}}
	case m.Animation != nil:
		a := m.Animation
		return []chat.Attachment{{Ref: a.FileID, Name: cmp.Or(a.FileName, "animation.mp4"), Type: cmp.Or(a.MimeType, "video/mp4"), Size: int64(a.FileSize)}}
	case m.Video != nil:
		v := m.Video
		return []chat.Attachment{{Ref: v.FileID, Name: cmp.Or(v.FileName, "video.mp4"), Type: cmp.Or(v.MimeType, "video/mp4"), Size: int64(v.FileSize)}}
	case m.VideoNote != nil:
		v := m.VideoNote
		return []chat.Attachment{{Ref: v.FileID, Name: "video.mp4", Type: "video/mp4", Size: int64(v.FileSize)}}
	case m.Document != nil:
		d := m.Document
		return []chat.Attachment{{Ref: d.FileID, Name: cmp.Or(d.FileName, "document"), Type: d.MimeType, Size: int64(d.FileSize)}}
	}
	return nil
}

// largest returns the best copy of a picture. The server lists copies by size, but does not document that order.
func largest(sizes []tgbotapi.PhotoSize) tgbotapi.PhotoSize {
	best := sizes[0]
	for _, s := range sizes[1:] {
		if s.Width*s.Height >= best.Width*best.Height {
			best = s
		}
	}
	return best
}

// sticker returns a sticker as text.
func sticker(s *tgbotapi.Sticker) string {
	if s.Emoji == "" {
		return "*Sticker*"
	}
	return "*Sticker " + s.Emoji + "*"
}

// maxDownload is the largest file that Telegram's server lets bots download. A self-hosted server may allow more, but
// we don't rely on it.
const maxDownload = 20 << 20

var _ connectors.Fetcher = (*Telegram)(nil)

// Fetch implements [connectors.Fetcher]: it asks for the file's path, then downloads it. The path is valid for an hour,
// so it is not stored. The stated sizes save requests; the limit is enforced while reading, because they are only
// claims.
func (t *Telegram) Fetch(ctx context.Context, f chat.Attachment, limit int64) (llm.File, error) {
	limit = min(limit, maxDownload)
	if f.Size > limit {
		return llm.File{}, fmt.Errorf("fetch a file of %d bytes: %w", f.Size, chat.ErrTooLarge)
	}
	var at struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	err := t.client.call(ctx, "getFile", tgbotapi.Params{"file_id": f.Ref}, &at)
	var r *refusal
	switch {
	case errors.As(err, &r) && r.says("too big"):
		return llm.File{}, fmt.Errorf("%w: %w", chat.ErrTooLarge, err)
	case errors.As(err, &r) && r.code == http.StatusBadRequest:
		return llm.File{}, fmt.Errorf("%w: %w", chat.ErrNotFound, err)
	case err != nil:
		return llm.File{}, err
	case at.Size > limit:
		return llm.File{}, fmt.Errorf("fetch a file of %d bytes: %w", at.Size, chat.ErrTooLarge)
	}
	data, err := t.client.download(ctx, at.Path, limit)
	return llm.File{Name: f.Name, Type: f.Type, Data: data}, err
}

// errOnDisk means that a self-hosted Bot API server in --local mode has returned a path that can't be read here.
var errOnDisk = errors.New("the Bot API server keeps its files on its disk; run the gateway on the same machine with access to that folder, or start the server without --local")

// onDisk reads a file of a self-hosted server in --local mode, which returns paths on its disk. The server stores the files of
// a bot in a folder that is named after the bot's token. Only files in such a folder are read, so that the server can't choose
// any file of this machine. Errors don't contain the path, which contains the token.
func (c *client) onDisk(path string, limit int64) ([]byte, error) {
	for _, name := range []string{c.api.Token, strings.Replace(c.api.Token, ":", "~", 1)} { // the second one on Windows
		top, rest, ok := strings.Cut(path, "/"+name+"/")
		if !ok {
			continue
		}
		root, err := os.OpenRoot(top + "/" + name)
		if err != nil {
			return nil, errOnDisk
		}
		defer root.Close()
		if about, err := root.Stat(rest); err != nil || !about.Mode().IsRegular() {
			return nil, errOnDisk
		}
		f, err := root.Open(rest)
		if err != nil {
			return nil, errOnDisk
		}
		defer f.Close()
		return c.readAll(f, limit)
	}
	return nil, errOnDisk
}

// readAll reads a file of at most limit bytes.
func (c *client) readAll(from io.Reader, limit int64) ([]byte, error) {
	// One byte more than allowed tells a file that is too large from one that fits exactly.
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, fmt.Errorf("download: %w", c.redact(err))
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("download: %w", chat.ErrTooLarge)
	}
	return data, nil
}

// download reads the file at path from the server. The address contains the token, so it must not appear in errors or
// logs. The path comes from the server: segments that would leave its folder are refused.
func (c *client) download(ctx context.Context, path string, limit int64) ([]byte, error) {
	if strings.HasPrefix(path, "/") || filepath.IsAbs(path) {
		return c.onDisk(filepath.ToSlash(path), limit)
	}
	var segments []string
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return nil, errors.New("download: the server names no file")
		}
		segments = append(segments, url.PathEscape(segment))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.files+strings.Join(segments, "/"), nil)
	if err != nil {
		return nil, fmt.Errorf("download: %w", c.redact(err))
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("download: %w", c.redact(err))
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("download: %w", chat.ErrNotFound)
	case res.StatusCode != http.StatusOK:
		return nil, &refusal{method: "download", code: res.StatusCode, text: http.StatusText(res.StatusCode)}
	}
	return c.readAll(res.Body, limit)
}
