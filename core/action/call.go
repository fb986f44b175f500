package action

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/lang"
)

// A Call is one call of an action, passed to [Action.Act]. Its methods show progress to users without blocking, in
// order; after Act has returned they have no effect. The zero Call shows nothing. A Call is safe for concurrent use.
type Call struct {
	ID         string
	Parameters json.RawMessage // an object that matches the schema
	Turn       TurnContext
	Earlier    []Acted // this run's earlier calls, oldest first

	block *Block
	say   func(context.Context, chat.Notice) error
	said  atomic.Int64
	await func(context.Context, answer.Cursor) ([]chat.Shown, error)
	ask   func(context.Context, chat.Question) (<-chan chat.Question, error)
	park  func(context.Context, Wait) error
	chose func(context.Context, string) (chat.Question, bool, error)

	waited func(string) bool
	read   func() Read
	files  func(context.Context, []chat.Attachment) []chat.Attachment
}

// NewCall returns a call for tests of actions. It shows its output in a, and passes notices to say and questions to
// ask. The channel that ask returns delivers the choice.
func NewCall(a *answer.Answer, id string, params json.RawMessage, s TurnContext, say func(context.Context, chat.Notice) error, ask func(context.Context, chat.Question) (<-chan chat.Question, error)) *Call {
	b := &Block{Answer: a, ID: id, Name: id}
	b.Show(answer.Tool{Stage: answer.StageRunning, Parameters: string(params)})
	return &Call{ID: id, Parameters: params, Turn: s, block: b, say: say, ask: ask}
}

// Parts returns the texts that the model has read before this call, by origin.
func (c *Call) Parts() []Part {
	r := Read{Calls: c.Earlier}
	if c.read != nil {
		r = c.read()
		r.Calls = c.Earlier
	}
	return c.Turn.Parts(r)
}

// ReadForeign reports whether the model has read any text of others than the operator and the asker: see
// [Origin.Foreign].
func (c *Call) ReadForeign() bool {
	return slices.ContainsFunc(c.Parts(), func(p Part) bool { return p.Origin.Foreign() })
}

// Read decodes the parameters into a struct. Fields without a parameter keep their values. It fails if a parameter does
// not fit its field.
func (c *Call) Read(into any) error {
	if err := json.Unmarshal(c.Parameters, into); err != nil {
		return fmt.Errorf("read the parameters: %w", err)
	}
	return nil
}

// Update replaces the output of this call with text and files, images inline, below the text already written. The files
// of the last update stay, above those of the result. Files larger than 8 MiB are dropped.
func (c *Call) Update(text string, files ...llm.File) {
	c.update(answer.Change{Text: text, Files: files})
}

func (c *Call) update(said answer.Change) answer.Cursor {
	said.Kind, said.Text, said.Important, said.Files = answer.Callback, text.Clean(said.Text), text.Clean(said.Important), llm.Showable(said.Files)
	return c.block.say(said)
}

// UpdateAndWait is like Update, but waits until users see it, and returns the platform messages of the answer: none if
// the platform has no messages, or shows nothing before the end. It is for actions that work with those messages. It
// fails with [chat.ErrUnseen] if the platform takes too long, and with the cause of ctx.
func (c *Call) UpdateAndWait(ctx context.Context, text string, files ...llm.File) ([]chat.Shown, error) {
	at := c.update(answer.Change{Text: text, Files: files})
	if at == 0 || c.await == nil {
		return nil, context.Cause(ctx)
	}
	return c.await(ctx, at)
}

// Append appends to the output of this call.
func (c *Call) Append(txt string) {
	c.block.say(answer.Change{Kind: answer.Text, Text: text.Clean(txt)})
}

// Short shows a one-line status next to the call's name, for long-running work.
func (c *Call) Short(line string) { c.block.running(line) }

// Ask shows a question with options below the answer, immediately and until a choice is made; if the answer completes
// first, the question stays at its end. The question's text must be part of the answer itself. A later question of the
// same turn replaces this one. If q names no users, only the author of the message can choose. Ask fails if q is
// invalid, and with the cause of ctx.
func (c *Call) Ask(ctx context.Context, q chat.Question) error {
	_, err := c.put(ctx, q)
	return err
}

// Choose replaces this call's output with text and the options of q, waits for a choice, and returns the question with
// that choice. The output then states the choice until the next update. It fails with [chat.ErrUnanswered] when the
// question expires or the turn ends: the turn's other limits, including [Spec.Limit], keep running. It fails with
// [chat.ErrUnseen] if the platform shows nothing (more) of the answer before its end. An action that doesn't need to
// wait should use Ask, whose question survives a restart. [chat.Question] is ignored here.
func (c *Call) Choose(ctx context.Context, text string, q chat.Question) (chat.Question, error) {
	q.Handler = Awaited
	c.Update(text)
	answered, err := c.put(ctx, q)
	if err != nil {
		return q, err
	}
	select {
	case chosen, ok := <-answered:
		switch {
		case !ok && c.block.Answer.Hidden():
			return q, chat.ErrUnseen
		case !ok:
			return q, cmp.Or(context.Cause(ctx), chat.ErrUnanswered)
		}
		c.Update(text + "\n\n" + chosen.ChoiceLine(c.Turn.Room.Kind))
		return chosen, nil
	case <-ctx.Done():
		return q, context.Cause(ctx)
	}
}

// Form asks for the values of fields like [Call.Choose], one after the other where the platform has no forms, and returns them with the files that
// users sent. declined reports whether the user refused. It fails with the errors of Choose; questions of package consent survive a restart.
func (c *Call) Form(ctx context.Context, text string, fields []answer.Field) (filled chat.Form, declined bool, err error) {
	problem := ""
	filled.Fields = fields
	for range maxFormSteps {
		q, asks := chat.FormQuestion(lang.Of(ctx), filled, problem)
		if q, err = c.Choose(ctx, chat.JoinParagraphs(text, asks), q); err != nil {
			return filled, false, err
		}
		filled, declined, problem = q.Form(lang.Of(ctx))
		if declined || answer.NextField(filled.Fields) < 0 {
			c.Update(chat.JoinParagraphs(text, answer.Filled(filled.Fields)))
			return filled, declined, nil
		}
	}
	return filled, false, chat.ErrUnanswered
}

// ReadFiles returns files that a user sent, such as those of a form, with their content or the reason why it can't be read; see [chat.Attachment]. It
// takes up to 90 seconds.
func (c *Call) ReadFiles(ctx context.Context, files []chat.Attachment) []chat.Attachment {
	if c.files == nil || len(files) == 0 {
		return files
	}
	return c.files(ctx, files)
}

const maxFormSteps = 100 // answers to one form

func (c *Call) put(ctx context.Context, q chat.Question) (<-chan chat.Question, error) {
	if c.ask == nil {
		return nil, errors.New("no user can be asked here")
	}
	if len(q.For) == 0 {
		q.For = []chat.EntityID{c.Turn.Message.Author}
	}
	return c.ask(ctx, q)
}

// Say sends text to another room, like Say of core.Runtime: after it returns nil, delivery is guaranteed, once. It is
// for actions that write; they must check whether the author is allowed to write there. It fails with the errors of
// core.Runtime's Say.
func (c *Call) Say(ctx context.Context, room chat.RoomID, text string) error {
	return c.Post(ctx, room, text, "")
}

// Post is like Say, with an image below the text that is generated from the description when the text is sent, at the
// expense of the author. Without an image model, or if that fails, the text is sent without it. It fails with the
// errors of Say.
func (c *Call) Post(ctx context.Context, room chat.RoomID, text, image string) error {
	key := fmt.Sprintf("%s/%s/%d", c.Turn.Run, ShortID(c.ID), c.said.Add(1))
	return c.say(ctx, chat.Notice{To: chat.Address{Room: room, BilledTo: c.Turn.Message.Author}, Text: text, Key: key, Image: image})
}

// Park shows text as the output of this call, and parks the whole run until a person decides, without its room. It
// always fails with [chat.ErrParked], which the caller returns at once. When the run is woken, it continues in any
// process and makes the call again from its beginning: nothing with effects may come before Park, and the result of the
// wait must be read from the store. Park fails with [chat.ErrUnseen] if the platform can't show the question, and with
// the cause of ctx.
func (c *Call) Park(ctx context.Context, text string, w Wait) error {
	if c.park == nil {
		return errors.New("this run can't wait")
	}
	c.Update(text)
	return c.park(ctx, w)
}

// Chose returns the question that this run has waited for, if a user chose. It fails with the error of the store.
func (c *Call) Chose(ctx context.Context, waitedFor string) (q chat.Question, ok bool, err error) {
	if c.chose == nil {
		return q, false, nil
	}
	return c.chose(ctx, waitedFor)
}

// Waited reports whether the last wait of this run was for waitedFor. The run continues because of a choice, see
// [Call.Chose], or because the time is over.
func (c *Call) Waited(waitedFor string) bool { return c.waited != nil && c.waited(waitedFor) }

// Key identifies a call of the action name, of a kind that can be empty, in stored records of decisions about it. It is
// the same when the call is made again, also by another process: it is computed from the run, the action, the
// parameters and the number of such calls before. The model's own ids are not the same in a new round.
func (c *Call) Key(name, kind string) string {
	nth := 0
	for _, e := range c.Earlier {
		if e.Action == name && string(e.Parameters) == string(c.Parameters) {
			nth++
		}
	}
	return Hash(string(c.Turn.Run), name, kind, Hash(string(c.Parameters)), fmt.Sprint(nth))
}

// Host contains the functions of a run for its calls.
type Host struct {
	Say    func(context.Context, chat.Notice) error                           // sends a message to another room
	Await  func(context.Context, answer.Cursor) ([]chat.Shown, error)         // waits until users see the answer up to a cursor
	Ask    func(context.Context, chat.Question) (<-chan chat.Question, error) // asks users a question
	Park   func(context.Context, Wait) error                                  // see [Call.Park]
	Chose  func(context.Context, string) (chat.Question, bool, error)         // see [Call.Chose]
	Waited func(string) bool                                                  // see [Call.Waited]
	Files  func(context.Context, []chat.Attachment) []chat.Attachment         // see [Call.ReadFiles]; nil: nothing is read
	Read   func() Read                                                        // the texts that the model has read; nil: only the conversation and Earlier
}

// Wait describes the wait of a parked run.
type Wait struct {
	For   string    // identifies it among all waits
	Until time.Time // when the run continues without it
	// Lasting answers later messages while the run waits. Otherwise they end it if they supersede answers.
	Lasting bool
	// Ask is shown below the answer until then; a choice wakes the run. It can be nil: then other events wake the run.
	// Its Handler, Payload and Expires are set by the run. Without For, only the author of the message can choose.
	Ask *chat.Question
}

// ShortID returns the id of a call as a part of stored ids. Some models make ids of thousands of bytes, which a database
// can't index.
func ShortID(id string) string {
	if len(id) <= maxShortID {
		return id
	}
	return Hash(id)
}

const maxShortID = 128 // bytes

// Hash identifies texts. Their lengths are part of it, so that no other division of the same characters has the same
// hash.
func Hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Awaited is the [chat.Question] of questions whose action waits for the choice.
const Awaited = "awaited"

// Parked is the [chat.Question] of questions that a parked run waits for: a choice wakes it.
const Parked = "parked"
