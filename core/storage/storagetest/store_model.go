package storagetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
	"parley/core/storage"
)

// storeModel says what any sequence of calls about messages, runs, questions and the directory must do, in the simplest way. Of the other
// ports it has only what a run needs: nothing is noted, and there is no owner. Other calls are made of unmodeled. It is used by one goroutine:
// see oneByOne.
type storeModel struct {
	unmodeled

	rooms     map[chat.RoomID]chat.Room
	turns     map[chat.RoomID]chat.ResponseID
	heed      map[chat.RoomID]chat.Attention
	said      []storedMemory // as they were stored
	runs      []*ownedRun    // as they were opened
	owners    map[string]time.Time
	left      map[string]bool // owners that ended as planned
	held      map[string]int  // how many runs dead owners had when the first was adopted
	asked     []chat.Question
	approvals []chat.Approval // by time
	marks     map[chat.MemoryID]storedMark
	counted   map[chat.RunID]bool      // as messages of a day
	spent     map[[2]string]quota.Cost // by day and bucket
	directoryModel
	*Uploads
}

// unmodeled has the calls that the model does not answer. It is a type of its own so that those of the model come first.
type unmodeled struct{ storage.Store }

type storedMemory struct {
	chat.Memory
	chat.Accepted
	arrived bool // by Accept or Choose
}

type ownedRun struct {
	chat.Run
	owner string

	risk         string
	continuation []byte        // while it is parked, and after
	out          chat.MemoryID // what it has said, if that was stored
}

// NewStoreModel returns an empty store in memory: the model that other stores are compared with. It stores messages, runs, questions,
// worlds, members and uploads. Calls that it does not model fail. It is safe for concurrent use.
func NewStoreModel() storage.Store {
	return oneByOne(newStoreModel(failUnmodeled))
}

// oneByOne returns s for concurrent use: one call waits for the other.
func oneByOne(s storage.Store) storage.Store {
	var mu sync.Mutex
	return &Interceptor{s, func(_ context.Context, _ Call, do func() error) error {
		mu.Lock()
		defer mu.Unlock()
		return do()
	}}
}

func failUnmodeled(_ context.Context, c Call, _ func() error) error {
	return fmt.Errorf("the model of the store has no %s", c.Method)
}

// newStoreModel returns a model that calls rest for what it does not model.
func newStoreModel(rest func(context.Context, Call, func() error) error) *storeModel {
	s := &storeModel{unmodeled: unmodeled{&Interceptor{Around: rest}}, directoryModel: newDirectoryModel(), rooms: map[chat.RoomID]chat.Room{}, turns: map[chat.RoomID]chat.ResponseID{},
		heed: map[chat.RoomID]chat.Attention{}, marks: map[chat.MemoryID]storedMark{}, owners: map[string]time.Time{}, held: map[string]int{}, left: map[string]bool{}, counted: map[chat.RunID]bool{},
		spent: map[[2]string]quota.Cost{}, Uploads: NewUploads()}
	s.Rooms = func(room chat.RoomID) bool {
		_, ok := s.rooms[room]
		return ok
	}
	return s
}

// Notes implements [storage.RoomNotes]: there are none.
func (s *storeModel) Notes(context.Context, chat.RoomID, chat.NoteKind, int) ([]chat.RoomNote, error) {
	return nil, nil
}

// NotesAbout implements [storage.RoomNotes]: there are none.
func (s *storeModel) NotesAbout(context.Context, chat.EntityID, chat.NoteKind, bool, int) ([]chat.RoomNote, error) {
	return nil, nil
}

// Owner implements [storage.People]: there is none.
func (s *storeModel) Owner(context.Context) (chat.Person, error) {
	return chat.Person{}, chat.ErrNotFound
}

func (s *storeModel) Recent(_ context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) (all []chat.Memory, _ error) {
	in := slices.Clone(s.said)
	slices.SortStableFunc(in, func(a, b storedMemory) int { return cmp.Compare(a.Response, b.Response) })
	for _, m := range in {
		if m.Room == room && m.Kind == kind && (upTo == 0 || m.Response <= upTo) {
			all = append(all, m.Memory)
		}
	}
	return all[max(0, len(all)-limit):], nil
}

func (s *storeModel) Memory(_ context.Context, id chat.MemoryID) (chat.Memory, error) {
	if i := s.index(id); i >= 0 {
		return s.said[i].Memory, nil
	}
	return chat.Memory{}, chat.ErrNotFound
}

func (s *storeModel) Revise(_ context.Context, id chat.MemoryID, text string, files []chat.Attachment) error {
	i := s.index(id)
	if i < 0 {
		return chat.ErrNotFound
	}
	s.said[i].Text, s.said[i].Files = text, files
	return nil
}

func (s *storeModel) Remember(_ context.Context, run chat.RunID, m chat.Memory) error {
	r := s.find(run)
	switch {
	case r == nil || r.Room != m.Room || len(r.Inputs) == 0:
		return chat.ErrNotFound
	case s.index(m.ID) < 0:
		s.said = append(s.said, storedMemory{m, chat.Accepted{Memory: m.ID, Response: r.Response}, false})
	}
	return nil
}

func (s *storeModel) Forget(_ context.Context, id chat.MemoryID) error {
	i := s.index(id)
	if i < 0 {
		return nil
	}
	gone := s.said[i]
	s.said = slices.Delete(s.said, i, i+1)
	s.drop(func(u chat.Upload) bool { return u.Message == id })
	s.leaveMark(gone)
	r := s.find(gone.Run)
	if r == nil {
		return nil
	}
	r.Inputs = slices.DeleteFunc(r.Inputs, func(in chat.MemoryID) bool { return in == id })
	if len(r.Inputs) == 0 {
		s.said = slices.DeleteFunc(s.said, func(m storedMemory) bool { return m.Room == r.Room && m.Response == r.Response })
		s.erase(r.Room)
	}
	return nil
}

func (s *storeModel) ClearEntirely(ctx context.Context, room chat.RoomID, person chat.EntityID) (int, error) {
	s.strip(person)
	return s.Clear(ctx, room)
}

func (s *storeModel) Clear(ctx context.Context, room chat.RoomID) (int, error) {
	s.drop(func(u chat.Upload) bool { return u.Room == room })
	before := len(s.said)
	for _, m := range s.said {
		if m.Room == room {
			s.leaveMark(m)
		}
	}
	s.said = slices.DeleteFunc(s.said, func(m storedMemory) bool { return m.Room == room })
	for _, r := range s.runs {
		if r.Room == room {
			r.Inputs = nil
		}
	}
	_ = s.Withdraw(ctx, room, "")
	s.closeApprovals(room)
	s.erase(room)
	return before - len(s.said), nil
}

func (s *storeModel) index(id chat.MemoryID) int {
	return slices.IndexFunc(s.said, func(m storedMemory) bool { return m.ID == id })
}

func (s *storeModel) Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	if err := context.Cause(ctx); err != nil {
		return chat.Accepted{}, err
	}
	if acc, known := s.known(in.Memory); known {
		i := s.index(in.ID)
		if !j.Again || i < 0 || !s.said[i].arrived || s.said[i].Accepted.Run != "" {
			return acc, nil
		}
		s.said = slices.Delete(s.said, i, i+1)
	}
	_ = s.SaveRoom(ctx, in.Here())
	acc := chat.Accepted{Memory: in.ID}
	var r *ownedRun
	if !j.NoRun {
		r = s.joined(in, j)
	}
	if r == nil {
		acc.Response = s.nextTurn(in.Room)
	} else {
		ready, last := time.Now().Add(j.Window), r.Opened.Add(j.Most)
		if j.Most > 0 && ready.After(last) {
			ready = last
		}
		r.Inputs, r.Address, r.Ready, r.Author = append(r.Inputs, in.ID), in.Address, ready, in.Author
		if j.Kind == chat.RunReply && r.Kind != chat.RunOverflow {
			r.Kind = j.Kind
		}
		acc.Run, acc.Response = r.ID, r.Response
		if j.Ask != nil {
			q := *j.Ask
			q.Run, q.Room = r.ID, r.Room
			_ = s.Ask(ctx, q)
		}
	}
	s.said = append(s.said, storedMemory{in.Memory, acc, true})
	return acc, nil
}

func (s *storeModel) nextTurn(room chat.RoomID) chat.ResponseID {
	s.turns[room]++
	return s.turns[room]
}

// joined returns the run that is to answer in; nil if too many wait.
func (s *storeModel) joined(in chat.Message, j chat.JoinRule) *ownedRun {
	var waiting []*ownedRun
	excused := false
	for _, r := range s.runs {
		if r.Room == in.Room && !r.Outcome.Done() && r.Epoch == 0 {
			waiting = append(waiting, r)
			excused = excused || r.Kind == chat.RunOverflow
		}
	}
	for _, r := range slices.Backward(waiting) {
		joins := (r.Kind == chat.RunReply || r.Kind == chat.RunDecide) && r.Ending == ""
		if joins && !j.Kind.Single() && (j.Collect || r.Ready.After(time.Now()) && r.Author == in.Author) {
			return r
		}
	}
	if j.JoinOnly {
		return nil
	}
	return s.opened(in, j, len(waiting), excused)
}

// opened returns a new run; nil if too many wait.
func (s *storeModel) opened(in chat.Message, j chat.JoinRule, waiting int, excused bool) *ownedRun {
	if j.Limit > 0 && waiting >= j.Limit {
		if j.Kind != chat.RunReply || excused {
			return nil
		}
		j.Kind = chat.RunOverflow
	}
	turn := s.nextTurn(in.Room)
	r := &ownedRun{Run: chat.Run{ID: chat.RunID(fmt.Sprintf("%s#%d", in.Room, turn)), Response: turn, Room: in.Room,
		RoomKind: in.Place.Kind, Opened: time.Now(), Kind: j.Kind}}
	s.runs = append(s.runs, r)
	return r
}

// now is r as it is seen from outside.
func (s *storeModel) now(r *ownedRun) chat.Run {
	c := r.Run
	c.Inputs, c.Shown = slices.Clone(r.Inputs), slices.Clone(r.Shown)
	until, beat := s.owners[r.owner]
	alive := until.After(time.Now())
	c.Held = r.Epoch > 0 && !r.Outcome.Done() && alive
	if r.Epoch > 0 && !r.Outcome.Done() && r.Verdict == nil && beat && !alive && !s.left[r.owner] {
		c.Deaths++
	}
	return c
}

func (s *storeModel) find(id chat.RunID) *ownedRun {
	if i := slices.IndexFunc(s.runs, func(r *ownedRun) bool { return r.ID == id }); i >= 0 {
		return s.runs[i]
	}
	return nil
}

func (s *storeModel) Run(_ context.Context, id chat.RunID) (chat.Run, error) {
	if r := s.find(id); r != nil {
		return s.now(r), nil
	}
	return chat.Run{}, chat.ErrNotFound
}

func (s *storeModel) OpenRuns(_ context.Context, room chat.RoomID) (open []chat.Run, _ error) {
	for _, r := range s.runs {
		if r.Room == room && !r.Outcome.Done() {
			open = append(open, s.now(r))
		}
	}
	return open, nil
}

func (s *storeModel) OpenRooms(context.Context) (rooms []chat.RoomID, _ error) {
	for _, r := range s.runs {
		if !r.Outcome.Done() && !slices.Contains(rooms, r.Room) && (!r.Parked || !r.Ready.After(time.Now())) {
			rooms = append(rooms, r.Room)
		}
	}
	return rooms, nil
}

func (s *storeModel) Start(_ context.Context, id chat.RunID, owner string) (chat.Run, error) {
	r := s.find(id)
	switch {
	case r == nil:
		return chat.Run{}, chat.ErrNotFound
	case r.Outcome.Done():
		return chat.Run{}, answer.ErrLost
	case s.now(r).Held && r.owner != owner, r.Parked && r.Ready.After(time.Now()):
		return chat.Run{}, chat.ErrBusy
	}
	if s.busy(r) {
		return chat.Run{}, chat.ErrBusy
	}
	if r.owner != owner {
		s.adopt(r)
	}
	s.unpark(r)
	r.owner, r.risk = owner, ""
	r.Epoch++
	started := s.now(r)
	started.Deaths = r.Deaths
	return started, nil
}

func (s *storeModel) Note(_ context.Context, id chat.RunID, epoch chat.Epoch, n chat.Note) error {
	r := s.find(id)
	if r == nil || r.Outcome.Done() {
		return answer.ErrLost
	}
	if r.Epoch != epoch {
		r.Shown = chat.WithIDs(r.Shown, n.Shown)
		return answer.ErrLost
	}
	if n.Shown != nil {
		r.Shown = slices.Clone(n.Shown)
	}
	r.Text, r.Acting, r.Acted = cmp.Or(n.Text, r.Text), cmp.Or(n.Acting, r.Acting), cmp.Or(n.Acted, r.Acted)
	r.risk = n.Risk
	if n.Verdict != nil {
		r.Verdict = n.Verdict
	}
	return nil
}

func (s *storeModel) Attempt(_ context.Context, id chat.RunID, epoch chat.Epoch, day string, message ...quota.Charge) (over string, err error) {
	r := s.find(id)
	if r == nil || r.Outcome.Done() || r.Epoch != epoch {
		return "", answer.ErrLost
	}
	if len(message) > 0 && !s.counted[id] {
		if over := s.spend(day, message); over != "" {
			return over, nil
		}
		s.counted[id] = true
	}
	r.Attempts++
	return "", nil
}

// spend adds charges to the sums of a day: all or none, if over names a limit.
func (s *storeModel) spend(day string, charges []quota.Charge) (over string) {
	sums := maps.Clone(s.spent)
	for _, c := range charges {
		key := [2]string{day, c.Bucket}
		if sums[key] = sums[key].Add(c.Cost); c.Exceeds(sums[key]) {
			return c.Bucket
		}
	}
	s.spent = sums
	return ""
}

func (s *storeModel) Finish(_ context.Context, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) error {
	r := s.find(id)
	switch {
	case !o.Done():
		return fmt.Errorf("an outcome needs a status")
	case r == nil || r.Outcome.Done() || r.Epoch != epoch:
		return answer.ErrLost
	}
	r.Outcome = o
	forgetParking(r)
	if out.ID != "" && (len(r.Inputs) > 0 || s.carries(r)) {
		s.said = slices.DeleteFunc(s.said, func(m storedMemory) bool { return m.ID == out.ID })
		s.said = append(s.said, storedMemory{out, chat.Accepted{Memory: out.ID, Response: r.Response}, false})
		r.out = out.ID
	}
	if len(r.Inputs) == 0 {
		s.erase(r.Room)
	}
	return nil
}

func (s *storeModel) RunOf(_ context.Context, id chat.MemoryID) (chat.Run, error) {
	if i := s.index(id); i >= 0 && s.said[i].Run != "" {
		return s.now(s.find(s.said[i].Run)), nil
	}
	return chat.Run{}, chat.ErrNotFound
}

func (s *storeModel) RunShowing(_ context.Context, room chat.RoomID, topics bool, message string, turns int) (chat.Run, error) {
	for _, r := range slices.Backward(s.runs) {
		in := r.Room == room || topics && strings.HasPrefix(string(r.Room), string(room)+"/")
		shows := slices.ContainsFunc(r.Shown, func(sh chat.Shown) bool { return sh.ID == message })
		if in && shows && r.Response+chat.ResponseID(turns) > s.turns[r.Room] && s.index(r.Said()) >= 0 {
			return s.now(r), nil
		}
	}
	return chat.Run{}, chat.ErrNotFound
}

func (s *storeModel) ShownIn(_ context.Context, room chat.RoomID, most int) (map[chat.RunID][]chat.Shown, error) {
	all := map[chat.RunID][]chat.Shown{}
	for _, r := range slices.Backward(s.runs) {
		in := r.Room == room || strings.HasPrefix(string(r.Room), string(room)+"/")
		if in && len(r.Shown) > 0 && len(all) < most {
			all[r.ID] = slices.Clone(r.Shown)
		}
	}
	return all, nil
}

func (s *storeModel) RenewLease(_ context.Context, owner string, until time.Time) error {
	s.owners[owner] = until
	return nil
}

func (s *storeModel) Leave(_ context.Context, owner string) error {
	if _, ok := s.owners[owner]; ok {
		s.left[owner] = true
	}
	return nil
}
