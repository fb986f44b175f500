package consent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/storage/storagetest"
	"parley/internal/require"
)

// rows is a store of approvals.
type rows struct{ all map[string]chat.Approval }

func (s rows) RequestApproval(_ context.Context, a chat.Approval) (chat.Approval, error) {
	if old, ok := s.all[a.ID]; ok {
		return old, nil
	}
	s.all[a.ID] = a
	return a, nil
}

func (s rows) Approval(_ context.Context, id string) (chat.Approval, error) {
	if a, ok := s.all[id]; ok {
		return a, nil
	}
	return chat.Approval{}, chat.ErrNotFound
}

func (s rows) DecideApproval(_ context.Context, id string, from, to chat.Decision, by chat.EntityID, at time.Time) error {
	a := s.all[id]
	if a.ID == "" || a.Decision != from {
		return answer.ErrLost
	}
	a.Decision, a.By, a.Decided = to, by, at
	s.all[id] = a
	return nil
}

func (s rows) StandingApproval(_ context.Context, room chat.RoomID, kind string) (chat.Approval, error) {
	for _, a := range s.all {
		if a.Room == room && a.Kind == kind && a.Decision == chat.Always {
			return a, nil
		}
	}
	return chat.Approval{}, chat.ErrNotFound
}

func (s rows) OpenApprovals(_ context.Context, room chat.RoomID, _ int) (all []chat.Approval, _ error) {
	for _, a := range s.all {
		if a.Room == room && (a.Decision == chat.Pending || a.Decision == chat.Replaced) {
			all = append(all, a)
		}
	}
	return all, nil
}

func (s rows) PendingApprovals(ctx context.Context, n int) ([]chat.Approval, error) {
	return s.OpenApprovals(ctx, "room", n)
}

func (s rows) RecentApprovals(_ context.Context, room chat.RoomID, _ int) (all []chat.Approval, _ error) {
	for _, a := range s.all {
		if a.Room == room {
			all = append(all, a)
		}
	}
	return all, nil
}

// office has the approvals of Olga, who owns the agent, with what it does outside.
type office struct {
	*consent.Approvals
	rows
	owner  chat.EntityID
	told   []chat.Notice
	woken  []chat.RunID
	ended  []chat.RunID   // because a later request replaced theirs
	waits  []action.Wait  // for which runs were parked
	chosen *chat.Question // in the answer itself
	staff  map[chat.EntityID]bool
	schema json.RawMessage
	made   string // the arguments of the last call
	shown  string // by the last attempt
}

func newApprovals() *office {
	d := &office{rows: rows{map[string]chat.Approval{}}, owner: "olga"}
	d.Approvals = &consent.Approvals{
		Store: d.rows, Pending: d.rows, Log: slog.New(slog.DiscardHandler),
		Tell: func(_ context.Context, n chat.Notice) error {
			d.told = append(d.told, n)
			return nil
		},
	}
	d.Approvals.Owners, d.Approvals.Runs, d.Approvals.Said = d, d, d
	d.Approvals.Notes = &storagetest.NotePad{}
	d.Person = func(_ context.Context, account chat.EntityID) (chat.EntityID, error) { return account, nil }
	return d
}

func (d *office) Run(context.Context, chat.RunID) (chat.Run, error) {
	return chat.Run{}, chat.ErrNotFound
}

func (d *office) Recent(context.Context, chat.RoomID, chat.MemoryKind, chat.ResponseID, int) ([]chat.Memory, error) {
	return nil, nil
}

func (d *office) Speak(ctx context.Context, _ chat.EntityID) context.Context { return ctx }

func (d *office) Owns(_ context.Context, id chat.EntityID) (bool, error) { return id == d.owner, nil }

func (d *office) Staff(context.Context) (map[chat.EntityID]bool, error) { return d.staff, nil }

func (d *office) IsStaff(_ context.Context, id chat.EntityID, _ chat.Address) (bool, error) {
	return id == d.owner || d.staff[id], nil
}

func (d *office) OwnersRooms(context.Context) (map[chat.EntityID]chat.RoomID, error) {
	return map[chat.EntityID]chat.RoomID{"olga": "fake/olga"}, nil
}

func (d *office) StaffRooms(ctx context.Context) (map[chat.EntityID]chat.RoomID, error) {
	rooms, err := d.OwnersRooms(ctx)
	for id := range d.staff {
		rooms[id] = chat.RoomID("fake/" + id)
	}
	return rooms, err
}

func (d *office) Name(_ context.Context, id chat.EntityID) string { return string(id) }

func (d *office) Continue(_ context.Context, run chat.RunID, _ chat.RoomID) error {
	d.woken = append(d.woken, run)
	return nil
}

func (d *office) Supersede(_ context.Context, run chat.RunID, _ chat.RoomID) error {
	d.ended = append(d.ended, run)
	return nil
}

var shop = action.Approval{Server: "shop", Tool: "order", Kind: "kind"}

// asks has author call a tool with params.
func (d *office) asks(author chat.EntityID, params string, effect action.Effect, a action.Approval) (asked bool, refused string, err error) {
	s := action.TurnContext{Run: "room#1", Room: chat.Room{ID: "room", Name: "room", Connector: "fake"}, Message: chat.Memory{Author: author, Name: string(author)}, Owner: author == d.owner, Staff: author == d.owner || d.staff[author]}
	b := &action.Block{Answer: &answer.Answer{}, ID: "c", Name: "ORDER"}
	c := b.Call(context.Background(), json.RawMessage(params), s, nil, action.Host{
		Park: func(_ context.Context, w action.Wait) error {
			if w.Ask != nil {
				q := *w.Ask
				q.Payload, w.Ask = w.For, &q
			}
			d.waits = append(d.waits, w)
			return chat.ErrParked
		},
		Chose: func(_ context.Context, waitedFor string) (chat.Question, bool, error) {
			if d.chosen != nil && d.chosen.Payload == waitedFor {
				return *d.chosen, true, nil
			}
			return chat.Question{}, false, nil
		},
	})
	asked, refused, err = d.Approve(context.Background(), c, &action.Tool{Def: action.Spec{Name: "ORDER", Effect: effect, Parameters: d.schema}, Check: func(json.RawMessage) error { return nil }}, a)
	d.made = string(c.Parameters)
	d.shown = strings.Join(b.Answer.View().History, "\n")
	return asked, refused, err
}

// presses chooses an option of a question.
func presses(q chat.Question, option string, by chat.EntityID) *chat.Question {
	q.Choice, q.By, q.Name = slices.Index(q.Options, option), by, string(by)
	return &q
}

// Who may approve is asked in the answer, and the decision is used once.
func TestAskedInTheAnswer(t *testing.T) {
	for option, c := range map[string]struct {
		refused bool
		want    chat.Decision
	}{"Once": {false, chat.Used}, "Always here": {false, chat.Always}, "Deny": {true, chat.Denied}} {
		d := newApprovals()
		audited := ""
		d.Audit = func(_ context.Context, by chat.EntityID, what, about string) {
			audited += fmt.Sprintf("%s %s %s\n", by, what, about)
		}
		if _, _, err := d.asks("olga", `{}`, action.Writes, shop); !errors.Is(err, chat.ErrParked) || len(d.waits) != 1 || d.waits[0].Ask == nil {
			t.Fatalf("asked: %v, %+v", err, d.waits)
		}
		d.chosen = presses(*d.waits[0].Ask, option, "olga")
		asked, refused, err := d.asks("olga", `{}`, action.Writes, shop)
		if err != nil || !asked || (refused != "") != c.refused {
			t.Errorf("%s: %v, %q, %v", option, asked, refused, err)
		}
		if want := map[string]string{"Once": "approved", "Always here": "always", "Deny": "denied"}[option]; !strings.HasPrefix(audited, "olga "+want+" ") || strings.Count(audited, "\n") != 1 {
			t.Errorf("%s: the audit log has %q; want one line of %s", option, audited, want)
		}
		for _, a := range d.all {
			if a.Decision != c.want || a.By != "olga" || strings.Contains(a.Arguments, "{") {
				t.Errorf("%s: %+v", option, a)
			}
		}
		if _, refused, _ := d.asks("olga", `{}`, action.Writes, shop); option == "Once" && !strings.Contains(refused, "not repeated") {
			t.Errorf("the same call once more: %q", refused)
		}
	}
}

// A press in the answer that another decision preceded changes nothing, and is not shown as if it counted.
func TestAskedInTheAnswerAndDecidedElsewhere(t *testing.T) {
	d := newApprovals()
	d.staff = map[chat.EntityID]bool{"ada": true}
	if _, _, err := d.asks("olga", `{}`, action.Writes, shop); !errors.Is(err, chat.ErrParked) {
		t.Fatal(err)
	}
	for id := range d.all {
		if says, _, err := d.Decide(t.Context(), id, chat.Approved, "", "ada"); says != "Approved." || err != nil {
			t.Fatalf("Ada reads %q, %v", says, err)
		}
	}
	d.chosen = presses(*d.waits[0].Ask, "Deny", "olga")
	if _, refused, err := d.asks("olga", `{}`, action.Writes, shop); refused != "" || err != nil || !strings.Contains(d.shown, "shop") || strings.Contains(d.shown, "Deny") {
		t.Errorf("the call: %q, %v; the answer shows %s", refused, err, d.shown)
	}
}

// Others are asked in their own chat. Only an owner decides, once, and the run goes on.
func TestAskedElsewhere(t *testing.T) {
	d := newApprovals()
	if _, _, err := d.asks("bob", `{}`, action.Writes, shop); !errors.Is(err, chat.ErrParked) || len(d.told) != 1 || d.waits[0].Ask != nil {
		t.Fatalf("asked: %v, %+v", err, d.told)
	}
	q := *d.told[0].Ask
	says := func(option string, by chat.EntityID) string {
		said, err := d.Chosen(context.Background(), *presses(q, option, by))
		if why := chat.Refused(""); errors.As(err, &why) {
			said = string(why)
		} else if err != nil {
			t.Error(err)
		}
		return said
	}
	if said := says("Once", "bob"); said != "This choice is not yours to make." || len(d.woken) > 0 {
		t.Errorf("Bob reads %q", said)
	}
	for range 2 { // a crash repeats it
		if said := says("Once", "olga"); said != "Approved." {
			t.Errorf(`the owner reads %q; want "Approved."`, said)
		}
	}
	if said := says("Deny", "olga"); said != "This request has closed.\n→ olga approved this." || len(d.woken) != 2 || d.woken[0] != "room#1" {
		t.Errorf("too late she reads %q; woken are %q", said, d.woken)
	}
	if _, refused, err := d.asks("bob", `{}`, action.Writes, shop); refused != "" || err != nil {
		t.Errorf("the call: %q, %v; want none", refused, err)
	}
}

// What is dangerous, or has no kind, is never approved for all calls, nor by someone who is no owner. A standing approval ends with the
// kind and with the rights of who gave it.
func TestStanding(t *testing.T) {
	d := newApprovals()
	d.staff = map[chat.EntityID]bool{"ada": true}
	for _, c := range []struct {
		who    chat.EntityID
		effect action.Effect
		a      action.Approval
	}{{"olga", action.Dangerous, shop}, {"olga", action.Writes, action.Approval{Server: "shop", Tool: "order"}}, {"ada", action.Writes, shop}} {
		d.waits = nil
		if _, _, err := d.asks(c.who, `{"n":1}`, c.effect, c.a); !errors.Is(err, chat.ErrParked) || !slices.Equal(d.waits[0].Ask.Options, []string{"Once", "Deny"}) {
			t.Errorf("%s is offered %+v, %v", c.who, d.waits, err)
		}
	}
	d = newApprovals()
	_, _, _ = d.asks("olga", `{"n":1}`, action.Writes, shop)
	d.chosen = presses(*d.waits[0].Ask, "Always here", "olga")
	_, _, _ = d.asks("olga", `{"n":1}`, action.Writes, shop)
	if asked, refused, err := d.asks("bob", `{"n":2}`, action.Writes, shop); asked || refused != "" || err != nil {
		t.Errorf("a later call: %v, %q, %v", asked, refused, err)
	}
	if _, _, err := d.asks("olga", `{"n":3}`, action.Writes, action.Approval{Server: "shop", Tool: "order", Kind: "changed"}); !errors.Is(err, chat.ErrParked) {
		t.Errorf("a changed tool: %v", err)
	}
	d.owner = "another"
	if _, _, err := d.asks("bob", `{"n":4}`, action.Writes, shop); !errors.Is(err, chat.ErrParked) {
		t.Errorf("of who owns it no more: %v", err)
	}
}

// A call that can't be shown is refused; the end of the time and of the run close what is pending, and rights are checked when it is used.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newApprovals()
		if _, refused, err := d.asks("olga", `{"text":"`+strings.Repeat("x", 1500)+`"}`, action.Writes, shop); err != nil || !strings.Contains(refused, "too long") {
			t.Errorf(`long arguments: %q, %v; want it to contain "too long"`, refused, err)
		}
		_, _, _ = d.asks("bob", `{}`, action.Writes, shop)
		time.Sleep(time.Hour)
		if _, refused, err := d.asks("bob", `{}`, action.Writes, shop); err != nil || !strings.Contains(refused, "in time") {
			t.Errorf(`after the time: %q, %v; want it to contain "in time"`, refused, err)
		}
		_, _, _ = d.asks("bob", `{"n":1}`, action.Writes, shop)
		require.NoError(t, d.Abandon(context.Background(), chat.Run{}, d.waits[1].For))
		if _, refused, err := d.asks("bob", `{"n":1}`, action.Writes, shop); err != nil || refused == "" {
			t.Errorf("after the end of the run: %q, %v", refused, err)
		}
		_, _, _ = d.asks("olga", `{"n":2}`, action.Writes, shop)
		d.chosen = presses(*d.waits[2].Ask, "Once", "olga")
		d.owner = "another"
		if _, refused, err := d.asks("olga", `{"n":2}`, action.Writes, shop); err != nil || refused == "" {
			t.Errorf("of who owns it no more: %q, %v", refused, err)
		}
	})
}

// A second card follows after half of the time, once for several processes. One that a decision overtakes is closed with the first.
func TestRemind(t *testing.T) {
	for _, decides := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := newApprovals()
			cards, closed := map[string]*chat.Question{}, map[string]bool{}
			d.Tell = func(_ context.Context, n chat.Notice) error {
				if decides && len(cards) == 1 { // just before the second card is stored
					if _, _, err := d.Decide(context.Background(), cards[d.told[0].Key].Payload, chat.Approved, "", "olga"); err != nil {
						t.Error(err)
					}
				}
				if cards[n.Key] == nil {
					d.told = append(d.told, n)
				}
				cards[n.Key] = n.Ask
				return nil
			}
			d.Asked = func(_ context.Context, _ chat.RoomID, key string) (chat.Question, error) {
				if q := cards[key]; q != nil {
					return *q, nil
				}
				return chat.Question{}, chat.ErrNotFound
			}
			d.Amend = func(_ context.Context, _ chat.RoomID, key string, add func(string) (string, bool)) (bool, error) {
				_, changed := add("the card")
				return changed, nil
			}
			d.Close = func(_ context.Context, _ chat.RoomID, key string) error {
				closed[key] = cards[key] != nil
				return nil
			}
			_, _, _ = d.asks("bob", `{}`, action.Writes, shop)
			for _, at := range []time.Duration{30*time.Minute - 1, 1, 0, 29 * time.Minute} {
				time.Sleep(at)
				if err := d.Remind(context.Background()); err != nil {
					t.Error(err)
				}
				if n := len(d.told); n != 1 && at == 30*time.Minute-1 || n != 2 && at != 30*time.Minute-1 {
					t.Errorf("%d cards after %v more; want another after half an hour", n, at)
				}
			}
			if got := closed[d.told[1].Key]; got != decides || !strings.HasSuffix(d.told[1].Text, "\n\nthe card") {
				t.Errorf("the second card, %q, is closed: %v; want %v", d.told[1].Text, got, decides)
			}
		})
	}
}

// A person with two accounts gets a card on each, and one reminder, from whichever process and also if one account has none.
func TestRemindAPersonOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newApprovals()
		d.staff = map[chat.EntityID]bool{"tg-olga": true, "eve": true}
		d.Person = func(_ context.Context, account chat.EntityID) (chat.EntityID, error) {
			return chat.EntityID(strings.TrimPrefix(string(account), "tg-")), nil
		}
		told := map[chat.RoomID][]string{}
		cards := map[string]*chat.Question{}
		d.Tell = func(_ context.Context, n chat.Notice) error {
			told[n.To.Room] = append(told[n.To.Room], n.Key)
			cards[string(n.To.Room)+n.Key] = n.Ask
			return nil
		}
		d.Asked = func(_ context.Context, room chat.RoomID, key string) (chat.Question, error) {
			if q := cards[string(room)+key]; q != nil {
				return *q, nil
			}
			return chat.Question{}, chat.ErrNotFound
		}
		d.Amend = func(context.Context, chat.RoomID, string, func(string) (string, bool)) (bool, error) {
			return false, nil
		}
		_, _, _ = d.asks("bob", `{}`, action.Writes, shop)
		time.Sleep(30 * time.Minute)
		for range 3 {
			require.NoError(t, d.Remind(t.Context()))
		}
		got := map[chat.RoomID]int{}
		for room, keys := range told {
			got[room] = len(keys)
		}
		if want := map[chat.RoomID]int{"fake/olga": 2, "fake/tg-olga": 1, "fake/eve": 2}; !maps.Equal(got, want) {
			t.Errorf("cards per chat: %v; want %v", got, want)
		}
	})
}

// The end of a run that waited settles the earlier request that its own has replaced: that is asked again, unless the later one was decided.
func TestAbandonSettlesTheReplacedRequest(t *testing.T) {
	for state, want := range map[chat.Decision]struct{ earlier, later chat.Decision }{
		chat.Pending:  {chat.Lapsed, chat.Stopped},
		chat.Stopped:  {chat.Lapsed, chat.Stopped},
		chat.Approved: {chat.Replaced, chat.Approved},
		chat.Denied:   {chat.Replaced, chat.Denied},
	} {
		d := newApprovals()
		now := time.Now()
		for i, r := range []chat.Approval{{ID: "earlier", Decision: chat.Replaced}, {ID: "later", Decision: state}} {
			r.Room, r.Run, r.Tool, r.Asker, r.At, r.Expires = "room", chat.RunID(r.ID), "shop/ORDER", "ada", now.Add(time.Duration(i)), now.Add(time.Hour)
			d.all[r.ID] = r
		}
		require.NoError(t, d.Abandon(t.Context(), chat.Run{}, "approval/later"))
		if got := d.all; got["earlier"].Decision != want.earlier || got["later"].Decision != want.later {
			t.Errorf("later %s: the earlier request is %s, the later one %s; want %s and %s", state, got["earlier"].Decision, got["later"].Decision, want.earlier, want.later)
		}
		if ended := slices.Contains(d.ended, "earlier"); ended != (want.earlier == chat.Replaced) || !ended && !slices.Contains(d.woken, "earlier") {
			t.Errorf("later %s: of the earlier request, the run ended: %v; woken are %q", state, ended, d.woken)
		}
	}
}

// On the operator's page, too, a call is approved with other arguments if they fit. Of two decisions at the same time, also of one account, the first one
// counts with its own arguments.
func TestArgumentsOnThePage(t *testing.T) {
	for _, asker := range []chat.EntityID{"olga", "bob"} { // asked in the answer, and with a card
		d := newApprovals()
		d.staff = map[chat.EntityID]bool{"ada": true}
		d.schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
		d.Unfit = func(_ context.Context, q chat.Question, words string) string {
			if changed, ok := chat.EditIn(words); !ok || !json.Valid(changed) || string(q.Edit.Schema) != string(d.schema) {
				return "They do not fit."
			}
			return ""
		}
		d.Asked = func(_ context.Context, _ chat.RoomID, key string) (chat.Question, error) {
			for _, n := range d.told {
				if n.Key == key {
					return *n.Ask, nil
				}
			}
			return chat.Question{}, chat.ErrNotFound
		}
		if _, _, err := d.asks(asker, `{"n":1}`, action.Writes, shop); !errors.Is(err, chat.ErrParked) {
			t.Fatal(err)
		}
		id := ""
		for id = range d.all {
		}
		if edit, err := d.EditOf(t.Context(), id); err != nil || edit == nil || string(edit.Arguments) != `{"n":1}` {
			t.Fatalf("of %s: %+v, %v", asker, edit, err)
		}
		decides := func(id, arguments string, by chat.EntityID, wantRefused bool, want string) {
			t.Helper()
			if says, refused, err := d.Decide(t.Context(), id, chat.Amended, arguments, by); err != nil || refused != wantRefused || says != want {
				t.Errorf("of %s, %s by %s: %q, %v, %v; want %q", asker, arguments, by, says, refused, err, want)
			}
		}
		decides("none", `{}`, "olga", true, "This request has closed.")
		decides(id, `{"n":`, "olga", true, "They do not fit.")
		decides(id, ``, "olga", true, "They do not fit.")
		decides(id, `{"n":5}`, "eve", false, "This choice is not yours to make.")
		if d.all[id].Decision != chat.Pending {
			t.Fatalf("of %s: %+v", asker, d.all[id])
		}
		raced := d.rows
		d.Store = decideBefore{raced, func() error { d.Store = raced; decides(id, `{"n":2}`, "olga", false, "Approved."); return nil }}
		decides(id, `{"n":3}`, "olga", false, "This request has closed.\n→ olga changed the arguments and approved this:\n```\n{\"n\":2}\n```")
		decides(id, `{"n":2}`, "olga", false, "Approved.") // a second press
		decides(id, `{"n":4}`, "ada", false, "This request has closed.\n→ olga changed the arguments and approved this:\n```\n{\"n\":2}\n```")
		d.Store = decideBefore{raced, func() error { return errors.ErrUnsupported }}
		if _, _, err := d.asks(asker, `{"n":1}`, action.Writes, shop); err == nil || d.made != `{"n":1}` { // Approve is called again with them
			t.Errorf("of %s, the arguments are %s after %v", asker, d.made, err)
		}
		d.Store = raced
		if _, refused, err := d.asks(asker, `{"n":1}`, action.Writes, shop); refused != "" || err != nil || d.made != `{"n":2}` {
			t.Errorf("of %s, the call is made with %s, %q, %v", asker, d.made, refused, err)
		}
	}
}

// decideBefore calls a function before each decision, which fails if that does.
type decideBefore struct {
	rows
	before func() error
}

func (s decideBefore) DecideApproval(ctx context.Context, id string, from, to chat.Decision, by chat.EntityID, at time.Time) error {
	if err := s.before(); err != nil {
		return err
	}
	return s.rows.DecideApproval(ctx, id, from, to, by, at)
}
