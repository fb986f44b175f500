// Package core answers messages. It is the same for every chat platform: a connector passes each event as a
// [chat.Inbound], and an [Opener] shows the answers. In between, this package decides which messages are answered, and
// when.
//
// [Runtime.ProcessMessage] stores a message together with the run that will answer it, in one transaction, and returns:
// from then on nothing is lost. The scheduler starts the open runs of each room in their order, on any free replica. An
// execution is one process's work on one run: it decides whether to answer, builds the prompt, generates the answer
// with a model and the calls of actions, and journals its result before users see that. If the process dies on the way,
// another one adopts the run.
//
// Two mechanisms keep a run from being executed twice. The journal in the store gives each start an epoch, and refuses
// writes with an older one: it is authoritative. The [Tracker] and the lease of the process are hints: with them, a
// process that lost a run stops early.
package core

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/schedule"
	"parley/internal/rest"
)

// Runtime answers messages. Its methods are safe for concurrent use.
type Runtime struct {
	*lasting
	watchdog  *schedule.Watchdog
	scheduler *schedule.Scheduler
	all       *generations

	// The fields below are guarded by the mutex of all.
	work      func(func())      // runs a goroutine that Run waits for; nil before Run and at its end
	life      context.Context   // of background work, while work is set
	templates map[string]string // see SetTemplates
}

// ProcessMessage is the entry point of the core: connectors call it with every event of their platform. It returns when
// in is stored, once, with a turn number; only then may the connector acknowledge it. The answer follows, if there is
// one. If it fails, in is not stored and must be delivered again; after the shutdown has begun it fails with
// [chat.ErrShutdown]. The same event may be delivered any number of times, concurrently, and to other replicas. Its
// strings may have any bytes: bytes that can't be stored are removed from all of them, since the event would otherwise
// be delivered again and again.
func (rt *Runtime) ProcessMessage(ctx context.Context, in chat.Inbound) (chat.Accepted, error) {
	if rt.lanes.Closed() {
		return chat.Accepted{}, chat.ErrShutdown
	}
	return rt.all.now.Load().inbox.intake.Process(ctx, in)
}

// Run adopts the runs of an earlier process, and answers until ctx is done. Then it starts nothing new, lets runs end
// within the grace, cancels the others with [chat.ErrShutdown] (they are adopted at the next start), and returns when
// no room is served any more and every context given to Watch is done. It is called once, and always returns nil.
func (rt *Runtime) Run(ctx context.Context) error {
	first := rt.all.now.Load().cfg // its store, log and grace stay
	defer rt.hub.Listen()()
	defer rt.signals.Close()
	var work sync.WaitGroup // besides the rooms
	defer work.Wait()
	work.Go(func() {
		schedule.Upkeep(ctx, first.Store, func() schedule.Retention { return rt.all.now.Load().cfg.Retention }, first.Log)
	})
	work.Go(func() { rt.watchdog.Run(ctx) })
	work.Go(func() { rt.checkPeople(ctx) })
	rt.begin(ctx, work.Go)
	defer rt.end()
	rt.scheduler.Run(ctx, first.Grace, func() {
		rt.live.Wait()
		rt.waitProviders()
	})
	if left := rt.Counts().String(); left != "" {
		first.Log.Info("turns skipped optional steps, or waited, since the start", "what", left)
	}
	return nil
}

// checkPeople looks after the conversations with persons, reminds approvers, and wakes runs that were decided, until ctx ends.
func (rt *Runtime) checkPeople(ctx context.Context) {
	for rest.For(ctx, checkTime) == nil {
		g := rt.all.now.Load()
		if err := g.inbox.handovers.Check(ctx); err != nil && ctx.Err() == nil {
			g.cfg.Log.Warn("conversations with persons can't be checked; trying again", "err", err)
		}
		if err := errors.Join(g.turns.Endings.Approvals.Remind(ctx), g.turns.WakeDecided(ctx)); err != nil && ctx.Err() == nil {
			g.cfg.Log.Warn("requests can't be checked; trying again", "err", err)
		}
	}
}

const checkTime = time.Minute // between two checks

// waitProviders waits for overdue providers, but not long: foreign code can't be ended.
func (rt *Runtime) waitProviders() {
	ctx, cancel := context.WithTimeout(context.Background(), providersTimeout)
	defer cancel()
	g := rt.all.now.Load()
	if g.turns.Preparer.Composer.Wait(ctx) != nil {
		g.cfg.Log.Warn("a provider did not return in time and is left running")
	}
}

// providersTimeout is the maximum time that the shutdown waits for providers.
const providersTimeout = time.Second

// Drained returns a channel that is closed when the process, after the shutdown has begun, writes no more answers.
// Readers of answers can leave then; Run waits for those of answers of other processes.
func (rt *Runtime) Drained() <-chan struct{} { return rt.lanes.Drained() }

// Say sends n as a message of the agent, once. It is queued like a turn of its room, so it does not interrupt an answer
// there. Say returns when n is stored; the message becomes a memory of the agent, and a part of later prompts. It fails
// with [chat.ErrNotFound] if the room is unknown, and with [chat.ErrUnreached] if no message ever came from there;
// after any other error n must be sent again, with its key.
func (rt *Runtime) Say(ctx context.Context, n chat.Notice) (chat.Accepted, error) {
	return rt.all.now.Load().inbox.notices.Say(ctx, n)
}

// Update is [Runtime.ProcessMessage] for a task that speaks, whose message can exist already: then its text is replaced in
// place. If later messages have followed, the new text is sent below them, once for each text.
func (rt *Runtime) Update(ctx context.Context, t chat.Task) (chat.Accepted, error) {
	acc, err := rt.ProcessMessage(ctx, t)
	if err != nil || !acc.Duplicate {
		return acc, err
	}
	below, err := rt.all.now.Load().inbox.changes.AmendMessage(ctx, t.Message(), func(was string) (string, bool) { return t.Text, was != t.Text })
	if err != nil || !below {
		return acc, err
	}
	t.Key += "/" + action.Hash(t.Text)
	return rt.ProcessMessage(ctx, t)
}

// Known reports whether the message id was accepted before. It costs one read, and fails with the error of the store.
// Connectors that catch up after a pause call it before they fetch the content of a message.
func (rt *Runtime) Known(ctx context.Context, id chat.MemoryID) (bool, error) {
	return rt.all.now.Load().inbox.intake.Known(ctx, id)
}

// Watch returns the answer of a run, on any replica, to be followed until it has ended. It fails with the errors of
// [relay.Registry.Watch].
func (rt *Runtime) Watch(ctx context.Context, id chat.RunID) (*answer.Answer, error) {
	return rt.live.Watch(ctx, id)
}

// RetryRun answers a run again that was given up. It fails with the errors of [storage.Retries.RetryRun].
func (rt *Runtime) RetryRun(ctx context.Context, id chat.RunID) error {
	return rt.scheduler.RetryRun(ctx, id)
}

// OwnerCode returns the code that makes its sender the owner of a new bot. It is empty if there is an owner, or the configuration names one.
// It fails with the error of the store.
func (rt *Runtime) OwnerCode(ctx context.Context) (string, error) {
	return rt.all.now.Load().inbox.pairing.OwnerCode(ctx)
}

// Blocked reports whether a user is blocked, by the configuration or with /block. It fails with the error of the store.
func (rt *Runtime) Blocked(ctx context.Context, user chat.EntityID) (bool, error) {
	return rt.all.now.Load().inbox.pairing.Blocked(ctx, user, nil)
}

// Blocks returns the accounts that were blocked with /block. It fails with the error of the store.
func (rt *Runtime) Blocks(ctx context.Context) (map[chat.EntityID]access.Block, error) {
	return rt.all.now.Load().inbox.pairing.Blocks(ctx)
}

// SetBlocked blocks all accounts of a user, or ends that. It fails with the error of the store.
func (rt *Runtime) SetBlocked(ctx context.Context, user, by chat.EntityID, blocked bool) error {
	in := rt.all.now.Load().inbox
	accounts, err := access.AccountsOf(ctx, in.links.Store, user)
	if err != nil {
		return err
	}
	return in.pairing.SetBlocked(ctx, by, blocked, accounts...)
}

// Approve gives access to the user with this code, and notifies them. It fails with [chat.ErrNotFound] if the code is
// unknown or has expired, and with the error of the store.
func (rt *Runtime) Approve(ctx context.Context, code string) (chat.Person, error) {
	return rt.all.now.Load().inbox.pairing.Approve(ctx, code)
}

// Owns reports whether an account is an owner. It fails with the error of the store.
func (rt *Runtime) Owns(ctx context.Context, id chat.EntityID) (bool, error) {
	return rt.all.now.Load().inbox.pairing.Owns(ctx, id)
}

// IsStaff reports whether an account is a member of the staff, and not blocked. It fails with the error of the store.
func (rt *Runtime) IsStaff(ctx context.Context, id chat.EntityID) (bool, error) {
	d := rt.all.now.Load().inbox.pairing
	blocked, err := d.Blocked(ctx, id, nil)
	if err != nil || blocked {
		return false, err
	}
	return d.ListsStaff(ctx, id, chat.Address{})
}

// StopTurns ends the turns of a room up to upTo, as /stop does. It fails with the error of the store.
func (rt *Runtime) StopTurns(ctx context.Context, room chat.RoomID, upTo chat.ResponseID) error {
	return rt.all.now.Load().inbox.stops.Stop(ctx, room, upTo)
}

// DecideCall decides a call that waits as by would in a chat, or the operator if by is empty, as consent.Approvals.Decide describes. The first decision
// counts.
func (rt *Runtime) DecideCall(ctx context.Context, approval string, to chat.Decision, arguments string, by chat.EntityID) (says string, refused bool, err error) {
	g := rt.all.now.Load()
	return g.turns.Preparer.Approvals.Decide(ctx, approval, to, arguments, cmp.Or(by, g.cfg.Access.Operator))
}

// EditOf returns the arguments of a call that waits, as consent.Approvals.EditOf describes.
func (rt *Runtime) EditOf(ctx context.Context, approval string) (*chat.Edit, error) {
	return rt.all.now.Load().turns.Preparer.Approvals.EditOf(ctx, approval)
}

// Handovers returns the conversations whose users wait for a person or talk to one. A reload replaces the value.
func (rt *Runtime) Handovers() *access.Handovers { return rt.all.now.Load().inbox.handovers }

// TellOwners sends a text, or a sentence of package lang, to the owners in their direct chats, as far as these are known, once for each key. It fails with the error of the
// store.
func (rt *Runtime) TellOwners(ctx context.Context, key, sentence string, pairs ...any) error {
	return rt.all.now.Load().inbox.pairing.TellOwners(ctx, key, sentence, pairs...)
}

// PassOn sends a visitor's message to the owners, as [access.Pairing.PassOn] describes.
func (rt *Runtime) PassOn(ctx context.Context, key, replyTo, said string) error {
	return rt.all.now.Load().inbox.pairing.PassOn(ctx, key, replyTo, said)
}

// SetTemplates replaces templates of the character, by name, while the gateway runs. Other templates stay; one without
// a text falls back to the plugins' and the built-in ones. It fails with a [*prompt.TemplateError] and changes nothing
// if any of them is invalid. Prompts in progress keep their templates, and [Runtime.Reload] keeps the changes. Safe for
// concurrent use.
func (rt *Runtime) SetTemplates(texts map[string]string) error {
	rt.all.mu.Lock()
	defer rt.all.mu.Unlock()
	if err := rt.all.now.Load().turns.Preparer.Composer.SetTemplates(texts); err != nil {
		return err
	}
	if rt.templates == nil {
		rt.templates = map[string]string{}
	}
	maps.Copy(rt.templates, texts)
	return nil
}

// Templates returns the templates of the character, by name, with the changes of [Runtime.SetTemplates], without those
// of plugins and the built-in ones. Safe for concurrent use.
func (rt *Runtime) Templates() map[string]string {
	return rt.all.now.Load().turns.Preparer.Composer.Templates()
}

// Counts returns how many optional steps turns have skipped since the start.
func (rt *Runtime) Counts() schedule.Counts { return rt.counters.Now() }

// Overdue returns the number of open runs that wait longer than a turn can take, in the view of this process.
func (rt *Runtime) Overdue() int { return rt.watchdog.Overdue() }

// MissedEvents returns the number of events that slow observers missed.
func (rt *Runtime) MissedEvents() uint64 { return rt.hub.Missed() }

// SaveUsage stores the pending usage of models of this process at once. It fails with the error of the store.
func (rt *Runtime) SaveUsage(ctx context.Context) error { return rt.all.now.Load().cfg.Meter.Save(ctx) }

// Emit passes an event of a part of the program to the observers, without blocking.
func (rt *Runtime) Emit(e event.Event) { rt.hub.Emit(e) }
