package core

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/prompt"
)

const (
	codeLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789" // 32 that are not mistaken for each other
	codeLength  = 8
	codeTime    = time.Hour        // how long a stranger's code is good for
	codeAgain   = 10 * time.Minute // after which they may hear it once more
	mostKnocks  = 5                // strangers who wait at a time, for each connector
	mostTries   = 5                // wrong codes of one person in a codeTime
	mostTriers  = 1000             // people whose wrong codes are counted
)

// What people hear at the door.
const (
	strangerLine = "Sorry, I only talk to people my owner has approved. If you know my owner, ask them to add you."
	unownedLine  = "Sorry, I can't reply yet. I haven't been set up yet."
	knockLine    = "Sorry, I only talk to people my owner has approved. If you know my owner, send them this code within an hour: %s"
	ownedLine    = "You are now my owner. Others get a code; send it to me to approve them."
	wrongLine    = "Unknown or expired code. Codes are valid for an hour."
)

// guest is the author of a direct message, with access or without.
type guest struct {
	chat.Person
	room    chat.Room
	says    string
	greeted bool // they heard from us before
}

// pairing approves users: those who bring the code of an owner, and those whom an owner approves.
type pairing struct {
	rt    *Runtime
	tries tries
}

// refuse answers at the door, in place of the model: strangers, and those who bring a code. Who writes elsewhere was
// invited when the run was opened.
func (pn *preparation) refuse(ctx context.Context, recent []chat.Memory, question chat.Memory) error {
	room := chat.Room{Kind: pn.x.run.RoomKind, Connector: pn.x.run.Address.Connector}
	if question.ID == "" || !room.Kind.Private() || pn.x.rt.cfg.Access.Open[room.Connector] {
		return nil
	}
	g := guest{chat.Person{ID: question.Author, Name: question.Name, Address: pn.x.run.Address, Since: time.Now()}, room, question.Text, false}
	g.greeted = len(recent) == prompt.Window // who has filled a prompt was told, or does not listen
	for _, m := range recent {
		g.greeted = g.greeted || m.Author == pn.x.rt.cfg.Agent.Entity()
	}
	var in bool
	var line string
	err := pn.x.persist(ctx, func() (err error) {
		in, line, err = pn.x.rt.pairing.checkPairing(ctx, g)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("check access in %s: %w", pn.x.run.ID, err)
	case line != "":
		pn.x.trace.Actions = []string{chat.AccessAction}
		pn.x.answer.Apply(answer.Change{Kind: answer.Text, Text: line})
		return errTold
	case !in:
		return errNothingToSay
	}
	return nil
}

// checkPairing says whether g may come in, and what they are told in place of an answer.
func (d *pairing) checkPairing(ctx context.Context, g guest) (in bool, line string, err error) {
	if in, err = d.rt.intake.invited(ctx, g.room, g.ID, nil); err != nil {
		return false, "", err
	}
	ownerless, err := d.ownerless(ctx)
	if err != nil {
		return false, "", err
	}
	if code, meant := codeIn(g.says); code != "" || meant {
		if line, err = d.redeem(ctx, g, code, ownerless); line != "" || err != nil {
			return in, line, err
		}
	}
	switch {
	case in:
		return true, "", nil
	case d.rt.cfg.Access.Direct == access.DirectPairing && !ownerless:
		line, err = d.knock(ctx, g)
	case g.greeted || d.rt.cfg.Access.Direct == access.DirectOff:
	case d.rt.cfg.Access.Direct == access.DirectPairing:
		line = unownedLine
	default:
		line = strangerLine
	}
	return false, line, err
}

// redeem takes the code that g has brought: the owner's code from the first account that sends it, others from the owner. It is silent
// towards those who have no business with codes.
func (d *pairing) redeem(ctx context.Context, g guest, code string, ownerless bool) (line string, err error) {
	if ownerless {
		return d.pairOwner(ctx, g, code)
	}
	if owns, err := d.owns(ctx, g.ID); err != nil || !owns {
		return "", err
	}
	p, err := d.rt.Approve(ctx, code)
	switch _, meant := codeIn(g.says); {
	case err == nil:
		d.rt.cfg.Log.Info("the owner approved a user", "account", p.ID)
		return fmt.Sprintf(letInLine, p.Label()), nil
	case !errors.Is(err, chat.ErrNotFound):
		return "", err
	case meant:
		return wrongLine, nil
	}
	return "", nil // a word of eight letters
}

// pairOwner makes g the owner if they bring the right code, and are first.
func (d *pairing) pairOwner(ctx context.Context, g guest, code string) (line string, err error) {
	if d.rt.cfg.Access.Direct != access.DirectPairing || !d.tries.may(g.ID) {
		return "", nil
	}
	right, err := d.rt.OwnerCode(ctx)
	if err != nil {
		return "", err
	}
	right, _ = codeIn(right)
	if subtle.ConstantTimeCompare([]byte(code), []byte(right)) != 1 || right == "" {
		d.tries.failed(g.ID)
		if _, meant := codeIn(g.says); meant {
			return wrongLine, nil
		}
		return "", nil
	}
	owns, err := d.rt.cfg.Store.Own(ctx, g.Person)
	if err != nil || !owns {
		return "", err
	}
	d.rt.cfg.Log.Info("a user sent the owner's code and is now the owner", "account", g.ID)
	return ownedLine, nil
}

// knock tells a stranger their code, now and then, and asks the owner whether to let them in. Where enough wait, or the
// owner has said no, they hear nothing.
func (d *pairing) knock(ctx context.Context, g guest) (line string, err error) {
	k := chat.PairingRequest{Person: g.Person, Code: newCode(), Ends: g.Since.Add(codeTime)}
	k, tell, err := d.rt.cfg.Store.Knock(ctx, k, chat.PairingRule{Limit: mostKnocks, RepeatAfter: codeAgain})
	if err != nil || !tell {
		return "", err
	}
	d.askOwners(ctx, k)
	return fmt.Sprintf(knockLine, ShownCode(k.Code)), nil
}

// OwnerCode is what the owner has to bring, as long as there is none and there is to be one. Else it is empty.
func (rt *Runtime) OwnerCode(ctx context.Context) (string, error) {
	if ownerless, err := rt.pairing.ownerless(ctx); err != nil || !ownerless || rt.cfg.Access.Direct != access.DirectPairing {
		return "", err
	}
	k, _, err := rt.cfg.Store.Knock(ctx, chat.PairingRequest{Code: newCode()}, chat.PairingRule{Limit: 1})
	if err != nil {
		return "", fmt.Errorf("make the owner's code: %w", err)
	}
	return ShownCode(k.Code), nil
}

// ownerless reports whether there is no owner yet, who could approve others.
func (d *pairing) ownerless(ctx context.Context) (bool, error) {
	if len(d.rt.cfg.Access.Owners) > 0 {
		return false, nil
	}
	_, err := d.rt.cfg.Store.Owner(ctx)
	return errors.Is(err, chat.ErrNotFound), ignore(err, chat.ErrNotFound)
}

// owns says whether id is the owner: the one of the configuration, or else who has become it.
func (d *pairing) owns(ctx context.Context, id chat.EntityID) (bool, error) {
	if len(d.rt.cfg.Access.Owners) > 0 {
		return d.rt.cfg.Access.Owners[id], nil
	}
	owner, err := d.rt.cfg.Store.Owner(ctx)
	return err == nil && owner.ID == id, ignore(err, chat.ErrNotFound)
}

func newCode() string {
	var b [codeLength]byte
	_, _ = rand.Read(b[:]) // never fails
	for i := range b {
		b[i] = codeLetters[int(b[i])%len(codeLetters)]
	}
	return string(b[:])
}

// ShownCode is a code as people read it.
func ShownCode(code string) string { return code[:codeLength/2] + "-" + code[codeLength/2:] }

// codeIn finds the code that text is, with or without /pair before it; meant says that it can't be anything else.
func codeIn(text string) (code string, meant bool) {
	text = strings.ToUpper(strings.Trim(strings.TrimSpace(text), "`*"))
	rest, meant := strings.CutPrefix(text, "/PAIR")
	code = strings.NewReplacer("-", "", " ", "").Replace(rest)
	if len(code) != codeLength || strings.Trim(code, codeLetters) != "" {
		return "", meant
	}
	return code, meant || len(rest) == codeLength+1 && rest[codeLength/2] == '-'
}

// tries counts wrong codes.
type tries struct {
	mu sync.Mutex
	by map[chat.EntityID]tried
}

type tried struct {
	n     int
	since time.Time
}

// may says whether id may try another code.
func (t *tries) may(id chat.EntityID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for who, had := range t.by {
		if time.Since(had.since) >= codeTime {
			delete(t.by, who)
		}
	}
	return t.by[id].n < mostTries && len(t.by) < mostTriers
}

func (t *tries) failed(id chat.EntityID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	had, ok := t.by[id]
	if !ok {
		had.since = time.Now()
	}
	had.n++
	if t.by == nil {
		t.by = map[chat.EntityID]tried{}
	}
	t.by[id] = had
}
