package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"parley/core/chat"
	"parley/core/storage"
)

// find returns the file that the request names, or answers the request. A file that is not complete does not exist yet.
func (a fileAPI) find(rw http.ResponseWriter, r *http.Request) (chat.Upload, bool) {
	u, err := a.web.opts.Store.Upload(r.Context(), uploadID(roomOf(r.PathValue("id")), r.PathValue("file")))
	if err == nil && !u.Complete {
		err = chat.ErrNotFound
	}
	a.missing(rw, err)
	return u, err == nil
}

// missing answers a request for a file that can't be given.
func (a fileAPI) missing(rw http.ResponseWriter, err error) {
	switch {
	case err == nil:
	case errors.Is(err, chat.ErrNotFound):
		fail(rw, http.StatusNotFound, "File not found.")
	default:
		a.web.broken(rw, "find an uploaded file", err)
	}
}

// uploaded serves a file that a visitor has sent.
func (a fileAPI) uploaded(rw http.ResponseWriter, r *http.Request) {
	u, ok := a.find(rw, r)
	if !ok {
		return
	}
	// The store has removed the content to make room for newer files. Its description is kept for the conversation.
	if u.Evicted {
		a.missing(rw, chat.ErrNotFound)
		return
	}
	serveFile(rw, r, u.Name, u.Type, &pieces{ctx: r.Context(), store: a.web.opts.Store, id: u.ID, size: u.Size, n: -1})
}

// thumbnail serves the thumbnail of an image that a visitor has sent.
func (a fileAPI) thumbnail(rw http.ResponseWriter, r *http.Request) {
	u, ok := a.find(rw, r)
	if !ok {
		return
	}
	small, err := a.web.opts.Store.Piece(r.Context(), u.ID, chat.ThumbnailPiece)
	if a.missing(rw, err); err == nil {
		serveFile(rw, r, "", "image/jpeg", bytes.NewReader(small))
	}
}

// dropFile removes a file that no message names: DELETE …/files/{file}. One that a message names stays, and so the
// conversation stays as it was; one that does not exist is removed already.
func (a fileAPI) dropFile(rw http.ResponseWriter, r *http.Request) {
	if err := a.web.opts.Store.DropUpload(r.Context(), uploadID(roomOf(r.PathValue("id")), r.PathValue("file")), ""); err != nil {
		a.web.broken(rw, "remove an uploaded file", err)
		return
	}
	reply(rw, http.StatusOK, map[string]any{"ok": true})
}

// pieces reads an uploaded file from the store, so that a slow reader holds at most one piece of it.
type pieces struct {
	ctx   context.Context // of the request
	store storage.Uploads
	id    string
	size  int64
	at    int64
	n     int // the piece that data is, -1 for none
	data  []byte
}

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	if p.at >= p.size {
		return 0, io.EOF
	}
	if n := int(p.at / chat.UploadPiece); n != p.n {
		data, err := p.store.Piece(p.ctx, p.id, n)
		if err != nil {
			return 0, fmt.Errorf("read an uploaded file: %w", err)
		}
		p.n, p.data = n, data
	}
	from := p.at % chat.UploadPiece
	if from >= int64(len(p.data)) {
		return 0, io.ErrUnexpectedEOF
	}
	k := copy(b, p.data[from:])
	p.at += int64(k)
	return k, nil
}

// Seek implements io.Seeker. Its callers never seek outside the file.
func (p *pieces) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += p.at
	case io.SeekEnd:
		offset += p.size
	}
	p.at = offset
	return p.at, nil
}
