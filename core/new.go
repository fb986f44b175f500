package core

import (
	"context"
	"fmt"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/event"
	"parley/core/generate"
	"parley/core/intake"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/relay"
	"parley/core/schedule"
	"parley/core/turn"
)

// New joins the parts of a runtime. It fails if actions, templates or choice handlers contradict each other. Until Run
// is called the runtime accepts messages and answers none.
//
// Each part gets the parts above it: first what all use, then the intake, then the turns, and last the scheduler that executes them.
func New(cfg Config) (*Runtime, error) {
	lanes := schedule.NewLanes()
	rt := &Runtime{all: &generations{}, lasting: &lasting{
		hub: event.NewHub(cfg.Observers, cfg.Log), live: relay.NewRegistry(cfg.Store, cfg.Bus, cfg.Log), lanes: lanes,
		parallel: schedule.NewParallel(cfg.Parallel, cfg.Total, lanes.Wake), counters: &schedule.Counters{}, lease: &schedule.Lease{},
		claims: &schedule.Claims{Tracker: cfg.Tracker, Agent: cfg.Agent.ID, Log: cfg.Log}, parkedRuns: &schedule.ParkedRuns{Store: cfg.Store, Lanes: lanes},
		signals: &schedule.Signals{Request: cfg.Signal, Store: cfg.Store, Log: cfg.Log},
	}}
	first, err := newGeneration(cfg, rt.lasting)
	if err != nil {
		return nil, err
	}
	rt.all.now.Store(first)
	rt.startWork(first)
	rt.watchdog = &schedule.Watchdog{Store: cfg.Store, Executor: rt.all, Parallel: rt.parallel, Log: cfg.Log, Found: &rt.counters.Overdue}
	rt.scheduler = &schedule.Scheduler{
		Store: cfg.Store, Lanes: lanes, Parallel: rt.parallel, Claims: rt.claims, Parked: rt.parkedRuns, Log: cfg.Log, Executor: rt.all,
		Heartbeat: &schedule.Heartbeat{Store: cfg.Store, Owner: cfg.Owner, Lease: rt.lease, Lanes: lanes, Log: cfg.Log},
	}
	return rt, nil
}

// lasting has the parts that stay the same while the configuration changes: they hold the state of the process.
type lasting struct {
	hub        *event.Hub
	live       *relay.Registry
	lanes      *schedule.Lanes
	parallel   *schedule.Parallel
	counters   *schedule.Counters
	lease      *schedule.Lease
	claims     *schedule.Claims
	parkedRuns *schedule.ParkedRuns
	signals    *schedule.Signals
}

// base has the parts that all others use, with one configuration.
type base struct {
	Config
	*lasting
}

// newGeneration joins the parts that depend on the configuration. It fails like New.
func newGeneration(cfg Config, parts *lasting) (*generation, error) {
	if cfg.Jitter == nil {
		cfg.Jitter = jitter
	}
	b := &base{cfg, parts}
	in := newInbox(b)
	turns, err := newTurns(b, in)
	if err != nil {
		return nil, err
	}
	in.intake.Commands.Complete = turns.Replies.Complete
	return &generation{cfg: cfg, inbox: in, turns: turns, works: map[string]*work{}, ended: make(chan struct{})}, nil
}

// inbox has the parts that accept events.
type inbox struct {
	questions *intake.Questions
	notices   *intake.Notices
	pairing   *access.Pairing
	links     *access.Links
	changes   *intake.Changes
	stops     *intake.Stopper
	handovers *access.Handovers
	intake    *intake.Intake
}

// newInbox joins the parts that accept events, and adds their handlers of choices.
func newInbox(b *base) *inbox {
	store, log, agent := b.Store, b.Log, b.Agent
	questions := &intake.Questions{Store: store, Lanes: b.lanes}
	notices := &intake.Notices{Store: store, Agent: agent, Questions: questions, Lanes: b.lanes}
	tell := func(ctx context.Context, n chat.Notice) error {
		_, err := notices.Send(ctx, n) // also during the shutdown
		return err
	}
	pairing := &access.Pairing{Policy: b.Access, Store: store, Memo: b.Memo, Log: log, Tell: tell, Pseudonym: b.Pseudonym, Audit: b.Audit, Visitor: b.Visitor, Public: b.Meter.SetOpen}
	notices.Pairing = pairing
	links := &access.Links{Store: store, Tell: tell, Log: log}
	stops := &intake.Stopper{Store: store, Questions: questions, Claims: b.claims, Parked: b.parkedRuns, Lanes: b.lanes, Live: b.live, Signals: b.signals}
	pairing.Stop = stops.StopOf
	roster := &intake.Roster{Store: store, Pairing: pairing, Agent: agent.Entity(), Stops: stops, Emit: b.hub.Emit, Log: log}
	admission := &intake.Admission{Store: store, Agent: agent, Policy: b.Access, Pairing: pairing, Deaf: b.Models.Transcriber == nil}
	messages := &intake.Messages{
		Store: store, Admission: admission, Turns: b.Turns, Claims: b.claims, Lanes: b.lanes, Signals: b.signals, Roster: roster, Emit: b.hub.Emit, Log: log,
	}
	changes := &intake.Changes{
		Store: store, Agent: agent.Entity(), OnEdit: b.Turns.OnEdit, Admission: admission, Claims: b.claims, Parked: b.parkedRuns,
		Live: b.live, Lanes: b.lanes, Emit: b.hub.Emit, Log: log,
	}
	copyFiles := func(ctx context.Context, from, to chat.Memory, limit int64) ([]chat.Attachment, error) {
		ctx, cancel := context.WithTimeout(ctx, copyTimeout)
		defer cancel()
		room, err := store.Room(ctx, from.Room)
		if err != nil {
			return nil, err
		}
		return attachment.Copy(ctx, store, b.Fetch, limit, room.Address.Connector, from, to)
	}
	choices := &intake.Choices{
		Store: store, Questions: questions, Pairing: pairing, Admission: admission, Messages: messages, Live: b.live, Schema: b.Schema, Copy: copyFiles, Log: log,
	}
	handovers := &access.Handovers{
		Pairing: pairing, Store: store, Agent: agent.Entity(), Stop: stops.Stop, Amend: changes.Amend, Close: questions.RetireNotice, Withdraw: questions.WithdrawNotice, Log: log,
		Page: b.OperatorsPage, Zone: b.Zone,
		Save: func(ctx context.Context, of chat.Memory, files []llm.File) ([]chat.Attachment, error) {
			return attachment.Save(ctx, store, of, llm.Showable(files))
		},
		Copy: func(ctx context.Context, from, to chat.Memory) []chat.Attachment {
			files, err := copyFiles(ctx, from, to, llm.MaxFile)
			if err != nil {
				log.Warn("a file can't be passed on to a person, or from one", "err", err)
			}
			return files
		},
	}
	questions.Handle(intake.Handlers(choices, stops, changes, links)...)
	questions.Handle(handovers)
	admission.Handovers = handovers
	return &inbox{handovers: handovers, questions: questions, notices: notices, pairing: pairing, links: links, changes: changes, stops: stops, intake: &intake.Intake{
		Store: store, Admission: admission, Messages: messages, Choices: choices, Changes: changes, Roster: roster,
		Commands: &intake.Commands{Store: store, Agent: agent.Entity(), Turns: b.Turns, Pairing: pairing, Claims: b.claims, Lanes: b.lanes, Stops: stops},
		Tasks:    &intake.Tasks{Store: store, Agent: agent.Entity(), Pairing: pairing, Questions: questions, Lanes: b.lanes, Emit: b.hub.Emit},
	}}
}

const copyTimeout = 20 * time.Second // of the files of a message that is passed on

// newTurns joins the parts that execute runs. It fails if actions, templates or choice handlers contradict each other.
func newTurns(b *base, in *inbox) (*turn.Turns, error) {
	store, log := b.Store, b.Log
	models := &generate.ModelSwitch{Table: generate.NewModelTable(b.Models.Answering()), Policy: b.Access, Store: store, Staff: in.pairing.IsStaff}
	approvals := &consent.Approvals{
		Timeout: b.Approval, Zone: b.Zone, Store: store, Pending: store, Page: b.OperatorsPage, Owners: in.pairing, Runs: b.parkedRuns, Tell: in.pairing.Tell, Log: log, Audit: b.Audit,
		Said: store, Steers: func(kind chat.RoomKind) bool { return b.Turns.PolicyFor(kind) == schedule.Steer },
		Amend: in.changes.Amend, Close: in.questions.RetireNotice, Asked: in.questions.OfNotice,
		Notes: store, Unfit: in.intake.Choices.Unfit,
		Person: func(ctx context.Context, account chat.EntityID) (chat.EntityID, error) {
			return access.PersonOf(ctx, store, account)
		},
	}
	composer, tools, err := newTools(b, in.handovers)
	if err != nil {
		return nil, err
	}
	in.questions.Handle(approvals, models)
	if err := addChoiceHandlers(in.questions, b.Plugins); err != nil {
		return nil, err
	}
	asker := &turn.Asker{Composer: composer, Model: b.Models.SmallOrLarge()}
	recaller := &turn.Recaller{Store: store, Agent: b.Agent, Access: b.Access, Pairing: in.pairing, Models: models, Asker: asker}
	in.handovers.Draft = func(ctx context.Context, room chat.RoomID, payer chat.EntityID) (string, error) {
		ctx = quota.WithSpender(ctx, &chat.Run{Room: room, Address: chat.Address{BilledTo: payer}})
		defer quota.WaitSettled(ctx)
		return recaller.Draft(ctx, room)
	}
	return &turn.Turns{
		Display:  &turn.Display{Open: b.Open, Signals: b.signals, Live: b.live, Hub: b.hub, Replicas: b.Bus != nil, Limit: b.Turns.Limit, Trace: b.Trace},
		Journals: &turn.Journals{Store: store, Meter: b.Meter, Lease: b.lease, Claims: b.claims, Jitter: b.Jitter, Log: log},
		Decider:  &turn.Decider{Recaller: recaller, Tools: tools, Composer: composer, Counters: b.counters, Log: log},
		Preparer: &turn.Preparer{
			Store: store, Recaller: recaller, Tools: tools, Composer: composer, Approvals: approvals, Log: log, Fetch: b.Fetch, FileLink: b.FileLink, ReadLinks: b.ReadLinks, Deaf: b.Models.Transcriber == nil,
			Reading: attachment.Reading{Reader: b.Reader, Store: store, Describes: b.Models.Vision != nil, Describe: composer.Describe, Log: log},
		},
		Generator: &turn.Generator{
			Config: b.Generation, Turns: b.Turns, Tools: tools, Approvals: approvals, Sessions: &turn.Sessions{Store: store, Pseudonym: b.Pseudonym}, Emit: b.hub.Emit, Log: log,
			Gate: &turn.Gate{Meter: b.Meter, Owners: in.pairing, Log: log},
			Say: func(ctx context.Context, n chat.Notice) error {
				_, err := in.notices.Say(ctx, n)
				return err
			},
		},
		Asking: &turn.Asking{Store: store, Parking: store, Questions: in.questions, Parked: b.parkedRuns, Live: b.live, Log: log},
		Replies: &turn.Replies{
			Store: store, Recaller: recaller, Approvals: approvals, Links: in.links, Handovers: in.handovers, Plugins: b.Plugins, Program: b.About, Counters: b.counters,
			Limit:          b.Turns.Limit,
			ImageGenerator: b.Models.ImageGenerator, Speaker: b.Models.Speaker, Log: log,
		},
		Endings: &turn.Endings{
			Store: store, Agent: b.Agent, Bots: b.Access.Bots, Pairing: in.pairing, Handovers: in.handovers, Approvals: approvals, Log: log,
			After: &turn.Evaluators{
				Store: store, Agent: b.Agent, Plugins: b.Plugins, Asker: asker, Lanes: b.lanes, Counters: b.counters, Emit: b.hub.Emit, Log: log,
			},
		},
	}, nil
}

// newTools joins the prompts and actions of plugins. It fails if they contradict each other or the access policy.
func newTools(b *base, handovers *access.Handovers) (*prompt.Composer, *turn.Tools, error) {
	fixed, err := action.NewToolbox(b.Plugins, b.Schema)
	if err != nil {
		return nil, nil, err
	}
	skipped := func(spec action.ProviderSpec, run chat.RunID, err error) {
		b.counters.Providers.Add(1)
		b.Log.Warn("a provider is skipped", "provider", spec.Name, "run", run, "err", err)
	}
	composer, err := prompt.NewComposer(b.Plugins, b.Agent.Templates, b.Recall, b.Generation.Mode == generate.Native, skipped)
	if err != nil {
		return nil, nil, err
	}
	if tool := composer.Tool(); tool != nil {
		if err := fixed.Add(tool, b.Schema); err != nil {
			return nil, nil, fmt.Errorf("the dynamic providers: %w", err)
		}
	}
	for _, a := range []action.Action{consent.Question{}, turn.AskPerson{Handovers: handovers}} {
		if err := fixed.Add(a, b.Schema); err != nil {
			return nil, nil, fmt.Errorf("the action %s: %w", a.Spec().Name, err)
		}
	}
	tools := &turn.Tools{Fixed: &fixed, Live: action.NewLiveToolbox(&fixed, b.Plugins, b.Schema, b.Log), Access: b.Access, Log: b.Log}
	return composer, tools, tools.Check()
}

// addChoiceHandlers adds the choice handlers of plugins.
func addChoiceHandlers(questions *intake.Questions, plugins []action.Plugin) error {
	for _, p := range plugins {
		for _, c := range p.ChoiceHandlers {
			if questions.Handles(c.Name()) {
				return fmt.Errorf("plugin %s: there is already a choice handler %s", p.Name, c.Name())
			}
			questions.Handle(c)
		}
	}
	return nil
}
