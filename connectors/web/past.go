package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"parley/core"
)

// pastTool is the last frame of a call, and where it stands. Its images are addresses below that of the gateway.
type pastTool struct {
	frame
	At int `json:"at,omitempty"` // bytes of the text that stand above it
}

func pastTools(m core.Memory) (out []pastTool) {
	for _, c := range m.Calls {
		t := pastTool{toolFrame(c.ToolBlock), c.At}
		t.Images = pictureAddresses(m.Room, m.ID, c)
		out = append(out, t)
	}
	return out
}

// pictureAddresses are those of the pictures of a call.
func pictureAddresses(room core.RoomID, id core.MemoryID, c core.PastCall) (all []string) {
	conversation := strings.TrimPrefix(string(room), Name+"/")
	for _, n := range c.Images {
		all = append(all, "api/conversations/"+url.PathEscape(conversation)+"/messages/"+url.PathEscape(string(id))+"/pictures/"+n)
	}
	return all
}

// attached is a file that somebody sent along: its name is all that stays of it here.
type attached struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
	Size int64  `json:"size,omitempty"`
}

func attachedTo(m core.Memory) (all []attached) {
	for _, f := range m.Files {
		all = append(all, attached{f.Name, f.Type, f.Size})
	}
	return all
}

// picture gives one that an answer shows.
func (w *Web) picture(rw http.ResponseWriter, r *http.Request) {
	room, ok := w.room(rw, r)
	if !ok {
		return
	}
	n, err := strconv.Atoi(r.PathValue("n"))
	m, merr := w.opts.Store.Memory(r.Context(), core.MemoryID(r.PathValue("message")))
	if err != nil || merr == nil && m.Room != room.ID {
		merr = core.ErrNotFound
	}
	var b core.Blob
	if err = merr; err == nil {
		b, err = w.opts.Store.Picture(r.Context(), core.RunID(m.ID), n) // an answer has the id of its run
	}
	switch {
	case errors.Is(err, core.ErrNotFound):
		fail(rw, http.StatusNotFound, "There is no such picture.")
	case err != nil:
		w.broken(rw, "read a picture", err)
	default:
		h := rw.Header()
		h.Set("Content-Type", b.Type)
		h.Set("Content-Length", strconv.Itoa(len(b.Data)))              // for those who only ask how large it is
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox") // whatever it turns out to hold
		_, _ = rw.Write(b.Data)                                         // the reader has gone: nobody to tell
	}
}
