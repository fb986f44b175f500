package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/relay"
	"parley/core/schedule"
	"parley/core/text"
	"parley/internal/lang"
)

// ChoiceStore contains the store methods of [Choices].
type ChoiceStore interface {
	Store
	Ask(ctx context.Context, q chat.Question) error
	Choose(ctx context.Context, question string, option int, m chat.Memory, billedTo chat.EntityID) (chat.Accepted, error)
	OpenQuestions(ctx context.Context, room chat.RoomID) ([]chat.Question, error)
	NameUploads(ctx context.Context, message chat.MemoryID, ids ...string) ([]chat.Upload, error)
	Question(ctx context.Context, id string) (chat.Question, error)
	QuestionOf(ctx context.Context, run chat.RunID) (chat.Question, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
	RunShowing(ctx context.Context, room chat.RoomID, topics bool, message string, turns int) (chat.Run, error)
}

// Choices accepts the choices of users, and stores each once, with the run that passes it to the handler of the
// question. So a choice survives a restart, and a second press changes nothing. Its fields are set before use. It is
// safe for concurrent use.
type Choices struct {
	Store     ChoiceStore
	Questions *Questions
	Pairing   *access.Pairing
	Admission *Admission
	Messages  *Messages
	Live      *relay.Registry
	Schema    action.SchemaCompiler // of arguments that an approver changes
	// Copy stores the files of from, of up to limit bytes each, as those of to.
	Copy func(ctx context.Context, from, to chat.Memory, limit int64) ([]chat.Attachment, error)
	Log  *slog.Logger
}

// choose accepts a choice by a button or in words. A choice without the right to it, or too late, changes nothing, and
// the user gets the reason. id is the message that the choice counts as; it identifies a redelivery. It fails
// with the error of the store.
func (cs *Choices) choose(ctx context.Context, c chat.Choice, id chat.MemoryID, wrote string) (chat.Accepted, error) {
	q, refused, err := cs.questionFor(ctx, c)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("choose: %w", err)
	} else if refused != "" && q.ResultRun != "" && isChoice(q, c) {
		if acc, known, err := firstDelivery(ctx, cs.Store, chat.Memory{ID: id, Room: q.Room}); known || err != nil {
			acc.Altered = false
			return acc, err // the same press once more
		}
	}
	if c.Show && refused == "" && len(q.Fields) > 0 {
		return chat.Accepted{Form: q.Choices()}, nil
	} else if c.Show && refused == "" {
		refused = q.Details
	}
	if refused != "" {
		return chat.Accepted{Refused: refused}, nil
	}
	if len(q.Fields) > 0 {
		if q, err = cs.gather(ctx, q); err != nil {
			return chat.Accepted{}, err
		}
		if field := q.NextField(); wrote != "" && field.Kind == answer.FileField { // others can have arrived since
			_, most := field.Files()
			c.Files = c.Files[:min(len(c.Files), max(0, most-len(chat.Form{Files: q.Files}.FilesOf(field.Name))))]
		}
		if wrote == "" && c.Words != "" { // from a form; see typed for a value in a message
			if refused, wrong := q.Unfit(lang.Of(ctx), c.Words, c.Files); refused != "" {
				return chat.Accepted{Refused: refused, Unfit: &wrong}, nil
			}
			if refused, err := cs.claim(ctx, c, id); refused != "" || err != nil {
				return chat.Accepted{Refused: refused}, err
			}
		}
		wrote = ""
	}
	if refused := cs.Unfit(ctx, q, c.Words); refused != "" {
		return chat.Accepted{Refused: refused}, nil
	}
	option, words := c.Option, c.Words
	if words != "" {
		option = len(q.Options)
	} else {
		words = q.Options[option]
	}
	payer, err := access.PersonOf(ctx, cs.Store, cmp.Or(c.BilledTo, c.Author))
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("choose: %w", err)
	}
	in := chat.Memory{
		ID: id, Room: q.Room, Kind: chat.KindCommand, Author: c.Author, Name: text.Visible(c.Name), Text: cmp.Or(wrote, words),
		InReplyTo: chat.Run{ID: q.Run}.Said(), At: time.Now(), Files: attachment.Clean(c.Files),
	}
	if c.Fleeting && len(in.Files) > 0 {
		if in.Files, err = cs.Copy(ctx, in, in, chat.MaxFormFile); err != nil {
			cs.Log.Warn("a file of a form can't be stored", "question of", q.Run, "err", err)
			return chat.Accepted{Refused: lang.Say(ctx, "turn.not_done")}, nil
		}
	}
	acc, err := cs.Store.Choose(ctx, q.ID, option, in, payer)
	if errors.Is(err, answer.ErrLost) {
		return chat.Accepted{Refused: lang.Say(ctx, "choice.closed")}, nil
	} else if err != nil {
		return chat.Accepted{}, fmt.Errorf("choose: %w", err)
	}
	if acc.Duplicate { // another press was faster; it is the same one if it chose the same option
		if q, err = cs.Store.Question(ctx, c.Question); err != nil {
			return chat.Accepted{}, fmt.Errorf("choose: %w", err)
		} else if !isChoice(q, c) {
			acc = chat.Accepted{Refused: lang.Say(ctx, "choice.closed")}
		}
		return acc, nil
	}
	cs.Live.NotifyChoice(ctx, q.Run, q.Room)
	cs.Questions.Lanes.Wake(schedule.Lane{Room: q.Room, Control: true})
	acc.Chosen = true
	return acc, nil
}

// Unfit returns the reason for the user if words change the arguments of a call to some that do not fit; "" otherwise.
func (cs *Choices) Unfit(ctx context.Context, q chat.Question, words string) string {
	if q.Edit == nil {
		return ""
	}
	changed, ok := chat.EditIn(words)
	if !ok {
		return ""
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal(changed, &object)
	if err == nil && object == nil {
		err = errors.New("null")
	}
	if err != nil {
		return lang.Say(ctx, "approval.no_json", "example", `{"name": "value"}`)
	}
	if check, failed := cs.Schema(q.Edit.Schema); failed != nil {
		err = failed
	} else {
		err = check(changed)
	}
	if err != nil {
		return lang.Say(ctx, "approval.unfit", "why", text.OneLine(text.Visible(err.Error()), maxUnfit))
	}
	return ""
}

const maxUnfit = 300 // characters of the reason

// isChoice reports whether q was answered with c.
func isChoice(q chat.Question, c chat.Choice) bool {
	var files []chat.Attachment // of the fields that were open then
	for _, f := range q.Choices().Fields {
		files = append(files, chat.Form{Files: q.Files}.FilesOf(f.Name)...)
	}
	same := len(c.Files) == len(files) && !slices.ContainsFunc(c.Files, func(f chat.Attachment) bool {
		return !slices.ContainsFunc(files, func(o chat.Attachment) bool { return o.Field == f.Field && (o.Ref == f.Ref || c.Fleeting && o.Same(f)) })
	})
	return q.By == c.Author && (c.Words == "" && q.Choice == c.Option || c.Words != "" && q.Options[q.Choice] == c.Words && same)
}

// claim makes the message with the id the one that the uploads of a form belong to. refused is the reason for the user why one of them can't.
func (cs *Choices) claim(ctx context.Context, c chat.Choice, id chat.MemoryID) (refused string, err error) {
	var ids []string
	for _, f := range c.Files {
		ids = append(ids, f.Ref)
	}
	if !c.Fleeting && len(ids) > 0 {
		_, err = cs.Store.NameUploads(ctx, id, ids...)
	}
	if errors.Is(err, chat.ErrNotFound) {
		return lang.Say(ctx, "refused.file_gone"), nil
	}
	return "", err
}

// questionFor returns the question that c answers, or the reason for the user why it answers none. The rights of the user are
// checked now, and not only when the question was asked. A question that has expired loses its buttons when a user
// presses one: there is no timer for it. It fails with the error of the store.
func (cs *Choices) questionFor(ctx context.Context, c chat.Choice) (q chat.Question, refused string, err error) {
	q, err = cs.Store.Question(ctx, c.Question)
	switch {
	case errors.Is(err, chat.ErrNotFound):
		return q, lang.Say(ctx, "choice.closed"), nil
	case err != nil:
		return q, "", err
	case q.Room != c.Room, c.Words == "" && !c.Show && (c.Option < 0 || c.Option >= len(q.Options)), q.ResultRun != "":
		return q, lang.Say(ctx, "choice.closed"), nil
	case c.Words != "" && q.Other == "", len(c.Words) > 4*chat.MaxWords, c.Show && q.Details == "" && len(q.Fields) == 0:
		return q, lang.Say(ctx, "choice.closed"), nil
	case !q.Open(time.Now()):
		if err := cs.Questions.retire(ctx, q); err != nil {
			cs.Log.Warn("closed options can't be removed", "question of", q.Run, "err", err)
		}
		return q, lang.Say(ctx, "choice.closed"), nil
	case !slices.Contains(q.For, c.Author):
		return q, lang.Say(ctx, "choice.not_yours"), nil
	}
	room, err := cs.Store.Room(ctx, q.Room)
	if err != nil {
		return q, "", err
	}
	if in, err := cs.Pairing.Invited(ctx, room, c.Author, c.Roles); err != nil || in {
		return q, "", err
	}
	return q, lang.Say(ctx, "choice.not_invited"), nil
}

// pressed accepts a button. If the option counts as a message of the user, that message is accepted at once, because
// the web API returns its id; the run of the choice repeats that if it fails here. It fails with the error of the
// store.
func (cs *Choices) pressed(ctx context.Context, c chat.Choice) (chat.Accepted, error) {
	acc, err := cs.choose(ctx, c, chat.MemoryID("choice/"+c.Question), "")
	if err != nil || acc.Refused != "" {
		return acc, err
	}
	q, err := cs.Store.QuestionOf(ctx, acc.Run)
	if err != nil { // the choice is stored, and its run repeats the rest
		cs.Log.Warn("can't read what was chosen; its run does", "run", acc.Run, "err", err)
	}
	if err != nil || q.Handler != action.AsMessage {
		return acc, nil
	}
	said, err := cs.say(ctx, q)
	if err != nil { // its run says it again
		cs.Log.Warn("can't take a choice as a message; its run does", "run", acc.Run, "err", err)
		return acc, nil
	}
	return said, nil
}

// openFor returns the open questions that m can answer, oldest first. It fails with the error of the store.
func (cs *Choices) openFor(ctx context.Context, m chat.Message) (asked []chat.Question, err error) {
	if !canAnswer(m) {
		return nil, nil
	}
	open, err := cs.Store.OpenQuestions(ctx, m.Room)
	if err != nil {
		return nil, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	for _, q := range open {
		if slices.Contains(q.For, m.Author) {
			asked = append(asked, q)
		}
	}
	return asked, nil
}

// typed reports whether m answers the newest question to its author here, by an option's text or number, or in words of its own if
// the question permits that, and accepts it if so. Later in the conversation the same words can mean something else, so only the buttons answer the question
// then. While a user and a person talk there (talks), only a reply to the question answers it: other words are for the other side. It fails with the error of
// the store.
func (cs *Choices) typed(ctx context.Context, m chat.Message, asked []chat.Question, talks bool) (acc chat.Accepted, ok bool, err error) {
	if len(asked) == 0 {
		return cs.tooLate(ctx, m, talks)
	}
	q, asker, reply, err := cs.addressed(ctx, m, asked)
	if err != nil {
		return chat.Accepted{}, false, chat.Unless(err, chat.ErrNotFound)
	}
	if !reply && (talks || q.Approval && m.InReplyTo != "") { // a reply to one request must not decide another
		return cs.tooLate(ctx, m, talks)
	}
	if q, err = cs.gather(ctx, q); err != nil {
		return chat.Accepted{}, false, err
	}
	files, more, unfit := q.FormFiles(lang.Of(ctx), m)
	if m.Text == "" && len(files) == 0 && unfit == "" {
		return chat.Accepted{}, false, nil
	}
	i, ok := answer.Choices{Options: q.Options}.Named(m.Text)
	words, edits := "", false
	if q.Edit != nil {
		_, edits = chat.EditIn(m.Text)
	}
	if len(q.Fields) > 0 {
		if words, ok = q.FormWords(m.Text); !ok {
			i, words = len(q.Options)-1, ""
		}
	} else if ok = ok && len(m.Text) <= 4*maxLabel; !ok && q.Other != "" && q.Handler != action.AsMessage && (!q.Approval || edits || refuses(q, m.Text) || q.Replies && reply) {
		words = m.Text
	} else if !ok {
		return chat.Accepted{}, false, nil
	}
	if ok = true; !reply && !edits {
		ok, err = cs.isNewest(ctx, q, asker)
	}
	if err != nil || !ok {
		return chat.Accepted{}, false, chat.Unless(err, chat.ErrNotFound)
	}
	if q.Handler == action.AsMessage { // m is that message already
		if err := cs.Questions.retire(ctx, q); err != nil {
			return chat.Accepted{}, false, fmt.Errorf("accept %s: %w", m.ID, err)
		}
		return chat.Accepted{}, false, nil
	}
	stays := more && (len(files) > 0 || unfit != "")
	if why, _ := q.Unfit(lang.Of(ctx), words, files); words != "" && !stays && why != "" {
		unfit, stays = why, true
	}
	if unfit != "" {
		if acc, err = cs.refuse(ctx, m, unfit, aboutForm, len(files) > 0); acc.Refused != "" {
			return acc, true, nil
		}
	}
	if err == nil && stays { // for another value, or more files
		acc, err = cs.collect(ctx, q, asker, m, files)
		return acc, err == nil, err
	} else if err != nil {
		return acc, false, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	c := chat.Choice{Question: q.ID, Option: i, Words: words, Files: files, Room: m.Room, Author: m.Author, BilledTo: m.Address.BilledTo, Name: m.Name, Roles: m.Roles}
	acc, err = cs.choose(ctx, c, m.ID, cmp.Or(m.Text, words))
	if edits && err == nil && acc.Refused != "" { // else it would be a message to the agent
		acc, err = cs.refuse(ctx, m, acc.Refused, "edit/", false)
		return acc, true, err
	}
	return acc, err == nil && acc.Refused == "", err
}

// refuse tells the author of m why it has no effect, or only in part: if it has none, in the reply to a request of the web, and else by a notice
// with a key that begins with about. It fails with the error of the store.
func (cs *Choices) refuse(ctx context.Context, m chat.Message, why, about string, partly bool) (chat.Accepted, error) {
	if m.Place.Kind == chat.API && !partly {
		return chat.Accepted{Refused: why}, nil
	}
	return chat.Accepted{Memory: m.ID}, cs.Pairing.Tell(ctx, chat.Notice{To: chat.Address{Room: m.Room}, Text: "⚠️ " + why, Key: about + string(m.ID)})
}

// tooLate reports whether m replies to a request that has closed, and tells its author: it is for no other request. In a talk with a person, any words
// would otherwise go to the other side; elsewhere those that could decide the request, to the agent. It fails with the error of the store.
func (cs *Choices) tooLate(ctx context.Context, m chat.Message, talks bool) (acc chat.Accepted, ok bool, err error) {
	in, message := path.Split(string(m.InReplyTo)) // a platform can name a message with its chat or without
	for _, name := range []string{message, path.Base(in) + "/" + message} {
		if !m.Place.Kind.Private() || message == "" || err != nil {
			break
		}
		run, failed := cs.Store.RunShowing(ctx, m.Room, false, name, cardDepth)
		q, none := cs.Store.QuestionOf(ctx, run.ID)
		err = chat.Unless(cmp.Or(failed, none), chat.ErrNotFound)
		if failed != nil || none != nil || !q.Approval || !talks && !decides(q, m.Text) {
			continue
		}
		if acc, known, err := firstDelivery(ctx, cs.Store, m.Memory); known || err != nil { // perhaps it has decided the request
			return acc, true, err
		}
		acc, err = cs.refuse(ctx, m, lang.Say(ctx, "choice.closed"), "late/", false)
		return acc, true, err
	}
	return chat.Accepted{}, false, err
}

// decides reports whether words of a reply can decide the request q.
func decides(q chat.Question, words string) bool {
	_, named := answer.Choices{Options: q.Options}.Named(words)
	_, edits := chat.EditIn(words)
	return named || edits || q.Replies || refuses(q, words)
}

// cardDepth is the number of turns that are searched for the request that a message replies to. A reply is seldom, and its words are for no other person.
const cardDepth = 1000

// addressed returns the question that m replies to, or else the newest one, with the run that asked. It fails with the error of the store.
func (cs *Choices) addressed(ctx context.Context, m chat.Message, asked []chat.Question) (q chat.Question, asker chat.Run, reply bool, err error) {
	for _, q = range asked { // the last one stays
		if asker, err = cs.Store.Run(ctx, q.Run); err != nil {
			return q, asker, false, err
		}
		for _, s := range asker.Shown {
			// a platform can name a message with its chat or without
			if s.ID != "" && m.InReplyTo != "" && path.Base(string(m.InReplyTo)) == path.Base(s.ID) {
				return q, asker, true, nil
			}
		}
	}
	return q, asker, false, nil
}

// refuses reports whether text begins with the last option of q, which refuses something: other words are no answer to it.
func refuses(q chat.Question, text string) bool {
	last := q.Options[len(q.Options)-1]
	return len(text) > len(last) && strings.EqualFold(text[:len(last)], last)
}

// canAnswer reports whether m can answer a question, judged by m alone.
func canAnswer(m chat.Message) bool {
	return !m.Bot && (m.Text != "" || len(m.Files) > 0) && len(m.Text) <= 4*chat.MaxWords && (m.Place.Kind.Private() || m.Addressed)
}

// isNewest reports whether neither users nor the agent have written in the room of q since q was asked. asker is the
// run that asked. Messages have later turns than asker. The answer to an earlier message can still end later, so the
// times of answers are compared, too. Replies to commands and results of choices ask for no words, and can be those that
// sent the question: their times do not count. It fails with the error of the store.
func (cs *Choices) isNewest(ctx context.Context, q chat.Question, asker chat.Run) (bool, error) {
	agent := cs.Admission.Agent.Entity()
	for _, kind := range []chat.MemoryKind{chat.Said, chat.KindCommand, chat.Overheard} {
		recent, err := cs.Store.Recent(ctx, q.Room, kind, 0, maxAnswers)
		if err != nil {
			return false, fmt.Errorf("read the newest message: %w", err)
		}
		upTo, err := cs.Store.Recent(ctx, q.Room, kind, asker.Response, maxAnswers)
		if err != nil {
			return false, fmt.Errorf("read the messages before a question: %w", err)
		}
		// The answer that asks, which can be stored between the two reads, earlier choices below it, and notices about values that do not fit.
		own := func(m chat.Memory) bool {
			if m.ID == asker.Said() || kind == chat.KindCommand && m.InReplyTo == asker.Said() && !m.At.After(q.Asked) {
				return true
			}
			if m.Author != agent || len(q.Fields) == 0 {
				return false
			}
			run, _ := cs.Store.Run(ctx, chat.RunID(m.ID)) // it can have expired
			return len(run.Inputs) > 0 && strings.HasPrefix(string(run.Inputs[0]), string(chat.NoticeID(q.Room, aboutForm)))
		}
		asked := q.Asked
		if i := slices.IndexFunc(upTo, func(m chat.Memory) bool { return m.ID == asker.Said() }); i >= 0 && upTo[i].At.After(asked) {
			asked = upTo[i].At // a notice waits for the answers before it
		}
		later := func(m chat.Memory) bool {
			return kind == chat.Said && m.Author == agent && m.At.After(asked) && m.ID != asker.Said()
		}
		newest, before := slices.DeleteFunc(slices.Clone(recent), own), slices.DeleteFunc(slices.Clone(upTo), own) // the store can share its slices
		if n := len(newest); n > 0 && (len(before) == 0 || newest[n-1].ID != before[len(before)-1].ID) || slices.ContainsFunc(upTo, later) {
			return false, nil
		}
	}
	return true, nil
}

// say accepts the option as a message of the user: once, however often it is called, because the id of the message is
// that of the run. Rights are checked as for every message. It fails with the error of the store.
func (cs *Choices) say(ctx context.Context, q chat.Question) (chat.Accepted, error) {
	run, err := cs.Store.Run(ctx, q.Run)
	if err != nil {
		return chat.Accepted{}, err
	}
	room, err := cs.Store.Room(ctx, q.Room)
	if err != nil {
		return chat.Accepted{}, err
	}
	m := chat.Memory{
		ID: chat.MemoryID(q.ResultRun + "/message"), Room: q.Room, Author: q.By, Name: q.Name, Text: q.Options[q.Choice],
		InReplyTo: run.Said(), At: time.Now(),
	}
	to := run.Address.For(q.By, cmp.Or(q.BilledTo, q.By))
	said := chat.Message{Memory: m, Place: room, Address: to, Addressed: true}
	in, err := cs.Admission.admit(ctx, said)
	if err != nil {
		return chat.Accepted{}, err
	}
	return cs.Messages.add(ctx, said, in, false)
}
