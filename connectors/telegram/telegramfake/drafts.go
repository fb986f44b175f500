package telegramfake

import (
	"encoding/json"
	"slices"
	"time"
)

// Draft is a preview of a message that the bot is writing. Users see it below all messages, for 30 seconds, or until a message appears.
type Draft struct {
	ID, Thread int
	Text       string // empty is shown as "Thinking…"
	Entities   []Entity
	Rich       json.RawMessage // of a rich one
	CanStop    bool            // it has a Stop button
	Stopped    bool
	Since      time.Time // when it appeared
	Until      time.Time // when it disappears
	Removed    time.Time // when a message, or the Stop button, removed it; zero if nothing did
	Versions   int

	keep bool
}

const draftLife = 30 * time.Second

// sendMessageDraft shows or changes a draft. Drafts exist in private chats only (TR-13).
func (s *Server) sendMessageDraft(c *call) (any, error) {
	thread, err := c.draftThread()
	if err != nil {
		return nil, err
	}
	d := Draft{ID: c.int("draft_id"), Thread: thread}
	if c.params["text"] != "" || c.params["rich_message"] != "" {
		v, err := s.content(c)
		if err != nil {
			return nil, err
		}
		d.Text, d.Entities, d.Rich = v.Text, v.Entities, v.Rich
	}
	return s.showDraft(c, d), nil
}

// draftThread checks where a request for a draft goes.
func (c *call) draftThread() (int, error) {
	switch {
	case c.chat.Type != private:
		return 0, badRequest("TEXTDRAFT_PEER_INVALID")
	case c.int("draft_id") == 0:
		return 0, badRequest("parameter draft_id must be non-zero")
	}
	return c.chat.writableThread(c.int("message_thread_id"))
}

func (s *Server) showDraft(c *call, d Draft) bool {
	now := time.Now()
	d.Since, d.Until = now, now.Add(draftLife)
	d.CanStop, d.keep = c.params["can_stop"] == "true", c.params["keep_on_stop"] == "true"
	if old := c.chat.draft(d.ID, d.Thread); old != nil {
		d.Since, d.Versions = old.Since, old.Versions
		*old = d
		old.Versions++
		return true
	}
	d.Versions = 1
	c.chat.drafts = append(c.chat.drafts, &d)
	return true
}

func (d *Draft) shown() bool { return d.Removed.IsZero() && time.Now().Before(d.Until) }

func (c *chat) draft(id, thread int) *Draft {
	for _, d := range c.drafts {
		if d.ID == id && d.Thread == thread && d.shown() {
			return d
		}
	}
	return nil
}

// removeDrafts removes the drafts where m appears.
func (c *chat) removeDrafts(m *message) {
	thread := 0
	if m.topic {
		thread = m.thread
	}
	for _, d := range c.drafts {
		if d.Thread == thread && d.shown() {
			d.Removed = time.Now()
		}
	}
}

// Drafts returns the drafts that users see in c now.
func (s *Server) Drafts(c Chat) (now []Draft) {
	return slices.DeleteFunc(s.AllDrafts(c), func(d Draft) bool { return !d.shown() })
}

// AllDrafts returns all drafts of c, in the order of their appearance: one that was removed and sent again counts twice.
func (s *Server) AllDrafts(c Chat) (all []Draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.must(c).drafts {
		all = append(all, *d)
	}
	return all
}

// StopDraft presses the Stop button of a draft of c. It panics if there is none.
func (s *Server) StopDraft(c Chat, d Draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.must(c)
	shown := ch.draft(d.ID, d.Thread)
	if !shown.CanStop {
		panic("telegramfake: the draft has no Stop button")
	}
	if shown.Stopped = true; !shown.keep {
		shown.Removed = time.Now()
	}
	update := map[string]any{"chat": ch.Chat, "draft_id": d.ID}
	if d.Thread != 0 {
		update["message_thread_id"] = d.Thread
	}
	s.enqueue("stopped_message_generation", update)
}
