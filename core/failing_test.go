package core_test

import (
	"context"
	"errors"
	"sync"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/core/storage"
)

var errOnce = errors.New("the store failed once")

// failing is a store of which one call fails, once, before it has done anything.
type failing struct {
	storage.Store
	at int // which call fails, from 1; 0 is none

	mu    sync.Mutex
	calls []string
}

func (f *failing) next(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls = append(f.calls, name); len(f.calls) == f.at {
		return errOnce
	}
	return nil
}

// failed is the name of the call that failed, or "".
func (f *failing) failed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at == 0 || len(f.calls) < f.at {
		return ""
	}
	return f.calls[f.at-1]
}

func getOnce[T any](f *failing, name string, get func() (T, error)) (v T, err error) {
	if err := f.next(name); err != nil {
		return v, err
	}
	return get()
}

func doOnce(f *failing, name string, do func() error) error {
	if err := f.next(name); err != nil {
		return err
	}
	return do()
}

func (f *failing) Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	return getOnce(f, "Accept", func() (chat.Accepted, error) { return f.Store.Accept(ctx, in, j) })
}

func (f *failing) Ask(ctx context.Context, q chat.Question) error {
	return doOnce(f, "Ask", func() error { return f.Store.Ask(ctx, q) })
}

func (f *failing) Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error) {
	return getOnce(f, "Attention", func() (chat.Attention, error) { return f.Store.Attention(ctx, room) })
}

func (f *failing) Choose(ctx context.Context, id string, option int, in chat.Memory, payer chat.EntityID) (chat.Accepted, error) {
	return getOnce(f, "Choose", func() (chat.Accepted, error) { return f.Store.Choose(ctx, id, option, in, payer) })
}

func (f *failing) Clear(ctx context.Context, room chat.RoomID) (int, error) {
	return getOnce(f, "Clear", func() (int, error) { return f.Store.Clear(ctx, room) })
}

func (f *failing) ChatRoom(ctx context.Context, connector, id string) (chat.Room, error) {
	return getOnce(f, "ChatRoom", func() (chat.Room, error) { return f.Store.ChatRoom(ctx, connector, id) })
}

func (f *failing) ClearEntirely(ctx context.Context, room chat.RoomID, person chat.EntityID) (int, error) {
	return getOnce(f, "ClearEntirely", func() (int, error) { return f.Store.ClearEntirely(ctx, room, person) })
}

func (f *failing) Count(ctx context.Context, day string, run chat.RunID, charges ...quota.Charge) (string, error) {
	return getOnce(f, "Count", func() (string, error) { return f.Store.Count(ctx, day, run, charges...) })
}

func (f *failing) Attempt(ctx context.Context, id chat.RunID, epoch chat.Epoch, day string, message ...quota.Charge) (string, error) {
	return getOnce(f, "Attempt", func() (string, error) { return f.Store.Attempt(ctx, id, epoch, day, message...) })
}

func (f *failing) DirectRoom(ctx context.Context, author chat.EntityID) (chat.Room, error) {
	return getOnce(f, "DirectRoom", func() (chat.Room, error) { return f.Store.DirectRoom(ctx, author) })
}

func (f *failing) Entity(ctx context.Context, id chat.EntityID) (chat.Entity, error) {
	return getOnce(f, "Entity", func() (chat.Entity, error) { return f.Store.Entity(ctx, id) })
}

func (f *failing) File(ctx context.Context, run chat.RunID, n int) (llm.File, error) {
	return getOnce(f, "File", func() (llm.File, error) { return f.Store.File(ctx, run, n) })
}

func (f *failing) Finish(ctx context.Context, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) error {
	return doOnce(f, "Finish", func() error { return f.Store.Finish(ctx, id, epoch, o, out) })
}

func (f *failing) Forget(ctx context.Context, id chat.MemoryID) error {
	return doOnce(f, "Forget", func() error { return f.Store.Forget(ctx, id) })
}

func (f *failing) RequestPairing(ctx context.Context, k chat.PairingRequest, r chat.PairingRule) (v0 chat.PairingRequest, v1 bool, err error) {
	if err := f.next("RequestPairing"); err != nil {
		return v0, v1, err
	}
	return f.Store.RequestPairing(ctx, k, r)
}

func (f *failing) PairingRequests(ctx context.Context) ([]chat.PairingRequest, error) {
	return getOnce(f, "PairingRequests", func() ([]chat.PairingRequest, error) { return f.Store.PairingRequests(ctx) })
}

func (f *failing) Known(ctx context.Context, in chat.Memory) (chat.Accepted, error) {
	return getOnce(f, "Known", func() (chat.Accepted, error) { return f.Store.Known(ctx, in) })
}

func (f *failing) Leave(ctx context.Context, owner string) error {
	return doOnce(f, "Leave", func() error { return f.Store.Leave(ctx, owner) })
}

func (f *failing) Approve(ctx context.Context, p chat.Person) error {
	return doOnce(f, "Approve", func() error { return f.Store.Approve(ctx, p) })
}

func (f *failing) Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (chat.Accepted, error) {
	return getOnce(f, "Mark", func() (chat.Accepted, error) { return f.Store.Mark(ctx, room, id) })
}

func (f *failing) Meet(ctx context.Context, e chat.Entity) (chat.News, error) {
	return getOnce(f, "Meet", func() (chat.News, error) { return f.Store.Meet(ctx, e) })
}

func (f *failing) Members(ctx context.Context, world chat.WorldID, after chat.EntityID, limit int) ([]chat.Member, error) {
	return getOnce(f, "Members", func() ([]chat.Member, error) { return f.Store.Members(ctx, world, after, limit) })
}

func (f *failing) Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error) {
	return getOnce(f, "Memory", func() (chat.Memory, error) { return f.Store.Memory(ctx, id) })
}

func (f *failing) Note(ctx context.Context, id chat.RunID, epoch chat.Epoch, n chat.Note) error {
	return doOnce(f, "Note", func() error { return f.Store.Note(ctx, id, epoch, n) })
}

func (f *failing) Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error) {
	return getOnce(f, "Notes", func() ([]chat.RoomNote, error) { return f.Store.Notes(ctx, room, kind, limit) })
}

func (f *failing) OpenQuestions(ctx context.Context, room chat.RoomID) ([]chat.Question, error) {
	return getOnce(f, "OpenQuestions", func() ([]chat.Question, error) { return f.Store.OpenQuestions(ctx, room) })
}

func (f *failing) OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error) {
	return getOnce(f, "OpenRuns", func() ([]chat.Run, error) { return f.Store.OpenRuns(ctx, room) })
}

func (f *failing) Own(ctx context.Context, p chat.Person) (bool, error) {
	return getOnce(f, "Own", func() (bool, error) { return f.Store.Own(ctx, p) })
}

func (f *failing) Owner(ctx context.Context) (chat.Person, error) {
	return getOnce(f, "Owner", func() (chat.Person, error) { return f.Store.Owner(ctx) })
}

func (f *failing) Person(ctx context.Context, id chat.EntityID) (chat.Person, error) {
	return getOnce(f, "Person", func() (chat.Person, error) { return f.Store.Person(ctx, id) })
}

func (f *failing) Question(ctx context.Context, id string) (chat.Question, error) {
	return getOnce(f, "Question", func() (chat.Question, error) { return f.Store.Question(ctx, id) })
}

func (f *failing) QuestionOf(ctx context.Context, run chat.RunID) (chat.Question, error) {
	return getOnce(f, "QuestionOf", func() (chat.Question, error) { return f.Store.QuestionOf(ctx, run) })
}

func (f *failing) Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error) {
	return getOnce(f, "Recent", func() ([]chat.Memory, error) { return f.Store.Recent(ctx, room, kind, upTo, limit) })
}

func (f *failing) Remember(ctx context.Context, run chat.RunID, m chat.Memory) error {
	return doOnce(f, "Remember", func() error { return f.Store.Remember(ctx, run, m) })
}

func (f *failing) Reopen(ctx context.Context, id chat.RunID) error {
	return doOnce(f, "Reopen", func() error { return f.Store.Reopen(ctx, id) })
}

func (f *failing) Reserve(ctx context.Context, day string, r quota.Reservation, charges ...quota.Charge) (v0 int, v1 string, err error) {
	if err := f.next("Reserve"); err != nil {
		return v0, v1, err
	}
	return f.Store.Reserve(ctx, day, r, charges...)
}

func (f *failing) Retire(ctx context.Context, id string) (chat.Accepted, error) {
	return getOnce(f, "Retire", func() (chat.Accepted, error) { return f.Store.Retire(ctx, id) })
}

func (f *failing) Revise(ctx context.Context, id chat.MemoryID, text string, files []chat.Attachment) error {
	return doOnce(f, "Revise", func() error { return f.Store.Revise(ctx, id, text, files) })
}

func (f *failing) Room(ctx context.Context, id chat.RoomID) (chat.Room, error) {
	return getOnce(f, "Room", func() (chat.Room, error) { return f.Store.Room(ctx, id) })
}

func (f *failing) RoomsNamed(ctx context.Context, name string, author chat.EntityID) ([]chat.Room, error) {
	return getOnce(f, "RoomsNamed", func() ([]chat.Room, error) { return f.Store.RoomsNamed(ctx, name, author) })
}

func (f *failing) RoomsOf(ctx context.Context, world chat.WorldID) ([]chat.RoomID, error) {
	return getOnce(f, "RoomsOf", func() ([]chat.RoomID, error) { return f.Store.RoomsOf(ctx, world) })
}

func (f *failing) Run(ctx context.Context, id chat.RunID) (chat.Run, error) {
	return getOnce(f, "Run", func() (chat.Run, error) { return f.Store.Run(ctx, id) })
}

func (f *failing) RunShowing(ctx context.Context, room chat.RoomID, topics bool, message string, turns int) (chat.Run, error) {
	return getOnce(f, "RunShowing", func() (chat.Run, error) { return f.Store.RunShowing(ctx, room, topics, message, turns) })
}

func (f *failing) RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error) {
	return getOnce(f, "RunOf", func() (chat.Run, error) { return f.Store.RunOf(ctx, id) })
}

func (f *failing) SaveMember(ctx context.Context, m chat.Member) (chat.News, error) {
	return getOnce(f, "SaveMember", func() (chat.News, error) { return f.Store.SaveMember(ctx, m) })
}

func (f *failing) SaveNote(ctx context.Context, n chat.RoomNote) error {
	return doOnce(f, "SaveNote", func() error { return f.Store.SaveNote(ctx, n) })
}

func (f *failing) SaveRoom(ctx context.Context, r chat.Room) error {
	return doOnce(f, "SaveRoom", func() error { return f.Store.SaveRoom(ctx, r) })
}

func (f *failing) SaveWorld(ctx context.Context, w chat.World) (chat.News, error) {
	return getOnce(f, "SaveWorld", func() (chat.News, error) { return f.Store.SaveWorld(ctx, w) })
}

func (f *failing) SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error {
	return doOnce(f, "SetAttention", func() error { return f.Store.SetAttention(ctx, room, a) })
}

func (f *failing) Used(ctx context.Context, from, to string, buckets ...string) (v0 []quota.Total, err error) {
	if err := f.next("Used"); err != nil {
		return v0, err
	}
	return f.Store.Used(ctx, from, to, buckets...)
}

func (f *failing) Spend(ctx context.Context, day string, charges ...quota.Charge) (string, error) {
	return getOnce(f, "Spend", func() (string, error) { return f.Store.Spend(ctx, day, charges...) })
}

func (f *failing) Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error) {
	return getOnce(f, "Start", func() (chat.Run, error) { return f.Store.Start(ctx, id, owner) })
}

func (f *failing) Reject(ctx context.Context, code string) error {
	return doOnce(f, "Reject", func() error { return f.Store.Reject(ctx, code) })
}

func (f *failing) Warn(ctx context.Context, day string, bucket string) (bool, error) {
	return getOnce(f, "Warn", func() (bool, error) { return f.Store.Warn(ctx, day, bucket) })
}

func (f *failing) Withdraw(ctx context.Context, room chat.RoomID, run chat.RunID) error {
	return doOnce(f, "Withdraw", func() error { return f.Store.Withdraw(ctx, room, run) })
}

func (f *failing) World(ctx context.Context, id chat.WorldID) (chat.World, error) {
	return getOnce(f, "World", func() (chat.World, error) { return f.Store.World(ctx, id) })
}
