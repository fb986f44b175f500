package player

import (
	"context"
	"io"
	"path"
	"strings"

	"parley/core/llm"
)

const mostSound = 8 << 20 // bytes of a track that people are given: more is not shown

// kind is the type of a file with music, by its name; empty if it is none.
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

// sound is a track of the folder as people can listen to it: none if it is too large. One that is elsewhere has a link.
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
	data, err := io.ReadAll(io.LimitReader(heeding{ctx, f}, info.Size()))
	if err != nil {
		return nil, err
	}
	return []llm.File{{Name: path.Base(t.path), Type: kind(t.path), Data: data}}, nil
}

// heeding reads until ctx is done.
type heeding struct {
	ctx context.Context
	io.Reader
}

func (h heeding) Read(b []byte) (int, error) {
	if h.ctx.Err() != nil {
		return 0, context.Cause(h.ctx)
	}
	return h.Reader.Read(b)
}
