package coretest

import (
	"context"
	"slices"
	"sync"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage"
)

var _ storage.Uploads = (*Uploads)(nil)

// Uploads is the simplest [storage.Uploads] there can be, in memory. Every room exists unless Rooms says otherwise.
type Uploads struct {
	Rooms func(chat.RoomID) bool

	mu  sync.Mutex
	all []*keptUpload // as they began
}

type keptUpload struct {
	chat.Upload
	pieces map[int][]byte
}

// NewUploads returns one without uploads.
func NewUploads() *Uploads { return &Uploads{} }

func (s *Uploads) upload(id string) *keptUpload {
	if i := slices.IndexFunc(s.all, func(u *keptUpload) bool { return u.ID == id }); i >= 0 {
		return s.all[i]
	}
	return nil
}

// drop removes uploads.
func (s *Uploads) drop(which func(chat.Upload) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(u *keptUpload) bool { return which(u.Upload) })
}

// holds reports whether a room has uploads.
func (s *Uploads) holds(room chat.RoomID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.all, func(u *keptUpload) bool { return u.Room == room })
}

// BeginUpload implements [storage.Uploads].
func (s *Uploads) BeginUpload(_ context.Context, u chat.Upload, rule chat.UploadRule) (chat.Upload, error) {
	if s.Rooms != nil && !s.Rooms(u.Room) {
		return chat.Upload{}, chat.ErrNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.upload(u.ID); known != nil && known.Complete {
		return known.Upload, nil
	}
	waiting, over := 0, u.Size-rule.Total
	for _, o := range s.all {
		if o.ID == u.ID {
			continue
		}
		if o.Sender == u.Sender && o.Message == "" {
			waiting++
		}
		if !o.Evicted {
			over += o.Size
		}
	}
	if rule.Waiting > 0 && waiting >= rule.Waiting {
		return chat.Upload{}, chat.ErrTooMany
	}
	if rule.Total > 0 && !s.evict(over) {
		return chat.Upload{}, chat.ErrNoSpace
	}
	s.all = slices.DeleteFunc(s.all, func(o *keptUpload) bool { return o.ID == u.ID })
	s.all = append(s.all, &keptUpload{u, map[int][]byte{}})
	return u, nil
}

// evict removes the content of uploads until enough bytes are free.
func (s *Uploads) evict(enough int64) bool {
	var old []*keptUpload
	for _, u := range s.all {
		if enough > 0 && u.Message != "" && !u.Evicted {
			enough -= u.Size
			old = append(old, u)
		}
	}
	if enough > 0 {
		return false
	}
	for _, u := range old {
		u.Evicted = true
		u.pieces = map[int][]byte{chat.ThumbnailPiece: u.pieces[chat.ThumbnailPiece]}
	}
	return true
}

func (s *Uploads) attempt(id, attempt string, do func(*keptUpload)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.upload(id)
	if u == nil || u.Attempt != attempt || u.Complete {
		return answer.ErrLost
	}
	do(u)
	return nil
}

// AddPiece implements [storage.Uploads].
func (s *Uploads) AddPiece(_ context.Context, id, attempt string, n int, data []byte) error {
	return s.attempt(id, attempt, func(u *keptUpload) { u.pieces[n] = slices.Clone(data) })
}

// EndUpload implements [storage.Uploads].
func (s *Uploads) EndUpload(_ context.Context, id, attempt, kind string, thumbnail []byte) error {
	return s.attempt(id, attempt, func(u *keptUpload) {
		u.Complete, u.Type, u.Thumbnail = true, kind, len(thumbnail) > 0
		if u.Thumbnail {
			u.pieces[chat.ThumbnailPiece] = slices.Clone(thumbnail)
		}
	})
}

// Upload implements [storage.Uploads].
func (s *Uploads) Upload(_ context.Context, id string) (chat.Upload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.upload(id); u != nil {
		return u.Upload, nil
	}
	return chat.Upload{}, chat.ErrNotFound
}

// Piece implements [storage.Uploads].
func (s *Uploads) Piece(_ context.Context, id string, n int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.upload(id)
	if u == nil || u.pieces[n] == nil {
		return nil, chat.ErrNotFound
	}
	return u.pieces[n], nil
}

// NameUploads implements [storage.Uploads].
func (s *Uploads) NameUploads(_ context.Context, message chat.MemoryID, ids ...string) (all []chat.Upload, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if u := s.upload(id); u == nil || !u.Complete || u.Message != "" && u.Message != message {
			return nil, chat.ErrNotFound
		}
	}
	for _, id := range ids {
		u := s.upload(id)
		u.Message = message
		all = append(all, u.Upload)
	}
	return all, nil
}

// DropUpload implements [storage.Uploads].
func (s *Uploads) DropUpload(_ context.Context, id string) error {
	s.drop(func(u chat.Upload) bool { return u.ID == id && u.Message == "" })
	return nil
}
