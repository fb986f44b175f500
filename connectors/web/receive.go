package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
)

const (
	maxFile     = 20 << 20         // bytes of an uploaded file
	maxWaiting  = 16               // files of an address that no message names yet
	maxFileName = 255              // characters
	fileArrival = 10 * time.Minute // time limit of a file's body
	dropTime    = 5 * time.Second  // time limit for removing a part of one
)

// errCut is the reason to give up an upload that the client has ended.
var errCut = errors.New("the body ends early")

// uploadPath returns the address of an uploaded file, relative to the gateway's.
func uploadPath(room chat.RoomID, key string) string {
	return "api/conversations/" + url.PathEscape(strings.TrimPrefix(string(room), Name+"/")) + "/files/" + url.PathEscape(key)
}

// uploadID returns the id of a file in the store. It contains the conversation's, so like that it gives access.
func uploadID(room chat.RoomID, key string) string { return string(room) + "/" + key }

// fileAPI is the part of the web API that takes, shows and deletes the files of visitors.
type fileAPI struct{ web *Web }

// receiveFile stores a file that a message can name later: POST …/files. The body is passed to the store piece by
// piece, so that memory does not depend on its size. The same request again, after its reply was lost, returns the same
// file; one that was interrupted begins again.
//
// The checks come in the order of their cost: the headers, the rate of the sender, then the store.
func (a fileAPI) receiveFile(rw http.ResponseWriter, r *http.Request) {
	body := r.Body
	u, no := a.announced(r)
	if busy := a.web.charge(r, a.web.attempts); busy != nil {
		no = busy
	}
	if no == nil {
		_, no = door(a).conversation(r, r.PathValue("id"))
	}
	if no == nil {
		u.Sender, no = door(a).payer(r)
	}
	if no == nil {
		u, no = a.begin(r, u)
	}
	switch {
	case no != nil:
		refuseBody(rw, body, no)
	case u.Complete:
		replyEarly(rw, body, func() { reply(rw, http.StatusOK, uploadReply(u)) })
	default:
		a.receivePieces(rw, r, u)
	}
}

// announced checks the request's description of its file. A length is required, so that a file that breaks off is not
// taken for a whole one. Attempt tells this request apart from an earlier one with the same key, whose late pieces the
// store refuses.
func (a fileAPI) announced(r *http.Request) (u chat.Upload, no *refusal) {
	q := r.URL.Query()
	key, name := q.Get("clientFileId"), text.OneLine(q.Get("name"), maxFileName+1)
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil || len(kind) > maxFileName:
		kind = "application/octet-stream"
	case strings.HasPrefix(kind, "multipart/"):
		return u, refused(http.StatusUnsupportedMediaType, "Send the file itself as the body, without a form.")
	}
	switch {
	case r.ContentLength < 0:
		return u, refused(http.StatusLengthRequired, "The request needs a Content-Length.")
	case r.ContentLength == 0:
		return u, refused(http.StatusBadRequest, "refused.file_empty")
	case r.ContentLength > maxFile:
		return u, refused(http.StatusRequestEntityTooLarge, "refused.file_large")
	case !isKey(key):
		return u, refused(http.StatusBadRequest, "clientFileId must be 1 to 128 bytes, without spaces, control characters or \"/\", and not \".\" or \"..\".")
	case utf8.RuneCountInString(name) > maxFileName:
		return u, refused(http.StatusBadRequest, "refused.file_name")
	case key == "":
		key = newID()
	}
	room := roomOf(r.PathValue("id"))
	return chat.Upload{ID: uploadID(room, key), Room: room, Name: name, Type: kind, Size: r.ContentLength, At: time.Now(), Attempt: rand.Text()}, nil
}

// failed logs an internal error and returns the response for the client.
func (a fileAPI) failed(what string, err error) *refusal {
	if errors.Is(err, chat.ErrShutdown) {
		return a.web.failures.refuse(what, err)
	}
	a.web.failures.note(what, err)
	return refused(http.StatusServiceUnavailable, "refused.file_not_saved")
}

// begin announces a file to the store, and returns the store's state of it.
func (a fileAPI) begin(r *http.Request, u chat.Upload) (chat.Upload, *refusal) {
	is, err := a.web.opts.Store.BeginUpload(r.Context(), u, chat.UploadRule{Waiting: maxWaiting})
	switch {
	case err == nil:
		return is, nil
	case errors.Is(err, chat.ErrNotFound):
		return u, refused(http.StatusNotFound, "refused.no_conversation")
	case errors.Is(err, chat.ErrTooMany):
		return u, refused(http.StatusConflict, "refused.waiting_files", "n", maxWaiting)
	}
	return u, a.failed("begin an upload", err)
}

// receivePieces stores the body of r, and replies. It holds one piece in memory at a time, which counts against the
// shared memory.
func (a fileAPI) receivePieces(rw http.ResponseWriter, r *http.Request, u chat.Upload) {
	who, body := caller{from: a.web.guard.client(r)}, r.Body
	if !a.web.uploads.take(who, chat.UploadPiece) {
		refuseBody(rw, body, refuse(errUploads, ""))
		return
	}
	defer a.web.uploads.give(who, chat.UploadPiece)
	in := &upload{ReadCloser: body, ctl: http.NewResponseController(rw), who: who, within: fileArrival}
	in.begin()
	u, err := a.keep(r.Context(), u, in, a.refuse)
	var no *refusal
	switch {
	case err == nil:
		reply(rw, http.StatusCreated, uploadReply(u))
		return
	case errors.As(err, &no):
	case errors.Is(err, errSlow):
		no = refused(http.StatusRequestTimeout, "refused.file_slow")
	case errors.Is(err, errCut):
		no = refused(http.StatusBadRequest, "refused.file_part")
	case errors.Is(err, answer.ErrLost):
		no = refused(http.StatusConflict, "refused.file_dropped")
	case errors.Is(err, chat.ErrNoSpace):
		no = refused(http.StatusServiceUnavailable, "refused.no_space")
	default:
		no = a.failed("store an upload", err)
	}
	refuseBody(rw, body, no)
}

// keep stores a file from content, which has u.Size bytes, unless refuse does by its beginning. It holds one piece in
// memory. Of a file that fails nothing is kept. The error is errCut if content ends early, [answer.ErrLost] if another
// attempt has begun or the file had to make room for others, and [chat.ErrNoSpace] if there is none for it.
func (a fileAPI) keep(ctx context.Context, u chat.Upload, content io.Reader, refuse func(chat.Upload, []byte) *refusal) (chat.Upload, error) {
	u, err := a.keepPieces(ctx, u, content, refuse)
	if err != nil && !errors.Is(err, answer.ErrLost) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime) // the request may have ended
		defer cancel()
		if gone := a.web.opts.Store.DropUpload(ctx, u.ID, u.Attempt); gone != nil { // it goes later, as all that no message names
			a.web.failures.note("remove a part of a file", gone)
		}
	}
	return u, err
}

// keepPieces is keep, but leaves the pieces of a file that fails.
func (a fileAPI) keepPieces(ctx context.Context, u chat.Upload, content io.Reader, refuse func(chat.Upload, []byte) *refusal) (chat.Upload, error) {
	piece := make([]byte, min(u.Size, chat.UploadPiece))
	for n, got := 0, int64(0); got < u.Size; n++ {
		// Whole pieces, because the store addresses them by their number. Only the last one may be shorter.
		k, err := io.ReadFull(content, piece[:min(u.Size-got, chat.UploadPiece)])
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return u, errCut
		case err != nil:
			return u, fmt.Errorf("receive a file: %w", err)
		case n == 0:
			if no := refuse(u, piece[:k]); no != nil {
				return u, no
			}
			u.Type = pictureType(u.Type, piece[:k])
		}
		if err := a.web.opts.Store.AddPiece(ctx, u.ID, u.Attempt, n, piece[:k], chat.UploadRule{Total: chat.MaxUploads}); err != nil {
			return u, fmt.Errorf("store a piece of a file: %w", err)
		}
		got += int64(k)
	}
	small := a.draw(ctx, u)
	if err := a.web.opts.Store.EndUpload(ctx, u.ID, u.Attempt, u.Type, small); err != nil {
		return u, fmt.Errorf("store a file: %w", err)
	}
	u.Complete, u.Thumbnail = true, len(small) > 0
	return u, nil
}

// pictureType returns the type of a file that begins with head: only real pictures count as pictures. Pictures are
// shown in the page's origin, so a claim is not enough; and a picture with a wrong claim is still a picture.
func pictureType(claimed string, head []byte) string {
	if found := http.DetectContentType(head); (llm.File{Type: found}).Picture() {
		return found
	}
	if (llm.File{Type: claimed}).Picture() {
		return "application/octet-stream"
	}
	return claimed
}

// refuse refuses a file that can't be read, by its beginning.
func (a fileAPI) refuse(u chat.Upload, head []byte) *refusal {
	if a.web.opts.Refuse == nil {
		return nil
	}
	if why := a.web.opts.Refuse(u.Name, u.Type, head); why != "" {
		return refused(http.StatusUnsupportedMediaType, "refused.file_unreadable", "reason", why)
	}
	return nil
}

// fileReply describes a stored file to its sender.
type fileReply struct {
	File sentFile `json:"file"`
}

type sentFile struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	Size      int64  `json:"size"`
	URL       string `json:"url"` // relative to the gateway's
	Thumbnail string `json:"thumbnail,omitempty"`
}

func uploadReply(u chat.Upload) fileReply {
	key := strings.TrimPrefix(u.ID, string(u.Room)+"/")
	f := sentFile{ID: key, Name: u.Name, Type: u.Type, Size: u.Size, URL: uploadPath(u.Room, key)}
	if u.Thumbnail {
		f.Thumbnail = f.URL + "/thumbnail"
	}
	return fileReply{f}
}
