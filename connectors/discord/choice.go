package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
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

// notTaken is the reply when a choice could not be stored.
const notTaken = "That didn't work. Please try again."

// Discord's numbers for interactions, components and responses.
const (
	commandInteraction   = 2
	componentInteraction = 3
	actionRow            = 1
	button               = 2
	secondary            = 2      // a gray button
	rowLength            = 5      // buttons per row
	answerMessage        = 4      // respond with a message
	answerLater          = 5      // show that the bot is thinking
	answerNothing        = 6      // acknowledge without changing the message
	ephemeral            = 1 << 6 // only visible to the user who pressed
	unknownInteraction   = 10062  // the interaction has expired
	answeredInteraction  = 40060  // another process has answered
)

// row is a line of buttons.
type row struct {
	Type    int         `json:"type"`
	Buttons []component `json:"components"`
}

type component struct {
	Type  int    `json:"type"`
	Style int    `json:"style"`
	Label string `json:"label"`
	ID    string `json:"custom_id"`
}

// rows returns one button per option, at most five in a row. A button's id is the question's random id and the option's
// index: it identifies the question even in another process, and can't be guessed. Without options the result is an
// empty list, not nil: as JSON null, an edit would keep the old buttons.
func rows(o *answer.Choices) []row {
	all := []row{}
	if o == nil {
		return all
	}
	for i, option := range o.Options {
		if i%rowLength == 0 {
			all = append(all, row{Type: actionRow})
		}
		last := &all[len(all)-1]
		last.Buttons = append(last.Buttons, component{button, secondary, option, o.ID + ":" + strconv.Itoa(i)})
	}
	return all
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
	Place  *struct {
		Type   int    `json:"type"`
		Name   string `json:"name"`
		Parent string `json:"parent_id"`
	} `json:"channel"`
	Application string `json:"application_id"`
	Permissions string `json:"app_permissions"` // the bot's in the channel
	Data        struct {
		ID      string `json:"custom_id"` // of a component
		Name    string `json:"name"`      // of a command
		Options []struct {
			Value any `json:"value"`
		} `json:"options"`
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

// choice converts a button press. The author comes from Discord, not from the button. ok is false if the button is not
// one of ours.
func (i interaction) choice() (c chat.Choice, ok bool) {
	id, option, _ := strings.Cut(i.Data.ID, ":")
	n, err := strconv.Atoi(option)
	if i.Type != componentInteraction || err != nil || snowflake(i.Channel) == 0 {
		return chat.Choice{}, false
	}
	by, m := i.author()
	return chat.Choice{
		Question: id, Option: n, Room: roomID(i.Channel), Author: entityID(by.ID), Name: by.shown(m), Roles: m.roles(),
	}, by.ID != ""
}

// interacted takes an interaction. The time that Discord waits starts here, without the travel time.
func (q *intake) interacted(ctx context.Context, raw []byte) error {
	var i interaction
	if err := decode(raw, &i); err != nil {
		return fmt.Errorf("read an interaction: %w", err)
	}
	if snowflake(i.ID) == 0 || i.Token == "" || snowflake(i.Channel) == 0 {
		return errors.New("read an interaction: it can't be answered")
	}
	if i.Type == commandInteraction {
		return q.commanded(ctx, i)
	}
	q.pressed(ctx, i)
	return nil
}

// pressed queues a press, separately from the messages of its channel, which may wait for seconds. In every case the
// user learns the outcome: from us, or from Discord if the press is dropped. They can press again.
func (q *intake) pressed(ctx context.Context, i interaction) {
	t := q.now.Hold()
	ctx, due := context.WithoutCancel(ctx), time.Now().Add(pressLife)
	if !q.choices.Add(i.Channel, func() { q.takePress(ctx, i, t, due) }) {
		t.Release()
		q.log.Warn("too many button presses; one is dropped", "channel", i.Channel)
	}
}

// takePress stores a choice and queues the response, so that the channel's next choice does not wait for it. It does
// neither once Discord has told the user that the press failed: to store it then would surprise.
func (q *intake) takePress(ctx context.Context, i interaction, t *ticket, due time.Time) {
	defer t.Release()
	if !time.Now().Before(due) {
		q.log.Warn("a button press waited too long and is dropped", "channel", i.Channel)
		return
	}
	told := q.choose(ctx, i)
	ok := q.answers.Add(i.Channel, func() {
		ctx, cancel := context.WithDeadline(ctx, due)
		defer cancel()
		if ctx.Err() == nil {
			q.answer(ctx, i, told)
		} else {
			q.log.Debug("a button press was not answered in time", "channel", i.Channel)
		}
	})
	if !ok {
		q.log.Debug("too many button presses to answer; one is skipped", "channel", i.Channel)
	}
}

// choose stores the choice and returns what to tell the user; empty on success. The result of the choice is shown by an
// edit of the message, not by the response.
func (q *intake) choose(ctx context.Context, i interaction) string {
	c, ok := i.choice()
	if !ok {
		return notTaken
	}
	ctx, cancel := context.WithTimeout(ctx, chooseTime)
	defer cancel()
	acc, err := q.handler(ctx, c)
	if err != nil {
		q.log.Warn("a choice could not be stored and was not accepted", "err", err)
		return notTaken
	}
	return acc.Refused
}

// answer acknowledges a press to Discord, or tells the user why it failed, in a message that only they see. A failure
// is only logged: the choice is stored, and its effect will be visible.
func (q *intake) answer(ctx context.Context, i interaction, told string) {
	type message struct {
		Content  string     `json:"content"`
		Flags    int        `json:"flags"`
		Mentions noMentions `json:"allowed_mentions"`
	}
	in := struct {
		Type int      `json:"type"`
		Data *message `json:"data,omitempty"`
	}{Type: answerNothing}
	if told != "" {
		in.Type, in.Data = answerMessage, &message{Content: told, Flags: ephemeral}
	}
	err := q.client.do(ctx, http.MethodPost, "interactions/"+i.ID+"/"+i.Token+"/callback", in, nil)
	var r *refusal
	switch {
	case err == nil:
	case errors.As(err, &r) && (r.code == unknownInteraction || r.code == answeredInteraction):
		q.log.Info("a button press was answered too late, or by another process", "code", r.code)
	default:
		q.log.Warn("can't answer a button press", "err", err)
	}
}
