package replicas

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
	"parley/core/storage"
	"parley/core/storage/storagetest"
)

// journal is the store that all processes share, with the guards that are missing, and with what one of them does to it on record.
type journal struct {
	storage.Store
	p *process
}

// Guards that a store can do without, to see that the seeds miss them.
const (
	noFencing = "epochs are not compared"
	noMarks   = "what arrives again is not known"
	noLeases  = "heartbeats are not kept"
	noCompare = "decisions are not compared"
)

// again is a message that a store without marks takes for another one.
func (j journal) again(m *chat.Memory) {
	if j.p.w.missing == noMarks {
		m.ID = chat.MemoryID(fmt.Sprint(m.ID, "/", j.p.w.called("marks")))
	}
}

// epoch is the one that a note is made with.
func (j journal) epoch(ctx context.Context, id chat.RunID, e chat.Epoch) chat.Epoch {
	if r, err := j.Store.Run(ctx, id); err == nil && e > 0 && j.p.w.missing == noFencing {
		return r.Epoch
	}
	return e
}

func (j journal) Accept(ctx context.Context, m chat.Message, r chat.JoinRule) (chat.Accepted, error) {
	j.again(&m.Memory)
	return j.Store.Accept(ctx, m, r)
}

func (j journal) Known(ctx context.Context, m chat.Memory) (chat.Accepted, error) {
	j.again(&m)
	return j.Store.Known(ctx, m)
}

func (j journal) Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error) {
	from := time.Now()
	r, err := j.Store.Start(ctx, id, owner)
	if err == nil {
		j.p.w.log.add(event{from: from, to: time.Now(), by: j.p.name, what: started, room: r.Room, turn: r.Response, epoch: r.Epoch})
	}
	if slices.ContainsFunc(r.Shown, announced) {
		j.p.w.log.doubt(id) // the process that announced it may have stopped before it asked the platform
	}
	return r, err
}

// announced reports whether the journal holds only that a message was about to be sent.
func announced(s chat.Shown) bool { return s.ID == "" && !s.Gone }

func (j journal) Note(ctx context.Context, id chat.RunID, e chat.Epoch, n chat.Note) error {
	return j.Store.Note(ctx, id, j.epoch(ctx, id, e), n)
}

func (j journal) Attempt(ctx context.Context, id chat.RunID, e chat.Epoch, day string, message ...quota.Charge) (string, error) {
	return j.Store.Attempt(ctx, id, j.epoch(ctx, id, e), day, message...)
}

func (j journal) Finish(ctx context.Context, id chat.RunID, e chat.Epoch, o answer.Outcome, m chat.Memory) error {
	from := time.Now()
	err := j.Store.Finish(ctx, id, j.epoch(ctx, id, e), o, m)
	if r, failed := j.Store.Run(ctx, id); err == nil && failed == nil {
		j.p.w.log.add(event{from: from, to: time.Now(), by: j.p.name, what: finished, room: r.Room, turn: r.Response, epoch: e, shows: m.ID != ""})
	}
	return err
}

func (j journal) Park(ctx context.Context, id chat.RunID, e chat.Epoch, wait chat.Wait) error {
	from := time.Now()
	err := j.Store.Park(ctx, id, j.epoch(ctx, id, e), wait)
	if r, failed := j.Store.Run(ctx, id); err == nil && failed == nil {
		j.p.w.log.add(event{from: from, to: time.Now(), by: j.p.name, what: parked, room: r.Room, turn: r.Response, epoch: e})
	}
	return err
}

func (j journal) DecideApproval(ctx context.Context, id string, from, to chat.Decision, by chat.EntityID, at time.Time) error {
	if a, err := j.Store.Approval(ctx, id); err == nil && j.p.w.missing == noCompare {
		from = a.Decision
	}
	err := j.Store.DecideApproval(ctx, id, from, to, by, at)
	if err == nil {
		j.p.w.log.decided(id, decision{from, to, by, time.Now()})
	}
	return err
}

func (j journal) RenewLease(ctx context.Context, owner string, until time.Time) error {
	if j.p.w.missing == noLeases {
		until = time.Now()
	}
	return j.Store.RenewLease(ctx, owner, until)
}

// remoteStore returns the store that all processes share, as p reaches it.
func remoteStore(s storage.Store, p *process) storage.Store {
	return &storagetest.Interceptor{Store: journal{s, p}, Around: p.overNetwork}
}

// effects are the calls that change what a run or a message has become.
var effects = []string{"Accept", "Mark", "Start", "Note", "Attempt", "Finish", "Leave", "Withdraw", "Park", "Wake", "Choose", "Retire", "RequestApproval", "DecideApproval"}

// overNetwork makes a call of the store over the network.
func (p *process) overNetwork(ctx context.Context, c storagetest.Call, do func() error) error {
	over := call{port: toStore, name: c.Method, of: subject(c), slow: 5 * time.Millisecond}
	if slices.Contains(effects, c.Method) {
		over.effect, over.slow = true, 10*time.Millisecond
	}
	if c.Method != "Note" {
		err := act(ctx, p, over, do)
		if c.Method == "OpenRooms" && err == nil {
			p.w.log.add(event{from: time.Now(), to: time.Now(), by: p.name, what: looks})
		}
		return err
	}
	id, e, n := c.Args[0].(chat.RunID), c.Args[1].(chat.Epoch), c.Args[2].(chat.Note)
	over.name = noteName(n)
	err := act(ctx, p, over, do)
	if n.Shown != nil && (err != nil || p.overtaken(ctx, id, e)) {
		p.w.log.doubt(id) // what is there is not known to the next holder
	}
	return err
}

// subject returns what a call is about: its first argument, if that is a name, or the room or the id of a message.
func subject(c storagetest.Call) string {
	if len(c.Args) == 0 || c.Method == "RenewLease" || c.Method == "Leave" {
		return ""
	}
	switch of := c.Args[0].(type) {
	case chat.Message:
		return string(of.Room)
	case chat.Memory:
		return string(of.ID)
	}
	if v := reflect.ValueOf(c.Args[0]); v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}

// overtaken reports whether another process has started the run since e, so that it does not learn what this one does with its note.
func (p *process) overtaken(ctx context.Context, id chat.RunID, e chat.Epoch) bool {
	r, err := p.w.store.Run(ctx, id)
	return err == nil && r.Epoch != e
}

func noteName(n chat.Note) string {
	switch {
	case n.Verdict != nil:
		return "note verdict"
	case n.Acting != "" || n.Acted != "":
		return "note action"
	case n.Shown != nil:
		return "note shown"
	}
	return "note text"
}
