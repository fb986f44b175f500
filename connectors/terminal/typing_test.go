package terminal

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"parley/internal/require"
	"slices"
	"strings"
	"testing"

	"golang.org/x/term"
)

// talk has a person at a terminal ask for something that a gateway answers so.
type talk struct {
	*testing.T
	*gateway
	chat  *Chat
	tty   *tty
	ended chan error
}

const asks = `data: {"type":"status","kind":"choices","choices":{"id":"q","options":["Blue","So What"]}}`

var asked = frames(`data: {"type":"status","kind":"thinking"}`, `data: {"type":"token","text":"Which one?"}`, asks)

func talking(t *testing.T, streams ...func(http.ResponseWriter)) *talk {
	k := &talk{T: t, gateway: newGateway(t, streams...), tty: newTTY(t, 24), ended: make(chan error, 1)}
	client := require.Value(Open(t.Context(), k.URL, "old"))(t)
	keys := &keyboard{}
	keys.more.L = &keys.mu
	k.chat = &Chat{Client: client, keys: keys, typed: make(chan typed)}
	k.chat.lines = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keys, k.tty}, prompt)
	k.chat.shown = screen{out: k.chat.lines}
	return k
}

func (k *talk) ask() { go func() { k.ended <- k.chat.ask(k.Context(), "play") }() }

func (k *talk) types(keys string) { k.chat.keys.take([]byte(keys), nil) }

// end waits for the end of the answer, and for what one sees then.
func (k *talk) end(rows ...string) {
	k.Helper()
	if err := <-k.ended; err != nil {
		k.Error(err)
	}
	k.tty.mu.Lock()
	defer k.tty.mu.Unlock()
	if got := slices.Concat(k.tty.gone, k.tty.written()); !slices.Equal(got, rows) {
		k.Errorf("at the end one sees\n%q\nwant\n%q", got, rows)
	}
}

// and is one stream after others, once c has something.
func and[T any](first func(http.ResponseWriter), c <-chan T, then func(http.ResponseWriter)) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		first(w)
		<-c
		then(w)
	}
}

// What an answer asks before it goes on is chosen by its number or its words. The answer that waits for it goes on in place.
func TestChooseWhileItGoesOn(t *testing.T) {
	for _, typed := range []string{"2", "2.", " so what "} {
		t.Run(typed, func(t *testing.T) {
			heard := make(chan struct{})
			k := talking(t, and(asked, heard, frames(`data: {"type":"status","kind":"choices"}`, `data: {"type":"token","fullText":"Playing it."}`, `data: {"type":"done","fullText":"Playing it."}`)))
			k.ask()
			k.tty.until("", "Which one?", "", "1. Blue", "2. So What", "", "› ")
			k.types(typed)
			k.tty.until("› " + typed)
			k.types("\r")
			if got := <-k.chosen; got != "{q 1}" {
				t.Errorf(`what is chosen is %s; want "{q 1}"`, got)
			}
			close(heard)
			k.end("", "Playing it.", "", "")
		})
	}
}

// Options disappear once another client has chosen or the time is over. A partly typed line stays.
func TestOptionsGo(t *testing.T) {
	gone := make(chan struct{})
	k := talking(t, and(asked, gone, frames(`data: {"type":"status","kind":"choices"}`, `data: {"type":"done","fullText":"Which one? Never mind."}`)))
	k.ask()
	k.tty.until("2. So What", "", "› ")
	k.types("thank y")
	k.tty.until("2. So What", "", "› thank y")
	close(gone)
	k.end("", "Which one? Never mind.", "", "› thank y")
	k.types("ou\r")
	if text, err := k.chat.next(); text != "thank you" || err != nil {
		t.Errorf(`the next message is %q, %v; want "thank you"`, text, err)
	}
}

// A line that is none of the options is the next message, which takes the room. It is answered below.
func TestNoneOfTheOptions(t *testing.T) {
	heard := make(chan struct{})
	k := talking(t, and(asked, heard, frames(`data: {"type":"done","fullText":"","noResponseReason":"superseded"}`)),
		func(w http.ResponseWriter) {
			close(heard)
			frames(`data: {"type":"status","kind":"thinking"}`, `data: {"type":"token","text":"Tea, then."}`, `data: {"type":"done","fullText":"Tea, then."}`)(w)
		})
	k.ask()
	k.tty.until("2. So What", "", "› ")
	k.types("make tea\r")
	require.NoError(t, <-k.ended)
	k.tty.until("", "(Interrupted by a newer message.)", "", "› make tea", "", "Tea, then.", "", "› ")
}

// The end of a message that the agent does not answer is a sentence of the reader's language, and none if a person reads the message.
func TestNoAnswer(t *testing.T) {
	for reason, want := range map[string][]string{"ignored": {"", "(Es war keine Antwort nötig.)", "", ""}, "stopped": {"", "(Abgebrochen.)", "", ""}, "relayed": {"", "", ""}} {
		k := talking(t, frames(`data: {"type":"done","fullText":"","noResponseReason":"`+reason+`"}`))
		k.chat.Client.Locale = "de"
		k.ask()
		k.end(want...)
	}
}

// An answer that waits for an approval waits on while other lines are sent. Its options stay in sight and can be chosen.
func TestOptionsStayBesideOtherLines(t *testing.T) {
	heard, chosen := make(chan struct{}), make(chan struct{})
	k := talking(t, and(asked, chosen, frames(`data: {"type":"status","kind":"choices"}`, `data: {"type":"done","fullText":"Ordered."}`)),
		func(w http.ResponseWriter) {
			close(heard)
			frames(`data: {"type":"status","kind":"thinking"}`, `data: {"type":"done","fullText":"I am here."}`)(w)
		})
	k.ask()
	k.tty.until("2. So What", "", "› ")
	k.types("hello?\r")
	<-heard
	k.tty.until("2. So What", "", "› ")
	k.types("2\r")
	if got := <-k.chosen; got != "{q 1}" {
		t.Errorf(`what is chosen is %s; want "{q 1}"`, got)
	}
	close(chosen)
	require.NoError(t, <-k.ended)
}

// What is over by then is not chosen, and people are told. The answer goes on.
func TestChosenTooLate(t *testing.T) {
	seen := make(chan struct{})
	k := talking(t, and(asked, seen, frames(`data: {"type":"done","fullText":"Never mind."}`)))
	k.choice = func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"error":"This question has closed."}`)
	}
	k.ask()
	k.tty.until("2. So What", "", "› ")
	k.types("1\r")
	k.tty.until("Which one?", "", "1. Blue", "2. So What", "", "(This question has closed.)", "", "› ")
	close(seen)
	<-k.chosen
	k.end("", "Never mind.", "", "› ")
}

// What an option has done is shown below, where that is not the answer's own matter.
func TestWhatComesOfAChoice(t *testing.T) {
	heard := make(chan struct{})
	k := talking(t, and(asked, heard, frames(`data: {"type":"done","fullText":"Done with it."}`)))
	k.choice = frames(`data: {"type":"status","kind":"thinking"}`, `data: {"type":"done","fullText":"Blue it is."}`)
	k.ask()
	k.tty.until("2. So What", "", "› ")
	k.types("1\r")
	<-k.chosen
	close(heard)
	k.end("", "Done with it.", "", "› 1", "", "Blue it is.", "", "")
}

// What was typed before something is asked is no answer to it: it is the next message.
func TestTypedAhead(t *testing.T) {
	typed, heard := make(chan struct{}), make(chan struct{})
	k := talking(t, and(and(frames(`data: {"type":"status","kind":"thinking"}`), typed, asked), heard, frames(`data: {"type":"done","fullText":"Playing it."}`)))
	k.types("hello\r1\rand")
	if text, err := k.chat.next(); text != "hello" || err != nil {
		t.Fatalf(`the first message is %q, %v; want "hello"`, text, err)
	}
	k.ask()
	close(typed)
	k.tty.until("2. So What", "", "› ")
	k.types("2\r")
	if got := <-k.chosen; got != "{q 1}" {
		t.Errorf(`what is chosen is %s; want "{q 1}"`, got)
	}
	close(heard)
	require.NoError(t, <-k.ended)
	if text, err := k.chat.next(); text != "1" || err != nil {
		t.Errorf(`the next message is %q, %v; want "1"`, text, err)
	}
}

// Who leaves while something is asked waits for nothing: the answer is stopped. So it is by Ctrl-C.
func TestLeaveWhatIsAsked(t *testing.T) {
	for name, key := range map[string]string{"Ctrl-C": "\x03", "Ctrl-D": "\x04"} {
		t.Run(name, func(t *testing.T) {
			k := talking(t)
			k.streams = append(k.streams, and(asked, k.stopped, frames(`data: {"type":"done","fullText":"Which one?\n\n(Stopped.)","interrupted":true}`)))
			k.ask()
			k.tty.until("2. So What", "", "› ")
			k.types(key)
			k.end("", "Which one?", "", "(Stopped.)", "", "› ")
			k.types("bye\r")
			text, err := k.chat.next()
			if left := errors.Is(err, io.EOF); left != (name == "Ctrl-D") || !left && text != "bye" {
				t.Errorf("then there is %q, %v", text, err)
			}
		})
	}
}

// Without a terminal what is asked is told at once, beside the answer, with how to choose.
func TestScriptTellsWhatIsAsked(t *testing.T) {
	g := newGateway(t, frames(`data: {"type":"token","text":"Jazz.\n\nWhich one?\u001b[2J"}`, strings.Replace(asks, "Blue", `Bl\u001b[2Jue`, 1),
		`data: {"type":"status","kind":"choices"}`, `data: {"type":"done","fullText":"Playing it."}`))
	c := require.Value(Open(t.Context(), g.URL, "old"))(t)
	var out, notes strings.Builder
	require.NoError(t, (Script{Client: c, Out: &out, Notes: &notes, Choosing: "Write its number."}).Ask(t.Context(), "Hi"))
	if out.String() != "Playing it.\n" || notes.String() != "Which one?[2J\n\n1. Bl[2Jue\n2. So What\n\nWrite its number.\n" {
		t.Errorf(`it wrote %q, and beside it %q; want "Playing it.\n" and "Which one?[2J\n\n1. Bl[2Jue\n2. So What\n\nWrite its number.\n"`, out.String(), notes.String())
	}
}
