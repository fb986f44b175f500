package discordfake

import (
	"net/http"
	"net/url"
	"slices"
	"time"
)

// visible is the channel that a call names, if the bot may see it.
func (s *Server) visible(c *call) (*channel, *apiError) {
	ch := s.world.channels[c.params["channel_id"]]
	switch {
	case ch == nil:
		return nil, unknownChannel()
	case !ch.may(ViewChannel):
		return nil, missingAccess()
	}
	return ch, nil
}

// writable is the channel that a call names, if the bot may post there.
func (s *Server) writable(c *call) (*channel, *apiError) {
	ch, e := s.visible(c)
	if e != nil {
		return nil, e
	}
	need := SendMessages
	if ch.kind == TypeThread {
		need = SendInThreads
	}
	switch {
	case ch.recipient != nil && ch.recipient.dmClosed:
		return nil, refuse(http.StatusForbidden, 50007, "Cannot send messages to this user")
	case ch.kind == TypeForum:
		return nil, refuse(http.StatusBadRequest, 50008, "Cannot send messages in a non-text channel")
	case !ch.may(need):
		return nil, missingPermissions()
	case ch.locked && !ch.may(ManageThreads):
		return nil, refuse(http.StatusBadRequest, 160005, "Thread is locked")
	}
	return ch, nil
}

func (s *Server) getChannel(c *call) (int, any, *apiError) {
	ch, e := s.visible(c)
	if e != nil {
		return 0, nil, e
	}
	return http.StatusOK, s.channelObject(ch), nil
}

func (s *Server) startTyping(c *call) (int, any, *apiError) {
	if len(c.body) > 0 && string(c.body) != "{}" {
		return 0, nil, invalidForm("body", "UNKNOWN_FIELD", "typing takes no body")
	}
	ch, e := s.writable(c)
	if e != nil {
		return 0, nil, e
	}
	s.showTyping(ch, s.bot)
	return http.StatusNoContent, nil, nil
}

func (s *Server) showTyping(ch *channel, by *user) {
	now := time.Now()
	ch.typing = append(ch.typing, TypingMark{At: now, User: by.id})
	o := object{"channel_id": ch.id, "user_id": by.id, "timestamp": now.Unix()}
	needs := IntentDMTyping
	if ch.guild != nil {
		needs = IntentGuildTyping
		o["guild_id"] = ch.guild.id
	}
	s.emit(event{name: "TYPING_START", channel: ch, needs: needs, data: o})
}

func (s *Server) postDM(c *call) (int, any, *apiError) {
	var form struct {
		Recipient string `json:"recipient_id"`
	}
	if e := decode(c.body, &form); e != nil {
		return 0, nil, e
	}
	u := s.world.users[form.Recipient]
	if u == nil || u == s.bot {
		return 0, nil, refuse(http.StatusBadRequest, 50033, "Invalid Recipient(s)")
	}
	return http.StatusOK, s.channelObject(s.openDM(u)), nil
}

// react adds or removes a reaction of the bot.
func (s *Server) react(c *call) (int, any, *apiError) {
	ch, e := s.visible(c)
	if e != nil {
		return 0, nil, e
	}
	m, e := s.standing(c, ch)
	if e != nil {
		return 0, nil, e
	}
	emoji, err := url.PathUnescape(c.params["emoji_name"])
	at := slices.Index(m.reactions, emoji)
	add := c.do.route == AddReaction
	switch {
	case err != nil || emoji == "":
		return 0, nil, refuse(http.StatusBadRequest, 10014, "Unknown Emoji")
	case add && !ch.may(AddReactions):
		return 0, nil, missingPermissions()
	case add && at < 0:
		m.reactions = append(m.reactions, emoji)
	case !add && at < 0:
		return 0, nil, refuse(http.StatusNotFound, 10014, "Unknown Emoji")
	case !add:
		m.reactions = slices.Delete(m.reactions, at, at+1)
	}
	return http.StatusNoContent, nil, nil
}
