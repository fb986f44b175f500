package web_test

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/web"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/storage/storagetest"
	"parley/internal/require"
	"parley/media/thumbnail"
)

// backend stands in for the runtime and its store: a test writes every answer itself.
type backend struct {
	asked  chan *reply      // every new question
	chosen chan chat.Choice // every choice that was taken

	mu      sync.Mutex
	rooms   map[chat.RoomID]chat.Room
	said    map[chat.RoomID][]chat.Memory
	replies map[chat.RunID]*reply
	shelf   map[int]llm.File  // the files of every answer; without any, all are the same picture
	open    map[string]*reply // what is asked while an answer goes on, by its id
	refuse  string            // what is said of every choice that is pressed
	unfit   map[string]string // why the next values of a form are refused
	carries bool              // what comes of a choice is an answer, as a question
	relayed bool              // a person reads the messages, and the agent is silent
	*storagetest.Uploads
	storagetest.NotePad
	memo connectortest.Memory
	asks []chat.Question // of messages that are stored
}

// reply is an answer that a test writes.
type reply struct {
	answer.Answer
	b        *backend
	question chat.Memory
	locale   string // of the sender
}

func newBackend() *backend {
	return &backend{
		asked:   make(chan *reply, 64),
		chosen:  make(chan chat.Choice, 64),
		open:    map[string]*reply{},
		rooms:   map[chat.RoomID]chat.Room{},
		said:    map[chat.RoomID][]chat.Memory{},
		replies: map[chat.RunID]*reply{},
		Uploads: storagetest.NewUploads(),
	}
}

func (b *backend) Room(_ context.Context, id chat.RoomID) (chat.Room, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.rooms[id]
	if !ok {
		return chat.Room{}, chat.ErrNotFound
	}
	return r, nil
}

func (b *backend) Mark(context.Context, chat.RoomID, chat.MemoryID) (chat.Accepted, error) {
	return chat.Accepted{}, nil
}

func (b *backend) SaveRoom(_ context.Context, r chat.Room) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rooms[r.ID] = r
	return nil
}

func (b *backend) Memory(_ context.Context, id chat.MemoryID) (chat.Memory, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, room := range b.said {
		for _, m := range room {
			if m.ID == id {
				return m, nil
			}
		}
	}
	return chat.Memory{}, chat.ErrNotFound
}

func (b *backend) File(_ context.Context, _ chat.RunID, n int) (llm.File, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shelf == nil {
		return onePixel(), nil
	}
	f, ok := b.shelf[n]
	if !ok {
		return f, chat.ErrNotFound
	}
	return f, nil
}

func (b *backend) FilePart(ctx context.Context, run chat.RunID, n int, from, length int64) (chat.FilePart, error) {
	f, err := b.File(ctx, run, n)
	size := int64(len(f.Data))
	from = min(from, size)
	return chat.FilePart{Name: f.Name, Type: f.Type, Size: size, Data: f.Data[from:min(from+length, size)]}, err
}

func (b *backend) Known(_ context.Context, in chat.Memory) (chat.Accepted, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	run := chat.RunID("run/" + in.ID)
	if b.replies[run] == nil {
		return chat.Accepted{}, chat.ErrNotFound
	}
	return chat.Accepted{Memory: in.ID, Run: run, Duplicate: true}, nil
}

// keep makes files those of every answer.
func (b *backend) keep(files ...llm.File) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shelf = map[int]llm.File{}
	for n, f := range files {
		b.shelf[n] = f
	}
}

func onePixel() llm.File {
	data, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		panic(err)
	}
	return llm.File{Type: "image/gif", Data: data}
}

const pixel = "R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw=="

func (b *backend) OpenQuestions(context.Context, chat.RoomID) ([]chat.Question, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asks, nil
}

func (b *backend) Run(_ context.Context, id chat.RunID) (chat.Run, error) {
	return chat.Run{ID: id, Inputs: []chat.MemoryID{chat.MemoryID(strings.TrimPrefix(string(id), "run/"))}}, nil
}

func (b *backend) Recent(_ context.Context, room chat.RoomID, kind chat.MemoryKind, _ chat.ResponseID, _ int) ([]chat.Memory, error) {
	if kind != chat.Said {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]chat.Memory(nil), b.said[room]...), nil
}

func (b *backend) Watch(_ context.Context, id chat.RunID) (*answer.Answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &b.replies[id].Answer, nil
}

// forget makes every conversation unknown.
func (b *backend) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.rooms)
}

// clear deletes the messages of every conversation.
func (b *backend) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.said)
}

// handle takes what people do, as the runtime would.
func (b *backend) handle(_ context.Context, in chat.Inbound) (chat.Accepted, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch in := in.(type) {
	case chat.Message:
		run := chat.RunID("run/" + in.ID)
		if r := b.replies[run]; r != nil {
			return chat.Accepted{Memory: in.ID, Run: run, Duplicate: true, Altered: r.question.Text != in.Text}, nil
		}
		if c, ok := b.named(in); ok {
			return b.choose(c, in.ID), nil
		}
		if b.relayed {
			if !slices.ContainsFunc(b.said[in.Room], func(m chat.Memory) bool { return m.ID == in.ID }) {
				b.said[in.Room] = append(b.said[in.Room], in.Memory)
			}
			return chat.Accepted{Memory: in.ID, Relayed: true}, nil
		}
		r := &reply{b: b, question: in.Memory, locale: in.Locale}
		b.replies[run] = r
		b.said[in.Room] = append(b.said[in.Room], in.Memory)
		b.asked <- r
		return chat.Accepted{Memory: in.ID, Run: run}, nil
	case chat.Edited:
		return b.again(in), nil
	case chat.Choice:
		if unfit := b.unfit; unfit != nil {
			b.unfit = nil
			return chat.Accepted{Refused: "Some values don't fit.", Unfit: &unfit}, nil
		}
		if b.refuse != "" {
			return chat.Accepted{Refused: b.refuse}, nil
		}
		return b.choose(in, chat.MemoryID("choice/"+in.Question)), nil
	case chat.Command:
		for _, r := range b.replies {
			if r.question.Room == in.Room && !r.View().Outcome.Done() {
				r.finishLocked(answer.Outcome{Status: answer.Stopped}, "_(Stopped.)_")
			}
		}
	}
	return chat.Accepted{}, nil
}

// named is the choice that a message is, if it is one.
func (b *backend) named(in chat.Message) (chat.Choice, bool) {
	for id, asker := range b.open {
		v := asker.View()
		if v.Outcome.Done() || asker.question.Room != in.Room {
			continue
		}
		if n := slices.Index(v.Choices.Options, in.Text); n >= 0 {
			return chat.Choice{Question: id, Option: n, Room: in.Room, Author: in.Author}, true
		}
	}
	return chat.Choice{}, false
}

// choose takes a choice as an action's that waits for it: nothing comes of it but that the answer goes on.
func (b *backend) choose(c chat.Choice, id chat.MemoryID) chat.Accepted {
	asker := b.open[c.Question]
	if asker == nil {
		return chat.Accepted{Refused: "This question has closed."}
	}
	delete(b.open, c.Question)
	b.said[c.Room] = append(b.said[c.Room], chat.Memory{
		ID: id, Room: c.Room, Author: c.Author, Text: asker.View().Choices.Options[c.Option], InReplyTo: "run/" + asker.question.ID, At: time.Now(),
	})
	carrier := &reply{b: b, question: chat.Memory{ID: id, Room: c.Room}}
	run := chat.RunID("run/" + id)
	b.replies[run] = carrier
	if b.carries {
		b.asked <- carrier
	} else {
		carrier.End(answer.Outcome{Status: answer.Ignored})
	}
	b.chosen <- c
	return chat.Accepted{Memory: id, Run: run}
}

// offer asks people while the answer goes on.
func (r *reply) offer(id string, options ...string) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	r.b.open[id] = r
	r.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: &answer.Choices{ID: id, Options: options}})
}

// approve offers the options of an approval, the last of which refuses, until a time.
func (r *reply) approve(id string, until time.Time, options ...string) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	r.b.open[id] = r
	r.b.asks = append(r.b.asks, chat.Question{ID: id, Run: chat.RunID("run/" + r.question.ID), Options: options, Approval: true, Expires: until})
	r.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: &answer.Choices{ID: id, Options: options, Approval: true, Until: until.UnixMilli()}})
}

// goOn takes away what could be chosen.
func (r *reply) goOn() { r.Apply(answer.Change{Kind: answer.ChoicesChanged}) }

func (r *reply) say(text string) { r.Apply(answer.Change{Kind: answer.Text, Text: text}) }

func (r *reply) callback(call, text string) {
	r.Apply(answer.Change{Kind: answer.Callback, Call: call, Text: text})
}

func (r *reply) tool(call string, t answer.Tool, files ...llm.File) {
	r.Apply(answer.Change{Kind: answer.ToolStage, Call: call, Tool: &t, Files: files})
}

// finish stores the answer and ends it; mark is the remark that the runtime would put below.
func (r *reply) finish(o answer.Outcome, mark string) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	r.finishLocked(o, mark)
}

func (r *reply) finishLocked(o answer.Outcome, mark string) {
	if mark != "" {
		r.Apply(answer.Change{Kind: answer.Text, Step: 1 << 20, Text: mark})
	}
	v := r.View()
	r.b.said[r.question.Room] = append(r.b.said[r.question.Room], chat.Memory{
		ID: chat.MemoryID("run/" + r.question.ID), Room: r.question.Room, Author: "agent", Text: v.Text(), At: time.Now(),
		InReplyTo: r.question.ID, History: v.History, Calls: v.Calls(), Interrupted: o.Interrupted(), Failure: o.Failure,
	})
	r.End(o)
}

// unread says why a file of a message could not be read.
func (b *backend) unread(name, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, said := range b.said {
		for _, m := range said {
			for i := range m.Files {
				if m.Files[i].Name == name {
					m.Files[i].Unread = why
				}
			}
		}
	}
}

// restarted loses what is written of the answer to a question: it begins again.
func (b *backend) restarted(r *reply) *reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	again := &reply{b: b, question: r.question}
	b.replies["run/"+chat.RunID(r.question.ID)] = again
	return again
}

// choice is the next one that is taken.
func (b *backend) choice(t *testing.T) chat.Choice {
	t.Helper()
	select {
	case c := <-b.chosen:
		return c
	case <-time.After(patience):
		t.Fatal("the page has not chosen an option; want one")
		return chat.Choice{}
	}
}

// gateway is a web connector on a real port.
type gateway struct {
	*backend
	url string
	tap *tap
	web *sync.WaitGroup
	end context.CancelFunc
}

// tap lets a test pull the plug.
type tap struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (l *tap) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.conns = append(l.conns, c)
		l.mu.Unlock()
	}
	return c, err
}

// cut ends every connection there is.
func (l *tap) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l := require.Value(net.Listen("tcp", address))(t)
	return l
}

// refuseFilms stands in for what reads files.
func refuseFilms(name, _ string, _ []byte) string {
	if strings.HasSuffix(name, ".mp4") {
		return "this file type can't be read here"
	}
	return ""
}

// start serves b until the test ends.
func start(t *testing.T, b *backend, l net.Listener, edit func(*web.Options)) *gateway {
	t.Helper()
	taps := &tap{Listener: l}
	o := web.Options{
		Listener: taps, Agent: chat.Agent{ID: "agent", Name: "Parley"}, Answers: b, Store: b,
		Memo: &b.memo, Zone: time.UTC,
		Thumbnail: func(_ context.Context, picture []byte) ([]byte, error) { return thumbnail.JPEG(picture) }, Refuse: refuseFilms, Accept: []string{"image/*", ".pdf"},
		Suggestions: []string{"What can you do?", "Show me progress", "Roll a die"},
		Ready:       func(context.Context) error { return nil }, Log: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(&o)
	}
	w := web.New(o)
	ctx, cancel := context.WithCancel(t.Context())
	g := &gateway{backend: b, url: "http://" + l.Addr().String(), tap: taps, web: &sync.WaitGroup{}, end: cancel}
	g.web.Go(func() {
		if err := w.Run(ctx, b.handle); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(g.stop)
	return g
}

// stop ends the gateway as a deployment would: open streams are told to come back.
func (g *gateway) stop() {
	g.end()
	g.web.Wait()
}

// next is the next question.
func (g *gateway) next(t *testing.T) *reply {
	t.Helper()
	select {
	case r := <-g.asked:
		return r
	case <-time.After(patience):
		t.Fatal("the page has not sent a question; want one")
		return nil
	}
}
