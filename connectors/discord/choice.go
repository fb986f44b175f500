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
	// pressLife is how long Discord waits for the first answer to a press; then it tells the user that it failed.
	pressLife = 3 * time.Second
	// chooseTime is how long a press can take to be safe, so that there is time to say if it is not.
	chooseTime = 2 * time.Second

	pressWorkers = 8    // that take choices at a time, and as many that answer
	mostPresses  = 1000 // that wait for either; what is more is dropped
)

// notTaken is what people read whose choice could not be stored.
const notTaken = "That didn't work. Please try again."

// Kinds of interactions, components and answers, in Discord's numbers.
const (
	componentInteraction = 3
	actionRow            = 1
	button               = 2
	secondary            = 2      // a button's style: grey
	rowLength            = 5      // buttons
	answerMessage        = 4      // a message
	answerNothing        = 6      // the message stays as it is for now
	ephemeral            = 1 << 6 // only who pressed sees it
	unknownInteraction   = 10062  // too late
	answeredInteraction  = 40060  // by another process
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

// rows has a button for each option. Its id is the question's random one and the option's place.
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

// interaction is what is read of an INTERACTION_CREATE.
type interaction struct {
	ID      string    `json:"id"`
	Token   string    `json:"token"` // a secret, for fifteen minutes
	Type    int       `json:"type"`
	Channel string    `json:"channel_id"`
	User    *user     `json:"user"` // in private
	Member  *struct { // in servers
		member
		User user `json:"user"`
	} `json:"member"`
	Data struct {
		ID string `json:"custom_id"`
	} `json:"data"`
}

// choice is what a press means; ok is false if it is none of ours.
func (i interaction) choice() (c chat.Choice, ok bool) {
	id, option, _ := strings.Cut(i.Data.ID, ":")
	n, err := strconv.Atoi(option)
	if i.Type != componentInteraction || err != nil || snowflake(i.Channel) == 0 {
		return chat.Choice{}, false
	}
	c = chat.Choice{Question: id, Option: n, Room: roomID(i.Channel)}
	switch {
	case i.Member != nil:
		c.Author, c.Name, c.Roles = entityID(i.Member.User.ID), i.Member.User.shown(&i.Member.member), i.Member.roles()
	case i.User != nil:
		c.Author, c.Name = entityID(i.User.ID), i.User.shown(nil)
	default:
		return chat.Choice{}, false
	}
	return c, c.Author != entityID("")
}

// pressed queues a press, beside what waits in its channel. Whatever becomes of it, the user hears so: from us, or from
// Discord where it is dropped, and can press again.
func (q *intake) pressed(ctx context.Context, raw []byte) error {
	var i interaction
	if err := decode(raw, &i); err != nil {
		return fmt.Errorf("read an interaction: %w", err)
	}
	if snowflake(i.ID) == 0 || i.Token == "" {
		return errors.New("read an interaction: it can't be answered")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.hold()
	if q.closed {
		return nil // the hold stays: it comes again
	}
	ctx, due := context.WithoutCancel(ctx), time.Now().Add(pressLife)
	if !q.choices.Add(i.Channel, func() { q.takePress(ctx, i, t, due) }) {
		q.mark.release(t)
		q.log.Warn("too many button presses; one is dropped", "channel", i.Channel)
	}
	return nil
}

// takePress has a choice taken, and queues the answer, for which no other choice of the channel waits. It does neither once
// Discord has told the user that the press failed.
func (q *intake) takePress(ctx context.Context, i interaction, t *ticket, due time.Time) {
	defer q.mark.release(t)
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

// choose returns what the user is told; empty if the choice is taken.
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

// answer tells Discord that a press was taken, or the user why not.
func (q *intake) answer(ctx context.Context, i interaction, told string) {
	type message struct {
		Content  string `json:"content"`
		Flags    int    `json:"flags"`
		Mentions nobody `json:"allowed_mentions"`
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
