package replicas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

// The kinds of rooms, by how an answer is shown there.
const (
	noNonces   = "plain"
	withNonces = "nonces"
	web        = "web"
)

// room is where one person writes. What the network loses is sent again, to any process.
type room struct {
	w      *simulation
	id     chat.RoomID
	place  chat.Room
	luck   *rand.Rand
	author chat.EntityID // who writes there

	sent    []*sent
	lines   []*line
	stops   []time.Time    // when each was accepted
	again   sync.WaitGroup // messages that are sent again
	readers sync.WaitGroup
}

// sent is a message, with what it was accepted as.
type sent struct {
	id       chat.MemoryID
	question string
	acc      chat.Accepted
	begun    time.Time // when it was sent first
	again    []chat.Accepted
	saw      answer.View // of a web visitor: the end
	sawErr   error
}

// newRooms returns the rooms of a seed.
func newRooms(w *simulation, luck *rand.Rand) (all []*room) {
	type place struct {
		name, connector string
		kind            chat.RoomKind
		author          chat.EntityID
	}
	places := []place{{"plain/a", noNonces, chat.Direct, asker}, {"nonces/a", withNonces, chat.Direct, asker}, {"nonces/group", withNonces, chat.Group, asker}, {"web/a", web, chat.API, asker}}
	if w.approves {
		places = append(places, place{"plain/olga", noNonces, chat.Direct, "olga"}, place{"nonces/sam", withNonces, chat.Direct, "sam"})
	}
	if w.talks {
		connector := []string{noNonces, withNonces}[luck.IntN(2)]
		places = append(places, place{connector + "/visitor", connector, chat.Direct, visitor}, place{"plain/olga", noNonces, chat.Direct, "olga"}, place{"nonces/sam", withNonces, chat.Direct, "sam"})
	}
	for _, c := range places {
		id := chat.RoomID(c.name)
		place := chat.Room{ID: id, Kind: c.kind, Connector: c.connector}
		all = append(all, &room{w: w, id: id, place: place, luck: rand.New(rand.NewPCG(luck.Uint64(), 1)), author: c.author})
	}
	return all
}

// talk sends some messages, each after the one before was accepted, and some stops.
func (r *room) talk(ctx context.Context) {
	switch {
	case r.author == visitor:
		r.visit(ctx)
		return
	case r.author != asker && r.w.talks:
		r.serve(ctx)
		return
	case r.author != asker:
		r.approve(ctx)
		return
	}
	for range 3 + r.luck.IntN(4) {
		time.Sleep(time.Duration(r.luck.Int64N(int64(25 * time.Second))))
		if r.luck.IntN(9) == 0 && len(r.sent) > 0 {
			r.stop(ctx)
			continue
		}
		r.say(ctx)
	}
	r.w.note(nil, "%s: all is said", r.id)
}

func (r *room) say(ctx context.Context) {
	s := &sent{question: fmt.Sprintf("q%d%03d", len(r.id)+len(r.author), len(r.sent)+1), begun: time.Now()}
	if r.w.approves && r.author == asker && r.luck.IntN(2) == 0 {
		s.question = "b" + s.question[1:]
	}
	s.id = chat.MemoryID(fmt.Sprintf("%s/%s", r.id, s.question))
	m := chat.Message{
		Memory:  chat.Memory{ID: s.id, Room: r.id, Author: r.author, Name: string(r.author), Text: s.question + " please", At: time.Now()},
		Place:   r.place,
		Address: chat.Address{Connector: r.place.Connector, Room: r.id, ReplyTo: s.id}, Addressed: true,
	}
	r.sent = append(r.sent, s)
	s.acc = r.deliver(ctx, m)
	r.w.note(nil, "%s was accepted as turn %d", s.id, s.acc.Response)
	if r.luck.IntN(4) == 0 { // it was not clear whether it had arrived
		late := time.Duration(r.luck.Int64N(int64(20 * time.Second)))
		r.again.Go(func() {
			time.Sleep(late)
			s.again = append(s.again, r.deliver(ctx, m))
		})
	}
	if r.place.Connector == web {
		luck := rand.New(rand.NewPCG(r.luck.Uint64(), 2))
		r.readers.Go(func() { s.saw, s.sawErr = r.w.follow(ctx, luck, s.acc.Run) })
	}
}

// deliver sends an event until a process has acknowledged it, and the acknowledgement has arrived.
func (r *room) deliver(ctx context.Context, in chat.Inbound) chat.Accepted {
	luck := rand.New(rand.NewPCG(r.w.seed, uint64(time.Since(r.w.began))))
	for {
		p := r.w.at(luck.IntN(processes))
		if fate := luck.IntN(20); fate > 0 && !p.isDead() {
			call, done := context.WithTimeout(ctx, 30*time.Second)
			acc, err := p.ProcessMessage(call, in)
			done()
			if err == nil && fate > 1 && p.awake() {
				return acc
			}
		}
		time.Sleep(time.Duration(luck.Int64N(int64(3 * time.Second))))
	}
}

func (r *room) stop(ctx context.Context) {
	r.deliver(ctx, chat.Command{Room: r.id, Author: r.author, Name: chat.Stop})
	r.stops = append(r.stops, time.Now())
	r.w.note(nil, "%s: a stop was accepted", r.id)
}
