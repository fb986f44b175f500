package action

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
)

// Call is one call of an action, as the action sees it. Its methods show people how the action fares. They return at
// once, and what they show is on its way before the action's next line runs; once Act has returned they do nothing. The
// zero Call shows nothing. Safe for concurrent use.
type Call struct {
	ID         string
	Parameters json.RawMessage // an object that fits the schema
	Scene      TurnContext
	Earlier    []Acted // what this run's earlier calls came to, oldest first

	block *Block
	say   func(context.Context, chat.Notice) error
	said  atomic.Int64
	await func(context.Context, answer.Cursor) ([]chat.Shown, error)
	ask   func(context.Context, chat.Question) (<-chan chat.Question, error)
}

// NewCall is a call that shows what it does in a, and gives say what it says elsewhere and ask what it asks, for tests of
// actions. What comes from the channel that ask returns is what was chosen.
func NewCall(a *answer.Answer, id string, params json.RawMessage, s TurnContext, say func(context.Context, chat.Notice) error, ask func(context.Context, chat.Question) (<-chan chat.Question, error)) *Call {
	b := &Block{Answer: a, ID: id, Name: id}
	b.Show(answer.Tool{Stage: answer.StageRunning, Parameters: string(params)})
	return &Call{ID: id, Parameters: params, Scene: s, block: b, say: say, ask: ask}
}

// Host is what a run does for its calls.
type Host struct {
	Say   func(context.Context, chat.Notice) error                           // says something elsewhere
	Await func(context.Context, answer.Cursor) ([]chat.Shown, error)         // waits until people see the answer up to a place
	Ask   func(context.Context, chat.Question) (<-chan chat.Question, error) // asks people to choose
}

// Call is what the action is given, which shows what it does in the block. Nothing that it says is shown once ctx is done: a model
// that is told of a cancelled call has to be able to believe that.
func (b *Block) Call(ctx context.Context, params json.RawMessage, s TurnContext, earlier []Acted, h Host) *Call {
	b.heard(ctx)
	return &Call{ID: b.ID, Parameters: params, Scene: s, Earlier: earlier, block: b, say: h.Say, await: h.Await, ask: h.Ask}
}

// Read decodes the parameters into a struct. What they lack stays as it was.
func (c *Call) Read(into any) error {
	if err := json.Unmarshal(c.Parameters, into); err != nil {
		return fmt.Errorf("read the parameters: %w", err)
	}
	return nil
}

// Update shows text and files, pictures as pictures, in place of what this call said and showed before, below what is
// already written. Those of the last update stay, above the files of the result. Files of more than 8 MiB are left out.
func (c *Call) Update(text string, files ...llm.File) {
	c.update(answer.Change{Text: text, Files: files})
}

func (c *Call) update(said answer.Change) answer.Cursor {
	said.Kind, said.Text, said.Important, said.Files = answer.Callback, text.Clean(said.Text), text.Clean(said.Important), llm.Showable(said.Files)
	return c.block.say(said)
}

// UpdateAndWait is Update, and returns when people see it, with the messages that the answer then stands in: none where it
// stands in none, or where nothing is shown before the end. It is for an action that goes on with those. It fails with
// [chat.ErrUnseen] when the platform takes too long, and with the cause of ctx.
func (c *Call) UpdateAndWait(ctx context.Context, text string, files ...llm.File) ([]chat.Shown, error) {
	at := c.update(answer.Change{Text: text, Files: files})
	if at == 0 || c.await == nil {
		return nil, context.Cause(ctx)
	}
	return c.await(ctx, at)
}

// Append adds text to what this call says.
func (c *Call) Append(txt string) {
	c.block.say(answer.Change{Kind: answer.Text, Text: text.Clean(txt)})
}

// Short shows in one line how far the call has come, beside its name: for long work.
func (c *Call) Short(line string) { c.block.running(line) }

// Ask shows options to choose from below the answer: at once, until somebody chooses, and at the end if that is completed.
// What is asked, the answer itself has to say. A later question of the same turn takes its place. Without [chat.Question]
// whoever asked may choose. It fails if the question is none, and with the cause of ctx.
func (c *Call) Ask(ctx context.Context, q chat.Question) error {
	_, err := c.put(ctx, q)
	return err
}

// Choose shows text in place of what this call said, with the options of q, waits until somebody chooses, and returns the
// question with that. Then the call says so, until its next update. It fails with [chat.ErrUnanswered] when the time of the
// question is over, or the turn is: the turn's other limits go on meanwhile, also [Spec.Limit]. It fails with
// [chat.ErrUnseen] where nothing, or nothing more, of the answer is shown before its end. An action that can go on without waiting should Ask: that
// outlives a restart. [chat.Question] means nothing here.
func (c *Call) Choose(ctx context.Context, text string, q chat.Question) (chat.Question, error) {
	q.Chooser = Awaited
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
		c.Update(text + "\n\n" + chosen.ChoiceLine(c.Scene.Room.Kind))
		return chosen, nil
	case <-ctx.Done():
		return q, context.Cause(ctx)
	}
}

func (c *Call) put(ctx context.Context, q chat.Question) (<-chan chat.Question, error) {
	if c.ask == nil {
		return nil, errors.New("no user can be asked here")
	}
	if len(q.For) == 0 {
		q.For = []chat.EntityID{c.Scene.Message.Author}
	}
	return c.ask(ctx, q)
}

// Say has the agent say text in another room, as [core.Runtime] does: when it returns without an error it will be said,
// once. It is for actions that write; whether the asker may write there is theirs to find out.
func (c *Call) Say(ctx context.Context, room chat.RoomID, text string) error {
	key := fmt.Sprintf("%s/%s/%d", c.Scene.Run, c.ID, c.said.Add(1))
	return c.say(ctx, chat.Notice{To: chat.Address{Room: room}, Text: text, Key: key})
}
