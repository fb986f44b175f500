package storage

import (
	"context"

	"parley/core/chat"
)

// Uploads keeps files that people send ahead of the messages that name them. An upload goes with the message that names it, and with
// everything else in its room when that is cleared.
type Uploads interface {
	// BeginUpload stores u without content, in place of one with its id that is not complete; one that is complete stays. It returns what
	// is stored. An announced upload takes no space. [chat.ErrTooMany] if rule.Waiting uploads of the sender wait, [chat.ErrNotFound] if
	// there is no such room.
	BeginUpload(ctx context.Context, u chat.Upload, rule chat.UploadRule) (chat.Upload, error)
	// AddPiece stores the nth piece of an upload, from 0, each [chat.UploadPiece] long but for the last. [answer.ErrLost] if the upload is
	// gone or complete, or has begun again: then attempt is not the latest. To keep rule.Total, the sender with the most bytes makes room,
	// whose oldest uploads go: the content of those that a message names is removed, and their thumbnails stay; then the others are
	// removed. The sender of this upload loses only named ones. [chat.ErrNoSpace] if that is not enough.
	AddPiece(ctx context.Context, id, attempt string, n int, data []byte, rule chat.UploadRule) error
	// EndUpload makes an upload complete, with the type that was found. Errors are those of AddPiece.
	EndUpload(ctx context.Context, id, attempt, kind string, thumbnail []byte) error
	// Upload returns one by its id, or [chat.ErrNotFound].
	Upload(ctx context.Context, id string) (chat.Upload, error)
	// Piece returns the nth piece of an upload, or with [chat.ThumbnailPiece] its thumbnail. [chat.ErrNotFound] if there is none.
	Piece(ctx context.Context, id string, n int) ([]byte, error)
	// NameUploads makes message the one that names uploads, all or none, and returns them in the order of ids. [chat.ErrNotFound] if one is gone
	// or not complete, or another message names it.
	NameUploads(ctx context.Context, message chat.MemoryID, ids ...string) ([]chat.Upload, error)
	// DropUpload removes an upload that no message names, of any attempt if attempt is empty. It does nothing if there is no such upload.
	DropUpload(ctx context.Context, id, attempt string) error
}
