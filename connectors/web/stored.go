package web

import (
	"context"
	"errors"
	"fmt"
	"io"

	"parley/core/chat"
	"parley/core/storage"
)

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
	at            int64
}

// openStored looks a file up without reading it.
func openStored(ctx context.Context, store storage.Files, run chat.RunID, n int) (*stored, error) {
	p, err := store.FilePart(ctx, run, n, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("find file %d of %s: %w", n, run, err)
	}
	return &stored{ctx: ctx, store: store, run: run, n: n, FilePart: p}, nil
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

// Seek implements io.Seeker. Its callers never seek outside the file.
func (s *stored) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.Size
	}
	s.at = offset
	return s.at, nil
}
