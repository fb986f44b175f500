package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"parley/core/chat"
	"parley/internal/lang"
)

// LinkHandler is the name of the handler of choices about linked accounts. It is stored with questions.
const LinkHandler = "link"

const (
	linkTime  = 10 * time.Minute // the validity of a code, and of each question about it
	maxLinked = 5                // accounts of one person
)

// LinkReader finds linked accounts. Errors are those of package storage.
type LinkReader interface {
	Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error)
	NotesAbout(ctx context.Context, person chat.EntityID, kind chat.NoteKind, shared bool, limit int) ([]chat.RoomNote, error)
}

// LinkStore contains the store methods of [Links]. Errors are those of package storage.
type LinkStore interface {
	LinkReader
	EntityStore
	SaveNote(ctx context.Context, n chat.RoomNote) error
	Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (chat.Accepted, error)
}

// Links joins accounts of one person, which both accounts confirm. Their facts and limits count as those of one person.
// Rights, roles and conversations stay with each account. The person has the id of one of the accounts, and the links are
// notes of the direct chat of that account: they end if it is deleted. Safe for concurrent use, also by several replicas.
type Links struct {
	Store LinkStore
	Tell  Tell
	Log   *slog.Logger

	tries tries
}

// linkOf returns the note about an account, or a zero one if it is not linked. Its text is the id of the person.
func linkOf(ctx context.Context, store LinkReader, account chat.EntityID) (chat.RoomNote, error) {
	found, err := store.NotesAbout(ctx, account, chat.LinkNote, false, 1)
	if err != nil || len(found) == 0 {
		return chat.RoomNote{}, err
	}
	return found[0], nil
}

// PersonOf returns the person with an account: the account itself if it is not linked. It fails with the error of the store.
func PersonOf(ctx context.Context, store LinkReader, account chat.EntityID) (chat.EntityID, error) {
	if account == "" || account.Automatic() {
		return account, nil
	}
	n, err := linkOf(ctx, store, account)
	if err != nil || n.Text == "" {
		return account, err
	}
	return chat.EntityID(n.Text), nil
}

// AccountsOf returns all accounts of the person with an account, beginning with this one. It fails with the error of the
// store.
func AccountsOf(ctx context.Context, store LinkReader, account chat.EntityID) ([]chat.EntityID, error) {
	all := []chat.EntityID{account}
	n, err := linkOf(ctx, store, account)
	if err != nil || n.Text == "" {
		return all, err
	}
	members, err := store.Notes(ctx, n.Room, chat.LinkNote, maxLinked)
	for _, m := range members {
		if m.About != account {
			all = append(all, m.About)
		}
	}
	return all, err
}

// account is one side of a link, as it is stored with codes and questions.
type account struct {
	ID     chat.EntityID
	Name   string
	Room   chat.RoomID
	Direct bool // the room is a direct chat of a platform
}

func accountOf(m chat.Memory, r chat.Room) account {
	return account{m.Author, m.Name, r.ID, r.Kind == chat.Direct}
}

func (a account) label() string { return chat.Person{ID: a.ID, Name: a.Name}.Label() }

// linkRequest is the payload of a question: From asked for the code, and To has sent it.
type linkRequest struct {
	From, To  account
	Confirmed bool // To has confirmed
}

// question asks one of the two accounts.
func (l linkRequest) question(ctx context.Context, who account) (chat.Question, error) {
	payload, err := json.Marshal(l)
	return chat.Question{
		Options: []string{lang.Say(ctx, "link.link"), lang.Say(ctx, "link.no")}, Approval: true, For: []chat.EntityID{who.ID}, Expires: time.Now().Add(linkTime),
		Handler: LinkHandler, Payload: string(payload),
	}, err
}

// hashed returns the stored form of a code: a search for it takes the same time for every wrong code.
func hashed(code string) string {
	sum := sha256.Sum256([]byte(code))
	return "code/" + hex.EncodeToString(sum[:])
}

// Offer returns the reply to a request for a code, with a new one. It ends the code before. It fails with the error of the
// store.
func (l *Links) Offer(ctx context.Context, m chat.Memory, r chat.Room) (string, error) {
	from, err := json.Marshal(accountOf(m, r))
	if err != nil {
		return "", err
	}
	code := newCode()
	err = l.Store.SaveNote(ctx, chat.RoomNote{
		Room: r.ID, Kind: chat.LinkCodeNote, Key: string(m.Author), About: chat.EntityID(hashed(code)), Text: string(from),
		At: time.Now(), Expires: time.Now().Add(linkTime),
	})
	return lang.Say(ctx, "link.offer", "code", ShownCode(code)), err
}

// Redeem returns the reply to a code that m contains after the command, and a question below it unless the code is wrong. A
// code can be redeemed once. It fails with the error of the store.
func (l *Links) Redeem(ctx context.Context, m chat.Memory, r chat.Room, text string) (line string, ask *chat.Question, err error) {
	code, _ := codeIn(text)
	if !l.tries.allow(m.Author) {
		return lang.Say(ctx, "link.wrong"), nil, nil
	}
	found, err := l.Store.NotesAbout(ctx, chat.EntityID(hashed(code)), chat.LinkCodeNote, false, 1)
	if err != nil {
		return "", nil, err
	}
	is := linkRequest{To: accountOf(m, r)}
	if code == "" || len(found) == 0 || json.Unmarshal([]byte(found[0].Text), &is.From) != nil || is.From.ID == m.Author {
		l.tries.failed(m.Author)
		return lang.Say(ctx, "link.wrong"), nil, nil
	}
	if _, _, line, err := l.obstacle(ctx, is); line != "" || err != nil {
		return line, nil, err
	}
	used, err := l.Store.Mark(ctx, found[0].Room, chat.MemoryID(hashed(code)))
	if err != nil || used.Duplicate {
		return lang.Say(ctx, "link.wrong"), nil, err
	}
	if err := l.Store.SaveNote(ctx, chat.RoomNote{Room: found[0].Room, Kind: chat.LinkCodeNote, Key: found[0].Key}); err != nil {
		l.Log.Warn("a used code can't be deleted; it expires by itself", "err", err)
	}
	q, err := is.question(ctx, is.To)
	return lang.Say(ctx, "link.ask_other", "account", is.From.label()), &q, err
}

// obstacle returns the links of two accounts, and the reason why they can't be linked; empty if they can. It fails with the
// error of the store.
func (l *Links) obstacle(ctx context.Context, is linkRequest) (from, to chat.RoomNote, line string, err error) {
	if from, err = linkOf(ctx, l.Store, is.From.ID); err == nil {
		to, err = linkOf(ctx, l.Store, is.To.ID)
	}
	switch {
	case err != nil:
		return from, to, "", err
	case from.Text != "" && to.Text != "":
		return from, to, lang.Say(ctx, "link.busy"), nil
	case from.Text != "" || to.Text != "":
		all, err := l.Store.Notes(ctx, cmp.Or(from.Room, to.Room), chat.LinkNote, maxLinked)
		if len(all) >= maxLinked {
			line = lang.Say(ctx, "link.full")
		}
		return from, to, line, err
	case !is.From.Direct && !is.To.Direct:
		line = lang.Say(ctx, "link.platform")
	}
	return from, to, line, nil
}

// Chosen carries out a choice of one of the two accounts, and returns the reply. It fails with the error of the store or
// of Tell.
func (l *Links) Chosen(ctx context.Context, q chat.Question) (string, error) {
	var is linkRequest
	if err := json.Unmarshal([]byte(q.Payload), &is); err != nil {
		return "", fmt.Errorf("read the accounts of a question: %w", err)
	}
	if q.Choice != 0 {
		return lang.Say(ctx, "link.not_linked"), nil
	}
	if !is.Confirmed {
		is.Confirmed = true
		from := Speak(ctx, l.Store, is.From.ID, l.Log)
		back, err := is.question(from, is.From)
		if err == nil {
			err = l.Tell(ctx, chat.Notice{To: chat.Address{Room: is.From.Room}, Key: "link/" + q.ID, Text: lang.Say(from, "link.ask_back", "account", is.To.label()), Ask: &back})
		}
		if errors.Is(err, chat.ErrNotFound) || errors.Is(err, chat.ErrUnreached) { // the chat was deleted
			return lang.Say(ctx, "link.wrong"), nil
		}
		return lang.Say(ctx, "link.confirm"), err
	}
	if line, err := l.join(ctx, is); line != "" || err != nil {
		return line, err
	}
	l.Log.Info("two accounts were linked", "account", is.From.ID, "with", is.To.ID)
	err := l.Tell(ctx, chat.Notice{To: chat.Address{Room: is.To.Room}, Key: "linked/" + q.ID, Text: lang.Say(Speak(ctx, l.Store, is.To.ID, l.Log), "link.linked", "account", is.From.label())})
	if errors.Is(err, chat.ErrNotFound) || errors.Is(err, chat.ErrUnreached) {
		err = nil
	}
	return lang.Say(ctx, "link.linked", "account", is.To.label()), err
}

// join stores that two accounts are linked, and returns the reason if they can't be. It can be repeated. It fails with the
// error of the store.
func (l *Links) join(ctx context.Context, is linkRequest) (string, error) {
	from, to, line, err := l.obstacle(ctx, is)
	switch {
	case err != nil, from.Text != "" && from.Text == to.Text: // this was done before
		return "", err
	case line != "":
		return line, nil
	}
	person, other := from, is.To
	switch {
	case to.Text != "":
		person, other = to, is.From
	case from.Text == "":
		first := is.From
		if is.To.Direct {
			first, other = is.To, is.From
		}
		person = chat.RoomNote{Room: first.Room, Kind: chat.LinkNote, Key: string(first.ID), About: first.ID, Text: string(first.ID), At: time.Now()}
		if err := l.Store.SaveNote(ctx, person); err != nil {
			return "", err
		}
	}
	person.Key, person.About, person.At = string(other.ID), other.ID, time.Now()
	return "", l.Store.SaveNote(ctx, person)
}

// Unlink separates an account from the others of its person, and returns the reply. If the person has its id, or only one
// account is left, all links end. It fails with the error of the store.
func (l *Links) Unlink(ctx context.Context, id chat.EntityID) (string, error) {
	own, err := linkOf(ctx, l.Store, id)
	if err != nil || own.Text == "" {
		return lang.Say(ctx, "link.unknown"), err
	}
	all, err := l.Store.Notes(ctx, own.Room, chat.LinkNote, chat.MaxNotes)
	if err != nil {
		return "", err
	}
	for _, n := range all {
		if n.About == id || own.Text == string(id) || len(all) <= 2 {
			if err := l.Store.SaveNote(ctx, chat.RoomNote{Room: n.Room, Kind: n.Kind, Key: n.Key}); err != nil {
				return "", err
			}
		}
	}
	l.Log.Info("an account was unlinked", "account", id)
	return lang.Say(ctx, "link.unlinked"), nil
}

// Command executes /link and /unlink of an account in a direct chat; lasts reports whether it is the same in all its
// chats. It fails with the error of the store.
func (l *Links) Command(ctx context.Context, m chat.Memory, r chat.Room, lasts bool) (line string, ask *chat.Question, err error) {
	name, code, _ := chat.ParseCommand(m.Text)
	switch {
	case !r.Kind.Private():
		return lang.Say(ctx, "link.direct"), nil, nil
	case !lasts:
		return lang.Say(ctx, "link.sign_in"), nil, nil
	case name == chat.UnlinkCommand:
		line, err = l.Unlink(ctx, m.Author)
	case strings.TrimSpace(code) == "":
		line, err = l.Offer(ctx, m, r)
	default:
		return l.Redeem(ctx, m, r, code)
	}
	return line, nil, err
}
