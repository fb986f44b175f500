package progressive_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/chat"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// lives is an answer whose holder dies twice: at given moments before or after an effect on the journal or the platform.
type lives struct {
	*delivery
	texts   []string // what the model answers in each life until there is a verdict
	at      [2]int   // the moment at which each of the first two lives ends, counted from 1; 0 is never
	weather weather

	life, moments, requests int
	dead                    bool
	doubts                  int // deaths and faults that leave open what became of a request
	final                   string
}

// weather is what becomes of one request of a live holder.
type weather struct {
	fault string // of faults
	at    int    // which request, counted from 0, typing aside; below 0 is none
}

// moment is one at which the holder can die. It reports whether it is dead.
func (l *lives) moment() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return true
	}
	if l.moments++; l.life < 2 && l.moments == l.at[l.life] {
		l.dead = true
		l.cancel(chat.ErrCrashed)
	}
	return l.dead
}

func (l *lives) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// fate lets a request through while its holder lives, unless the weather forbids it.
func (l *lives) fate(r progressivetest.Request) progressivetest.Fault {
	if r.Op == progressive.Typing {
		return progressivetest.Fault{}
	}
	if l.moment() {
		l.doubts++
		return progressivetest.Fault{Err: progressive.ErrAmbiguous}
	}
	var f progressivetest.Fault
	if l.requests == l.weather.at {
		f = faults[l.weather.fault]
	}
	l.requests++
	if f.Err == progressive.ErrAmbiguous {
		l.doubts++
	}
	if l.moment() { // the response is lost
		l.doubts++
		return progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: f.Err == nil || f.Applied}
	}
	return f
}

// journal is the note of a holder that can die before and after it.
func (l *lives) journal(h chat.Shown) error {
	if l.moment() {
		l.doubts++ // what is there, or was refused, is not known to be so
		return chat.ErrCrashed
	}
	_ = l.note(h)
	if l.moment() {
		l.doubts++ // an intent without a request
		return chat.ErrCrashed
	}
	return nil
}

// live lets one holder write, decide and show, until it has ended or died. It reports whether it has ended.
func (l *lives) live() bool {
	l.moments, l.dead = 0, false
	l.run.Epoch++
	l.showNoting(slog.New(slog.DiscardHandler), l.journal)
	text := l.texts[l.life]
	if l.run.Verdict != nil {
		text = l.final
	}
	for i, w := range strings.SplitAfter(text, "|") {
		l.say(strings.TrimSuffix(w, "|"))
		if l.run.Verdict == nil && i < strings.Count(text, "|") {
			time.Sleep(3 * time.Second)
		}
	}
	if l.run.Verdict == nil && !l.moment() {
		l.run.Verdict, l.final = &chat.Verdict{Outcome: completed}, strings.ReplaceAll(text, "|", "")
		l.moment()
	}
	if !l.isDead() {
		l.a.End(completed)
	}
	err := l.wait()
	if !l.dead && err != nil && !errors.Is(err, core.ErrUnconfirmed) {
		l.Error(err)
	}
	return !l.dead
}

// twice plays an answer with two deaths, and returns how many moments each of the first two lives had.
func twice(t *testing.T, sink func(*progressivetest.Chat) progressive.Sink, texts []string, at [2]int, w weather) (moments [2]int, problems []string) {
	synctest.Test(t, func(t *testing.T) {
		room := progressivetest.NewChat()
		room.Max = 82
		st := &delivery{T: t, chat: room, gate: progressive.NewGate(room.Budget), run: chat.Run{ID: "run", Opened: time.Now()}}
		st.sink = sink(room)
		l := &lives{delivery: st, texts: texts, at: at, weather: w}
		room.Fate = l.fate
		for ended := false; !ended && l.life < 3; l.life++ {
			ended = l.live()
			if l.life < 2 {
				moments[l.life] = l.moments
			}
		}
		problems = append(problems, l.judge()...)
		for _, p := range room.Problems() {
			older := strings.HasPrefix(p, "ST-14: an edit to what is shown already") // a nonce may have given an older text
			given := strings.HasPrefix(p, "I8") && l.sentTwice(0)
			if !older && !given {
				problems = append(problems, p)
			}
		}
		if len(problems) > 0 {
			for _, r := range room.Log() {
				problems = append(problems, fmt.Sprintf("  %v %s %s %q -> %v (applied %v)", r.At.Sub(st.run.Opened), r.Op, r.ID, r.Part.Plain, r.Err, r.Applied))
			}
			problems = append(problems, fmt.Sprintf("  noted %+v", st.notes))
		}
	})
	return moments, problems
}

// judge returns what is wrong with the final state: the answer must be complete, with each message shown once, or once
// more with a mark if its fate was unknowable. Other messages are previews whose id no holder ever learned.
func (l *lives) judge() (problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	want, got := progressivetest.Split(l.final, l.chat.Max), l.chat.Shown()
	_, nonces := l.sink.(progressive.NonceKeeper)
	if nonces && !slices.Equal(got, want) {
		problem("shown %q, want %q", got, want)
	}
	for i, p := range want {
		plain, marked := copies(got, p), copies(got, again(p))
		if plain > 1 || marked > 1 || marked > 0 && l.doubts == 0 {
			problem("%q is shown %d times, and %d times marked, after %d doubts: %q", p, plain, marked, l.doubts, got)
		}
		if plain+marked == 0 && !l.sentTwice(i) {
			problem("%q is lost: %q", p, got)
		}
	}
	for _, h := range l.run.Shown {
		if text := l.chat.Text(h.ID); h.ID != "" && (h.Part >= len(want) || text != want[h.Part] && text != again(want[h.Part])) {
			problem("message %s of part %d says %q", h.ID, h.Part, text)
		}
	}
	for i, h := range l.notes {
		same := func(o chat.Shown) bool {
			return o.Part == h.Part && o.Sent == h.Sent && o.Tries == h.Tries-1 && o.ID == ""
		}
		if h.Tries > 1 && h.ID == "" && !slices.ContainsFunc(l.notes[:i], same) {
			problem("%+v repeats nothing", h)
		}
	}
	if strays := len(got) - len(l.run.Shown); strays > l.doubts {
		problem("%d messages belong to nothing after %d doubts: %q", strays, l.doubts, got)
	}
	return problems
}

// sentTwice reports whether part i was sent as often as a last word of unknown fate can be: two requests were noted, and of
// neither anything was heard.
func (l *lives) sentTwice(i int) bool {
	return l.doubts >= 2 && slices.ContainsFunc(l.run.Shown, func(h chat.Shown) bool { return h.Part == i && h.ID == "" && h.Tries == 2 })
}

// answers are what the model says in each life; a bar is a pause of three seconds.
var answers = map[string][]string{
	"short":     {"Yes.", "Yes.", "Yes."},
	"streamed":  {half + "|" + prose[len(half):most1] + "|" + prose[most1:80], "In the second life it says | something else, in other words. | Well.", "Third."},
	"two parts": {prose + "|" + " And more.", prose + "|" + " And something else.", "Third."},
}

const most1 = 60

// I14, ST-26, ST-27: an answer whose process dies twice, at every pair of moments before and after an effect
// on the journal or the platform, while the platform refuses one request or leaves open what became of it.
func TestTwoDeathsAtEveryPair(t *testing.T) {
	for kind, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"no nonces": resending, "nonces": nonced} {
		for name, texts := range answers {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				plays := everyPair(t, sink, texts, weather{at: -1})
				for _, fault := range []string{"wait 33s", "unsent", "ambiguous, done", "ambiguous, undone"} {
					for request := range 4 {
						plays += everyPair(t, sink, texts, weather{fault, request})
					}
				}
				t.Logf("%d plays", plays)
			})
		}
	}
}

// everyPair plays an answer with every pair of deaths, and returns how many plays that took.
func everyPair(t *testing.T, sink func(*progressivetest.Chat) progressive.Sink, texts []string, w weather) (plays int) {
	play := func(at [2]int) [2]int {
		plays++
		moments, problems := twice(t, sink, texts, at, w)
		if len(problems) > 0 {
			t.Fatalf("deaths at the moments %v, %q at request %d:\n%s", at, w.fault, w.at, strings.Join(problems, "\n"))
		}
		return moments
	}
	first := play([2]int{})[0]
	if first < 8 {
		t.Fatalf("there are only %d moments", first)
	}
	for i := 1; i <= first; i++ {
		second := play([2]int{i, 0})[1]
		for j := 1; j <= second; j++ {
			play([2]int{i, j})
		}
	}
	return plays
}

// DI-05: a holder deletes a message that can't be edited, to post its text again, and dies before it can note that. The next one does not
// take that for a user's doing: the answer is shown.
func TestDeathAfterOwnDeletion(t *testing.T) {
	for name, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"no nonces": resending, "nonces": nonced} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", response lost ", lost), func(t *testing.T) {
				withDelivery(t, sink, func(s *delivery) {
					s.fail(progressive.Edit, -1, progressivetest.Fault{Err: progressive.ErrAmbiguous})
					if lost {
						s.fail(progressive.Delete, -1, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true})
					}
					s.showNoting(slog.New(slog.DiscardHandler), func(h chat.Shown) error {
						if s.count(progressive.Delete) > 0 {
							return chat.ErrCrashed
						}
						return s.note(h)
					})
					s.say(half)
					time.Sleep(3 * time.Second)
					s.say(prose[len(half):most1])
					_ = s.end(completed)
					if s.count(progressive.Delete) == 0 {
						t.Fatal("no message was deleted; want at least one deletion")
					}
					s.chat.ChangeFate(func(func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
						return nil
					})
					s.show()
					s.say(prose[:most1])
					s.finish()
					s.wantShown(prose[:most1])
				})
			})
		}
	}
}
