package storagetest

import (
	"context"
	"maps"
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
	waiting := 0
	for _, o := range s.all {
		if o.ID != u.ID && o.Sender == u.Sender && o.Message == "" {
			waiting++
		}
	}
	if rule.Waiting > 0 && waiting >= rule.Waiting {
		return chat.Upload{}, chat.ErrTooMany
	}
	s.all = slices.DeleteFunc(s.all, func(o *keptUpload) bool { return o.ID == u.ID })
	s.all = append(s.all, &keptUpload{u, map[int][]byte{}})
	return u, nil
}

// held is how many bytes of u are stored.
func (u *keptUpload) held() (bytes int64) {
	for n, data := range u.pieces {
		if n >= 0 {
			bytes += int64(len(data))
		}
	}
	return bytes
}

// makeRoom removes content until there are at most total bytes.
func (s *Uploads) makeRoom(of *keptUpload, total int64) bool {
	for {
		stored, bySender := int64(0), map[chat.EntityID]int64{}
		var largest chat.EntityID
		for _, u := range s.all { // the oldest first
			stored += u.held()
			bySender[u.Sender] += u.held()
		}
		for _, u := range s.all {
			if largest == "" || bySender[u.Sender] > bySender[largest] {
				largest = u.Sender
			}
		}
		if stored <= total {
			return true
		}
		if !s.evictOne(of, largest) {
			return false
		}
	}
}

// evictOne removes the content of the oldest upload of a sender; of one that no message names only for another sender.
func (s *Uploads) evictOne(of *keptUpload, sender chat.EntityID) bool {
	for _, named := range []bool{true, false} {
		for i, u := range s.all {
			switch {
			case u.Sender != sender || u.held() == 0 || named != (u.Message != ""):
			case named:
				u.Evicted = true
				u.pieces = map[int][]byte{chat.ThumbnailPiece: u.pieces[chat.ThumbnailPiece]}
				return true
			case sender != of.Sender:
				s.all = slices.Delete(s.all, i, i+1)
				return true
			}
		}
	}
	return false
}

func (s *Uploads) attempt(id, attempt string, do func(*keptUpload) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.upload(id)
	if u == nil || u.Attempt != attempt || u.Complete {
		return answer.ErrLost
	}
	return do(u)
}

// AddPiece implements [storage.Uploads].
func (s *Uploads) AddPiece(_ context.Context, id, attempt string, n int, data []byte, rule chat.UploadRule) error {
	return s.attempt(id, attempt, func(u *keptUpload) error {
		var before []*keptUpload
		for _, o := range s.all {
			before = append(before, &keptUpload{o.Upload, maps.Clone(o.pieces)})
		}
		u.pieces[n] = slices.Clone(data)
		if rule.Total > 0 && !s.makeRoom(u, rule.Total) {
			s.all = before
			return chat.ErrNoSpace
		}
		return nil
	})
}

// EndUpload implements [storage.Uploads].
func (s *Uploads) EndUpload(_ context.Context, id, attempt, kind string, thumbnail []byte) error {
	return s.attempt(id, attempt, func(u *keptUpload) error {
		u.Complete, u.Type, u.Thumbnail = true, kind, len(thumbnail) > 0
		if u.Thumbnail {
			u.pieces[chat.ThumbnailPiece] = slices.Clone(thumbnail)
		}
		return nil
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
func (s *Uploads) DropUpload(_ context.Context, id, attempt string) error {
	s.drop(func(u chat.Upload) bool {
		return u.ID == id && u.Message == "" && (attempt == "" || u.Attempt == attempt)
	})
	return nil
}
