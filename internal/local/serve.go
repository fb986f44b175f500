package local

import (
	"context"
	"encoding/json"
	"net/http"

	"parley/connectors/web"
	"parley/core"
	"parley/core/chat"
	"parley/core/storage"
)

// Runtime makes the changes that a running gateway must notice: [core.Runtime] does.
type Runtime interface {
	// Approve gives access to the user who was told code. [chat.ErrNotFound] if there is none, or the code has expired.
	Approve(ctx context.Context, code string) (chat.Person, error)
	// RetryRun answers a run that was set aside again.
	RetryRun(ctx context.Context, id chat.RunID) error
}

// offline is the Runtime of a store that no gateway has open. The next gateway notices the changes when it starts.
type offline struct {
	store storage.Store
	agent chat.Agent
}

func (o offline) Approve(ctx context.Context, code string) (chat.Person, error) {
	return core.Approve(ctx, o.store, o.agent, code)
}

func (o offline) RetryRun(ctx context.Context, id chat.RunID) error { return o.store.RetryRun(ctx, id) }

// Handler answers the commands. The caller checks the secret of [Announce].
func Handler(store storage.Store, rt Runtime) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+web.LocalPath+"pair", func(rw http.ResponseWriter, r *http.Request) {
		var req pairRequest
		var reply pairReply
		err := readRequest(rw, r, &req)
		if err == nil {
			reply, err = pairAt(r.Context(), store, rt, req)
		}
		if err != nil {
			reply = pairReply{Error: err.Error()}
		}
		writeReply(rw, reply)
	})
	mux.HandleFunc("POST "+web.LocalPath+"runs", func(rw http.ResponseWriter, r *http.Request) {
		var req runsRequest
		var reply runsReply
		err := readRequest(rw, r, &req)
		if err == nil {
			reply, err = runsAt(r.Context(), store, rt, req)
		}
		if err != nil {
			reply = runsReply{Error: err.Error()}
		}
		writeReply(rw, reply)
	})
	return mux
}

func readRequest(rw http.ResponseWriter, r *http.Request, v any) error {
	return json.NewDecoder(http.MaxBytesReader(rw, r.Body, 4<<10)).Decode(v)
}

func writeReply(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(v) // it fails only if the command has gone
}
