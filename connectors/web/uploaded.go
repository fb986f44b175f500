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
	room, ok := a.web.room(rw, r)
	if !ok {
		return chat.Upload{}, false
	}
	u, err := a.web.opts.Store.Upload(r.Context(), uploadID(room.ID, r.PathValue("file")))
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
		fail(rw, http.StatusNotFound, "refused.no_file")
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
	ServeFile(rw, r, u.Name, u.Type, &pieces{ctx: r.Context(), store: a.web.opts.Store, id: u.ID, offset: offset{size: u.Size}, n: -1})
}

// thumbnail serves the thumbnail of an image that a visitor has sent.
func (a fileAPI) thumbnail(rw http.ResponseWriter, r *http.Request) {
	u, ok := a.find(rw, r)
	if !ok {
		return
	}
	small, err := a.web.opts.Store.Piece(r.Context(), u.ID, chat.ThumbnailPiece)
	if a.missing(rw, err); err == nil {
		ServeFile(rw, r, "", "image/jpeg", bytes.NewReader(small))
	}
}

// dropFile removes a file that no message names: DELETE …/files/{file}. One that a message names stays, and so the
// conversation stays as it was; one that does not exist is removed already.
func (a fileAPI) dropFile(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	room, no := door(a).conversation(r, r.PathValue("id"))
	if no != nil {
		return nil, no
	}
	if err := a.web.opts.Store.DropUpload(r.Context(), uploadID(room.ID, r.PathValue("file")), ""); err != nil {
		return nil, a.web.failures.refuse("remove an uploaded file", err)
	}
	return okReply{true}, nil
}

// pieces reads an uploaded file from the store, so that a slow reader holds at most one piece of it.
type pieces struct {
	offset
	ctx   context.Context // of the request
	store storage.Uploads
	id    string
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

// offset is the position of a reader in a file.
type offset struct{ at, size int64 }

// Seek implements io.Seeker. Its callers never seek outside the file.
func (o *offset) Seek(to int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		to += o.at
	case io.SeekEnd:
		to += o.size
	}
	o.at = to
	return o.at, nil
}

// window is how many bytes of a stored file are buffered per reader.
const window = 256 << 10

// errChanged reports that a file was replaced while it was read.
var errChanged = errors.New("the file has changed")

// stored reads an answer's file from the store piece by piece, so that a slow reader holds at most one window of it. It
// belongs to one request.
type stored struct {
	ctx           context.Context // of the request
	store         storage.Files
	run           chat.RunID
	n             int
	chat.FilePart       // the current piece, and the description of the file
	from          int64 // offset of the piece
	offset
}

// Read implements io.Reader. A shorter buffer than usual is the end of a range, and only that much is read.
func (s *stored) Read(p []byte) (int, error) {
	switch {
	case s.at >= s.Size:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	case s.at < s.from || s.at >= s.from+int64(len(s.Data)):
		length := window
		if len(p) < maxWrite {
			length = len(p)
		}
		part, err := s.store.FilePart(s.ctx, s.run, s.n, s.at, int64(length))
		// Another process may have replaced the file since the header with its length was sent. Mixing both would be
		// worse than an error.
		if err == nil && (part.Size != s.Size || part.Type != s.Type || len(part.Data) == 0) {
			err = errChanged
		}
		if err != nil {
			return 0, fmt.Errorf("read file %d of %s: %w", s.n, s.run, err)
		}
		s.FilePart, s.from = part, s.at
	}
	n := copy(p, s.Data[s.at-s.from:])
	s.at += int64(n)
	return n, nil
}

// openStored looks a file up without reading it.
func openStored(ctx context.Context, store storage.Files, run chat.RunID, n int) (*stored, error) {
	p, err := store.FilePart(ctx, run, n, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("find file %d of %s: %w", n, run, err)
	}
	return &stored{ctx: ctx, store: store, run: run, n: n, FilePart: p, offset: offset{size: p.Size}}, nil
}
