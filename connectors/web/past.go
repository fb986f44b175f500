package web

import (
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// shownFile is a file of a call other than an image.
type shownFile struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type"`
	Size int    `json:"size"` // bytes
	URL  string `json:"url"`  // like those of images
}

// showing returns f with files instead of those that the call showed: with their content, or with the path of a stored
// file.
func (e *encoder) showing(f frame, files []llm.File) frame {
	f.Images, f.Files = []string{}, []shownFile{}
	for _, b := range files {
		if b.Past != nil {
			f.show(e.room, chat.Run{ID: e.run}.Said(), answer.PastCall{Files: []llm.PastFile{*b.Past}})
		} else if b.Picture() {
			f.Images = append(f.Images, b.DataURL())
		} else {
			f.Files = append(f.Files, shownFile{b.Name, b.Type, len(b.Data), b.DataURL()})
		}
	}
	return f
}

// show adds the paths of the files that a call has shown in an answer. They are relative, because a proxy may serve the
// gateway below any path.
func (f *frame) show(room chat.RoomID, id chat.MemoryID, c answer.PastCall) {
	below := "api/conversations/" + url.PathEscape(strings.TrimPrefix(string(room), Name+"/")) + "/messages/" + url.PathEscape(string(id)) + "/files/"
	for _, p := range c.Files {
		address := below + strconv.Itoa(p.N)
		if (llm.File{Type: p.Type}).Picture() {
			f.Images = append(f.Images, address)
		} else {
			f.Files = append(f.Files, shownFile{p.Name, p.Type, p.Size, address})
		}
	}
}

// pastTools returns the final frames of an answer's calls, in the form of a stream.
func (w wishes) pastTools(m chat.Memory) (out []frame) {
	for _, c := range m.Calls {
		t := w.toolFrame(c.ID, c.Tool)
		if t.ToolName == "" && len(c.Files) == 0 {
			continue
		}
		t.At = c.At
		t.show(m.Room, m.ID, c)
		out = append(out, t)
	}
	return out
}

// attached is a user's attachment.
type attached struct {
	Name      string `json:"name"`
	Type      string `json:"type,omitempty"`
	Size      int64  `json:"size,omitempty"`
	URL       string `json:"url,omitempty"`
	Thumbnail string `json:"thumbnail,omitempty"` // the address of a small JPEG
	Unread    string `json:"unread,omitempty"`    // why it can't be read
}

// attachedTo returns the attachments of a message as a reload shows them. Only files that were uploaded here have an
// address: the key of others is not one of this room.
func attachedTo(m chat.Memory) (all []attached) {
	for _, f := range m.Files {
		if f.Link && f.Unread == "" {
			continue // it is part of the text
		}
		a := attached{Name: f.Name, Type: f.Type, Size: f.Size, Unread: f.Unread}
		if key, ok := strings.CutPrefix(f.Ref, string(m.Room)+"/"); ok && !strings.Contains(key, "/") { // others were only cached
			a.URL = uploadPath(m.Room, key)
			if f.Thumbnail {
				a.Thumbnail = a.URL + "/thumbnail"
			}
		}
		all = append(all, a)
	}
	return all
}

// file serves a file of an answer. Anything but an image is sent for download, because browsers must not open it in the
// page's origin.
func (w *Web) file(rw http.ResponseWriter, r *http.Request) {
	room, ok := w.room(rw, r)
	if !ok {
		return
	}
	m, err := door{w}.message(r, room.ID)
	n, nerr := strconv.Atoi(r.PathValue("n"))
	if nerr != nil {
		err = chat.ErrNotFound
	}
	var f *stored
	if err == nil {
		f, err = openStored(r.Context(), w.opts.Store, chat.RunID(m.ID), n) // an answer has the id of its run
	}
	switch {
	case errors.Is(err, chat.ErrNotFound):
		fail(rw, http.StatusNotFound, "refused.no_file")
	case err != nil:
		w.broken(rw, "read a file", err)
	default:
		ServeFile(rw, r, f.Name, f.Type, f)
	}
}

// ServeFile replies with a file. Anything but an image is for download, and a policy forbids everything to a displayed
// file: it comes from a stranger or a model, and has the page's origin.
func ServeFile(rw http.ResponseWriter, r *http.Request, name, kind string, content io.ReadSeeker) {
	h := rw.Header()
	h.Set("Content-Type", kind)
	if !(llm.File{Type: kind}).Picture() {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": cmp.Or(name, "file")}))
	}
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox") // regardless of the content
	if strings.Contains(r.Header.Get("Range"), ",") {
		r.Header.Del("Range") // serve the whole file instead of several ranges, because each range would be a separate read
	}
	http.ServeContent(rw, r, "", time.Time{}, content) // media players request ranges
}
