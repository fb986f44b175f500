package storagetest

import (
	"fmt"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

func uploadChecks() []storeCheck {
	return []storeCheck{
		{"an upload is stored in pieces and completed once", uploadWhole},
		{"the later of two attempts at an upload continues", uploadAttempts},
		{"unattached uploads of a sender are limited", uploadsWaiting},
		{"a new upload evicts the oldest ones", uploadsEvicted},
		{"a new upload evicts those of the sender with the most bytes", uploadsShared},
		{"an attempt at an upload can be dropped", uploadDropped},
		{"uploads are attached to one message, all or none", uploadsNamed},
		{"an upload is deleted with its message", uploadForgotten},
		{"uploads are deleted when their room is cleared", uploadsCleared},
		{"unattached uploads expire", uploadsExpire},
	}
}

// upload is one of ada's to room, of three bytes.
func upload(room chat.RoomID, key string) chat.Upload {
	return chat.Upload{ID: string(room) + "/" + key, Room: room, Sender: "ada", Name: key + " \"ä\".txt", Type: "text/plain", Size: 3, At: time.Now().UTC(), Attempt: "1"}
}

// sends stores uploads completely.
func (s store) sends(all ...chat.Upload) {
	s.t.Helper()
	for _, u := range all {
		require.Value(s.BeginUpload(s.t.Context(), u, chat.UploadRule{}))(s.t)
		s.must(s.AddPiece(s.t.Context(), u.ID, u.Attempt, 0, []byte("a\x00b"), chat.UploadRule{}))
		s.must(s.EndUpload(s.t.Context(), u.ID, u.Attempt, u.Type, []byte("small")))
	}
}

// has fails unless exactly these uploads of room are there, of a, b and c.
func (s store) has(room chat.RoomID, keys ...string) {
	s.t.Helper()
	var found []string
	for _, key := range []string{"a", "b", "c"} {
		_, err := s.Upload(s.t.Context(), upload(room, key).ID)
		_, piece := s.Piece(s.t.Context(), upload(room, key).ID, chat.ThumbnailPiece)
		if err == nil && piece == nil {
			found = append(found, key)
		} else {
			s.fails(err, chat.ErrNotFound)
			s.fails(piece, chat.ErrNotFound)
		}
	}
	s.same("the uploads of "+string(room), fmt.Sprint(found), fmt.Sprint(keys))
}

func uploadWhole(t *testing.T, s store) {
	u := upload("room", "a")
	_, err := s.BeginUpload(t.Context(), u, chat.UploadRule{})
	s.fails(err, chat.ErrNotFound)
	s.opened("room", 1)
	is, err := s.BeginUpload(t.Context(), u, chat.UploadRule{})
	s.must(err)
	s.same("the started runs", is, u)
	for n, data := range []string{"first \x00", "second", "again \xff"} {
		s.must(s.AddPiece(t.Context(), u.ID, u.Attempt, n%2, []byte(data), chat.UploadRule{}))
	}
	s.must(s.EndUpload(t.Context(), u.ID, u.Attempt, "image/png", []byte("small")))
	s.fails(s.EndUpload(t.Context(), u.ID, u.Attempt, "image/gif", nil), answer.ErrLost)
	s.fails(s.AddPiece(t.Context(), u.ID, u.Attempt, 2, []byte("x"), chat.UploadRule{}), answer.ErrLost)
	for n, want := range map[int]string{0: "again \xff", 1: "second", chat.ThumbnailPiece: "small"} {
		data := require.Value(s.Piece(t.Context(), u.ID, n))(s.t)
		s.same("a piece", string(data), want)
	}
	_, err = s.Piece(t.Context(), u.ID, 2)
	s.fails(err, chat.ErrNotFound)
	u.Type, u.Complete, u.Thumbnail = "image/png", true, true
	again := u
	again.Name, again.Attempt = "other", "2"
	is, err = s.BeginUpload(t.Context(), again, chat.UploadRule{Waiting: 1})
	s.must(err)
	s.same("the completed uploads", is, u)
	is, err = s.Upload(t.Context(), u.ID)
	s.must(err)
	s.same("the stored records", is, u)
	s.must(s.DropUpload(t.Context(), u.ID, ""))
	s.must(s.DropUpload(t.Context(), u.ID, ""))
	s.has("room")
}

func uploadAttempts(t *testing.T, s store) {
	s.opened("room", 1)
	first := upload("room", "a")
	second := first
	second.Attempt, second.Name = "2", "second"
	for _, u := range []chat.Upload{first, second} {
		require.Value(s.BeginUpload(t.Context(), u, chat.UploadRule{Waiting: 1, Total: 3}))(s.t)
		s.must(s.AddPiece(t.Context(), u.ID, u.Attempt, 0, []byte(u.Attempt), chat.UploadRule{Total: 3}))
	}
	s.fails(s.AddPiece(t.Context(), first.ID, first.Attempt, 0, []byte("1"), chat.UploadRule{}), answer.ErrLost)
	s.fails(s.EndUpload(t.Context(), first.ID, first.Attempt, "", nil), answer.ErrLost)
	s.must(s.AddPiece(t.Context(), second.ID, second.Attempt, 0, []byte("2"), chat.UploadRule{}))
	s.must(s.EndUpload(t.Context(), second.ID, second.Attempt, "text/csv", nil))
	data, err := s.Piece(t.Context(), second.ID, 0)
	s.must(err)
	s.same("the piece", string(data), "2")
	_, err = s.Piece(t.Context(), second.ID, chat.ThumbnailPiece)
	s.fails(err, chat.ErrNotFound)
}

func uploadsWaiting(t *testing.T, s store) {
	s.opened("room", 1)
	rule := chat.UploadRule{Waiting: 2}
	bobs := upload("room", "c")
	bobs.Sender = "bob"
	for _, u := range []chat.Upload{upload("room", "a"), upload("room", "b"), bobs} {
		require.Value(s.BeginUpload(t.Context(), u, rule))(s.t)
	}
	_, err := s.BeginUpload(t.Context(), upload("room", "d"), rule)
	s.fails(err, chat.ErrTooMany)
	s.sends(upload("room", "a"))
	_, err = s.NameUploads(t.Context(), "room/1", "room/a")
	s.must(err)
	_, err = s.BeginUpload(t.Context(), upload("room", "d"), rule)
	s.must(err)
}

// grows adds a piece of u, of n bytes.
func (s store) grows(u chat.Upload, piece, n int, total int64) error {
	s.t.Helper()
	return s.AddPiece(s.t.Context(), u.ID, u.Attempt, piece, make([]byte, n), chat.UploadRule{Total: total})
}

// begins announces uploads, of any size.
func (s store) begins(all ...chat.Upload) {
	s.t.Helper()
	for _, u := range all {
		require.Value(s.BeginUpload(s.t.Context(), u, chat.UploadRule{Total: 1}))(s.t)
	}
}

func uploadsEvicted(t *testing.T, s store) {
	s.opened("room", 1)
	for _, key := range []string{"a", "b", "c"} {
		s.sends(upload("room", key))
		time.Sleep(time.Second)
	}
	_, err := s.NameUploads(t.Context(), "room/1", "room/b", "room/c")
	s.must(err)
	d := upload("room", "d")
	d.Size = 1 << 30
	s.begins(d)
	s.evicted(map[string]bool{"a": false, "b": false, "c": false, "d": false})
	s.must(s.grows(d, 0, 2, 11))
	s.evicted(map[string]bool{"a": false, "b": false, "c": false, "d": false})
	s.must(s.grows(d, 0, 3, 11)) // the same piece again
	s.evicted(map[string]bool{"a": false, "b": true, "c": false, "d": false})
	for key, want := range map[string]bool{"a": false, "b": true, "c": false} {
		if _, err = s.Piece(t.Context(), "room/"+key, 0); want {
			s.fails(err, chat.ErrNotFound)
		} else {
			s.must(err)
		}
	}
	s.has("room", "a", "b", "c") // the thumbnails stay
	s.fails(s.grows(d, 1, 3, 8), chat.ErrNoSpace)
	_, err = s.Piece(t.Context(), "room/c", 0)
	s.must(err)
	_, err = s.Piece(t.Context(), d.ID, 1)
	s.fails(err, chat.ErrNotFound)
}

// evicted compares which uploads of "room" have lost their content.
func (s store) evicted(want map[string]bool) {
	s.t.Helper()
	for key, want := range want {
		u := require.Value(s.Upload(s.t.Context(), "room/"+key))(s.t)
		s.same(key+" is evicted", u.Evicted, want)
	}
}

func uploadsShared(t *testing.T, s store) {
	s.opened("room", 1)
	by := func(sender chat.EntityID, key string) chat.Upload {
		u := upload("room", key)
		u.Sender = sender
		time.Sleep(time.Second)
		return u
	}
	s.sends(by("ada", "a"))
	for _, key := range []string{"x", "y", "z"} {
		s.sends(by("eve", key))
	}
	_, err := s.NameUploads(t.Context(), "room/1", "room/a", "room/z")
	s.must(err)
	bob, eve := by("bob", "b"), by("eve", "e")
	s.begins(bob, eve)
	s.fails(s.grows(eve, 0, 8, 13), chat.ErrNoSpace) // all that messages name is gone, and it is not enough
	s.evicted(map[string]bool{"a": false, "x": false, "y": false, "z": false})
	s.must(s.grows(bob, 0, 3, 12)) // the most bytes are Eve's: first what a message names, then what waits
	s.evicted(map[string]bool{"a": false, "x": false, "y": false, "z": true})
	s.must(s.grows(bob, 1, 1, 10))
	_, err = s.Upload(t.Context(), "room/x")
	s.fails(err, chat.ErrNotFound)
	s.evicted(map[string]bool{"a": false, "y": false, "b": false})
	s.fails(s.grows(bob, 2, 1, 10), chat.ErrNoSpace) // now they are Bob's
	s.evicted(map[string]bool{"a": false})
}

func uploadDropped(t *testing.T, s store) {
	s.opened("room", 1)
	u := upload("room", "a")
	s.begins(u)
	again := u
	again.Attempt = "2"
	s.begins(again)
	s.must(s.DropUpload(t.Context(), u.ID, u.Attempt))
	s.must(s.grows(again, 0, 1, 0))
	s.must(s.DropUpload(t.Context(), u.ID, again.Attempt))
	s.fails(s.grows(again, 1, 1, 0), answer.ErrLost)
}

func uploadsNamed(t *testing.T, s store) {
	s.opened("room", 1)
	a, b := upload("room", "a"), upload("room", "b")
	s.sends(a)
	_, err := s.BeginUpload(t.Context(), b, chat.UploadRule{})
	s.must(err)
	_, err = s.NameUploads(t.Context(), "room/1", a.ID, b.ID)
	s.fails(err, chat.ErrNotFound)
	_, err = s.NameUploads(t.Context(), "room/1", a.ID, "room/nothing")
	s.fails(err, chat.ErrNotFound)
	s.sends(b)
	for range 2 {
		all := require.Value(s.NameUploads(t.Context(), "room/2", b.ID, a.ID))(s.t)
		b.Message, b.Complete, b.Thumbnail = "room/2", true, true
		s.same("the attached uploads", all[0], b)
		s.same("the attached uploads", all[1].Name, a.Name)
	}
	_, err = s.NameUploads(t.Context(), "room/1", a.ID)
	s.fails(err, chat.ErrNotFound)
	s.must(s.DropUpload(t.Context(), a.ID, ""))
	s.has("room", "a", "b")
	all, err := s.NameUploads(t.Context(), "room/3")
	s.must(err)
	s.same("no uploads", len(all), 0)
}

func uploadForgotten(t *testing.T, s store) {
	s.opened("room", 1)
	s.opened("room", 2)
	s.accept(message("room", 3), chat.JoinRule{NoRun: true})
	s.sends(upload("room", "a"), upload("room", "b"), upload("room", "c"))
	for n, key := range []string{"a", "b", "c"} {
		require.Value(s.NameUploads(t.Context(), message("room", n+1).ID, "room/"+key))(s.t)
	}
	s.must(s.Forget(t.Context(), "room/1"))
	s.has("room", "b", "c")
	s.must(s.Forget(t.Context(), "room/3"))
	s.has("room", "b")
}

func uploadsCleared(t *testing.T, s store) {
	for _, room := range []chat.RoomID{"room", "other"} {
		s.opened(room, 1)
		s.sends(upload(room, "a"), upload(room, "b"))
		require.Value(s.NameUploads(t.Context(), chat.MemoryID(room+"/1"), string(room)+"/a"))(s.t)
	}
	require.Value(s.Clear(t.Context(), "room"))(s.t)
	s.has("room")
	s.has("other", "a", "b")
	require.Value(s.ClearEntirely(t.Context(), "other", ""))(s.t)
	s.has("other")
}

func uploadsExpire(t *testing.T, s store) {
	s.must(s.SaveRoom(t.Context(), chat.Room{ID: "empty", Kind: chat.API, Created: time.Now()}))
	s.opened("room", 1)
	s.sends(upload("room", "a"), upload("room", "b"), upload("empty", "c"))
	_, err := s.NameUploads(t.Context(), "room/1", "room/a")
	s.must(err)
	_, err = s.NameUploads(t.Context(), "a message that never came", "room/b")
	s.must(err)
	time.Sleep(time.Minute)
	s.sends(upload("room", "c"))
	s.expires(chat.Expiry{Rest: time.Now()})
	s.has("room", "a", "b", "c")
	_, err = s.Room(t.Context(), "empty")
	s.must(err)
	s.expires(chat.Expiry{Uploads: time.Now().Add(-time.Second), Rest: time.Now()})
	s.has("room", "a", "c")
	s.expires(chat.Expiry{Rest: time.Now()})
	_, err = s.Room(t.Context(), "empty")
	s.fails(err, chat.ErrNotFound)
}

// expires does all the work of Expire.
func (s store) expires(before chat.Expiry) {
	s.t.Helper()
	for more := true; more; {
		var err error
		more, err = s.Expire(s.t.Context(), before)
		s.must(err)
	}
}
