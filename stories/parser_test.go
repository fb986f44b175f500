package stories_test

import (
	"context"

	"parley/media/document"
	"parley/media/thumbnail"
)

// inProcess is a parser for files that tests make: it needs no other process, which a bubble of synctest could not wait for.
type inProcess struct{}

func (inProcess) Text(_ context.Context, data []byte) (string, error) { return document.Text(data) }

func (inProcess) Page(_ context.Context, page []byte, mediaType string) (title, body string, err error) {
	title, body = document.Readable(page, mediaType)
	return title, body, nil
}

func (inProcess) Thumbnail(_ context.Context, picture []byte) ([]byte, error) {
	return thumbnail.JPEG(picture)
}
