package discordfake

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// starterType is the type of the message that stands in a thread for the one that it was opened from.
const starterType = 21

// AddPost adds a post with tags to a forum, with its first message by a user, and returns its id.
func (s *Server) AddPost(forumID, userID, title, text string, tags ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	forum := s.mustChannel(forumID)
	c := &channel{id: s.nextID(), name: title, guild: forum.guild, parent: forum, kind: TypeThread, owner: s.mustUser(userID), tags: tags}
	for _, tag := range tags {
		if !slices.Contains(forum.tags, tag) {
			forum.tags = append(forum.tags, tag)
		}
	}
	s.addThread(c)
	m := &message{id: c.id, channel: c, author: c.owner, versions: []Version{{At: time.Now(), Content: text}}}
	m.mentions = s.mentionsOf(c, text, nil, nil)
	s.post(m)
	return c.id
}

// AddThreadOn opens a thread on a message as a user, and returns its id, which is that of the message.
func (s *Server) AddThreadOn(messageID, userID, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.threadOn(s.mustMessage(messageID), s.mustUser(userID), name).id
}

// threadOn opens a thread on m, with the message that stands for m in it.
func (s *Server) threadOn(m *message, by *user, name string) *channel {
	c := &channel{id: m.id, name: name, guild: m.channel.guild, parent: m.channel, kind: TypeThread, owner: by}
	s.addThread(c)
	start := &message{id: s.nextID(), channel: c, author: by, extra: object{"type": starterType, "referenced_message": s.bareObject(m)}, versions: []Version{{At: time.Now()}}}
	start.extra["message_reference"] = object{"type": 0, "message_id": m.id, "channel_id": m.channel.id, "guild_id": c.guild.id}
	c.start = start
	return c
}

func (s *Server) addThread(c *channel) {
	s.world.addChannel(c)
	s.emit(event{name: "THREAD_CREATE", channel: c, needs: IntentGuilds, data: s.channelObject(c)})
}

// Thread returns the name of a channel or thread, and whether it exists.
func (s *Server) Thread(channelID string) (name string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.world.channels[channelID]
	if c == nil {
		return "", false
	}
	return c.name, true
}

// Threads returns the ids of the threads below a channel.
func (s *Server) Threads(channelID string) (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.mustChannel(channelID)
	if in.guild == nil {
		return nil
	}
	for _, c := range in.guild.channels {
		if c.parent != nil && c.parent.id == channelID {
			ids = append(ids, c.id)
		}
	}
	return ids
}

func (s *Server) openThread(c *call) (int, any, *apiError) {
	var form struct {
		Name    string `json:"name"`
		Archive *int   `json:"auto_archive_duration"`
		Slow    *int   `json:"rate_limit_per_user"`
	}
	if e := decode(c.body, &form); e != nil {
		return 0, nil, e
	}
	ch, e := s.visible(c)
	if e != nil {
		return 0, nil, e
	}
	m, e := s.standing(c, ch)
	switch {
	case e != nil:
		return 0, nil, e
	case ch.kind != TypeText && ch.kind != TypeNews:
		return 0, nil, refuse(http.StatusBadRequest, 50024, "Cannot execute action on this channel type")
	case s.world.channels[m.id] != nil:
		return 0, nil, refuse(http.StatusBadRequest, 160004, "A thread has already been created for this message")
	case !ch.may(CreateThreads):
		return 0, nil, missingPermissions()
	}
	if e := threadName(form.Name); e != nil {
		return 0, nil, e
	}
	return http.StatusCreated, s.channelObject(s.threadOn(m, s.bot, form.Name)), nil
}

func threadName(name string) *apiError {
	if n := utf8.RuneCountInString(name); n < 1 || n > 100 {
		return invalidForm("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
	}
	return nil
}

func (s *Server) editChannel(c *call) (int, any, *apiError) {
	var form struct {
		Name     string `json:"name"`
		Archived *bool  `json:"archived"`
	}
	if e := decode(c.body, &form); e != nil {
		return 0, nil, e
	}
	ch, e := s.visible(c)
	if e != nil {
		return 0, nil, e
	}
	if e := threadName(form.Name); e != nil {
		return 0, nil, e
	}
	if ch.owner != s.bot && !ch.may(ManageThreads) {
		return 0, nil, missingPermissions()
	}
	ch.name = form.Name
	s.emit(event{name: "THREAD_UPDATE", channel: ch, needs: IntentGuilds, data: s.channelObject(ch)})
	return http.StatusOK, s.channelObject(ch), nil
}

// tagObjects are the tags of a forum.
func (s *Server) tagObjects(c *channel) []object {
	out := []object{}
	for _, name := range c.tags {
		out = append(out, object{"id": c.tagID(name), "name": name, "moderated": false, "emoji_id": nil, "emoji_name": nil})
	}
	return out
}

// tagIDs are the ids of a post's tags.
func (c *channel) tagIDs() []string {
	out := []string{}
	for _, name := range c.tags {
		out = append(out, c.parent.tagID(name))
	}
	return out
}

// tagID is the id of a forum's tag.
func (c *channel) tagID(name string) string {
	return strconv.FormatUint(number(c.id)+uint64(slices.Index(c.tags, name))+1, 10)
}

// TranscriptWithThreads returns [Server.Transcript] of a channel, followed by those of its threads.
func (s *Server) TranscriptWithThreads(channelID, userID string) string {
	out := s.Transcript(channelID, userID)
	for _, id := range s.Threads(channelID) {
		name, _ := s.Thread(id)
		out += fmt.Sprintf("-- thread: %s\n%s", name, s.Transcript(id, userID))
	}
	return out
}
