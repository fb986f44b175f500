package discordfake

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// GetFile is the CDN, which is no part of the API. It can be made to fail like the endpoints.
const GetFile Route = "GET /attachments/{channel_id}/{attachment_id}/{filename}"

// fileLife is how long the address of an attachment is good (DR-26). Discord publishes no number.
const fileLife = 24 * time.Hour

// fileURL is the address of an attachment as it is handed out now: signed, and good for a while.
func (s *Server) fileURL(m *message, a Attachment) string {
	if a.URL != "" {
		return a.URL
	}
	now := time.Now()
	path := fmt.Sprintf("/attachments/%s/%s/%s", m.channel.id, a.ID, url.PathEscape(a.Filename))
	ex := strconv.FormatInt(now.Add(fileLife).Unix(), 16)
	return fmt.Sprintf("http://%s%s?ex=%s&is=%s&hm=%s&", s.host, path, ex, strconv.FormatInt(now.Unix(), 16), signature(path, ex))
}

// signature stands for the one that only Discord can make.
func signature(path, ex string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte("the CDN's secret " + path + ex)) // never fails
	return fmt.Sprintf("%016x", h.Sum64())
}

// serveFile is the CDN. It knows no bots: a token that reaches it has leaked (SE-02).
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	entry := &Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Route: GetFile}
	s.mu.Lock()
	s.journal.add(entry)
	fault := s.faults.take(entry)
	entry.Fault = fault.Name
	if r.Header.Get("Authorization") != "" || strings.Contains(r.URL.String(), s.token) && s.token != "" {
		s.reject(*entry, "the CDN is shown the bot's token")
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		entry.Done = time.Now()
	}()
	if !s.pause(fault.Delay) || fault.DropBefore {
		panic(http.ErrAbortHandler)
	}
	if fault.Answer != nil {
		w.WriteHeader(fault.Answer.Status)
		return
	}
	a, ok := s.file(r.URL)
	if !ok {
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", a.ContentType)
	_, _ = w.Write(a.Data) // a disconnected client needs no response
}

// file finds what an address names, if it is good and the file still stands in a message.
func (s *Server) file(u *url.URL) (Attachment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := strings.Split(u.EscapedPath(), "/")
	ex := u.Query().Get("ex")
	until, err := strconv.ParseInt(ex, 16, 64)
	if len(parts) != 5 || err != nil || time.Now().Unix() > until || u.Query().Get("hm") != signature(u.EscapedPath(), ex) {
		return Attachment{}, false
	}
	for _, m := range s.world.messages {
		for _, a := range m.attachments {
			if a.ID == parts[3] && !m.deleted {
				return a, true
			}
		}
	}
	return Attachment{}, false
}
