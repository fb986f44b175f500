package web

import (
	"net/http"
	"sync"
	"time"
)

const (
	typingPause = 3 * time.Second // between two hints of a socket about a conversation
	maxTypists  = 32              // conversations of a socket that it gets hints about
)

// typists are the sockets that read each conversation, by its id, and when each was last typing there. The sockets of other
// processes are not among them. It is safe for concurrent use.
type typists struct {
	mu sync.Mutex
	by map[string]map[*socket]time.Time
}

// enter makes s a reader of a conversation, until it leaves, unless it reads maxTypists others.
func (t *typists) enter(s *socket, conversation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, reads := t.by[conversation][s]; reads || len(s.reads) == maxTypists {
		return
	}
	if t.by[conversation] == nil {
		t.by[conversation] = map[*socket]time.Time{}
	}
	t.by[conversation][s] = time.Time{}
	s.reads = append(s.reads, conversation)
}

// leave removes s.
func (t *typists) leave(s *socket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range s.reads {
		if delete(t.by[c], s); len(t.by[c]) == 0 {
			delete(t.by, c)
		}
	}
}

// others returns the other readers of a conversation. None had a hint of s a moment ago: see recent.
func (t *typists) others(s *socket, conversation string) (all []*socket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	readers := t.by[conversation]
	if _, reads := readers[s]; reads {
		readers[s] = time.Now()
	}
	for other := range readers {
		if other != s {
			all = append(all, other)
		}
	}
	return all
}

// recent reports whether s was typing in a conversation a moment ago.
func (t *typists) recent(s *socket, conversation string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Since(t.by[conversation][s]) < typingPause
}

// typing tells the other sockets that read a conversation that its visitor is typing. Its reply doesn't wait for them.
func (s *socket) typing(rw http.ResponseWriter, r *http.Request, conversation string) {
	w := s.web.latest.Load()
	if w.typists.recent(s, conversation) {
		rw.WriteHeader(http.StatusNoContent)
		return
	}
	no := w.charge(r, w.reads)
	if no == nil {
		_, no = door{w}.conversation(r, conversation)
	}
	if no != nil {
		no.reply(rw)
		return
	}
	w.typists.enter(s, conversation)
	others := w.typists.others(s, conversation)
	rw.WriteHeader(http.StatusNoContent)
	hint := append(appendString([]byte(`{"conversation":`), conversation), `,"event":{"type":"typing"}}`...)
	var sending sync.WaitGroup
	for _, other := range others {
		sending.Go(func() {
			if _, no := (door{w}).conversation(other.r, conversation); no == nil { // it may have lost its access
				_ = other.write(hint)
			}
		})
	}
	sending.Wait()
}
