package discordfake

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// answerWithin is how long an interaction may wait for its first answer (DR-22).
	answerWithin = 3 * time.Second
	// tokenLife is how long an interaction's token is good, from its beginning.
	tokenLife = 15 * time.Minute

	flagEphemeral = 1 << 6
	// FlagMasked marks a channel that the bot can't view: its other fields mean nothing.
	FlagMasked = 1 << 17
)

// The kinds of interactions, in Discord's numbers.
const (
	commandInteraction      = 2
	componentInteraction    = 3
	autocompleteInteraction = 4
	modalInteraction        = 5
)

// interaction is a command, a press, an autocomplete or a submitted modal.
type interaction struct {
	id, token string
	kind      int
	at        time.Time
	user      *user
	channel   *channel
	pressed   *message // of a press
	event     event    // for a second delivery

	answered  bool
	deferred  bool // the user sees that the bot is thinking
	ephemeral bool
	original  *message // nil while deferred
}

// PressAnswer is what an interaction was answered with.
type PressAnswer struct {
	User      string
	Type      int
	Content   string
	Ephemeral bool
	After     time.Duration
	Choices   []Choice        // of an autocomplete
	Modal     json.RawMessage // as sent
}

// Choice is a suggestion of an autocomplete.
type Choice struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Button is a button under a message, or an option of a menu there, which then has a value.
type Button struct {
	Label string `json:"label"`
	ID    string `json:"custom_id"`
	Value string `json:"value"`
}

// Buttons are those under m, and the options of its menus.
func (m Message) Buttons() (all []Button) {
	var rows []struct {
		Buttons []struct {
			Button
			Options []Button `json:"options"`
		} `json:"components"`
	}
	_ = json.Unmarshal(m.Components, &rows) // it was checked when it came
	for _, r := range rows {
		for _, b := range r.Buttons {
			if len(b.Options) == 0 {
				all = append(all, b.Button)
			}
			for _, o := range b.Options {
				all = append(all, Button{o.Label, b.ID, o.Value})
			}
		}
	}
	return all
}

// Press has a user press a button, or choose values of a menu. Sessions hear INTERACTION_CREATE, whatever their intents. It returns the
// interaction's id.
func (s *Server) Press(messageID, userID, customID string, values ...string) string {
	data := object{"custom_id": customID, "component_type": 2}
	if len(values) > 0 {
		data["component_type"], data["values"] = 3, values
	}
	return s.Component(messageID, userID, data)
}

// Component has a user use a component of a message, with any data: also of a kind that no one knows yet.
func (s *Server) Component(messageID, userID string, data map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.mustMessage(messageID)
	return s.interact(&interaction{kind: componentInteraction, user: s.mustUser(userID), channel: m.channel, pressed: m}, data)
}

// Modal is a modal as users see it.
type Modal struct {
	ID     string  `json:"custom_id"`
	Title  string  `json:"title"`
	Labels []Label `json:"components"`
}

// Label is a label of a modal, with its input.
type Label struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Input       struct {
		Type  int    `json:"type"`
		ID    string `json:"custom_id"`
		Value string `json:"value"` // at first
	} `json:"component"`
}

// Opened is the modal that was opened last; its title is empty if there is none.
func (s *Server) Opened() (m Modal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.pressAnswers {
		if a.Type == 9 {
			m = Modal{}
			_ = json.Unmarshal(a.Modal, &m) // it was checked when it came
		}
	}
	return m
}

// SubmitModal has a user submit a modal with one text. See Submit.
func (s *Server) SubmitModal(channelID, messageID, userID, customID, input, text string) string {
	l := Label{}
	l.Input.Type, l.Input.ID = 4, input
	return s.Submit(channelID, messageID, userID, Modal{ID: customID, Labels: []Label{l}}, nil, text)
}

// Submit has a user submit the modal m, which a press of a message opened if messageID is not empty, with values for the first labels. The value of a label for
// files are their names, separated by commas: bots get their addresses, and no message has them. It returns the interaction's id.
func (s *Server) Submit(channelID, messageID, userID string, m Modal, files []Attachment, values ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []object
	attachments := object{}
	hidden := &message{id: s.nextID(), channel: s.mustChannel(channelID)}
	s.world.messages[hidden.id] = hidden
	for i, value := range values {
		l := m.Labels[i]
		in := object{"type": l.Input.Type, "id": 2*i + 2, "custom_id": l.Input.ID, "value": value}
		if l.Input.Type == 3 {
			delete(in, "value")
			in["values"] = []string{value}
		} else if l.Input.Type == 19 {
			delete(in, "value")
			ids := []string{}
			for _, a := range files {
				if strings.Contains(value, a.Filename) {
					a.ID = s.nextID()
					hidden.attachments = append(hidden.attachments, a)
					ids = append(ids, a.ID)
					attachments[a.ID] = object{"id": a.ID, "filename": a.Filename, "content_type": a.ContentType, "size": len(a.Data), "url": s.fileURL(hidden, a), "ephemeral": true}
				}
			}
			in["values"] = ids
		}
		all = append(all, object{"type": 18, "id": 2*i + 1, "component": in})
	}
	i := &interaction{kind: modalInteraction, user: s.mustUser(userID), channel: hidden.channel}
	if messageID != "" {
		i.pressed = s.mustMessage(messageID)
	}
	return s.interact(i, object{"custom_id": m.ID, "components": all, "resolved": object{"attachments": attachments}})
}

// Interact dispatches an interaction of a kind (2 is a command, 4 an autocomplete) with any data.
func (s *Server) Interact(kind int, channelID, userID string, data map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interact(&interaction{kind: kind, user: s.mustUser(userID), channel: s.mustChannel(channelID)}, data)
}

// Redeliver dispatches an interaction once more, as a resume does.
func (s *Server) Redeliver(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.interactions {
		if i.id == id {
			s.emit(i.event)
		}
	}
}

// interact announces an interaction with its data. Sessions hear it also from channels that the bot can't view.
func (s *Server) interact(i *interaction, data object) string {
	i.id, i.at = s.nextID(), time.Now()
	i.token = "aW50ZXJhY3Rpb246" + i.id + ":secret"
	s.interactions = append(s.interactions, i)
	o := object{
		"id": i.id, "application_id": s.bot.id, "type": i.kind, "token": i.token, "version": 1, "channel_id": i.channel.id,
		"channel": s.channelObject(i.channel), "data": data, "locale": cmp.Or(s.clients, "en-US"), "entitlements": []object{}, "attachment_size_limit": maxFile,
		"app_permissions": strconv.Itoa(i.channel.permissionBits()), "authorizing_integration_owners": object{},
	}
	if i.pressed != nil {
		o["message"] = s.messageObject(i.pressed)
	}
	if g := i.channel.guild; g != nil {
		o["guild_id"], o["guild_locale"], o["context"] = g.id, g.preferred(), 0
		member := i.user.guildMember(i.at)
		o["member"], member["permissions"] = member, "0"
	} else {
		o["user"], o["context"] = i.user.object(), 1
	}
	i.event = event{name: "INTERACTION_CREATE", guild: i.channel.guildID(), data: o}
	s.emit(i.event)
	return i.id
}

// permissionBits are the bot's permissions in Discord's numbers, as far as the fake knows them.
func (c *channel) permissionBits() int {
	var all Permission
	for p := ViewChannel; p <= CreateThreads; p <<= 1 {
		if c.may(p) {
			all |= p
		}
	}
	return all.bits() | 1<<15 // files
}

// bits are p in Discord's numbers.
func (p Permission) bits() (bits int) {
	for one, bit := range map[Permission]int{
		AddReactions: 1 << 6, ViewChannel: 1 << 10, SendMessages: 1 << 11, ManageMessages: 1 << 13, ReadHistory: 1 << 16, MentionEveryone: 1 << 17,
		ManageThreads: 1 << 34, CreateThreads: 1 << 35, SendInThreads: 1 << 38,
	} {
		if p&one != 0 {
			bits |= bit
		}
	}
	return bits
}

// PressAnswers are the first answers to interactions, in the order in which they came.
func (s *Server) PressAnswers() []PressAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]PressAnswer(nil), s.pressAnswers...)
}

// Thinking are the users of a channel who see that the bot is thinking.
func (s *Server) Thinking(channelID string) (users []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.interactions {
		if i.deferred && i.channel.id == channelID && time.Since(i.at) < tokenLife {
			users = append(users, i.user.id)
		}
	}
	return users
}

type callbackForm struct {
	Type int             `json:"type"`
	Data json.RawMessage `json:"data"`
}

// callback is the first answer to an interaction.
func (s *Server) callback(c *call) (int, any, *apiError) {
	var form callbackForm
	if e := decode(c.body, &form); e != nil {
		return 0, nil, e
	}
	for _, i := range s.interactions {
		if i.id != c.params["interaction_id"] || i.token != c.params["interaction_token"] {
			continue
		}
		since := time.Since(i.at)
		switch {
		case i.answered:
			return 0, nil, refuse(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
		case since > s.opts.answerWithin:
			return 0, nil, refuse(http.StatusNotFound, 10062, "Unknown interaction")
		}
		out := PressAnswer{User: i.user.id, Type: form.Type, After: since}
		if e := s.respond(i, form, &out); e != nil {
			return 0, nil, e
		}
		i.answered = true
		s.pressAnswers = append(s.pressAnswers, out)
		if c.query.Get("with_response") == "true" {
			return http.StatusOK, s.callbackObject(i, form.Type), nil
		}
		return http.StatusNoContent, nil, nil
	}
	return 0, nil, refuse(http.StatusNotFound, 10062, "Unknown interaction")
}

// update changes the pressed message.
func (s *Server) update(m *message, data *createForm) *apiError {
	form := editForm{Embeds: data.Embeds, Components: data.Components}
	if data.Content != nil {
		form.Content = encode(*data.Content)
	}
	next := *m
	text, e := s.applyEdit(&next, &form)
	if e == nil {
		*m = next
		s.revise(m, text, s.mentionsOf(m.channel, text, data.AllowedMentions, s.replied(m)))
	}
	return e
}

// callbackObject is the response to a callback that asked for one.
func (s *Server) callbackObject(i *interaction, kind int) object {
	about, resource := object{"id": i.id, "type": i.kind}, object{"type": kind}
	if m := i.original; m != nil {
		about["response_message_id"], resource["message"] = m.id, s.messageObject(m)
	}
	return object{"interaction": about, "resource": resource}
}

// answersOf are the answers that each kind of interaction takes.
var answersOf = map[int]string{commandInteraction: "459", componentInteraction: "45679", autocompleteInteraction: "8", modalInteraction: "4567"}

func (s *Server) respond(i *interaction, form callbackForm, out *PressAnswer) *apiError {
	if form.Type < 4 || form.Type > 9 || !strings.Contains(answersOf[i.kind], strconv.Itoa(form.Type)) {
		return invalidForm("type", "INTERACTION_CALLBACK_TYPE", "this interaction can't be answered with this type")
	}
	switch form.Type {
	case 8:
		var data struct {
			Choices []Choice `json:"choices"`
		}
		if e := decode(form.Data, &data); e != nil {
			return e
		}
		out.Choices = data.Choices
		return checkChoices(data.Choices)
	case 9:
		out.Modal = form.Data
		return checkModal(form.Data)
	}
	var data createForm
	if len(form.Data) > 0 {
		if e := decode(form.Data, &data); e != nil {
			return e
		}
	}
	if e := data.check(flagEphemeral); e != nil {
		return e
	}
	i.ephemeral = data.Flags != nil && *data.Flags&flagEphemeral != 0
	if out.Ephemeral = i.ephemeral; data.Content != nil {
		out.Content = *data.Content
	}
	switch form.Type {
	case 4:
		m, e := s.draft(i.channel, &data, nil, time.Now())
		if e == nil {
			m.id = s.nextID()
			s.show(i, m, !i.ephemeral)
		}
		return e
	case 5:
		i.deferred = true
	case 6, 7:
		if i.pressed == nil {
			return invalidForm("type", "INTERACTION_CALLBACK_TYPE", "there is no message to update")
		}
		i.original = i.pressed
		if form.Type == 7 {
			return s.update(i.pressed, &data)
		}
	}
	return nil
}

// checkModal wants a modal to ask for texts, each with a label.
func checkModal(data json.RawMessage) *apiError {
	var m Modal
	if json.Unmarshal(data, &m) != nil || m.ID == "" || len(m.Labels) == 0 {
		return invalidForm("components", "BASE_TYPE_REQUIRED", "This field is required")
	}
	for _, l := range m.Labels {
		if l.Input.ID == "" || l.Label == "" {
			return invalidForm("components", "BASE_TYPE_REQUIRED", "This field is required")
		}
	}
	return nil
}

func checkChoices(all []Choice) *apiError {
	if len(all) > 25 {
		return invalidForm("choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
	}
	for _, c := range all {
		if n := len([]rune(c.Name)); n == 0 || n > 100 || len([]rune(c.Value)) > 100 {
			return invalidForm("choices", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
		}
	}
	return nil
}

// show makes m the original answer of i. An ephemeral one stands in no channel.
func (s *Server) show(i *interaction, m *message, listed bool) {
	i.original, i.deferred = m, false
	m.command, m.by = i.kind == commandInteraction, i
	switch {
	case i.ephemeral:
		m.onlyFor = i.user.id
		s.world.messages[m.id] = m
		if listed {
			i.channel.private = append(i.channel.private, m)
		}
	default:
		s.post(m)
	}
}

// Private are the messages of the bot in a channel that one user sees alone, after it was thinking. [Message.OnlyFor]
// has the user.
func (s *Server) Private(channelID string) (all []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.mustChannel(channelID).private {
		if !m.deleted {
			all = append(all, s.shown(m))
		}
	}
	return all
}

// Transcript is what a user sees in a channel: one line for each message, with its author, and a mark at those that
// no other user sees.
func (s *Server) Transcript(channelID, userID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannel(channelID)
	var b strings.Builder
	line := func(m *message) {
		b.WriteString(m.author.name)
		if m.onlyFor != "" {
			b.WriteString(" (only you can see this)")
		}
		b.WriteString(": " + strings.ReplaceAll(m.content(), "\n", "\n    ") + "\n")
	}
	for _, m := range c.live() {
		line(m)
	}
	for _, m := range c.private {
		if m.onlyFor == userID && !m.deleted {
			line(m)
		}
	}
	return b.String()
}
