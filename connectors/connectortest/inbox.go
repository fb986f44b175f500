package connectortest

import (
	"context"
	"slices"
	"sync"
	"testing/synctest"

	"parley/core/chat"
)

// Inbox is the handler of a bot: it records the events that it accepts. Its zero value accepts all. It is safe for
// concurrent use.
type Inbox struct {
	// Choose handles choices, which are then not recorded. It is set before the first one; nil records them too.
	Choose func(context.Context, chat.Choice) (chat.Accepted, error)

	mu     sync.Mutex
	events []chat.Inbound
	refuse func(chat.Inbound) error
	handle func(context.Context, chat.Inbound) (chat.Accepted, error)
}

// HandleAs sets the result of the handler for recorded events.
func (b *Inbox) HandleAs(handle func(context.Context, chat.Inbound) (chat.Accepted, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handle = handle
}

// Refuse sets a function that is called before an event is recorded, concurrently. If it returns an error, so does the
// handler, and the event is not recorded. nil accepts all.
func (b *Inbox) Refuse(f func(chat.Inbound) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = f
}

// RefuseAll lets the handler return err for all events.
func (b *Inbox) RefuseAll(err error) { b.Refuse(func(chat.Inbound) error { return err }) }

// RefuseText lets the handler return err for messages with a text.
func (b *Inbox) RefuseText(text string, err error) {
	b.Refuse(func(in chat.Inbound) error {
		if m, ok := in.(chat.Message); ok && m.Text == text {
			return err
		}
		return nil
	})
}

// Handle is the handler of a [parley/connectors.Connector].
func (b *Inbox) Handle(ctx context.Context, in chat.Inbound) (chat.Accepted, error) {
	if c, ok := in.(chat.Choice); ok && b.Choose != nil {
		return b.Choose(ctx, c)
	}
	b.mu.Lock()
	refuse := b.refuse
	b.mu.Unlock()
	if refuse != nil {
		if err := refuse(in); err != nil {
			return chat.Accepted{}, err
		}
	}
	b.mu.Lock()
	b.events = append(b.events, in)
	handle := b.handle
	b.mu.Unlock()
	if handle != nil {
		return handle(ctx, in)
	}
	return chat.Accepted{}, nil
}

// Events returns the recorded events, once nothing in the bubble of the test runs any more.
func (b *Inbox) Events() []chat.Inbound {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.events)
}

// Drain returns the events since its last call, and forgets them.
func (b *Inbox) Drain() []chat.Inbound {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.events
	b.events = nil
	return all
}

// Received returns the messages among the recorded events.
func (b *Inbox) Received() (all []chat.Message) {
	for _, in := range b.Events() {
		if m, ok := in.(chat.Message); ok {
			all = append(all, m)
		}
	}
	return all
}
