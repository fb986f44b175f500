package attachment

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
)

// Uploads contains the store methods of uploads that the gateway makes and reads itself.
type Uploads interface {
	BeginUpload(ctx context.Context, u chat.Upload, rule chat.UploadRule) (chat.Upload, error)
	AddPiece(ctx context.Context, id, attempt string, n int, data []byte, rule chat.UploadRule) error
	EndUpload(ctx context.Context, id, attempt, kind string, thumbnail []byte) error
	Upload(ctx context.Context, id string) (chat.Upload, error)
	NameUploads(ctx context.Context, message chat.MemoryID, ids ...string) ([]chat.Upload, error)
	Pieces
}

// Pieces reads the pieces of uploads.
type Pieces interface {
	Piece(ctx context.Context, id string, n int) ([]byte, error)
}

// Content returns all of an upload. Its size was checked when it arrived, so it is safe to allocate. It fails with the error of the
// store.
func Content(ctx context.Context, store Pieces, u chat.Upload) ([]byte, error) {
	data := make([]byte, 0, u.Size)
	for n := 0; int64(len(data)) < u.Size; n++ {
		piece, err := store.Piece(ctx, u.ID, n)
		if err != nil {
			return nil, fmt.Errorf("read an uploaded file: %w", err)
		}
		data = append(data, piece...)
	}
	return data, nil
}

// Stored returns the content of f if it is an upload, of at most limit bytes. It fails with [chat.ErrNotFound] if it is none, [chat.ErrTooLarge], and the
// errors of the store.
func Stored(ctx context.Context, store interface {
	Upload(ctx context.Context, id string) (chat.Upload, error)
	Pieces
}, f chat.Attachment, limit int64) (llm.File, error) {
	u, err := store.Upload(ctx, f.Ref)
	switch {
	case err != nil:
		return llm.File{}, fmt.Errorf("find an uploaded file: %w", err)
	case u.Size > limit:
		return llm.File{}, chat.ErrTooLarge
	}
	data, err := Content(ctx, store, u)
	return llm.File{Name: f.Name, Type: f.Type, Data: data}, err
}

// Copy stores copies of the files of from, a message on connector, of up to limit bytes each, as those of to, and returns them. Those that can't be
// fetched within the time of ctx are left out, and the error has the reasons.
func Copy(ctx context.Context, store Uploads, fetch func(context.Context, string, chat.Attachment, int64) (llm.File, error), limit int64, connector string, from, to chat.Memory) ([]chat.Attachment, error) {
	var files []llm.File
	var kept []chat.Attachment
	var failed error
	for _, f := range from.Files {
		if f.Link || f.Ref == "" || fetch == nil {
			continue
		}
		file, err := fetch(ctx, connector, f, limit)
		if err != nil || len(file.Data) == 0 {
			failed = errors.Join(failed, err)
			continue
		}
		files = append(files, llm.File{Name: f.Name, Type: cmp.Or(file.Type, f.Type), Data: file.Data})
		kept = append(kept, f)
	}
	all, err := Save(ctx, store, to, files)
	for i := range all {
		all[i].Field = kept[i].Field
	}
	return all, errors.Join(failed, err)
}

// Save stores the files of a message of the agent before the message itself, once: their ids are made of the message's. It fails
// with the errors of the store.
func Save(ctx context.Context, store Uploads, of chat.Memory, files []llm.File) (all []chat.Attachment, err error) {
	var ids []string
	for n, f := range files {
		u, err := store.BeginUpload(ctx, chat.Upload{
			ID: string(of.Room) + "/" + action.Hash(string(of.ID), fmt.Sprint(n)), Room: of.Room, Sender: of.Author,
			Name: f.Name, Type: f.Type, Size: int64(len(f.Data)), At: time.Now(), Attempt: rand.Text(),
		}, chat.UploadRule{})
		for piece := 0; err == nil && !u.Complete && piece*chat.UploadPiece < len(f.Data); piece++ {
			from := piece * chat.UploadPiece
			err = store.AddPiece(ctx, u.ID, u.Attempt, piece, f.Data[from:min(from+chat.UploadPiece, len(f.Data))], chat.UploadRule{Total: chat.MaxUploads})
		}
		if err == nil && !u.Complete {
			err = store.EndUpload(ctx, u.ID, u.Attempt, u.Type, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("store a file of the agent: %w", err)
		}
		ids = append(ids, u.ID)
		all = append(all, chat.Attachment{Ref: u.ID, Name: u.Name, Type: u.Type, Size: u.Size})
	}
	if len(ids) > 0 {
		_, err = store.NameUploads(ctx, of.ID, ids...)
	}
	return all, err
}
