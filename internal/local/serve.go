package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"parley/backends"
	"parley/config"
	"parley/connectors/web"
	"parley/core/access"
	"parley/core/chat"
	"parley/core/intake"
	"parley/core/turn"
	"parley/internal/settings"
)

// Runtime makes the changes that a running gateway must notice. [core.Runtime] implements it.
type Runtime interface {
	// Approve gives access to the user who was told code. [chat.ErrNotFound] if there is none, or the code has expired.
	Approve(ctx context.Context, code string) (chat.Person, error)
	// RetryRun answers a run that was set aside again.
	RetryRun(ctx context.Context, id chat.RunID) error
	// SaveUsage stores the usage of models that is not stored yet.
	SaveUsage(ctx context.Context) error
	// Overdue returns the number of open runs that wait longer than a turn can take.
	Overdue() int
	// OwnerCode returns the code that makes its sender the owner; empty if there is one.
	OwnerCode(ctx context.Context) (string, error)
	// Reload reads the configuration again and applies it. It returns the changed keys that need a restart.
	Reload(ctx context.Context) ([]string, error)
}

// Store has the methods of a store that the commands need. Contracts and errors are those of package storage.
type Store interface {
	intake.ApprovalStore
	access.LinkReader
	turn.ReceiptStore
	RemoveUser(ctx context.Context, id chat.EntityID) error
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	People(ctx context.Context) ([]chat.Person, error)
	RetryRun(ctx context.Context, id chat.RunID) error
	SetAside(ctx context.Context, limit int) ([]chat.Run, error)
	Replicas(ctx context.Context) (chat.Fleet, error)
	PersonalRecords(ctx context.Context, person chat.EntityID, after string) (chat.PersonalPage, error)
	DeletePersonal(ctx context.Context, person chat.EntityID) (chat.PersonalDeletion, error)
	ListRooms(ctx context.Context, part string, limit int) ([]chat.ListedRoom, error)
	RoomRecords(ctx context.Context, room chat.RoomID, after string) (chat.PersonalPage, error)
	Keep(ctx context.Context, name, value string) error
	Kept(ctx context.Context, name string) (string, error)
	Swap(ctx context.Context, name, old, value string) (bool, error)
}

// offline is the Runtime of a store that no gateway has open. The next gateway finds the changes when it starts.
type offline struct {
	store backends.Store
	cfg   config.Config
}

func (o offline) Approve(ctx context.Context, code string) (chat.Person, error) {
	return intake.Approve(ctx, o.store, settings.Agent(o.cfg), code)
}

func (o offline) RetryRun(ctx context.Context, id chat.RunID) error { return o.store.RetryRun(ctx, id) }

// SaveUsage does nothing: this process has asked no model.
func (offline) SaveUsage(context.Context) error { return nil }

// OwnerCode implements Runtime.
func (o offline) OwnerCode(ctx context.Context) (string, error) {
	return (&access.Pairing{Store: o.store, Policy: settings.Access(o.cfg)}).OwnerCode(ctx)
}

// Reload implements Runtime.
func (offline) Reload(context.Context) ([]string, error) {
	return nil, errors.New("no gateway with this configuration is running; the next start reads it")
}

// Overdue returns 0: nothing runs that could know.
func (offline) Overdue() int { return 0 }

// command is a request that a program on the same machine can make to a gateway. do does the work, wherever it runs.
type command[Request, Reply any] struct {
	name string
	do   func(context.Context, Store, Runtime, Request) (Reply, error)

	creates bool // without a gateway, a store that does not exist yet is created
}

// result is a gateway's answer to a command. Errors travel as text, so callers can't compare them.
type result[Reply any] struct {
	Reply Reply
	Error string
}

// run asks the running gateway of cfg. If none runs, it opens the store itself.
func (c command[Request, Reply]) run(ctx context.Context, cfg config.Config, req Request) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var out result[Reply]
	err := ask(ctx, cfg, c.name, req, &out)
	if errors.Is(err, errNotRunning) {
		store, err := backends.Open(ctx, cfg.Store.Reveal(), backends.Options{Guest: true, Create: c.creates})
		if err != nil {
			return out.Reply, fmt.Errorf("no gateway with this configuration can be reached, and: %w", err)
		}
		out.Reply, err = c.do(ctx, store, offline{store, cfg}, req)
		return out.Reply, errors.Join(err, store.Close())
	}
	if err == nil && out.Error != "" {
		err = errors.New(out.Error)
	}
	return out.Reply, err
}

// serve handles the command in a running gateway.
func (c command[Request, Reply]) serve(mux *http.ServeMux, store Store, rt Runtime) {
	mux.HandleFunc("POST "+web.LocalPath+c.name, func(rw http.ResponseWriter, r *http.Request) {
		var req Request
		var out result[Reply]
		err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxRequest)).Decode(&req)
		if err == nil {
			out.Reply, err = c.do(r.Context(), store, rt, req)
		}
		if err != nil {
			out = result[Reply]{Error: err.Error()}
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(out) // it fails only if the command has gone
	})
}

const maxRequest = 256 << 10 // bytes

// Handler serves the commands. The caller must check the token of [Announce] before.
func Handler(store Store, rt Runtime) http.Handler {
	mux := http.NewServeMux()
	pair.serve(mux, store, rt)
	ownerCode.serve(mux, store, rt)
	runs.serve(mux, store, rt)
	reload.serve(mux, store, rt)
	status.serve(mux, store, rt)
	person.serve(mux, store, rt)
	rooms.serve(mux, store, rt)
	roomRecords.serve(mux, store, rt)
	keep.serve(mux, store, rt)
	kept.serve(mux, store, rt)
	swap.serve(mux, store, rt)
	return mux
}
