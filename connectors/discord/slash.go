package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
	"parley/internal/rest"
)

const (
	// deferAfter is how long a command may take to be stored before the user sees that the bot is thinking.
	deferAfter = 1500 * time.Millisecond
	// againAfter is the pause after a failed answer to an interaction.
	againAfter = 250 * time.Millisecond

	askName = "ask" // the command for a question
)

// command returns the text of a command, in the grammar of messages, and whether only its author sees the answer. In
// direct messages there is no one else.
func (i interaction) command() (text string, private bool) {
	said := i.said("")
	switch {
	case i.Data.Name == askName:
		return said, false
	case i.Data.Type == userMenu:
		i.Data.Name = string(chat.MemoryCommand)
	}
	all := chat.Commands()
	at := slices.IndexFunc(all, func(c chat.CommandSpec) bool { return string(c.Name) == i.Data.Name })
	if at < 0 { // of a plugin
		said = i.said("=")
	}
	return strings.TrimSpace("/" + i.Data.Name + " " + said), i.Guild != "" && at >= 0 && all[at].Private
}

// said returns the values of the options of a command, or, with a sign between them, the names and the quoted values. Options of kinds that
// the bot didn't register are left out.
func (i interaction) said(sign string) string {
	var words []string
	for _, o := range i.Data.Options {
		s, ok := o.Value.(string)
		if sign != "" {
			s = o.Name + sign + `"` + strings.ReplaceAll(s, `"`, "'") + `"`
		}
		if ok {
			words = append(words, s)
		}
	}
	return strings.Join(words, " ")
}

// suggest returns suggestions for the option that a user is writing, or a sentence in place of them. Discord shows no error and no
// deferred response there.
func (q *intake) suggest(ctx context.Context, i interaction) (kind int, data any) {
	c := chat.Completion{Command: chat.CommandName(i.Data.Name)}
	for _, o := range i.Data.Options {
		if s, ok := o.Value.(string); ok && o.Focused {
			c.Typed = s
		}
	}
	by, about := i.author()
	in := message{Channel: i.Channel, Guild: i.Guild, Author: by, Member: about}.inbound(q.me, i.place())
	c.Place, c.Author, c.Roles = in.Place, in.Author, in.Roles
	acc, err := q.handler(ctx, c)
	if err != nil {
		q.log.Warn("can't suggest values for a command", "command", i.Data.Name, "err", err)
		acc.Refused = lang.In(i.Locale).Say("turn.not_done")
	}
	var all []chat.Suggestion
	switch {
	case acc.Refused != "":
		all = []chat.Suggestion{{Label: acc.Refused, Value: cmp.Or(c.Typed, acc.Refused)}}
	case acc.Suggestions != nil:
		all = *acc.Suggestions
	}
	found := []suggestion{}
	for _, s := range all[:min(len(all), mostOptions)] {
		found = append(found, suggestion{text.Brief(s.Label, longestText), text.Brief(s.Value, longestText)})
	}
	return answerChoices, map[string]any{"choices": found}
}

// suggestion is a value that Discord offers for an option.
type suggestion struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// commanded queues a command as a message of its channel.
func (q *intake) commanded(ctx context.Context, i interaction) {
	text, private := i.command()
	q.queue(ctx, i, &acknowledgment{private: private}, func(ctx context.Context, x *acknowledgment) (chat.Inbound, error) {
		if by, _ := i.author(); i.Data.Type == userMenu && i.Data.Target != by.ID {
			return nil, tellUser(lang.In(i.Locale).Say("menu.only_you"))
		}
		return x.inbound(ctx, x.message(text)), nil
	})
}

// tellUser is an error whose text is only shown to the user: their request is not possible.
type tellUser string

// Error implements error.
func (t tellUser) Error() string { return string(t) }

// queue queues an interaction with words of a user behind the messages of its channel that were written before. inbound converts it
// when its turn comes; it fails with [tellUser] if that is not possible, and is called again after other errors. If it takes longer than
// deferAfter to store it, Discord gets a first response.
func (q *intake) queue(ctx context.Context, i interaction, x *acknowledgment, inbound func(context.Context, *acknowledgment) (chat.Inbound, error)) {
	x.intake, x.i, x.due = q, i, time.Now().Add(pressLife)
	q.acks.begin(i.ID)
	ctx = context.WithoutCancel(ctx)
	q.mu.Lock()
	q.used.note(i.Channel, i.Guild, time.Now())
	q.mu.Unlock()
	x.timer = time.AfterFunc(deferAfter, func() {
		q.mu.Lock() // orders it with close
		defer q.mu.Unlock()
		select {
		case <-q.closing:
		default:
			x.think(ctx)
		}
	})
	t := q.now.Hold()
	if !q.events.Add(i.Channel, queued{ID: i.ID, Ticket: t, Deliver: func(ctx context.Context) error { return x.deliver(ctx, inbound) }}) {
		t.Release()
		x.tell(ctx, lang.In(i.Locale).Say("message.too_many"))
	}
}

// acknowledgment answers one interaction in time: a command, or a modal. Its requests are jobs, one after the other, and only they
// use deferred.
type acknowledgment struct {
	*intake
	i       interaction
	private bool
	press   bool // it belongs to a message of the bot, which shows the effect
	due     time.Time
	timer   *time.Timer

	offer    []row // buttons below the text that only the user sees
	deferred bool  // there is a first response: the user sees that the bot is thinking, or, of a press, nothing
}

// deliver stores the interaction, and then acknowledges it. An answer is shown by its run, through [response].
func (x *acknowledgment) deliver(ctx context.Context, inbound func(context.Context, *acknowledgment) (chat.Inbound, error)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handlerTime)
	defer cancel()
	in, err := inbound(ctx, x)
	var acc chat.Accepted
	if err == nil {
		acc, err = x.handler(ctx, in)
	}
	ctx = context.WithoutCancel(ctx)
	var said tellUser
	switch {
	case errors.As(err, &said):
		x.tell(ctx, string(said))
		return nil
	case errors.Is(err, chat.ErrTooLarge):
		x.tell(ctx, lang.In(x.i.Locale).Say("message.too_long"))
	case err != nil:
		x.later(ctx)
	case acc.Blocked:
		x.timer.Stop()
	case acc.Refused != "":
		if acc.MayAsk {
			x.offer = rows(lang.In(x.i.Locale), &answer.Choices{ID: chat.AccessButton, Options: []string{lang.In(x.i.Locale).Say("access.request")}})
		}
		x.tell(ctx, acc.Refused)
	case acc.Run == "" && !x.press:
		x.tell(ctx, lang.In(x.i.Locale).Say("turn.done"))
	default:
		x.later(ctx)
	}
	return err
}

// message returns a text of the user as a message of the channel.
func (x *acknowledgment) message(text string) message {
	by, about := x.i.author()
	return message{ID: x.i.ID, Channel: x.i.Channel, Guild: x.i.Guild, Author: by, Member: about, Content: text, At: created(x.i.ID)}
}

// inbound converts m to a message that addresses the bot, and is answered by a response to the interaction.
func (x *acknowledgment) inbound(ctx context.Context, m message) chat.Message {
	p := x.i.place()
	if m.Guild == "" || x.i.Place == nil {
		p = x.places.of(ctx, m)
	}
	in := m.inbound(x.me, p)
	in.Addressed, in.Locale = true, x.i.Locale
	// It has only strings and numbers, which always marshal.
	in.Address.Response, _ = json.Marshal(reply{
		Application: x.i.Application, Interaction: x.i.ID, Token: x.i.Token, Private: x.private, Silent: !x.i.mayWrite(),
	})
	return in
}

// place returns the channel of i as Discord describes it there.
func (i interaction) place() place {
	p := place{kind: chat.Group, locale: i.Speaks}
	switch at := i.Place; {
	case i.Guild == "":
		p.kind = chat.Direct
	case at != nil:
		p.kind, p.name, p.parent = kindOf(at.Type), at.Name, at.Parent
	}
	return p
}

// mayWrite reports whether the bot can post in the channel otherwise than as a response.
func (i interaction) mayWrite() bool {
	const threads, most = 1 << 38, 1<<10 | 1<<11 // view the channel, and send messages
	bits := snowflake(i.Permissions)
	if i.Place != nil && kindOf(i.Place.Type) == chat.Thread {
		return bits&(1<<10|threads) == 1<<10|threads
	}
	return i.Guild == "" || bits&most == most
}

// later gives the first response, if there is none yet.
func (x *acknowledgment) later(ctx context.Context) {
	x.timer.Stop()
	x.think(ctx)
}

// think is later for the timer itself.
func (x *acknowledgment) think(ctx context.Context) {
	x.job(func() {
		if kind := answerLater; !x.deferred {
			if x.press {
				kind = answerNothing
			}
			x.deferred = x.answer(ctx, kind, "")
		}
	})
}

// tell answers with a text that only the user sees. If the bot is thinking, that ends first, because it can be for all to
// see.
func (x *acknowledgment) tell(ctx context.Context, text string) {
	x.timer.Stop()
	x.job(func() {
		if !x.deferred {
			if x.answer(ctx, answerMessage, text) {
				return
			}
		}
		ctx, cancel := context.WithTimeout(ctx, requestTime)
		defer cancel()
		to := reply{Application: x.i.Application, Token: x.i.Token}
		var err error
		if !x.press { // otherwise that is the message with the question
			err = x.client.do(ctx, http.MethodDelete, to.path("/messages/@original"), nil, nil)
		}
		if err == nil {
			err = x.client.do(ctx, http.MethodPost, to.path(""), body{Content: text, Flags: ephemeral, Buttons: slices.Concat([]row{}, x.offer)}, nil)
		}
		if err != nil {
			x.log.Warn("can't tell a user why there is no answer", "err", err)
		}
	})
}

// job queues a request of the interaction.
func (x *acknowledgment) job(do func()) {
	ok := x.answers.Add(x.i.ID, func() {
		defer x.acks.end(x.i.ID)
		do()
	})
	if !ok {
		x.acks.end(x.i.ID)
		x.log.Warn("too many interactions to answer; one is skipped", "channel", x.i.Channel)
	}
}

// answer sends the first response, until Discord stops waiting for it. It reports whether there is one, from here or from
// an earlier delivery. With a text, it reports whether that is shown.
func (x *acknowledgment) answer(ctx context.Context, kind int, text string) bool {
	ctx, cancel := context.WithDeadline(ctx, x.due)
	defer cancel()
	var shown flags
	if x.private || text != "" {
		shown = ephemeral
	}
	in := firstResponse{kind, callback{Content: text, Flags: shown, Buttons: x.offer}}
	if kind == answerNothing {
		in.Data = nil
	}
	for ctx.Err() == nil {
		err := x.client.do(ctx, http.MethodPost, x.i.path(), in, nil)
		var r *refusal
		switch {
		case err == nil:
			return true
		case errors.As(err, &r) && r.code == answeredInteraction:
			return text == "" // the response to an earlier delivery
		case errors.As(err, &r):
			x.log.Info("a command was acknowledged too late, or not at all", "code", r.code)
			return false
		}
		x.log.Warn("can't acknowledge a command yet", "err", err)
		if rest.For(ctx, againAfter) != nil {
			break
		}
	}
	return false
}

// acks are the commands whose acknowledgment is under way in this process. Until then Discord doesn't know their tokens. It is
// safe for concurrent use.
type acks struct {
	mu   sync.Mutex
	open map[string]chan struct{} // by interaction; closed when it is over
}

func (a *acks) begin(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[id] == nil {
		a.open[id] = make(chan struct{})
	}
}

func (a *acks) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.open[id]; c != nil {
		close(c)
		delete(a.open, id)
	}
}

// wait returns when the acknowledgment is over, or never was in this process.
func (a *acks) wait(ctx context.Context, id string) {
	a.mu.Lock()
	c := a.open[id]
	a.mu.Unlock()
	if c == nil {
		return
	}
	select {
	case <-c:
	case <-time.After(ackTime):
	case <-ctx.Done():
	}
}

// callback is the data of a first response.
type callback struct {
	Content  string     `json:"content,omitempty"`
	Flags    flags      `json:"flags"`
	Buttons  []row      `json:"components,omitempty"`
	Mentions noMentions `json:"allowed_mentions"`
}

// reply is the content of [chat.Address.Response]. It is stored with runs, so its JSON names must not change.
type reply struct {
	Application string `json:"application"`
	Interaction string `json:"interaction"`
	Token       string `json:"token"`             // a secret, valid for tokenLife
	Private     bool   `json:"private,omitempty"` // only the author of the command sees the answer
	Silent      bool   `json:"silent,omitempty"`  // the bot can't write in the channel otherwise
}

// path returns a path of the interaction's webhook.
func (r reply) path(rest string) string { return "webhooks/" + r.Application + "/" + r.Token + rest }

// parseReply reads a stored reply. It checks its parts, because they become parts of request paths.
func parseReply(own []byte) (r reply, err error) {
	if err := json.Unmarshal(own, &r); err != nil {
		return r, fmt.Errorf("read the address of a response: %w", err)
	}
	if snowflake(r.Application) == 0 || snowflake(r.Interaction) == 0 || r.Token == "" || strings.ContainsAny(r.Token, "/?#%") {
		return r, errors.New("read the address of a response: an id is missing")
	}
	return r, nil
}
