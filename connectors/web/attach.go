package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"parley/connectors"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/llm"
)

const (
	maxFiles      = 8 // per message, with its images
	wordlessFiles = "Please read the attached files."
)

// addFile reads the id of the next file of the body.
func (q *question) addFile(dec *json.Decoder) error {
	var key string
	switch err := dec.Decode(&key); {
	case err != nil:
		return err
	case key == "" || !isKey(key):
		return refused(http.StatusBadRequest, "files are the ids of uploaded files.")
	case len(q.Files) == maxFiles:
		return refused(http.StatusBadRequest, "refused.many_files")
	}
	q.Files = append(q.Files, key)
	return nil
}

// attach makes the message of q the one that its files belong to, and returns them. A file can belong to one message
// only: otherwise its deletion with that message would break another.
func (a fileAPI) attach(ctx context.Context, room chat.RoomID, sender chat.EntityID, q question) (files []chat.Attachment, no *refusal) {
	if len(q.Images)+len(q.Files) == 0 {
		return nil, nil
	}
	var ids []string
	for n, i := range q.Images {
		id, err := a.keepImage(ctx, room, sender, fmt.Sprintf("%s~%d", q.ClientMessageID, n), i)
		if err != nil {
			return nil, a.web.failures.refuse("store an image", err)
		}
		ids = append(ids, id)
	}
	for _, key := range q.Files {
		ids = append(ids, uploadID(room, key))
	}
	// All or none: a message must not be accepted with some of its files.
	all, err := a.web.opts.Store.NameUploads(ctx, q.id(room), ids...)
	switch {
	case errors.Is(err, chat.ErrNotFound):
		return nil, refused(http.StatusConflict, "refused.file_gone")
	case err != nil:
		return nil, a.web.failures.refuse("find the files of a message", err)
	}
	for _, u := range all {
		files = append(files, chat.Attachment{Ref: u.ID, Name: u.Name, Type: u.Type, Size: u.Size, Thumbnail: u.Thumbnail})
	}
	return files, nil
}

// answers returns the uploads that c names for fields of a form. They belong to no message until the form is accepted.
func (a fileAPI) answers(ctx context.Context, room chat.RoomID, c choice) (files []chat.Attachment, no *refusal) {
	for field, keys := range c.Files {
		for _, key := range keys {
			u, err := a.web.opts.Store.Upload(ctx, uploadID(room, key))
			if errors.Is(err, chat.ErrNotFound) {
				return nil, refused(http.StatusConflict, "refused.file_gone")
			} else if err != nil {
				return nil, a.web.failures.refuse("find the files of a form", err)
			}
			files = append(files, chat.Attachment{Ref: u.ID, Name: u.Name, Type: u.Type, Size: u.Size, Thumbnail: u.Thumbnail, Field: field})
		}
	}
	return files, nil
}

// keepImage stores an image that came inside a message, once: its id is made of the message's, so a repeated request
// finds it. The store bounds only the sum of files here, as the message's own limits bound their number.
func (a fileAPI) keepImage(ctx context.Context, room chat.RoomID, sender chat.EntityID, key string, i image) (id string, err error) {
	u := chat.Upload{ID: uploadID(room, key), Room: room, Sender: sender, Name: i.name, Type: i.mimeType, Size: int64(len(i.data)), At: time.Now(), Attempt: rand.Text()}
	is, err := a.web.opts.Store.BeginUpload(ctx, u, chat.UploadRule{})
	if err == nil && !is.Complete {
		_, err = a.keep(ctx, is, bytes.NewReader(i.data), anyKind)
	}
	return u.ID, err
}

// anyKind refuses nothing: why an image in a message can't be read is found out when it is.
func anyKind(chat.Upload, []byte) *refusal { return nil }

var _ connectors.Fetcher = (*Web)(nil)

// Fetch implements [connectors.Fetcher]. The content is in the store, so any replica has the file.
func (w *Web) Fetch(ctx context.Context, f chat.Attachment, limit int64) (llm.File, error) {
	return attachment.Stored(ctx, w.opts.Store, f, limit)
}

// maxDrawn is the size of the images that have thumbnails, in bytes, and maxThumbnail that of a thumbnail.
const (
	maxDrawn     = 10 << 20
	maxThumbnail = 128 << 10
)

// draw returns the thumbnail of a stored file, or nil. One is made at a time: a decoded image can need hundreds of
// times its size. A missing thumbnail is no error; the file itself is shown instead.
func (a fileAPI) draw(ctx context.Context, u chat.Upload) []byte {
	if a.web.opts.Thumbnail == nil || !(llm.File{Type: u.Type}).Picture() || u.Size > maxDrawn {
		return nil
	}
	select {
	case a.web.drawing <- struct{}{}:
		defer func() { <-a.web.drawing }()
	case <-ctx.Done():
		return nil
	}
	data, err := attachment.Content(ctx, a.web.opts.Store, u)
	var small []byte
	if err == nil {
		small, err = a.web.opts.Thumbnail(ctx, data)
	}
	if err != nil || len(small) > maxThumbnail {
		a.web.opts.Log.Debug("an image has no thumbnail", "type", u.Type, "bytes", u.Size, "err", err)
		return nil
	}
	return small
}
