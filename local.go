package parley

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"parley/backends/sqlite"
	"parley/config"
	"parley/connectors/web"
	"parley/core"
	"parley/core/chat"
)

// local is how other programs of this machine reach a running gateway: they read the file beside its store, as only its
// user can.
type local struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// localFile is beside the store.
func localFile(cfg config.Config) string {
	return strings.TrimPrefix(cfg.Store.Reveal(), "sqlite:") + ".local"
}

// RunningAt is the address of the gateway of cfg that was started last on this machine: not always the configured one, which
// may have been taken. It is false if none was, or it has ended in order.
func RunningAt(cfg config.Config) (url string, ok bool) {
	l, err := readLocal(cfg)
	return l.URL, err == nil
}

// readLocal reads the file.
func readLocal(cfg config.Config) (l local, err error) {
	data, err := os.ReadFile(localFile(cfg))
	if err != nil {
		return l, fmt.Errorf("find a running gateway: %w", err)
	}
	if err = json.Unmarshal(data, &l); err != nil {
		return l, fmt.Errorf("read %s: %w", localFile(cfg), err)
	}
	return l, nil
}

// announceLocal writes the file anew and returns the token.
func announceLocal(cfg config.Config, addr net.Addr) (token string, err error) {
	l := local{URL: "http://" + addr.String(), Token: rand.Text()}
	if ap, err := netip.ParseAddrPort(addr.String()); err == nil && ap.Addr().IsUnspecified() {
		l.URL = fmt.Sprintf("http://127.0.0.1:%d", ap.Port())
	}
	data, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	name := localFile(cfg)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // an old one may be readable by others
		return "", fmt.Errorf("remove %s: %w", name, err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return l.Token, nil
}

// Person is somebody who was let in, or waits for it.
type Person = chat.Person

// People is whom a gateway talks with, and who waits for that.
type People struct {
	In      []chat.Person
	Waiting []chat.PairingRequest
	// OwnerCode makes an owner of the first who sends it to a bot in a direct chat. Empty where there is an owner, or where no
	// gateway has run yet.
	OwnerCode string
}

// pairing is what `gateway pair` asks for: the code of somebody to let in, an account to remove, or nothing.
type pairing struct{ Code, Remove string }

// paired is the answer: who was let in, or all people, or why not.
type paired struct {
	Person chat.Person
	People People
	Error  string
}

// letting lets in who was told code.
type letting func(ctx context.Context, code string) (chat.Person, error)

// pairHere does what p asks for.
func pairHere(ctx context.Context, store core.People, letIn letting, p pairing) (out paired, err error) {
	switch {
	case p.Code != "":
		out.Person, err = letIn(ctx, p.Code)
		if errors.Is(err, chat.ErrNotFound) {
			err = errors.New("unknown or expired code; codes are valid for an hour")
		}
		return out, err
	case p.Remove != "":
		if err = store.Dismiss(ctx, entity(p.Remove)); errors.Is(err, chat.ErrNotFound) {
			err = fmt.Errorf("%s has no approval to revoke; gateway pair --list shows approved users, and config.yaml may allow more", p.Remove)
		}
		return out, err
	}
	if out.People.In, err = store.People(ctx); err != nil {
		return out, err
	}
	waiting, err := store.Knocks(ctx)
	for _, k := range waiting {
		if k.ID == "" {
			out.People.OwnerCode = core.ShownCode(k.Code)
			continue
		}
		k.Code = "" // they tell it to the owner, who then knows them
		out.People.Waiting = append(out.People.Waiting, k)
	}
	return out, err
}

// serveLocal answers this machine's programs.
func serveLocal(store core.Store, letIn letting, retry retrying) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+web.LocalPath+"pair", func(rw http.ResponseWriter, r *http.Request) {
		var p pairing
		var out paired
		err := readLocalRequest(rw, r, &p)
		if err == nil {
			out, err = pairHere(r.Context(), store, letIn, p)
		}
		if err != nil {
			out = paired{Error: err.Error()}
		}
		writeLocalReply(rw, out)
	})
	mux.HandleFunc("POST "+web.LocalPath+"runs", func(rw http.ResponseWriter, r *http.Request) {
		var req runsRequest
		var out runsReply
		err := readLocalRequest(rw, r, &req)
		if err == nil {
			out, err = runsHere(r.Context(), store, retry, req)
		}
		if err != nil {
			out = runsReply{Error: err.Error()}
		}
		writeLocalReply(rw, out)
	})
	return mux
}

func readLocalRequest(rw http.ResponseWriter, r *http.Request, v any) error {
	return json.NewDecoder(http.MaxBytesReader(rw, r.Body, 4<<10)).Decode(v)
}

func writeLocalReply(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(v) // the program has gone: nobody to tell
}

// LetIn lets in who was told code, at the running gateway of cfg, or in its store if none runs.
func LetIn(ctx context.Context, cfg config.Config, code string) (chat.Person, error) {
	out, err := pair(ctx, cfg, pairing{Code: code})
	return out.Person, err
}

// Dismiss forgets an account that was let in, likewise.
func Dismiss(ctx context.Context, cfg config.Config, account string) error {
	_, err := pair(ctx, cfg, pairing{Remove: account})
	return err
}

// ListPeople says who was let in and who waits, likewise.
func ListPeople(ctx context.Context, cfg config.Config) (People, error) {
	out, err := pair(ctx, cfg, pairing{})
	if len(cfg.Owner) > 0 {
		out.People.OwnerCode = "" // it is left from before the configuration named an owner, and is good for nothing
	}
	return out.People, err
}

func pair(ctx context.Context, cfg config.Config, p pairing) (out paired, err error) {
	err = atStore(ctx, cfg, "pair", p, &out, func(store core.Store) error {
		letIn := func(ctx context.Context, code string) (chat.Person, error) {
			return core.Approve(ctx, store, newAgent(cfg), code)
		}
		out, err = pairHere(ctx, store, letIn, p)
		return err
	})
	if err == nil && out.Error != "" {
		err = errors.New(out.Error)
	}
	return out, err
}

var errNotRunning = errors.New("no gateway with this configuration is running")

// atStore asks the running gateway of cfg, or else opens its store and does what is asked here.
func atStore(ctx context.Context, cfg config.Config, name string, question, reply any, here func(core.Store) error) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := askRunning(ctx, cfg, name, question, reply); !errors.Is(err, errNotRunning) {
		return err
	}
	store, err := sqlite.Open(ctx, strings.TrimPrefix(cfg.Store.Reveal(), "sqlite:"), sqlite.Options{})
	if err != nil {
		return fmt.Errorf("no gateway with this configuration can be reached, and: %w", err)
	}
	return errors.Join(here(store), store.Close())
}

// askRunning asks the running gateway. It goes to this machine only, past any proxy.
func askRunning(ctx context.Context, cfg config.Config, name string, question, reply any) error {
	l, err := readLocal(cfg)
	if err != nil {
		return errNotRunning
	}
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL+web.LocalPath+name, bytes.NewReader(body))
	if err != nil {
		return errNotRunning
	}
	req.Header.Set("Authorization", "Bearer "+l.Token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK { // left by a crash; another may listen there now
		if err == nil {
			resp.Body.Close()
		}
		return errNotRunning
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(reply); err != nil {
		return fmt.Errorf("read the gateway's response: %w", err)
	}
	return nil
}
