package discordfake

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// answerWithin is how long a press may wait for its first answer (DR-22).
const answerWithin = 3 * time.Second

// press is a pressed button.
type press struct {
	id, token string
	at        time.Time
	user      string
	answered  bool
}

// PressAnswer is what a press was answered with.
type PressAnswer struct {
	User      string
	Type      int
	Content   string
	Ephemeral bool
	After     time.Duration
}

// Button is a button under a message.
type Button struct {
	Label string `json:"label"`
	ID    string `json:"custom_id"`
}

// Buttons are those under m.
func (m Message) Buttons() (all []Button) {
	var rows []struct {
		Buttons []Button `json:"components"`
	}
	_ = json.Unmarshal(m.Components, &rows) // it was checked when it came
	for _, r := range rows {
		all = append(all, r.Buttons...)
	}
	return all
}

// Press has a user press a button. Sessions hear INTERACTION_CREATE, whatever their intents.
func (s *Server) Press(messageID, userID, customID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, u := s.mustMessage(messageID), s.mustUser(userID)
	p := &press{id: s.nextID(), at: time.Now(), user: u.id}
	p.token = "aW50ZXJhY3Rpb246" + p.id + ":secret"
	s.presses = append(s.presses, p)
	o := object{
		"id": p.id, "application_id": s.bot.id, "type": 3, "token": p.token, "version": 1, "channel_id": m.channel.id,
		"message": s.messageObject(m), "data": object{"custom_id": customID, "component_type": 2},
	}
	if m.channel.guild != nil {
		o["guild_id"] = m.channel.guild.id
		o["member"] = object{"user": u.object(), "nick": nil, "roles": []string{}}
	} else {
		o["user"] = u.object()
	}
	s.emit(event{name: "INTERACTION_CREATE", channel: m.channel, data: o})
}

// PressAnswers are the answers to presses, in the order in which they came.
func (s *Server) PressAnswers() []PressAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]PressAnswer(nil), s.pressAnswers...)
}

func (s *Server) answerPress(c *call) (int, any, *apiError) {
	var form struct {
		Type int `json:"type"`
		Data struct {
			Content string `json:"content"`
			Flags   int    `json:"flags"`
		} `json:"data"`
	}
	if err := json.Unmarshal(c.body, &form); err != nil {
		return 0, nil, invalidForm("type", "BASE_TYPE_REQUIRED", err.Error())
	}
	for _, p := range s.presses {
		if p.id != c.params["interaction_id"] || p.token != c.params["interaction_token"] {
			continue
		}
		since := time.Since(p.at)
		switch {
		case p.answered:
			return 0, nil, refuse(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
		case since > answerWithin:
			return 0, nil, refuse(http.StatusNotFound, 10062, "Unknown interaction")
		case form.Type == 4 && strings.TrimSpace(form.Data.Content) == "":
			return 0, nil, emptyMessage()
		case form.Type != 4 && form.Type != 6:
			return 0, nil, notModelled("this type of answer")
		}
		p.answered = true
		s.pressAnswers = append(s.pressAnswers, PressAnswer{p.user, form.Type, form.Data.Content, form.Data.Flags&64 != 0, since})
		return http.StatusNoContent, nil, nil
	}
	return 0, nil, refuse(http.StatusNotFound, 10062, "Unknown interaction")
}
