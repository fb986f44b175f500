package storagetest

import (
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

func approvalChecks() []storeCheck {
	return []storeCheck{
		{"an approval is stored once and unchanged", approvalOnce},
		{"an approval is decided once and used once", approvalDecided},
		{"a standing approval applies to its room and kind until it expires", approvalStanding},
		{"an approval with invalid text is refused", approvalExactText},
		{"approvals expire by age unless they are standing", approvalExpires},
	}
}

// pending is an approval that is asked for in room, n seconds late.
func pending(id string, room chat.RoomID, n int) chat.Approval {
	at := time.Unix(int64(n), 5).UTC()
	return chat.Approval{
		ID: id, Room: room, Run: chat.RunID(room + "#1"), Call: "c", Tool: "files/write", Kind: "kind", Arguments: "hash", Effect: "write",
		Asker: "ada", At: at, Expires: at.Add(time.Hour), Decision: chat.Pending,
	}
}

func (s store) asked(a chat.Approval) chat.Approval {
	s.t.Helper()
	stored := require.Value(s.RequestApproval(s.t.Context(), a))(s.t)
	return stored
}

func approvalOnce(t *testing.T, s store) {
	_, err := s.Approval(t.Context(), "a")
	s.fails(err, chat.ErrNotFound)
	a := pending("a", "room", 1)
	s.same("the stored records", s.asked(a), a)
	later := a
	later.Tool = "files/delete"
	s.same("the second request", s.asked(later), a)
	found, err := s.Approval(t.Context(), "a")
	s.must(err)
	s.same("the approval", found, a)
	b := s.asked(pending("b", "room", 2))
	s.asked(pending("c", "other", 3))
	all, err := s.RecentApprovals(t.Context(), "room", 9)
	s.must(err)
	s.same("those of the room", all, []chat.Approval{b, a})
	all, err = s.RecentApprovals(t.Context(), "room", 1)
	s.must(err)
	s.same("the newest", all, []chat.Approval{b})
	c := s.asked(pending("d", "room", 4))
	s.must(s.DecideApproval(t.Context(), "a", chat.Pending, chat.Replaced, "", a.At))
	s.must(s.DecideApproval(t.Context(), "b", chat.Pending, chat.Denied, "olga", a.At))
	a.Decision, a.Decided = chat.Replaced, a.At
	for limit, want := range map[int][]chat.Approval{1: {c}, 9: {c, a}} {
		all, err = s.OpenApprovals(t.Context(), "room", limit)
		s.must(err)
		s.same("those that are open", all, want)
	}
}

func approvalExactText(t *testing.T, s store) {
	for name, spoil := range map[string]func(*chat.Approval){
		"run":       func(a *chat.Approval) { a.Run = "\xff" },
		"call":      func(a *chat.Approval) { a.Call = "cut \xf0\x9f" },
		"tool":      func(a *chat.Approval) { a.Tool = "\xff" },
		"kind":      func(a *chat.Approval) { a.Kind = "\xff" },
		"arguments": func(a *chat.Approval) { a.Arguments = "\xff" },
		"asker":     func(a *chat.Approval) { a.Asker = "\xff" },
	} {
		a := pending(name, "room", 1)
		spoil(&a)
		if stored, err := s.RequestApproval(t.Context(), a); err == nil {
			t.Errorf("an invalid %s was stored: %+v; want an error", name, stored)
		}
		_, err := s.Approval(t.Context(), name)
		s.fails(err, chat.ErrNotFound)
	}
	a := s.asked(pending("a", "room", 1))
	if err := s.DecideApproval(t.Context(), "a", chat.Pending, chat.Approved, "\xff", time.Unix(60, 0)); err == nil {
		t.Error("an invalid person was stored; want an error")
	}
	found := require.Value(s.Approval(t.Context(), "a"))(s.t)
	s.same("the approval", found, a)
}

func approvalDecided(t *testing.T, s store) {
	a, at := s.asked(pending("a", "room", 1)), time.Unix(60, 0).UTC()
	s.fails(s.DecideApproval(t.Context(), "b", chat.Pending, chat.Approved, "owner", at), answer.ErrLost)
	s.fails(s.DecideApproval(t.Context(), "a", chat.Approved, chat.Used, "owner", at), answer.ErrLost)
	s.must(s.DecideApproval(t.Context(), "a", chat.Pending, chat.Approved, "owner", at))
	s.fails(s.DecideApproval(t.Context(), "a", chat.Pending, chat.Denied, "eve", at), answer.ErrLost)
	a.Decision, a.By, a.Decided = chat.Approved, "owner", at
	s.same("the approval", s.asked(pending("a", "room", 1)), a)
	s.must(s.DecideApproval(t.Context(), "a", chat.Approved, chat.Used, "owner", at))
	s.fails(s.DecideApproval(t.Context(), "a", chat.Approved, chat.Used, "owner", at), answer.ErrLost)
}

func approvalStanding(t *testing.T, s store) {
	s.asked(pending("a", "room", 1))
	_, err := s.StandingApproval(t.Context(), "room", "kind")
	s.fails(err, chat.ErrNotFound)
	s.must(s.DecideApproval(t.Context(), "a", chat.Pending, chat.Always, "owner", time.Unix(60, 0)))
	found, err := s.StandingApproval(t.Context(), "room", "kind")
	s.must(err)
	s.same("it stands", found.ID, "a")
	_, err = s.StandingApproval(t.Context(), "other", "kind")
	s.fails(err, chat.ErrNotFound)
	_, err = s.StandingApproval(t.Context(), "room", "other kind")
	s.fails(err, chat.ErrNotFound)
	s.asked(pending("b", "room", 2))
	s.asked(pending("c", "room", 3))
	s.must(s.DecideApproval(t.Context(), "c", chat.Pending, chat.Approved, "owner", time.Unix(60, 0)))
	s.asked(pending("d", "room", 4))
	s.must(s.DecideApproval(t.Context(), "d", chat.Pending, chat.Denied, "owner", time.Unix(60, 0)))
	_, err = s.Clear(t.Context(), "other")
	s.must(err)
	_, err = s.StandingApproval(t.Context(), "room", "kind")
	s.must(err)
	_, err = s.Clear(t.Context(), "room")
	s.must(err)
	_, err = s.StandingApproval(t.Context(), "room", "kind")
	s.fails(err, chat.ErrNotFound)
	for id, want := range map[string]chat.Decision{"a": chat.Lapsed, "b": chat.Stopped, "c": chat.Stopped, "d": chat.Denied} {
		a := require.Value(s.Approval(t.Context(), id))(s.t)
		s.same("the decision about "+id+" after the room was cleared", a.Decision, want)
	}
	s.fails(s.DecideApproval(t.Context(), "c", chat.Approved, chat.Used, "owner", time.Unix(60, 0)), answer.ErrLost)
}

func approvalExpires(t *testing.T, s store) {
	now := time.Now()
	ask := func(id string, expires time.Time, to chat.Decision) {
		a := pending(id, "room", 1)
		a.Expires = expires
		s.asked(a)
		if to != chat.Pending {
			s.must(s.DecideApproval(t.Context(), id, chat.Pending, to, "owner", now))
		}
	}
	old := now.Add(-time.Hour)
	for _, d := range []chat.Decision{chat.Pending, chat.Used, chat.Denied, chat.Lapsed, chat.Always} {
		ask("old "+string(d), old, d)
		ask("new "+string(d), now, d)
	}
	expire := func() {
		for more := true; more; {
			var err error
			more, err = s.Expire(t.Context(), chat.Expiry{Rest: now.Add(-time.Minute)})
			s.must(err)
		}
	}
	expire()
	all, err := s.RecentApprovals(t.Context(), "room", 99)
	s.must(err)
	var ids []string
	for _, a := range all {
		ids = append(ids, a.ID)
	}
	s.same("the rest", ids, []string{"new always", "new denied", "new lapsed", "new pending", "new used", "old always"})
	_, err = s.Clear(t.Context(), "room")
	s.must(err)
	expire()
	_, err = s.Approval(t.Context(), "old always")
	s.fails(err, chat.ErrNotFound)
}
