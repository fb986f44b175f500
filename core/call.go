package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
)

// Call is one call of an action, as the action sees it. Its methods show people how the action fares. They return at
// once, and what they show is on its way before the action's next line runs; once Act has returned they do nothing. The
// zero Call shows nothing. Safe for concurrent use.
type Call struct {
	ID         string
	Parameters json.RawMessage // an object that fits the schema
	Scene      Scene
	Earlier    []Acted // what this run's earlier calls came to, oldest first

	block *block
	say   func(context.Context, Notice) error
	said  atomic.Int64
	await func(context.Context, Cursor) ([]Shown, error)
	ask   func(context.Context, Question) error
}

// NewCall is a call that shows what it does in a, and gives say what it says elsewhere and ask what it asks, for tests of
// actions.
func NewCall(a *Answer, id string, params json.RawMessage, s Scene, say func(context.Context, Notice) error, ask func(context.Context, Question) error) *Call {
	b := &block{answer: a, id: id, name: id}
	b.show(Tool{Stage: StageRunning, Parameters: string(params)})
	return &Call{ID: id, Parameters: params, Scene: s, block: b, say: say, ask: ask}
}

// Read decodes the parameters into a struct. What they lack stays as it was.
func (c *Call) Read(into any) error {
	if err := json.Unmarshal(c.Parameters, into); err != nil {
		return fmt.Errorf("read the parameters: %w", err)
	}
	return nil
}

// Update shows text, and pictures, in place of what this call said and showed before, below what is already written. In
// chats pictures come with the end; the last ones stay, above those of the result.
func (c *Call) Update(text string, pictures ...Blob) { c.update(Change{Text: text}, pictures) }

func (c *Call) update(said Change, pictures []Blob) Cursor {
	c.block.picture(dataURLs(pictures))
	said.Kind, said.Text, said.Important = Callback, clean(said.Text), clean(said.Important)
	return c.block.say(said)
}

// UpdateAndWait is Update, and returns when people see it, with the messages that the answer then stands in: none where it
// stands in none, or where nothing is shown before the end. It is for an action that goes on with those. It fails with
// [ErrUnseen] when the platform takes too long, and with the cause of ctx.
func (c *Call) UpdateAndWait(ctx context.Context, text string, pictures ...Blob) ([]Shown, error) {
	at := c.update(Change{Text: text}, pictures)
	if at == 0 || c.await == nil {
		return nil, context.Cause(ctx)
	}
	return c.await(ctx, at)
}

// Append adds text to what this call says.
func (c *Call) Append(text string) { c.block.say(Change{Kind: Text, Text: clean(text)}) }

// Short shows in one line how far the call has come, beside its name: for long work.
func (c *Call) Short(line string) { c.block.running(line) }

// Ask ends the answer with options to choose from, if it is completed; what is asked above them, the answer itself has to
// say. A later question of the same turn takes its place. Without [Question.For] whoever asked may choose. It fails if the
// question is none, and with the cause of ctx.
func (c *Call) Ask(ctx context.Context, q Question) error {
	if c.ask == nil {
		return errors.New("nobody can be asked here")
	}
	if len(q.For) == 0 {
		q.For = []EntityID{c.Scene.Message.Author}
	}
	return c.ask(ctx, q)
}

// Say has the agent say text in another room, as [Runtime.Say] does: when it returns without an error it will be said,
// once. It is for actions that write; whether the asker may write there is theirs to find out.
func (c *Call) Say(ctx context.Context, room RoomID, text string) error {
	key := fmt.Sprintf("%s/%s/%d", c.Scene.Run, c.ID, c.said.Add(1))
	return c.say(ctx, Notice{To: Address{Room: room}, Text: text, Key: key})
}
