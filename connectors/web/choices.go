package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"

	"parley/connectors/web/dialect"
	"parley/core/answer"
	"parley/core/chat"
)

// choose handles a reader's choice and streams the result: either the answer that waited for it, or a new one. The rate
// of attempts is checked before the body is read, that of messages after.
func (w *Web) choose(rw http.ResponseWriter, r *http.Request) {
	room, ok := w.room(rw, r)
	if !ok || !w.allow(rw, r, w.attempts) {
		return
	}
	body := r.Body
	c, no := w.readChoice(rw, r)
	if no != nil {
		no.unread(body).reply(rw)
		return
	}
	if no = w.charge(r, w.messages); no == nil {
		no = door{w}.resolve(r, room.ID, &c)
	}
	var payer chat.EntityID
	var files []chat.Attachment
	if no == nil {
		payer, no = door{w}.payer(r)
	}
	if no == nil {
		files, no = fileAPI{w}.answers(r.Context(), room.ID, c)
	}
	if no != nil {
		no.reply(rw)
		return
	}
	who := readerOf(r)
	acc, err := w.submit(r.Context(), chat.Choice{Question: c.ID, Option: c.Option, Words: c.words(), Files: files, Room: room.ID, Author: who.author(room.ID), BilledTo: payer})
	switch {
	case err != nil:
		w.broken(rw, "accept a choice", err)
	case acc.Refused != "":
		no = refused(http.StatusConflict, acc.Refused)
		no.fields = acc.Unfit
		no.reply(rw)
	default:
		defer w.reading()()
		w.stream(rw, r, room.ID, acc, wishes{reasoning: c.Reasoning, details: who.details}.from(c.After))
	}
}

// choice is the body of a request that presses an option.
type choice struct {
	ID       string   `json:"id"`
	Option   int      `json:"option,omitempty"`
	Approved *bool    `json:"approved,omitempty"` // instead of an option: the first one, or the last
	Values   []string `json:"values,omitempty"`   // instead of an option: those of the fields of a form, in their order
	// Files are the keys of the uploads for fields of a form, by the names of the fields.
	Files     map[string][]string `json:"files,omitempty"`
	Reasoning bool                `json:"reasoning,omitempty"` // see [wishes]
	After     *string             `json:"after,omitempty"`     // see [cursor]
}

// words returns the values of a form, "" for none.
func (c choice) words() string {
	if len(c.Values)+len(c.Files) == 0 {
		return ""
	}
	return answer.JoinValues(c.Values...)
}

// pointed matches a number that could have a point between thousands. In a form it is one before decimals, in all languages.
var pointed = regexp.MustCompile(`^-?\d{1,3}\.\d{3}$`)

// resolve sets the option of a choice that approves or refuses, and makes the numbers of a form clear.
func (d door) resolve(r *http.Request, room chat.RoomID, c *choice) *refusal {
	if c.Approved == nil && !slices.ContainsFunc(c.Values, pointed.MatchString) {
		return nil
	}
	open, err := d.web.opts.Store.OpenQuestions(r.Context(), room)
	if err != nil {
		return d.web.failures.refuse("find an open question", err)
	}
	i := slices.IndexFunc(open, func(q chat.Question) bool { return q.ID == c.ID })
	if i < 0 && c.Approved != nil {
		return refused(http.StatusConflict, "refused.question_closed")
	} else if i >= 0 {
		for n, f := range open[i].Choices().Fields[:min(len(c.Values), len(open[i].Choices().Fields))] {
			if f.Kind == answer.NumberField && pointed.MatchString(c.Values[n]) {
				c.Values[n] += "0"
			}
		}
	}
	if c.Approved == nil {
		return nil
	}
	c.Option, _ = dialect.Option(answer.Choices{Options: open[i].Options}, dialect.Raw(*c.Approved))
	return nil
}

// readChoice decodes the body of r.
func (w *Web) readChoice(rw http.ResponseWriter, r *http.Request) (c choice, no *refusal) {
	const form = "The request must be the JSON object {\"id\": …, \"option\": …}."
	if no := checkJSON(r, maxChoice); no != nil {
		return c, no
	}
	defer w.receive(rw, r)()
	// 0 is the first option, so a missing one needs another value.
	c.Option = -1
	if err := readBody(rw, r, maxChoice, c.field); err != nil {
		return c, refuse(err, form)
	}
	if c.ID == "" || c.Option < 0 && c.Approved == nil && len(c.Values)+len(c.Files) == 0 {
		return c, refused(http.StatusBadRequest, form)
	}
	return c, nil
}

// field reads one member of the body into c.
func (c *choice) field(dec *json.Decoder, key string) error {
	switch key {
	case "id":
		return dec.Decode(&c.ID)
	case "option":
		return dec.Decode(&c.Option)
	case "approved":
		return dec.Decode(&c.Approved)
	case "values":
		return dec.Decode(&c.Values)
	case "files":
		return dec.Decode(&c.Files)
	case "after":
		return dec.Decode(&c.After)
	case "reasoning":
		return dec.Decode(&c.Reasoning)
	}
	return skipValue(dec)
}

// recent returns the contents of a reloaded page: messages, and commands with their answers, in chronological order.
// The latter are stored as another kind, because they are no part of the prompt.
func (w *Web) recent(ctx context.Context, room chat.RoomID) ([]chat.Memory, error) {
	said, err := w.opts.Store.Recent(ctx, room, chat.Said, 0, shown)
	if err != nil {
		return nil, err
	}
	aside, err := w.opts.Store.Recent(ctx, room, chat.KindCommand, 0, shown)
	if err != nil || len(aside) == 0 {
		return said, err
	}
	all := slices.Concat(said, aside)
	slices.SortStableFunc(all, func(a, b chat.Memory) int { return a.At.Compare(b.At) })
	return all[max(0, len(all)-shown):], nil
}

// offers returns the open questions of a room, by the message that asks.
func (w *Web) offers(ctx context.Context, room chat.RoomID) (map[chat.MemoryID]chat.Question, error) {
	open, err := w.opts.Store.OpenQuestions(ctx, room)
	offers := map[chat.MemoryID]chat.Question{}
	for _, q := range open {
		offers[chat.Run{ID: q.Run}.Said()] = q
	}
	return offers, err
}

// choicesOf returns the options of a question as readers see them.
func choicesOf(q chat.Question) *answer.Choices {
	c := q.Choices()
	if c.Details = false; len(c.Fields) == 0 {
		c.Other = ""
	}
	return c
}

// waiting returns the answers of runs that wait for a choice, which are not stored as messages yet. One that can't be read now is left
// out: a stream shows it.
func (w *Web) waiting(ctx context.Context, offers map[chat.MemoryID]chat.Question, stored []chat.Memory) (lines []message) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for id, q := range offers {
		if slices.ContainsFunc(stored, func(m chat.Memory) bool { return m.ID == id }) {
			continue
		}
		run, err := w.opts.Store.Run(ctx, q.Run)
		if err != nil || len(run.Inputs) == 0 {
			continue
		}
		a, err := w.opts.Answers.Watch(ctx, q.Run)
		if err != nil {
			continue
		}
		v := a.View()
		if text := v.Text(); text != "" && !v.Outcome.Done() { // else it is older than the stored messages
			lines = append(lines, message{
				ID: string(id), Role: "assistant", Text: text, Timestamp: q.Asked.UnixMilli(), ReplyTo: string(run.Inputs[len(run.Inputs)-1]), Choices: choicesOf(q), Waiting: true,
			})
		}
	}
	slices.SortFunc(lines, func(a, b message) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	return lines
}
