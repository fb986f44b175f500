package telegramfake

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"time"
)

const (
	maxFile  = 20 << 20  // bytes that the server lets bots download (TR-31)
	linkLife = time.Hour // of the path that getFile returns
)

// Download is the name of a file download in the log.
const Download = "download"

// file is a file that a user sent.
type file struct {
	data  []byte
	size  int64
	path  string
	until time.Time // the end of its path's validity
}

// AddFile stores a user's file, and returns the file_id that messages refer to. size is the size that the server
// reports; 0 means that of data.
func (s *Server) AddFile(name string, data []byte, size int64) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addFileLocked(name, data, size)
}

func (s *Server) addFileLocked(name string, data []byte, size int64) (id string) {
	if s.files == nil {
		s.files = map[string]*file{}
	}
	id = fmt.Sprintf("AgACAgIAAxkBAAI%08d", len(s.files)+1)
	s.files[id] = &file{data: data, size: cmp.Or(size, int64(len(data))), path: fmt.Sprintf("files/file_%d_%s", len(s.files), name)}
	return id
}

func (s *Server) getFile(c *call) (any, error) {
	id := c.params["file_id"]
	f := s.files[id]
	switch {
	case id == "":
		return nil, badRequest("file_id not specified")
	case f == nil:
		return nil, badRequest("wrong file_id or the file is temporarily unavailable")
	case f.size > maxFile:
		return nil, badRequest("file is too big")
	}
	f.until = time.Now().Add(linkLife)
	return map[string]any{"file_id": id, "file_unique_id": "u" + id, "file_size": f.size, "file_path": f.path}, nil
}

var filePath = regexp.MustCompile(`^/file/bot(\d+:[A-Za-z0-9_-]{20,})/(.+)$`) // never changed

// serveFile answers /file/bot<token>/<path>. It reports whether the request was one.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) bool {
	m := filePath.FindStringSubmatch(r.URL.Path)
	if m == nil {
		return false
	}
	if !s.accepts(m[1]) {
		s.stranger(Download)
		write(w, refusal(&apiError{code: 401, text: "Unauthorized"}))
		return true
	}
	c := s.open(r.Host, Download, map[string]string{"path": m[2]})
	if sleep(r.Context(), c.fault.Delay) != nil || c.fault.spoils() {
		s.spoil(w, c, c.fault, response{})
		return true
	}
	data, ok := s.read(m[2])
	if !ok {
		write(w, s.close(c, nil, &apiError{code: 404, text: "Not Found"}))
		return true
	}
	s.close(c, true, nil)
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(data) // a client that has disconnected needs no response
	return true
}

// read returns the file under a path while the path is valid.
func (s *Server) read(path string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.path == path && time.Now().Before(f.until) {
			return f.data, true
		}
	}
	return nil, false
}
