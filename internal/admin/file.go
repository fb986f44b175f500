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

// opens reports whether a file can be opened. The text of its message has the links.
func opens(f chat.Attachment) bool { return !f.Link && f.Ref != "" }

// attachedTo returns the files of a message, or those that the calls of an answer have shown.
func attachedTo(m chat.Memory) (all []attached) {
	add := func(n int, name, kind string) {
		all = append(all, attached{cmp.Or(name, "file"), fmt.Sprint(Path, "/file?id=", url.QueryEscape(string(m.ID)), "&n=", n), (llm.File{Type: kind}).Picture()})
	}
	for n, f := range m.Files {
		if opens(f) {
			add(n, f.Name, f.Type)
		}
	}
	for _, c := range m.Calls { // an answer has no attachments
		for _, f := range c.Files {
			add(f.N, f.Name, f.Type)
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
	var f llm.File
	switch answered := m.Author == a.Agent.Entity(); {
	case err != nil:
	case wrong != nil || n < 0 || !answered && (n >= len(m.Files) || m.Files[n].Link):
		err = chat.ErrNotFound
	case answered:
		f, err = a.Store.File(v.Context(), chat.RunID(m.ID), n) // an answer has the id of its run
	default:
		f, err = fetch(a, v, m, n)
	}
	switch {
	case errors.Is(err, chat.ErrNotFound):
		http.Error(rw, "This file is not there any more.", http.StatusNotFound)
	case errors.Is(err, chat.ErrTooLarge):
		http.Error(rw, "This file is too large: at most 20 MiB can be opened here.", http.StatusRequestEntityTooLarge)
	case err != nil:
		a.broken(rw, "open a file", err)
	default:
		web.ServeFile(rw, v.Request, f.Name, cmp.Or(f.Type, "application/octet-stream"), bytes.NewReader(f.Data))
	}
}

// fetch downloads the nth attachment of a message from the connector of its room.
func fetch(a *Admin, v *visit, m chat.Memory, n int) (llm.File, error) {
	room, err := a.Store.Room(v.Context(), m.Room)
	if err != nil {
		return llm.File{}, err
	}
	f, err := a.Fetch(v.Context(), room.Connector, m.Files[n], maxFile)
	f.Name = m.Files[n].Name
	return f, err
}
