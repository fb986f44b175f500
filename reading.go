package parley

import (
	"context"
	"fmt"

	"parley/connectors"
	"parley/core/chat"
	"parley/core/llm"
	"parley/media"
)

// reader reads what is attached to messages, with the models that there are.
func (g *Gateway) reader() *media.Reader {
	m := g.models.Models
	if m.Vision == nil && m.LargeVision {
		m.Vision = m.Large // for questions after the one with which it was shown the picture
	}
	return media.New(media.Options{Fetch: g.fetch, Vision: m.Vision, Transcriber: m.Transcriber, Sees: m.LargeVision, PDF: g.env.PDF, Log: g.env.Log})
}

// fetch gets a file from the connector that it came by. Connectors are asked when it is needed: some are made later.
func (g *Gateway) fetch(ctx context.Context, connector string, f chat.Attachment, limit int64) (llm.File, error) {
	for _, c := range g.connectors {
		if from, ok := c.(connectors.Fetcher); ok && c.Name() == connector {
			return from.Fetch(ctx, f, limit)
		}
	}
	return llm.File{}, fmt.Errorf("%w: the connector %s does not provide files", chat.ErrNotFound, connector)
}
