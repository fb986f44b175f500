package chat

import (
	"errors"
	"time"
)

// UploadPiece is the length of the pieces in which uploads are stored, in bytes. The last piece of a file can be shorter.
const UploadPiece = 512 << 10

// ThumbnailPiece is the number of the piece that holds an upload's thumbnail.
const ThumbnailPiece = -1

// ErrNoSpace means that the space for uploads is used up.
var ErrNoSpace = errors.New("the space for uploads is used up")

// Upload is a file that a person sends to a room ahead of the message that names it.
type Upload struct {
	ID        string   // begins with the room's
	Room      RoomID   // where it can be named, and read
	Sender    EntityID // whose limit it counts against
	Message   MemoryID // the message that names it; empty: none does yet
	Name      string   // the sender's file name: a label, never to be used as a path
	Type      string   // MIME type
	Size      int64    // bytes
	At        time.Time
	Attempt   string // the latest attempt to send it; only that can go on
	Complete  bool   // all of it is stored
	Thumbnail bool   // it has a thumbnail
	Evicted   bool   // its content was removed to make room for others
}

// UploadRule bounds uploads. 0 is no bound.
type UploadRule struct {
	Waiting int   // uploads of one sender that no message names yet
	Total   int64 // bytes of all uploads, as far as they have arrived
}
