package admin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"parley/connectors/web"
	"parley/core/chat"
	"parley/core/llm"
)

const (
	maxFile   = 20 << 20 // bytes of a file, as of an upload in the web chat
	mostFiles = 4        // files that are held at a time
)

// attached is a file of a message. A picture is shown, another file is a link.
type attached struct {
	Name, URL string
	Picture   bool
}

// attachedTo returns the files of a message. The text has its links.
func attachedTo(m chat.Memory) (all []attached) {
	for n, f := range m.Files {
		if !f.Link && f.Ref != "" {
			all = append(all, attached{cmp.Or(f.Name, "file"), fmt.Sprint(Path, "/file?id=", url.QueryEscape(string(m.ID)), "&n=", n), (llm.File{Type: f.Type}).Picture()})
		}
	}
	return all
}

// openFile serves the nth file of a message. Staff can read all messages, so they can open all files.
func openFile(a *Admin, rw http.ResponseWriter, v *visit) {
	select {
	case a.opened <- struct{}{}:
		defer func() { <-a.opened }()
	case <-v.Context().Done():
		return
	}
	query := v.URL.Query()
	m, err := a.Store.Memory(v.Context(), chat.MemoryID(query.Get("id")))
	n, wrong := strconv.Atoi(query.Get("n"))
	if err == nil && (wrong != nil || n < 0 || n >= len(m.Files) || m.Files[n].Link) {
		err = chat.ErrNotFound
	}
	var room chat.Room
	if err == nil {
		room, err = a.Store.Room(v.Context(), m.Room)
	}
	var f llm.File
	if err == nil {
		f, err = a.Fetch(v.Context(), room.Connector, m.Files[n], maxFile)
	}
	switch {
	case errors.Is(err, chat.ErrNotFound):
		http.Error(rw, "This file is not there any more.", http.StatusNotFound)
	case errors.Is(err, chat.ErrTooLarge):
		http.Error(rw, "This file is too large: at most 20 MiB can be opened here.", http.StatusRequestEntityTooLarge)
	case err != nil:
		a.broken(rw, "open a file", err)
	default:
		web.ServeFile(rw, v.Request, m.Files[n].Name, cmp.Or(f.Type, "application/octet-stream"), bytes.NewReader(f.Data))
	}
}
