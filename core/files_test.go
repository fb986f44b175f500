package core_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/internal/require"
)

// with gives a message files.
func with(m chat.Message, files ...chat.Attachment) chat.Message {
	m.Files = files
	return m
}

var (
	photo = chat.Attachment{Ref: "fake-1", Name: "a\nphoto.jpg", Type: "image/jpeg", Size: 3}
	voice = chat.Attachment{Ref: "fake-2", Name: "voice.ogg", Type: "audio/ogg", Size: 3, Voice: true}
)

// A message may be nothing but files; without anything at all it is none.
func TestFilesAreAMessage(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.wantAnswer(n.send(with(w.message(room, "ada", ""), photo)), answer.Completed, "You said: [File: a photo.jpg, image/jpeg]")
		read := photo
		read.Description, read.Text, read.Title = "A tree.", "Oak", "Mine"
		w.wantAnswer(n.send(with(w.message(room, "ada", "Look"), read)), answer.Completed,
			"You said: Look\n[File: a photo.jpg, image/jpeg, Mine]\n  A tree.\n  Oak")
		if acc := n.send(w.message(room, "ada", " ")); acc.Run != "" {
			w.Error("an empty message started a run; want none")
		}
		long := photo
		long.Ref = strings.Repeat("x", chat.MaxOwn+1)
		if _, err := n.ProcessMessage(w.Context(), with(w.message(room, "ada", "Look"), long)); !errors.Is(err, chat.ErrTooLarge) {
			w.Errorf("a long reference is taken with %v", err)
		}
	})
}

// Who speaks to an agent that can't listen is told so, without a call of the model; in a group no user is told what
// they did not ask.
func TestVoiceWithoutATranscriber(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.listenToGroup()
		d := &eventLog{}
		w.cfg.Observers = []event.Observer{d}
		n := w.start()
		m := with(w.message(room, "ada", ""), voice)
		acc := n.send(m)
		w.wantAnswer(acc, answer.Completed, "I can't listen to voice messages here. Please send me text instead.")
		if acc := n.send(with(w.message(group, "ada", ""), voice)); acc.Run != "" {
			w.Error("a voice in a group is weighed")
		}
		if got := len(w.model.requests()); got != 0 {
			w.Errorf("the model was called %d times; want none", got)
		}
		w.wantAnswer(n.send(with(w.message(room, "ada", "In short: hello"), voice)), answer.Completed,
			"You said: In short: hello\n[Voice message: voice.ogg, audio/ogg]")
		synctest.Wait()
		if heard, ok := d.all[0].(event.VoiceMessageReceived); !ok || heard.Message.ID != m.ID || heard.Accepted != acc {
			w.Errorf("heard %+v", d.all[0])
		}
	})
}

// IN-12: what was read of a file is not lost over an edit of the words beside it, nor is the edit missed.
func TestEditsOfFiles(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		read := photo
		read.Description = "A tree."
		m := with(w.message(room, "ada", "Look"), read)
		w.waitAnswer(n.send(m))
		memory := func(want string) {
			w.Helper()
			got := require.Value(w.Store.Memory(w.Context(), m.ID))(w)
			if got.Text != want || len(got.Files) != 1 || got.Files[0].Description != "A tree." {
				w.Errorf("it is %q with %+v; want %q", got.Text, got.Files, want)
			}
		}
		for _, c := range []struct {
			text, ref, want string
			calls           int
		}{{"Look", "fake-1", "Look", 1}, {"Look", "another", "Look", 1}, {"See", "another", "See", 2}, {"", "fake-1", "", 3}} {
			again := photo
			again.Ref = c.ref
			n.edit(with(m, again), c.text)
			synctest.Wait()
			memory(c.want)
			if got := len(w.model.requests()); got != c.calls {
				w.Errorf("after %q by %s the model was called %d times; want %d", c.text, c.ref, got, c.calls)
			}
		}
	})
}
