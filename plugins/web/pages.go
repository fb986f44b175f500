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
	parser Parser
	get    func(ctx context.Context, address string, limit int64) ([]byte, string, error)
}

// NewPages returns a fetcher of pages on the public internet. A nil dial is the usual one. Without a parser, HTML pages are not read.
func NewPages(dial func(ctx context.Context, network, address string) (net.Conn, error), parser Parser) Pages {
	return Pages{parser, guard.New(guard.Options{Dial: dial}).Get}
}

// Parser reads an untrusted HTML page: its title, which is one line, and the text of its main part. The media type can name an
// encoding. It must be safe for concurrent use.
type Parser interface {
	Page(ctx context.Context, page []byte, mediaType string) (title, body string, err error)
}

// read returns the title and the text of a page, as the parser reads it, which can be nil.
func read(ctx context.Context, p Parser, page []byte, mediaType string) (title, body string, err error) {
	if p == nil {
		return "", "", errors.New("read a page: this program has no parser for HTML")
	}
	if title, body, err = p.Page(ctx, page, mediaType); err != nil {
		return "", "", fmt.Errorf("read a page: %w", err)
	}
	return title, body, nil
}

func isPage(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

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
	if kind = strings.ToLower(strings.TrimSpace(kind)); isPage(kind) {
		title, body, err := read(ctx, p.parser, data, mime)
		if err != nil {
			return llm.File{}, err
		}
		data = []byte(strings.TrimSpace(title + "\n\n" + body))
	}
	return llm.File{Name: page.Name, Type: kind, Data: data}, nil
}
