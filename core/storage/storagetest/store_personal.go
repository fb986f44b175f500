package storagetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/core/storage"
	"parley/internal/require"
	"parley/internal/subtest"
)

// Personal tests the contract of [storage.PersonalData].
func Personal(t *testing.T, open func(t *testing.T) storage.Store) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s personalStore)
	}{
		{"an export has all records of a person and no others", personalRead},
		{"a long export comes in pages with each record once", personalPages},
		{"deleting a person leaves no trace and keeps others", personalDeleted},
		{"a shared answer continues without a deleted person", personalShared},
		{"an interrupted deletion resumes", personalResumed},
		{"a running answer does not restore a deleted person", personalOpen},
		{"a parked answer is woken to end", personalParked},
		{"an unknown export position is refused", personalNoPlace},
	} {
		t.Run(c.name, subtest.Of(synctest.Test, func(t *testing.T) {
			s := open(t)
			c.run(t, personalStore{store{s, t}})
		}))
	}
}

type personalStore struct{ store }

// export returns the records about a person by section.
func (s personalStore) export(person chat.EntityID) (all map[string][]string, pages int) {
	s.t.Helper()
	all = map[string][]string{}
	for next := ""; pages == 0 || next != ""; pages++ {
		page := require.Value(s.PersonalRecords(s.t.Context(), person, next))(s.t)
		for _, r := range page.Records {
			if !json.Valid(r) {
				s.t.Errorf("a record of %s is %s; want JSON", page.Section, r)
			}
			all[page.Section] = append(all[page.Section], string(r))
		}
		next = page.Next
	}
	return all, pages
}

// erase deletes a person.
func (s personalStore) erase(person chat.EntityID) (d chat.PersonalDeletion) {
	s.t.Helper()
	d.Deleted = map[string]int{}
	for more := true; more; {
		step := require.Value(s.DeletePersonal(s.t.Context(), person))(s.t)
		for section, n := range step.Deleted {
			d.Deleted[section] += n
		}
		more, d.Open = step.More, step.Open
	}
	return d
}

// by is a message of person in room.
func by(person chat.EntityID, room chat.RoomID, kind chat.RoomKind, n int) chat.Message {
	in := message(room, n)
	in.Author, in.Name, in.Text = person, "Name of "+string(person), fmt.Sprintf("said by %s: %d", person, n)
	in.Place.Kind, in.Place.Chats = kind, []string{"chat of " + string(room)}
	in.Address.BilledTo, in.Address.AuthorizedByRole = person, person
	return in
}

// answers has the newest run of acc end with a text, a file and a fact about the author.
func (s personalStore) answers(in chat.Message) chat.Run {
	s.t.Helper()
	run := s.start(s.accept(in, alone).Run, "owner")
	s.must(s.SaveNote(s.t.Context(), chat.RoomNote{Room: in.Room, Kind: chat.FactNote, Key: string(in.ID), About: in.Author,
		Text: "fact about " + string(in.Author), First: in.ID, Last: in.ID, At: in.At}))
	s.note(run, chat.Note{Verdict: &chat.Verdict{Outcome: done, Text: "answer to " + string(in.Author), Files: 1},
		Files: []llm.File{{Name: "f", Type: "text/plain", Data: []byte("file for " + in.Author)}}})
	out := answerOf(run, "answer to "+string(in.Author))
	out.InReplyTo = in.ID
	s.finish(run, out)
	return run
}

// fill stores something of each kind about person, whose direct chat and whose upload are named after it.
func (s personalStore) fill(person chat.EntityID) {
	s.t.Helper()
	ctx, room := s.t.Context(), chat.RoomID("chat/"+person)
	s.answers(by(person, room, chat.Direct, 1))
	group := s.answers(by(person, "group", chat.Group, int(person[0])))
	s.must(s.SaveNote(ctx, chat.RoomNote{Room: room, Kind: chat.SettingNote, Key: "k", Text: "setting of " + string(person)}))
	_, err := s.SaveEntity(ctx, chat.Entity{ID: person, Connector: "fake", Names: []string{"Name of " + string(person)}, Details: map[string]string{"language": "x"}})
	s.must(err)
	_, err = s.SaveMember(ctx, chat.Member{World: "world", Entity: person, Role: "role"})
	s.must(err)
	s.must(s.Approve(ctx, chat.Person{ID: person, Name: "Name of " + string(person), Since: time.Now()}))
	_, _, err = s.RequestPairing(ctx, chat.PairingRequest{Person: chat.Person{ID: "of/" + person}, Code: "code" + string(person), Ends: time.Now().Add(time.Hour)}, chat.PairingRule{Limit: 9})
	s.must(err)
	s.adds(chat.Reminder{ID: "r" + string(person), Room: "group", Person: person, Name: string(person), Text: "tea", Due: time.Now(), First: time.Now()})
	u := upload("group", string(person))
	u.Sender = person
	s.sends(u)
	_, err = s.RequestApproval(ctx, chat.Approval{ID: "a" + string(person), Room: "group", Run: group.ID, Tool: "t", Asker: person, At: time.Now(), Expires: time.Now()})
	s.must(err)
	_, err = s.Spend(ctx, "2000-01-01", quota.Charge{Bucket: "person/" + string(person), Cost: quota.Cost{Tokens: 3}},
		quota.Charge{Bucket: "room/" + string(room), Cost: quota.Cost{Tokens: 3}}, quota.Charge{Bucket: "run/" + string(group.ID), Cost: quota.Cost{Tokens: 3}})
	s.must(err)
	s.index()
}

func personalRead(t *testing.T, s personalStore) {
	s.beat("owner", time.Hour)
	s.fill("ada")
	s.fill("bob")
	all, _ := s.export("ada")
	for section, want := range map[string]int{
		"account": 1, "access": 1, "memberships": 1, "chats": 1, "messages": 4, "files": 2, "uploads": 1, "upload_pieces": 2, "facts": 3, "reminders": 1,
		"approvals": 1, "runs": 2, "usage": 3,
	} {
		s.same(section, len(all[section]), want)
	}
	whole := fmt.Sprint(all)
	for _, word := range []string{"bob", "codeada"} {
		if i := strings.Index(whole, word); i >= 0 {
			t.Errorf("the export of Ada has %q; want no data of others: …%s…", word, whole[max(0, i-100):min(len(whole), i+100)])
		}
	}
	for _, word := range []string{`"at":"2000-01-01T`, `"names":["Name of ada"]`, `"bot":false`, `"text":"answer to ada"`, `"about":"ada"`, `"first":"chat/ada/1"`} {
		if !strings.Contains(whole, word) {
			t.Errorf("the export lacks %s; want all of Ada's data", word)
		}
	}
	none, pages := s.export("eve")
	s.same("of a person who is unknown", fmt.Sprint(len(none), pages), "0 1")
}

func personalPages(t *testing.T, s personalStore) {
	const count = 9
	s.beat("owner", time.Hour)
	run := s.start(s.accept(by("ada", "chat/ada", chat.Direct, 1), alone).Run, "owner")
	var files []llm.File
	for n := range count {
		files = append(files, llm.File{Name: fmt.Sprint("file ", n), Type: "text/plain", Data: []byte{0, 1, 0xff}})
	}
	s.note(run, chat.Note{Verdict: &chat.Verdict{Outcome: done, Text: "yes", Files: count}, Files: files})
	s.finish(run, answerOf(run, "yes"))
	all, pages := s.export("ada")
	s.same("the files", len(slices.Compact(slices.Sorted(slices.Values(all["files"])))), count)
	if pages < 3+len(all)-1 {
		t.Errorf("%d sections came in %d pages; want more than two pages of files", len(all), pages)
	}
	s.same("deleted", s.erase("ada").Deleted["files"], count)
}

func personalDeleted(t *testing.T, s personalStore) {
	s.beat("owner", time.Hour)
	s.fill("bob")
	before, _ := s.export("bob")
	s.fill("ada")
	_, err := s.RequestApproval(t.Context(), chat.Approval{ID: "standing", Room: "group", Run: "group#1", Kind: "k", Asker: "bob", Decision: chat.Pending, At: time.Now(), Expires: time.Now()})
	s.must(err)
	s.must(s.DecideApproval(t.Context(), "standing", chat.Pending, chat.Always, "ada", time.Now()))
	d := s.erase("ada")
	s.same("open", d.Open, 0)
	for section, want := range map[string]int{"account": 1, "access": 1, "memberships": 1, "messages": 3, "reminders": 1, "uploads": 1, "approvals": 1, "runs": 2, "usage": 3} {
		s.same(section, d.Deleted[section], want)
	}
	left, _ := s.export("ada")
	s.same("Ada's records", fmt.Sprint(left), "map[]")
	s.must(s.Forget(t.Context(), "group/77"))
	after, _ := s.export("bob")
	after["approvals"] = slices.DeleteFunc(after["approvals"], func(r string) bool { return strings.Contains(r, "standing") })
	s.same("Bob's records", after, before)
	_, err = s.StandingApproval(t.Context(), "group", "k")
	s.fails(err, chat.ErrNotFound) // it was the deleted person's
	_, err = s.Entity(t.Context(), "ada")
	s.fails(err, chat.ErrNotFound)
	s.accept(by("bob", "group", chat.Group, 77), chat.JoinRule{NoRun: true})
	s.same("the results for Ada's words", s.finds("group", 77, "bob", "ada"), [][]string(nil))
	room := require.Value(s.Room(t.Context(), "chat/ada"))(s.t)
	s.same("the stored chat", room.Name+fmt.Sprint(room.Chats), "[]")
	s.same("nothing more", s.erase("ada").Deleted["messages"], 0)
	again := s.accept(by("ada", "chat/ada", chat.Direct, 9), alone)
	s.same("the next turn there", again.Response, chat.ResponseID(2)) // not the first: replicas would take it for an old one
	if _, err := s.Known(t.Context(), by("ada", "group", chat.Group, 'a').Memory); err != nil {
		t.Errorf("a redelivered message is not known: %v; want a duplicate", err)
	}
}

func personalShared(t *testing.T, s personalStore) {
	s.beat("owner", time.Hour)
	first := s.accept(by("ada", "group", chat.Group, 1), alone)
	both := s.accept(by("bob", "group", chat.Group, 2), chat.JoinRule{Collect: true})
	s.same("one run answers both", both.Run, first.Run)
	run := s.start(first.Run, "owner")
	s.finish(run, answerOf(run, "to both, quoting Ada"))
	reply := by("bob", "group", chat.Group, 3)
	reply.InReplyTo, reply.Quoted = "group/1", chat.Quoted{Name: "Name of ada", Text: "said by ada"}
	other := by("bob", "group", chat.Group, 4)
	other.InReplyTo, other.Quoted = "group/2", chat.Quoted{Name: "Name of bob", Text: "said by bob"}
	s.accept(reply, chat.JoinRule{NoRun: true})
	s.accept(other, chat.JoinRule{NoRun: true})
	s.erase("ada")
	s.same("the remaining records", s.texts("group", 0, 9), []string{"said by bob: 2", "to both, quoting Ada", "said by bob: 3", "said by bob: 4"})
	m := require.Value(s.Memory(t.Context(), reply.ID))(s.t)
	s.same("the quote of Ada", m.Quoted, chat.Quoted{})
	m = require.Value(s.Memory(t.Context(), other.ID))(s.t)
	s.same("the quote of Bob", m.Quoted, other.Quoted)
	run = s.runOf(first)
	s.same("the run's address", []chat.EntityID{run.Address.BilledTo, run.Address.AuthorizedByRole}, []chat.EntityID{"bob", "bob"})
	left, _ := s.export("ada")
	s.same("Ada's records", fmt.Sprint(left), "map[]")
}

func personalResumed(t *testing.T, s personalStore) {
	for n := range 70 {
		s.accept(by("ada", chat.RoomID(fmt.Sprint("room", n%3)), chat.Group, n), chat.JoinRule{NoRun: true})
	}
	first := require.Value(s.DeletePersonal(t.Context(), "ada"))(s.t)
	if n := first.Deleted["messages"]; !first.More || n == 0 || n == 70 {
		t.Errorf("the first step deleted %d messages, more: %v; want some of the 70, and more", n, first.More)
	}
	s.accept(by("ada", "room0", chat.Group, 1000), chat.JoinRule{NoRun: true})
	s.same("the rest", s.erase("ada").Deleted["messages"], 71-first.Deleted["messages"])
	left, _ := s.export("ada")
	s.same("the rest", fmt.Sprint(left), "map[]")
}

func personalOpen(t *testing.T, s personalStore) {
	s.beat("owner", time.Hour)
	in := by("ada", "chat/ada", chat.Direct, 1)
	run := s.start(s.accept(in, alone).Run, "owner")
	s.note(run, chat.Note{Text: "half an answer to ada"})
	s.same("answers that are open", s.erase("ada").Open, 1)
	s.fails(s.SaveNote(t.Context(), chat.RoomNote{Room: in.Room, Kind: chat.FactNote, Key: "k", Text: "t", First: in.ID, Last: in.ID}), chat.ErrNotFound)
	s.fails(s.Remember(t.Context(), run.ID, chat.Memory{ID: "x", Room: in.Room, Kind: chat.ActionResult, Text: "t"}), chat.ErrNotFound)
	s.finish(run, answerOf(run, "whole answer to ada"))
	s.same("the room's contents", s.texts("chat/ada", 0, 9), []string{})
	d := s.erase("ada")
	s.same("open, and the run", []int{d.Open, d.Deleted["runs"]}, []int{0, 1})
	left, _ := s.export("ada")
	s.same("the rest", fmt.Sprint(left), "map[]")
}

func personalParked(t *testing.T, s personalStore) {
	s.beat("owner", time.Hour)
	run := s.start(s.accept(by("ada", "chat/ada", chat.Direct, 1), alone).Run, "owner")
	s.must(s.Park(t.Context(), run.ID, run.Epoch, chat.Wait{Until: time.Now().Add(24 * time.Hour), Continuation: []byte("all about ada")}))
	s.same("answers that are open", s.erase("ada").Open, 1)
	run = s.start(run.ID, "owner")
	s.same("the requested end", run.Ending, answer.Stopped)
	s.must(s.Finish(t.Context(), run.ID, run.Epoch, answer.Outcome{Status: answer.Stopped}, chat.Memory{}))
	s.same("answers that are open then", s.erase("ada").Open, 0)
}

func personalNoPlace(t *testing.T, s personalStore) {
	for _, place := range []string{"x", `{}`, `{"section":"notes"}`, `{"section":"messages","after":[1,2]}`, `{"section":"messages","after":[1.5]}`} {
		if page, err := s.PersonalRecords(t.Context(), "ada", place); err == nil {
			t.Errorf("%s: %v", place, page)
		}
	}
}
