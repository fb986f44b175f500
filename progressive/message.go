package progressive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

const (
	firstLength = 24                      // characters that are worth a first message (ST-20)
	firstWait   = 1500 * time.Millisecond // after which any visible text is
)

// Message is a [core.Surface] over a [Sink]. One goroutine, the caller of Show, makes all requests sequentially: it
// waits for a change, waits for a permit, and only then reads the newest state, so that no permit is spent on outdated
// text.
type Message struct {
	sink          Sink
	editor        Editor   // nil if the sink can't
	deleter       Deleter  // nil if the sink can't
	resend        Resender // nil if the sink is none, or does not want it
	window        time.Duration
	gate          Gate
	log           *slog.Logger
	run           chat.RunID
	epoch         chat.Epoch
	finalPriority Priority // of the last word

	parts        []partState
	files        []partState // the files, below them
	updates      []partState // what was important on the way, see nextUpdate
	refusedFiles []string    // the names of those with words that the platform does not take
	callFiles    int         // how many files of calls an earlier holder had
	resumed      bool        // an earlier holder showed something: it is changed for the last word only, so that text never shrinks
	ended        bool

	firstVisible time.Time        // when there was something visible to show first
	unshownSince time.Time        // when the oldest was made that the reader does not see
	viewedAt     time.Time        // when the view was taken that is being shown
	wanted       []Part           // what it became
	upToDate     bool             // people see all of it that can be seen now
	shownCalls   []answer.Segment // what actions said and did in the view that was shown last
	shownChoices *answer.Choices  // what could be chosen in it
	failures     int              // in a row
	failingSince time.Time        // when the first of them was
	retryAt      time.Time        // because of them
}

// New returns a surface for run in the conversation s. It continues from run.Shown. Errors on the way are logged: Show
// returns an error only if the final state could not be shown.
func New(s Sink, g Gate, run chat.Run, log *slog.Logger) *Message {
	m := &Message{sink: s, gate: g, log: log.With("room", run.Room, "run", run.ID), run: run.ID, epoch: run.Epoch, finalPriority: PriorityFinal, resumed: len(run.Shown) > 0}
	if run.Kind.OutOfBand() {
		m.finalPriority = PriorityReply
	}
	m.editor, _ = s.(Editor)
	m.deleter, _ = s.(Deleter)
	if r, ok := s.(Resender); ok && r.Resends() {
		m.resend = r
	}
	if k, ok := s.(NonceKeeper); ok {
		m.window = k.NonceWindow()
	}
	if run.Verdict != nil {
		m.callFiles = run.Verdict.Files
	}
	for _, h := range run.Shown {
		if h.Part >= chat.FirstFile && h.Part < chat.FirstUpdate {
			m.resumeFile(h, run)
		} else {
			m.resume(h, run)
		}
	}
	return m
}

func (m *Message) partAt(i int) *partState {
	all := &m.parts
	switch {
	case i >= chat.FirstUpdate:
		all, i = &m.updates, i-chat.FirstUpdate
	case i >= chat.FirstFile:
		all, i = &m.files, i-chat.FirstFile
	}
	for len(*all) <= i {
		*all = append(*all, partState{})
	}
	return &(*all)[i]
}

// Show implements [core.Surface].
func (m *Message) Show(ctx context.Context, a *answer.Answer, note func(chat.Shown) error) error {
	stopTyping := m.startTyping(ctx, a)
	defer stopTyping()
	for {
		if err := waitForStart(ctx, a); err != nil {
			return err
		}
		if m.unshownSince.IsZero() {
			m.unshownSince = time.Now()
		}
		v := a.View()
		s, ok := m.next(v)
		if !ok {
			m.reportSeen(a, v)
		}
		var err error
		switch {
		case ok:
			stopTyping() // the sign is never in the way of text
			err = m.advance(ctx, a, v, s.op, note)
		case v.Outcome.Done() && !m.paused():
			m.reportMissing(v)
			return nil
		default:
			err = m.wait(ctx, a, v)
		}
		if errors.Is(err, errNoMore) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// tellSeen reports the position up to which a is visible, when v requires no further requests.
func (m *Message) reportSeen(a *answer.Answer, v answer.View) {
	switch {
	case !m.ended && !m.canPreview(time.Now()):
		a.Seen(^answer.Cursor(0)) // don't wait for what is not shown
	case m.upToDate:
		a.Seen(v.At)
	}
}

// errNoMore means that the end of the answer can't be shown.
var errNoMore = errors.New("nothing more can be shown")

// alive waits for the first change, and is an error once nothing more is to be shown by us.
func waitForStart(ctx context.Context, a *answer.Answer) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return a.Wait(ctx, 0)
}

func (m *Message) paused() bool { return time.Now().Before(m.retryAt) }

// next is the next change on the way to v, if it is time for one.
func (m *Message) next(v answer.View) (s step, ok bool) {
	now, have := time.Now(), m.parts
	m.upToDate = false
	if v.Outcome.Done() && !m.ended {
		m.ended = true
		m.failures, m.retryAt = 0, time.Time{} // the last word has tries of its own
	}
	if m.paused() {
		return step{}, false
	}
	if !m.ended && !m.canPreview(now) {
		return m.nextUpdate(v, now)
	}
	var want, files []Part
	if !v.Outcome.Withdrawn {
		want, files = m.render(v)
	}
	m.viewedAt, m.wanted = now, want
	if !m.ended || m.deleter == nil { // what is left over stays
		have = have[:min(len(have), len(want))]
	}
	early := !m.ended && (len(files) == 0 && !m.worthPosting(want, now) || m.shrinks(v, want))
	if !early {
		s, ok = plan(have, want, now, m.resend != nil)
	}
	if ok && now.Before(s.notBefore) {
		m.retryAt = s.notBefore
		return step{}, false
	}
	if !ok {
		s, ok = m.nextFile(files, v.Outcome.Withdrawn, now)
	}
	m.upToDate = !ok && (!early || len(want) == 0)
	return s, ok
}

// nextFile is the next change below a text that stands, or is taken back.
func (m *Message) nextFile(want []Part, withdrawn bool, now time.Time) (s step, ok bool) {
	if withdrawn {
		want = nil
	} else {
		want = m.alignFiles(want)
	}
	s, ok = planFiles(m.files, want, m.refusedFiles, now)
	return s, ok && (s.op != Delete || m.deleter != nil)
}

// mayPreview reports whether anything is shown before the end. A message that the user removed, or whose fate is
// unknown, ends the preview.
func (m *Message) canPreview(now time.Time) bool {
	if m.editor == nil || m.resumed {
		return false
	}
	for _, h := range m.parts {
		if h.state == gone || h.state == unknown && !now.Before(h.nonceUntil) {
			return false
		}
	}
	return true
}

// render converts v to parts, and skips intermediate texts that would never be seen, because rendering a long text for
// each delta is expensive.
func (m *Message) render(v answer.View) (texts, files []Part) {
	texts, files = splitFiles(m.sink.Render(v, m.refusedFiles...))
	if m.includeUncertainFiles(files) {
		texts, files = splitFiles(m.sink.Render(v, m.refusedFiles...))
	}
	return slices.DeleteFunc(texts, func(p Part) bool { return visible(p.readable(), 1) == 0 }), files
}

// ripe reports whether want is long enough for a first message.
func (m *Message) worthPosting(want []Part, now time.Time) bool {
	switch {
	case len(m.parts) > 0:
		return true
	case len(want) == 0:
		m.firstVisible = time.Time{}
		return false
	case m.firstVisible.IsZero():
		m.firstVisible = now
	}
	return !now.Before(m.firstVisible.Add(firstWait)) || len(want) > 1 || visible(want[0].readable(), firstLength) >= firstLength
}

// shrinks reports whether want would remove text that the model wrote, as unfinished markup can temporarily make it
// seem. Output of actions can become shorter: it is replaced.
func (m *Message) shrinks(v answer.View, want []Part) bool {
	return len(v.History) == 0 && length(want) < m.length()
}

// length is how much the reader sees.
func (m *Message) length() (n int) {
	for _, h := range m.parts {
		if h.state == posted {
			n += length([]Part{h.sent})
		}
	}
	return n
}

// wait returns when there is something newer than v, or when it is time to look again.
func (m *Message) wait(ctx context.Context, a *answer.Answer, v answer.View) error {
	until := m.retryAt
	if !m.paused() {
		if len(m.parts) > 0 || m.firstVisible.IsZero() {
			err := a.Wait(ctx, v.At)
			m.unshownSince = time.Now() // all that came before is shown
			return err
		}
		until = m.firstVisible.Add(firstWait)
	}
	due, cancel := context.WithDeadlineCause(ctx, until, errDue)
	defer cancel()
	var err error
	if v.Outcome.Done() {
		<-due.Done()
		err = context.Cause(due)
	} else {
		err = a.Wait(due, v.At)
	}
	if errors.Is(err, errDue) {
		return nil
	}
	return err
}

var errDue = errors.New("it is time to look again")

func (m *Message) nonce(i int, again bool) string {
	switch {
	case i >= chat.FirstUpdate:
		return fmt.Sprintf("%s/update.%d/%d", m.run, m.epoch, i-chat.FirstUpdate)
	case i >= chat.FirstFile: // of each holder's own: after a file was taken back, another may have its place
		return fmt.Sprintf("%s/files.%d/%d.%d", m.run, m.epoch, i-chat.FirstFile, m.partAt(i).replacements)
	case again:
		return fmt.Sprintf("%s/%d/again", m.run, i)
	}
	return fmt.Sprintf("%s/%d", m.run, i)
}
