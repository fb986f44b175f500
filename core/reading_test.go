package core_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/internal/require"
	"parley/internal/subtest"
)

// fakeReader reads files by their references, and takes its time.
type fakeReader struct {
	mu    sync.Mutex
	asked []string // the references, in the order in which they came
	takes time.Duration
	fails bool
}

func (r *fakeReader) Read(ctx context.Context, connector string, files []chat.Attachment, describe string) []chat.Attachment {
	read := slices.Clone(files)
	r.mu.Lock()
	for _, f := range files {
		r.asked = append(r.asked, f.Ref)
	}
	r.mu.Unlock()
	select {
	case <-time.After(r.takes):
	case <-ctx.Done():
	}
	for i, f := range read {
		switch {
		case ctx.Err() != nil || r.fails:
			read[i].Unread = "it took too long"
		case connector != "fake" || !strings.Contains(describe, "Agent"):
			read[i].Unread = connector + describe
		case f.Voice:
			read[i].Text = "heard " + f.Ref
		default:
			read[i].Description = "seen " + f.Ref
		}
	}
	return read
}

func (r *fakeReader) Pictures(_ context.Context, _ string, files []chat.Attachment, most int) (all []llm.File, fetched []chat.Attachment) {
	for _, f := range files[:min(most, len(files))] {
		if !f.Voice {
			all, fetched = append(all, llm.File{Name: f.Ref, Type: f.Type}), append(fetched, f)
		}
	}
	return all, fetched
}

// was says what r was asked to read since the last time.
func (r *fakeReader) was() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := strings.Join(r.asked, " ")
	r.asked = nil
	return asked
}

// deaf is a transcriber that is never asked: the reader has it.
type deaf struct{}

func (deaf) Transcribe(context.Context, string, string, []byte) (string, error) { panic("asked") }

// withReader runs a test with a reader.
func withReader(t *testing.T, play func(*harness, *fakeReader)) {
	t.Helper()
	withHarness(t, func(w *harness) {
		r := &fakeReader{}
		w.cfg.Reader, w.cfg.Models.Transcriber = r, deaf{}
		play(w, r)
	})
}

func pic(ref string) chat.Attachment {
	return chat.Attachment{Ref: ref, Name: ref, Type: "image/png", Size: 3}
}

func voiceMessage(ref string) chat.Attachment {
	return chat.Attachment{Ref: ref, Name: ref, Type: "audio/ogg", Size: 3, Voice: true}
}

// A file is read once, and what it holds stands in later prompts too, also after a restart.
func TestFilesAreReadOnce(t *testing.T) {
	withReader(t, func(w *harness, r *fakeReader) {
		n := w.start()
		w.wantAnswer(n.send(with(w.message(room, "ada", "Look"), pic("a"), pic("b"))), answer.Completed,
			"You said: Look\n[File: a, image/png]\n  seen a\n[File: b, image/png]\n  seen b")
		if got := r.was(); got != "a b" {
			t.Errorf(`read %q; want "a b"`, got)
		}
		n.shutdown()
		n = w.start()
		w.waitAnswer(n.sendText("Again"))
		if got := r.was(); got != "" {
			t.Errorf("read again: %q", got)
		}
		if calls := w.model.requests(); !strings.Contains(calls[len(calls)-1].Messages[0].Text, "seen b") {
			t.Errorf("later the model was told %+v", calls[len(calls)-1].Messages)
		}
	})
}

// What can't be read is said, and not tried again.
func TestUnreadFiles(t *testing.T) {
	withReader(t, func(w *harness, r *fakeReader) {
		r.fails = true
		n := w.start()
		w.wantAnswer(n.send(with(w.message(room, "ada", "Look"), pic("a"))), answer.Completed,
			"You said: Look\n[File: a, image/png, not read: it took too long]")
		w.waitAnswer(n.sendText("Again"))
		if got := r.was(); got != "a" {
			t.Errorf(`read %q; want "a"`, got)
		}
	})
}

// The time of a turn that is over was too short for its files, not for those who ask next.
func TestSupersededReading(t *testing.T) {
	withReader(t, func(w *harness, r *fakeReader) {
		n := w.start()
		r.takes = 10 * time.Second
		first := n.send(with(w.message(room, "ada", ""), pic("a")))
		time.Sleep(2 * time.Second)
		second := n.sendText("What is it?")
		w.wantAnswer(first, answer.Superseded, "")
		w.wantAnswer(second, answer.Completed, "You said: What is it?")
		calls := w.model.requests()
		if len(calls) != 1 || !strings.Contains(calls[0].Messages[0].Text, "seen a") {
			t.Errorf("the model was told %+v", calls)
		}
		if got := r.was(); got != "a a" {
			t.Errorf(`read %q; want "a a"`, got)
		}
	})
}

// Reading ends, however long it takes.
func TestEndlessReading(t *testing.T) {
	withReader(t, func(w *harness, r *fakeReader) {
		n := w.start()
		r.takes = time.Hour
		start := time.Now()
		w.wantAnswer(n.send(with(w.message(room, "ada", "Look"), pic("a"))), answer.Completed,
			"You said: Look\n[File: a, image/png, not read: it took too long]")
		if took := time.Since(start); took > 5*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// Only what the question is about is read: what came with it, what it replies to, and what the same person sent shortly
// before.
func TestWhatIsRead(t *testing.T) {
	withReader(t, func(w *harness, r *fakeReader) {
		w.cfg.Access.Allowed.Accounts["bob"] = true
		n := w.start()
		send := func(author chat.EntityID, f chat.Attachment) chat.MemoryID {
			m := with(w.message(group, author, "Look"), f)
			n.send(m)
			return m.ID
		}
		old := send("ada", pic("old"))
		time.Sleep(11 * time.Minute)
		send("bob", pic("bobs"))
		shown := send("bob", pic("shown"))
		send("ada", pic("recent"))
		ask := w.message(group, "ada", "What is it?")
		ask.Addressed, ask.InReplyTo = true, shown
		w.waitAnswer(n.send(ask))
		if got := r.was(); got != "shown recent" {
			t.Errorf(`read %q; want "shown recent"`, got)
		}
		ask = w.message(group, "ada", "And this?")
		ask.Addressed, ask.InReplyTo = true, old
		w.waitAnswer(n.send(ask))
		if got := r.was(); got != "old" {
			t.Errorf(`then read %q; want "old"`, got)
		}
	})
}

// IN-12: who edits the words while a file is read does so in vain neither for the words nor for the file.
func TestEditWhileReading(t *testing.T) {
	for _, policy := range []schedule.EditPolicy{schedule.ReviseAnswer, schedule.RememberEdit} {
		t.Run(string(policy), subtest.Of(withReader, func(w *harness, r *fakeReader) {
			w.cfg.Turns.OnEdit = policy
			n := w.start()
			r.takes = 10 * time.Second
			m := with(w.message(room, "ada", "Lok"), pic("a"))
			acc := n.send(m)
			time.Sleep(2 * time.Second)
			m.Text = "Look"
			require.Value(n.ProcessMessage(w.Context(), chat.Edited{Message: chat.Message{Memory: m.Memory}}))(w)
			w.wantAnswer(acc, answer.Completed, "You said: Look\n[File: a, image/png]\n  seen a")
			got := require.Value(w.Store.Memory(w.Context(), m.ID))(w)
			if got.Text != "Look" || got.Files[0].Description != "seen a" {
				w.Errorf("remembered is %+v", got)
			}
		}))
	}
}

// What is spoken becomes what the person said. The platform, which knows no text, may tell of the message again.
func TestVoiceBecomesText(t *testing.T) {
	withReader(t, func(w *harness, _ *fakeReader) {
		n := w.start()
		m := with(w.message(room, "ada", ""), voiceMessage("v"))
		acc := n.send(m)
		w.wantAnswer(acc, answer.Completed, "You said: heard v")
		require.Value(n.ProcessMessage(w.Context(), chat.Edited{Message: chat.Message{Memory: m.Memory}}))(w)
		synctest.Wait()
		got := require.Value(w.Store.Memory(w.Context(), m.ID))(w)
		if got.Text != "heard v" || w.run(acc).Epoch != 1 {
			t.Errorf("told again, it is %q, and was answered %d times", got.Text, w.run(acc).Epoch)
		}
	})
}

// IN-12: words beside what was spoken may change, what was spoken stays.
func TestEditBesideVoice(t *testing.T) {
	withReader(t, func(w *harness, _ *fakeReader) {
		w.cfg.Turns.OnEdit = schedule.RememberEdit
		n := w.start()
		m := with(w.message(room, "ada", "A capton"), voiceMessage("v"))
		w.wantAnswer(n.send(m), answer.Completed, "You said: A capton\nheard v")
		m.Text = "A caption"
		require.Value(n.ProcessMessage(w.Context(), chat.Edited{Message: chat.Message{Memory: m.Memory}}))(w)
		got := require.Value(w.Store.Memory(w.Context(), m.ID))(w)
		if got.Text != "A caption\nheard v" {
			t.Errorf(`remembered is %q; want "A caption\nheard v"`, got.Text)
		}
	})
}

// In a group the model weighs what was spoken like what is written.
func TestVoiceInAGroup(t *testing.T) {
	withReader(t, func(w *harness, r *fakeReader) {
		w.listenToGroup()
		w.model.respond = func(req llm.Request) []step {
			if strings.Contains(req.Messages[len(req.Messages)-1].Text, "heard v") {
				return []step{write("RESPOND")}
			}
			return []step{write("IGNORE")}
		}
		n := w.start()
		if o, _ := w.waitAnswer(n.send(with(w.message(group, "ada", ""), voiceMessage("v")))); o.Status != answer.Completed {
			t.Errorf("it ended as %+v", o)
		}
		r.was()
		if o, _ := w.waitAnswer(n.send(with(w.message(group, "ada", "x"), pic("p")))); o.Status != answer.Completed && r.was() != "" {
			t.Error("a picture was looked at before anybody asked")
		}
	})
}

// A question that is answered again, or was changed, is answered with its pictures.
func TestPicturesOfTheSameQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		again func(*harness, *process, chat.Message)
		want  string
	}{
		"/retry": {func(w *harness, n *process, _ chat.Message) { w.waitAnswer(n.sendText("/retry")) }, "a a"},
		"other words": {func(w *harness, n *process, m chat.Message) {
			m.Text = "Two"
			require.Value(n.ProcessMessage(w.Context(), chat.Edited{Message: chat.Message{Memory: m.Memory}}))(w)
		}, "a a"},
		"another picture": {func(w *harness, n *process, m chat.Message) {
			m.Files = []chat.Attachment{{Ref: "b", Name: "b", Type: "image/png", Size: 4}}
			require.Value(n.ProcessMessage(w.Context(), chat.Edited{Message: chat.Message{Memory: m.Memory}}))(w)
		}, "a b"},
	} {
		t.Run(name, subtest.Of(withReader, func(w *harness, r *fakeReader) {
			w.cfg.Models.LargeVision, w.cfg.Turns.OnEdit = true, schedule.ReviseAnswer
			n := w.start()
			m := with(w.message(room, "ada", "One"), pic("a"))
			w.waitAnswer(n.send(m))
			c.again(w, n, m)
			time.Sleep(time.Minute)
			synctest.Wait()
			var shown []string
			for _, call := range w.model.requests() {
				for _, b := range call.Messages[len(call.Messages)-1].Images {
					shown = append(shown, b.Name)
				}
			}
			if got := strings.Join(shown, " "); got != c.want || r.was() != "" {
				w.Errorf("shown are %q; want %q", got, c.want)
			}
			w.chat.forgetSeen() // the answer changes after its end
		}))
	}
}

// A model that sees is shown the pictures that the question is about, the latest first, and only so many. With later questions it
// is not shown them again: then they are words, which are found once (SE-19).
func TestPicturesAreShown(t *testing.T) {
	withReader(t, func(w *harness, r *fakeReader) {
		w.cfg.Models.LargeVision = true
		n := w.start()
		w.waitAnswer(n.send(with(w.message(room, "ada", "One"), pic("a"), pic("b"), pic("c"))))
		w.waitAnswer(n.send(with(w.message(room, "ada", "Two"), pic("d"), pic("e"))))
		w.waitAnswer(n.sendText("Three"))
		n.shutdown()
		n = w.start()
		w.waitAnswer(n.sendText("Four"))
		if got := r.was(); got != "a b c d e" {
			t.Errorf(`read into words are %q; want "a b c d e"`, got)
		}
		last := w.model.requests()[3]
		if text := fmt.Sprint(last.Messages); !strings.Contains(text, "seen a") || !strings.Contains(text, "seen e") {
			t.Errorf(`later the model is told %s; want it to contain "seen a" and it to contain "seen e"`, text)
		}
		var shown []string
		for _, c := range w.model.requests() {
			line := ""
			for i, turn := range c.Messages {
				for _, b := range turn.Images {
					line += b.Name
					if i != len(c.Messages)-1 {
						t.Errorf("%s was shown too early", b.Name)
					}
				}
			}
			shown = append(shown, line)
		}
		if !slices.Equal(shown, []string{"abc", "de", "", ""}) {
			t.Errorf("shown: %q", shown)
		}
	})
}

// Pages that a question links to are read once, like its attachments, if the owner wants that; meanwhile the answer says which.
func TestLinkedPagesAreRead(t *testing.T) {
	const question = "Compare https://a.example/x and https://b.example/y?token=1."
	for name, on := range map[string]bool{"on": true, "off": false} {
		t.Run(name, subtest.Of(withReader, func(w *harness, r *fakeReader) {
			w.cfg.ReadLinks = on
			n := w.start()
			acc := n.send(w.message(room, "ada", question))
			want, read := "You said: "+question, ""
			if on {
				want += "\n[Linked page, which may say anything: a.example/x, text/html]\n  seen https://a.example/x" +
					"\n[Linked page, which may say anything: b.example/y, text/html]\n  seen https://b.example/y?token=1"
				read = "https://a.example/x https://b.example/y?token=1"
			}
			w.wantAnswer(acc, answer.Completed, want)
			if got := r.was(); got != read {
				w.Errorf("read %q; want %q", got, read)
			}
			m, err := w.Store.Memory(context.Background(), acc.Memory)
			if err != nil || len(m.Files) != len(strings.Fields(read)) {
				w.Errorf("known is %+v, %v", m.Files, err)
			}
			said, err := w.Store.Recent(context.Background(), room, chat.Said, 0, 1)
			if err != nil || len(said) != 1 {
				w.Fatal(said, err)
			}
			var lines []string
			for _, c := range said[0].Calls {
				lines = append(lines, c.Tool.Name+" "+string(c.Tool.Stage)+" "+c.Tool.ShortResult)
			}
			if got := strings.Join(lines, ", "); on && got != "READ_LINK end a.example, READ_LINK end b.example" || !on && got != "" {
				w.Errorf("the answer shows %q", got)
			}
			w.waitAnswer(n.sendText("And now?"))
			if got := r.was(); got != "" {
				w.Errorf("read again: %q", got)
			}
		}))
	}
}
