// Package core answers messages. It is the same for every chat platform: a connector hands over each event as a [chat.Inbound], and an
// [Opener] shows the answers. In between, this package decides what is answered, and when.
//
// [Runtime.ProcessMessage] stores a message together with the run that will answer it, in one transaction, and returns: from then on
// nothing is lost. The scheduler starts the open runs of each room in their order, on whatever replica is free. An execution is
// one process's work on one run: it decides whether to answer, makes the prompt, has the model write and call actions, and journals how
// the answer ends before people see that. If the process dies on the way, another one adopts the run.
//
// Two things keep a run from being made twice. The journal in the store gives each start an epoch, and refuses what is written with an
// older one: that is the truth. The [Tracker] and the lease of the process are hints by which a process that lost a run stops early.
package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"parley/core/about"
	"parley/core/access"
	"parley/core/action"
	"parley/core/approval"
	"parley/core/attachment"
	"parley/core/changes"
	"parley/core/chat"
	"parley/core/counts"
	"parley/core/event"
	"parley/core/generate"
	"parley/core/initiative"
	"parley/core/llm"
	"parley/core/parking"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/relay"
	"parley/core/roster"
	"parley/core/schedule"
	"parley/core/storage"
	"parley/core/upkeep"
)

const (
	// LeaseTTL is how long the store takes an owner for alive after its last heartbeat. Three heartbeats fit into it, so that one slow
	// write of a healthy process does not make others adopt its runs.
	LeaseTTL = 15 * time.Second
	// coordTimeout is how long the tracker may take. It only hurries things: after that the journal decides alone.
	coordTimeout = time.Second
)

// Config is what a [Runtime] is made of. Every field is needed unless it says otherwise.
type Config struct {
	Agent   chat.Agent
	Owner   string // names this process; no other process, earlier or at the same time, may have the same name
	Store   storage.Store
	Tracker Tracker
	Bus     relay.Bus         // nil: this is the only replica
	Models  llm.Models        // Large at least
	Reader  attachment.Reader // nil: attachments are not read
	// ReadLinks has it read the pages that questions link to, too.
	ReadLinks bool
	Plugins   []action.Plugin // may be empty
	// Schema compiles the schemas of actions, by which the parameters of calls are checked. With nil each action checks its own.
	Schema action.SchemaCompiler
	// Observers are called with every event, as those of the plugins are; may be empty.
	Observers []event.Observer
	Open      Opener
	About     about.Program // what /status and /model tell; may be empty
	Turns     schedule.TurnPolicy
	// Generation is how the model is asked; zero is natively, in at most 6 rounds.
	Generation generate.Config
	Access     access.Policy
	Approval   approval.Policy // says which calls of actions a person must approve first
	Recall     prompt.Recall
	Parallel   int                    // how many answers are made for one person at the same time; 0 is no limit
	Total      int                    // and how many for all; 0 is no limit
	Spenders   map[chat.EntityID]bool // says who may let answers go beyond a soft limit, besides the owners
	Meter      *quota.Meter           // counts messages and what the models cost, and refuses beyond the limits; nil for no limits
	Grace      time.Duration          // how long runs may go on after Run was told to end, before they are cut off
	Log        *slog.Logger
	Jitter     func(time.Duration) time.Duration // spreads the pause before a retry; nil takes one of [d/2, d) by chance
}

// Runtime answers messages. Its methods are safe for concurrent use.
type Runtime struct {
	cfg      Config              // without the store: each part below has the few methods that it needs
	toolbox  action.Toolbox      // the fixed actions
	tools    *action.LiveToolbox // these, and those that come and go, such as the tools of MCP servers
	desk     *approval.Desk
	hub      *event.Hub
	composer *prompt.Composer
	models   *generate.ModelSwitch
	live     *relay.Registry
	bots     schedule.Bots
	work     sync.WaitGroup // the rooms that are being served, and evaluators
	drained  chan struct{}  // see Drained

	// mu guards closed and the lanes of the scheduler. It is held for moments only, never during calls of others.
	mu     sync.Mutex
	closed bool // Run was told to end: nothing new is accepted or started

	counts     counts.Counters
	watchdog   schedule.Watchdog
	lease      schedule.Lease
	evaluators schedule.Background
	announcing schedule.Outage // of the tracker

	stores    stores
	intake    intake
	tasks     initiative.Intake
	changes   changes.Handler
	roster    *roster.Roster
	choices   choices
	commands  commandHandler
	pairing   *access.Pairing
	scheduler scheduler
	waker     parking.Waker
}

// New joins the parts of a runtime. It fails if actions, templates or choice handlers contradict each other. Until Run is called it
// accepts messages and answers none.
//
// The parts refer to each other, and some of them only come into being below. That is why several are given functions that look
// a part up when they are called.
func New(cfg Config) (*Runtime, error) {
	if cfg.Jitter == nil {
		cfg.Jitter = jitter
	}
	rt, store := &Runtime{cfg: cfg, drained: make(chan struct{}), live: relay.NewRegistry(cfg.Store, cfg.Bus, cfg.Log)}, cfg.Store
	rt.cfg.Store = nil
	rt.stores = stores{run: store, prepare: store, files: store, ask: store, park: store, status: store, notice: store, summary: store, upkeep: store}
	rt.intake, rt.choices, rt.commands = intake{rt, store}, choices{rt: rt, store: store}, commandHandler{rt, store}
	rt.tasks = initiative.Intake{Store: store, Accepted: func(m chat.Message, acc chat.Accepted) {
		rt.hub.Emit(event.Received(m, acc))
		rt.scheduler.wake(m.Room)
	}}
	rt.scheduler, rt.waker = newScheduler(rt, store, cfg.Parallel, cfg.Total), parking.Waker{Store: store, Serve: func(room chat.RoomID) { rt.scheduler.wake(room) }}
	rt.watchdog = schedule.Watchdog{Store: store, Limit: cfg.Turns.Limit, Parallel: rt.scheduler.parallel, Log: cfg.Log, Found: &rt.counts.Overdue}
	rt.changes = changes.Handler{
		Store: store, Agent: cfg.Agent, OnEdit: cfg.Turns.OnEdit, Tracker: cfg.Tracker, Waker: &rt.waker, Log: cfg.Log,
		Stays: rt.intake.stays, Known: func(ctx context.Context, r chat.Room, author chat.EntityID) (bool, error) {
			return rt.pairing.Invited(ctx, r, author, nil)
		}, Lose: rt.live.Lose, Serve: rt.scheduler.wake, Emit: rt.Emit,
	}
	rt.roster = &roster.Roster{Store: store, Agent: cfg.Agent.Entity(), Log: cfg.Log, Emit: func(e event.Event) { rt.hub.Emit(e) },
		Stop: func(ctx context.Context, room chat.RoomID) error { return rt.commands.stop(ctx, room, chat.EveryTurn) }}
	rt.pairing = &access.Pairing{Policy: cfg.Access, Store: store, Log: cfg.Log, Tell: func(ctx context.Context, n chat.Notice) error {
		_, err := rt.say(ctx, n)
		return err
	}}
	rt.models = &generate.ModelSwitch{Table: generate.NewModelTable(cfg.Models.Answering()), Policy: cfg.Access, Store: store, Owns: rt.pairing.Owns}
	rt.desk = &approval.Desk{Policy: cfg.Approval, Store: store, Owns: rt.pairing.Owns, Rooms: rt.pairing.OwnersRooms, Tell: rt.pairing.Tell, Wake: rt.waker.GoOn, Log: cfg.Log,
		End: rt.waker.Supersede, Amend: rt.changes.Amend,
	}
	var err error
	if rt.toolbox, err = action.NewToolbox(cfg.Plugins, cfg.Schema); err != nil {
		return nil, err
	}
	if rt.composer, err = prompt.NewComposer(cfg.Plugins, cfg.Agent.Templates, cfg.Recall, cfg.Generation.Mode == generate.Native, rt.skipped); err != nil {
		return nil, err
	}
	if tool := rt.composer.Tool(); tool != nil {
		if err := rt.toolbox.Add(tool, cfg.Schema); err != nil {
			return nil, fmt.Errorf("the dynamic providers: %w", err)
		}
	}
	rt.tools = action.NewLiveToolbox(&rt.toolbox, cfg.Plugins, cfg.Schema, cfg.Log)
	if err := checkTools(rt.tools, cfg.Access); err != nil {
		return nil, err
	}
	rt.choices.handlers = map[string]action.ChoiceHandler{AsMessage: asMessage{rt}, forget: forgetter{rt}, action.Awaited: waiter{action.Awaited}, action.Parked: waiter{action.Parked}, access.ApprovalHandler: approvalHandler{rt.pairing}, approval.Handler: rt.desk, generate.SwitchHandler: rt.models}
	observers := slices.Clone(cfg.Observers)
	for _, p := range cfg.Plugins {
		observers = append(observers, p.Observers...)
		for _, c := range p.Choosers {
			if rt.choices.handlers[c.Name()] != nil {
				return nil, fmt.Errorf("plugin %s: there is already a choice handler %s", p.Name, c.Name())
			}
			rt.choices.handlers[c.Name()] = c
		}
	}
	rt.hub = event.NewHub(observers, cfg.Log)
	return rt, nil
}

// Run adopts what an earlier process left, and answers until ctx is done. Then it starts nothing new, lets runs end
// within the grace, cuts off the others with [chat.ErrShutdown] (they are adopted at the next start), and returns when no room is
// served any more and every context given to Watch is done. It is called once.
//
// Two contexts are in use. ctx says when to stop starting things. life, its child without its end, is what runs live on: it ends
// only after the grace, or the end of a deployment would cut off every answer.
func (rt *Runtime) Run(ctx context.Context) error {
	defer rt.hub.Listen()()
	life, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	tick := time.NewTicker(schedule.HeartbeatEvery)
	defer tick.Stop()
	var work sync.WaitGroup // beside the rooms
	defer work.Wait()
	work.Go(func() { upkeep.Run(ctx, rt.stores.upkeep, rt.cfg.Log) })
	work.Go(func() { rt.watchdog.Run(ctx) })
	for _, p := range rt.cfg.Plugins {
		if p.Work != nil {
			work.Go(func() { rt.background(ctx, p) })
		}
	}
	rt.scheduler.heartbeat(life)
	// After the end of ctx each of these is received from once: stop is set to nil, grace comes into being with it.
	var grace <-chan time.Time
	stop := ctx.Done()
	for {
		select {
		case <-rt.scheduler.signal:
			rt.scheduler.serveWoken(ctx, life)
		case <-tick.C:
			rt.scheduler.heartbeat(life)
		case <-stop:
			stop = nil
			rt.close()
			rt.scheduler.leaving(life)
			grace = time.After(rt.cfg.Grace)
			go func() { rt.work.Wait(); close(rt.drained) }()
		case <-grace:
			abort(chat.ErrShutdown)
		case <-rt.drained:
			rt.live.Wait()
			rt.waitProviders()
			rt.scheduler.left(context.WithoutCancel(ctx))
			if left := rt.Counts().String(); left != "" {
				rt.cfg.Log.Info("turns skipped optional steps, or waited, since the start", "what", left)
			}
			return nil
		}
	}
}

// Drained returns a channel that is closed when no answer is written here any more, after Run was told to end. Readers of answers can
// leave then; Run waits for those of answers of other processes.
func (rt *Runtime) Drained() <-chan struct{} { return rt.drained }

// heartbeat renews the lease of this process and wakes all rooms that have open runs: those that another process left, those whose
// wake-up was lost, and those that were waiting for a time. While the store is down it does neither, and the next one tries again.
// Its own time limit keeps a store that hangs from delaying new messages and the shutdown.
func (s *scheduler) heartbeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, schedule.HeartbeatEvery/2)
	defer cancel()
	until := time.Now().Add(LeaseTTL) // measured before the write: it must not last longer here than in the store
	if err := s.store.Beat(ctx, s.rt.cfg.Owner, until); err != nil {
		if s.outage.Failed() {
			s.rt.cfg.Log.Error("can't renew the process lease in the store; trying again", "err", err)
		}
		return
	}
	s.rt.lease.Renewed(until)
	if lasted, ended := s.outage.Ended(); ended {
		s.rt.cfg.Log.Info("the store answers again", "after", lasted.Round(time.Second))
	}
	rooms, err := s.store.OpenRooms(ctx)
	if err != nil {
		s.rt.cfg.Log.Error("can't list open runs", "err", err)
		return
	}
	for _, room := range rooms {
		s.wake(room)
		s.wakeLane(schedule.Lane{Room: room, Control: true})
	}
}

// leaving records in the store that this process ends as planned. Without that record the process that adopts a run takes it for the
// cause of a crash, and after a few of these sets it aside. If the write fails, the runs that are cut off count one death too many.
func (s *scheduler) leaving(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, coordTimeout)
	defer cancel()
	if err := s.store.Leave(ctx, s.rt.cfg.Owner); err != nil {
		s.rt.cfg.Log.Warn("can't record the planned shutdown in the store", "err", err)
	}
}

// left ends the lease once this process holds no run any more, so that another one adopts those that were cut off at once. If the
// write fails, they are free when the lease runs out.
func (s *scheduler) left(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, coordTimeout)
	defer cancel()
	if err := s.store.Beat(ctx, s.rt.cfg.Owner, time.Now()); err != nil {
		s.rt.cfg.Log.Warn("can't end the process lease in the store", "err", err)
	}
}

// close makes ProcessMessage refuse. The connectors don't acknowledge what is refused, so that the platforms deliver it again after the
// next start.
func (rt *Runtime) close() {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.closed = true
}

// ending reports whether nothing is accepted any more.
func (rt *Runtime) ending() bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.closed
}

// wake makes this process look for turns of room after this call.
func (s *scheduler) wake(room chat.RoomID) { s.wakeLane(schedule.Lane{Room: room, Control: false}) }

// wakeLane makes this process look for turns of a lane. It never blocks. If a runner is at work there it gets a token, which it uses up
// only before it looks at the store: so a turn that was stored before this call is always seen.
func (s *scheduler) wakeLane(l schedule.Lane) {
	s.rt.mu.Lock()
	defer s.rt.mu.Unlock()
	if again, ok := s.lanes[l]; ok {
		signal(again)
		return
	}
	s.woken[l] = struct{}{}
	signal(s.signal)
}

// signal leaves a token, unless one is there. One is enough: it makes the receiver look at everything.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// serveWoken gives each woken lane a runner. A runner ends when its room is idle, so a room without new messages costs no goroutine.
func (s *scheduler) serveWoken(stop, life context.Context) {
	s.rt.mu.Lock()
	defer s.rt.mu.Unlock()
	for l := range s.woken {
		delete(s.woken, l)
		if s.rt.closed || s.lanes[l] != nil {
			continue
		}
		again := make(chan struct{}, 1)
		s.lanes[l] = again
		s.rt.work.Go(func() { s.serve(stop, life, l, again) })
	}
}

// settled returns err if the tracker says that a turn is over, and nil otherwise: a tracker that can't be reached stops no
// run, because the journal decides.
func settled(err error) error {
	if errors.Is(err, chat.ErrSuperseded) || errors.Is(err, chat.ErrStopped) {
		return err
	}
	return nil
}

// jitter spreads d over [d/2, d), so that many runs which failed together don't try again together.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }

// Counts returns how many optional steps turns have had to skip since the start: see package counts.
func (rt *Runtime) Counts() counts.Counts { return rt.counts.Now() }

// Overdue returns how many open runs wait longer than a turn can take, as far as this process knows.
func (rt *Runtime) Overdue() int { return rt.watchdog.Overdue() }

// SaveUsage stores at once what models used and this process has not stored yet.
func (rt *Runtime) SaveUsage(ctx context.Context) error { return rt.cfg.Meter.Save(ctx) }

// Emit passes an event of a part of the program to the observers, without blocking.
func (rt *Runtime) Emit(e event.Event) { rt.hub.Emit(e) }
