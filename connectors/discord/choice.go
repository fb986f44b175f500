package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
)

const (
	// pressLife is how long Discord waits for the first response to a press before it tells the user that the press
	// failed.
	pressLife = 3 * time.Second
	// chooseTime limits how long storing a choice may take, so that there is time left to report a failure.
	chooseTime = 2 * time.Second

	pressWorkers = 8    // that store choices, and as many that send answers
	mostPresses  = 1000 // queued for either; further ones are dropped
)

// Discord's numbers for interactions, components and responses.
const (
	commandInteraction   = 2
	componentInteraction = 3
	completeInteraction  = 4
	modalInteraction     = 5
	actionRow            = 1
	button               = 2
	stringSelect         = 3
	primary              = 1      // a colored button
	secondary            = 2      // a gray button
	rowLength            = 5      // buttons per row; more options are a menu
	answerMessage        = 4      // respond with a message
	answerLater          = 5      // show that the bot is thinking
	answerNothing        = 6      // acknowledge without changing the message
	answerChoices        = 8      // suggest values for an option
	answerModal          = 9      // open a modal
	ephemeral            = 1 << 6 // only visible to the user who pressed
	unknownInteraction   = 10062  // the interaction has expired
	answeredInteraction  = 40060  // another process has answered
)

// The ids of buttons that choose no option, after that of the question. They are in messages, so they must not change.
const (
	otherButton = ":other" // opens a modal for an answer in the user's own words
	showButton  = ":show"  // shows the details of the question
	editButton  = ":edit"  // opens a modal with the arguments of a call
	formButton  = ":form"  // opens a modal with the fields of a form
)

// row is a line of buttons, or a menu.
type row struct {
	Type    int         `json:"type"`
	Buttons []component `json:"components"`
}

type component struct {
	Type    int          `json:"type"`
	Style   int          `json:"style,omitempty"`
	Label   string       `json:"label,omitempty"`
	ID      string       `json:"custom_id"`
	Hint    string       `json:"placeholder,omitempty"`
	Options []menuOption `json:"options,omitempty"`
}

type menuOption struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// rows returns one button per option, or a menu if there are more than five, and buttons for an answer in the user's own words
// and for the details of the question; v says their labels. The id of a component begins with the question's random id: it identifies the question even
// in another process, and can't be guessed. Without options the result is an empty list, not nil: as JSON null, an edit would keep the
// old buttons.
func rows(v lang.Voice, o *answer.Choices) []row {
	if o == nil {
		return []row{}
	}
	var all []row
	var own []component
	menu := component{Type: stringSelect, ID: o.ID, Hint: v.Say("question.choose")}
	for i, option := range o.Options {
		n := strconv.Itoa(i)
		own = append(own, component{Type: button, Style: secondary, Label: option, ID: o.ID + ":" + n})
		menu.Options = append(menu.Options, menuOption{option, n})
	}
	if len(own) > rowLength {
		all, own = []row{{actionRow, []component{menu}}}, nil
	}
	if len(o.Fields) > 0 {
		own = append(own, component{Type: button, Style: primary, Label: o.Other, ID: o.ID + formButton})
	} else if o.Other != "" {
		own = append(own, component{Type: button, Style: secondary, Label: o.Other, ID: o.ID + otherButton})
	}
	if o.Edit {
		own = append(own, component{Type: button, Style: secondary, Label: v.Say("hold.edit"), ID: o.ID + editButton})
	}
	if o.Details {
		own = append(own, component{Type: button, Style: secondary, Label: v.Say("question.show"), ID: o.ID + showButton})
	}
	for line := range slices.Chunk(own, rowLength) {
		all = append(all, row{actionRow, line})
	}
	return slices.Concat([]row{}, all)
}

// interaction holds the fields that are read of an INTERACTION_CREATE.
type interaction struct {
	ID      string    `json:"id"`
	Token   string    `json:"token"` // a secret, valid for fifteen minutes
	Type    int       `json:"type"`
	Channel string    `json:"channel_id"`
	User    *user     `json:"user"` // in direct messages
	Member  *struct { // in servers
		member
		User user `json:"user"`
	} `json:"member"`
	Guild  string `json:"guild_id"`
	Locale string `json:"locale"` // of the user's client
	Speaks string `json:"guild_locale"`
	Place  *struct {
		Type   int    `json:"type"`
		Name   string `json:"name"`
		Parent string `json:"parent_id"`
	} `json:"channel"`
	Application string `json:"application_id"`
	Permissions string `json:"app_permissions"` // the bot's in the channel
	Message     struct {
		Content string `json:"content"`
	} `json:"message"` // with the component that was pressed
	Data struct {
		ID      string   `json:"custom_id"` // of a component or a modal
		Kind    int      `json:"component_type"`
		Values  []string `json:"values"` // of a menu
		Name    string   `json:"name"`   // of a command
		Type    int      `json:"type"`
		Target  string   `json:"target_id"` // of a menu
		Options []struct {
			Name    string `json:"name"`
			Value   any    `json:"value"`
			Focused bool   `json:"focused"` // the one that a user is writing
		} `json:"options"`
		Inputs   []input `json:"components"` // of a modal
		Resolved struct {
			Messages    map[string]message    `json:"messages"`
			Attachments map[string]attachment `json:"attachments"` // of a modal
		} `json:"resolved"`
	} `json:"data"`
}

// author returns the user of i, with the server's data about them.
func (i interaction) author() (user, *member) {
	switch {
	case i.Member != nil:
		return i.Member.User, &i.Member.member
	case i.User != nil:
		return *i.User, nil
	}
	return user{}, nil
}

// choice converts a press, or the words of a modal. The author comes from Discord, not from the component. ok is false if the
// component is not one of ours.
func (i interaction) choice() (c chat.Choice, ok bool) {
	id, option, _ := strings.Cut(i.Data.ID, ":")
	if i.Data.Kind == stringSelect && len(i.Data.Values) == 1 {
		option = i.Data.Values[0]
	}
	by, m := i.author()
	c = chat.Choice{Question: id, Room: roomID(i.Channel), Author: entityID(by.ID), Name: by.shown(m), Roles: m.roles()}
	var err error
	switch {
	case i.Type == modalInteraction && ":"+option == formButton:
		c.Words, c.Files = i.values()
		c.Fleeting, ok = true, true
	case i.Type == modalInteraction && ":"+option == editButton:
		c.Words, ok = lang.In(i.Locale).Say("hold.edit")+": "+i.words(), true
	case i.Type == modalInteraction:
		c.Words = strings.TrimSpace(i.words())
		ok = ":"+option == otherButton && c.Words != ""
	case i.Type != componentInteraction:
	case ":"+option == showButton, ":"+option == formButton:
		c.Show, ok = true, true
	default:
		c.Option, err = strconv.Atoi(option)
		ok = err == nil
	}
	return c, ok
}

// interacted takes an interaction. The time that Discord waits starts here, without the travel time.
func (q *intake) interacted(ctx context.Context, raw []byte) error {
	var i interaction
	if err := decode(raw, &i); err != nil {
		return fmt.Errorf("read an interaction: %w", err)
	}
	by, _ := i.author()
	if i.Token == "" || snowflake(i.ID) == 0 || snowflake(i.Channel) == 0 || snowflake(i.Application) == 0 || snowflake(by.ID) == 0 {
		return errors.New("read an interaction: it can't be answered")
	}
	switch {
	case i.Type == commandInteraction && i.Data.Type == messageMenu:
		return q.askAbout(ctx, i)
	case i.Type == commandInteraction:
		q.commanded(ctx, i)
	case i.Type == completeInteraction:
		q.pressed(ctx, i, q.suggest)
	case i.Type == modalInteraction:
		q.submitted(ctx, i)
	case i.Type == componentInteraction && strings.HasSuffix(i.Data.ID, otherButton):
		q.respondLater(ctx, i, dueNow(), answerModal, otherModal(i))
	case i.Type == componentInteraction && strings.HasSuffix(i.Data.ID, editButton):
		q.respondLater(ctx, i, dueNow(), answerModal, editModal(i))
	case i.Type == componentInteraction:
		q.pressed(ctx, i, q.choose)
	default:
		return fmt.Errorf("read an interaction: its type %d is unknown", i.Type)
	}
	return nil
}

// pressed queues a press, separately from the messages of its channel, which may wait for seconds. In every case the
// user learns the outcome: from us, or from Discord if the press is dropped. They can press again.
func (q *intake) pressed(ctx context.Context, i interaction, take func(context.Context, interaction) (kind int, data any)) {
	t := q.now.Hold()
	ctx, due := context.WithoutCancel(ctx), time.Now().Add(pressLife)
	if !q.choices.Add(i.Channel, func() { q.takePress(ctx, i, t, due, take) }) {
		t.Release()
		q.log.Warn("too many button presses; one is dropped", "channel", i.Channel)
	}
}

// takePress takes a press and queues the response, so that the channel's next press does not wait for it. It does
// neither once Discord has told the user that the press failed: to store it then would surprise.
func (q *intake) takePress(ctx context.Context, i interaction, t *ticket, due time.Time, take func(context.Context, interaction) (kind int, data any)) {
	defer t.Release()
	if !time.Now().Before(due) {
		q.log.Warn("a button press waited too long and is dropped", "channel", i.Channel)
		return
	}
	within, cancel := context.WithTimeout(ctx, chooseTime)
	defer cancel()
	kind, data := take(within, i)
	q.respondLater(ctx, i, due, kind, data)
}

// choose stores the choice and returns the response: to tell the user why it failed, in a message that only they see, or
// nothing. The result of the choice is shown by an edit of the message, not by the response.
func (q *intake) choose(ctx context.Context, i interaction) (kind int, data any) {
	c, ok := i.choice()
	if !ok {
		return answerMessage, callback{Content: lang.In(i.Locale).Say("turn.not_done"), Flags: ephemeral}
	}
	acc, err := q.handler(ctx, c)
	if err != nil {
		q.log.Warn("a choice could not be stored and was not accepted", "err", err)
		return answerMessage, callback{Content: lang.In(i.Locale).Say("turn.not_done"), Flags: ephemeral}
	}
	if acc.Refused != "" {
		return answerMessage, callback{Content: acc.Refused, Flags: ephemeral}
	}
	if acc.Form != nil {
		return answerModal, formModal(i, acc.Form.Fields)
	}
	return answerNothing, nil
}

// respondLater queues the only response to an interaction, which must reach Discord until due. A failure is only logged: a choice is
// stored, and its effect will be visible; all others can be repeated by the user.
func (q *intake) respondLater(ctx context.Context, i interaction, due time.Time, kind int, data any) {
	ctx = context.WithoutCancel(ctx)
	ok := q.answers.Add(i.Channel, func() {
		ctx, cancel := context.WithDeadline(ctx, due)
		defer cancel()
		if ctx.Err() != nil {
			q.log.Debug("a button press was not answered in time", "channel", i.Channel)
			return
		}
		err := q.client.do(ctx, http.MethodPost, i.path(), firstResponse{kind, data}, nil)
		var r *refusal
		switch {
		case err == nil:
		case errors.As(err, &r) && (r.code == unknownInteraction || r.code == answeredInteraction):
			q.log.Info("a button press was answered too late, or by another process", "code", r.code)
		default:
			q.log.Warn("can't answer a button press", "err", err)
		}
	})
	if !ok {
		q.log.Debug("too many button presses to answer; one is skipped", "channel", i.Channel)
	}
}

// dueNow returns until when Discord waits for the response to an interaction that has just arrived.
func dueNow() time.Time { return time.Now().Add(pressLife) }

// path returns the path for the first response to i.
func (i interaction) path() string { return "interactions/" + i.ID + "/" + i.Token + "/callback" }

// firstResponse is the body of a first response.
type firstResponse struct {
	Type int `json:"type"`
	Data any `json:"data,omitempty"`
}
