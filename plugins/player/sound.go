package player

import (
	"context"
	"io"
	"path"
	"strings"

	"parley/core/llm"
)

const mostSound = 8 << 20 // bytes: a larger track is only named

// kind returns the type of a music file by its extension, or "".
func kind(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".mp3":
		return "audio/mpeg"
	case ".ogg", ".oga", ".opus":
		return "audio/ogg"
	case ".flac":
		return "audio/flac"
	case ".m4a":
		return "audio/mp4"
	case ".aac":
		return "audio/aac"
	case ".wav":
		return "audio/wav"
	}
	return ""
}

// sound returns the file of a track in the folder, unless it is too large. A track with a URL has a link instead. The
// file can grow while it is read, so the size that was checked bounds the reading.
func (p *player) sound(ctx context.Context, t track) ([]llm.File, error) {
	if t.url != nil {
		return nil, nil
	}
	f, err := p.folder.Open(t.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > mostSound {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(cancelable{ctx, f}, info.Size()))
	if err != nil {
		return nil, err
	}
	return []llm.File{{Name: path.Base(t.path), Type: kind(t.path), Data: data}}, nil
}

// cancelable is a reader that fails once ctx is done.
type cancelable struct {
	ctx context.Context
	io.Reader
}

func (h cancelable) Read(b []byte) (int, error) {
	if h.ctx.Err() != nil {
		return 0, context.Cause(h.ctx)
	}
	return h.Reader.Read(b)
}
