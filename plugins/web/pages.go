package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/guard"
)

// Pages fetches the pages that questions link to. It is safe for concurrent use.
type Pages struct {
	get func(ctx context.Context, address string, limit int64) ([]byte, string, error)
}

// NewPages returns a fetcher of pages on the public internet. A nil dial is the usual one.
func NewPages(dial func(ctx context.Context, network, address string) (net.Conn, error)) Pages {
	return Pages{guard.New(guard.Options{Dial: dial}).Get}
}

// Fetch returns the text of the main part of an HTML page, and any other file as it is. It fails with [chat.ErrTooLarge] or
// [chat.ErrNotFound] for those reasons.
func (p Pages) Fetch(ctx context.Context, page chat.Attachment, limit int64) (llm.File, error) {
	data, mime, err := p.get(ctx, page.Ref, min(limit, maxPage))
	switch {
	case errors.Is(err, guard.ErrTooLarge):
		return llm.File{}, fmt.Errorf("%w: %w", chat.ErrTooLarge, err)
	case errors.Is(err, guard.ErrGone):
		return llm.File{}, fmt.Errorf("%w: %w", chat.ErrNotFound, err)
	case err != nil:
		return llm.File{}, fmt.Errorf("fetch a linked page: %w", err)
	}
	kind, _, _ := strings.Cut(mime, ";")
	if kind = strings.ToLower(strings.TrimSpace(kind)); kind == "text/html" || kind == "application/xhtml+xml" {
		title, body := readable(data)
		data = []byte(strings.TrimSpace(title + "\n\n" + body))
	}
	return llm.File{Name: page.Name, Type: kind, Data: data}, nil
}
