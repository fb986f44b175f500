package bench

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/web"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/storage"
)

// fox is cut into deltas.
const fox = "The quick brown fox jumps over the lazy dog, again and again, until the evening comes and it may rest. "

const deltaSize = 4 // bytes

// delta is the i-th of an answer.
func delta(i int) answer.Change {
	at := i * deltaSize % (len(fox) - deltaSize)
	return answer.Change{Kind: answer.Text, Text: fox[at : at+deltaSize]}
}

// rooms is a store that knows every conversation.
type rooms struct {
	storage.Uploads
	storage.RoomNotes
}

func (rooms) Notes(context.Context, chat.RoomID, chat.NoteKind, int) ([]chat.RoomNote, error) {
	return nil, nil
}

func (rooms) Room(_ context.Context, id chat.RoomID) (chat.Room, error) {
	return chat.Room{ID: id, Kind: chat.API, Connector: web.Name}, nil
}

func (rooms) NotesAbout(context.Context, chat.EntityID, chat.NoteKind, bool, int) ([]chat.RoomNote, error) {
	return nil, nil
}

func (rooms) Mark(context.Context, chat.RoomID, chat.MemoryID) (chat.Accepted, error) {
	return chat.Accepted{}, nil
}

func (rooms) SaveRoom(context.Context, chat.Room) error { return nil }

func (rooms) Recent(context.Context, chat.RoomID, chat.MemoryKind, chat.ResponseID, int) ([]chat.Memory, error) {
	return nil, nil
}

func (rooms) OpenQuestions(context.Context, chat.RoomID) ([]chat.Question, error) { return nil, nil }

func (rooms) Run(context.Context, chat.RunID) (chat.Run, error) { return chat.Run{}, chat.ErrNotFound }

func (rooms) Memory(context.Context, chat.MemoryID) (chat.Memory, error) {
	return chat.Memory{}, chat.ErrNotFound
}

func (rooms) File(context.Context, chat.RunID, int) (llm.File, error) {
	return llm.File{}, chat.ErrNotFound
}

func (rooms) FilePart(context.Context, chat.RunID, int, int64, int64) (chat.FilePart, error) {
	return chat.FilePart{}, chat.ErrNotFound
}

func (rooms) Known(context.Context, chat.Memory) (chat.Accepted, error) {
	return chat.Accepted{}, chat.ErrNotFound
}

// answers are those of the conversations, by their names.
type answers map[chat.RunID]*answer.Answer

func (a answers) Watch(_ context.Context, id chat.RunID) (*answer.Answer, error) { return a[id], nil }

func (a answers) accept(_ context.Context, in chat.Inbound) (chat.Accepted, error) {
	_, name, _ := strings.Cut(string(in.(chat.Message).Room), "/")
	return chat.Accepted{Run: chat.RunID(name)}, nil
}

// serve runs a web connector on l, without a gateway behind it.
func serve(tb testing.TB, l net.Listener, a answers) (stop func()) {
	w := web.New(web.Options{
		Memo: &connectortest.Memory{}, Zone: time.UTC,
		Listener: l, Agent: chat.Agent{ID: "agent", Name: "A"}, Answers: a, Store: rooms{},
		Ready: func(context.Context) error { return nil }, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, a.accept) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	}
}

// wire counts what comes over its connections.
type wire struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	bytes atomic.Int64
}

func (w *wire) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := w.dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &counted{c, &w.bytes}, nil
		},
	}}
}

type counted struct {
	net.Conn
	bytes *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}
