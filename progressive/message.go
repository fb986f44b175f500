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
	"parley/internal/lang"
)

const (
	// The first message appears with this many characters, because a notification on a phone shows only the first text,
	// and one of a single syllable says nothing.
	firstLength = 24
	// A slower model gets its message anyway after this time, as soon as anything is visible.
	firstWait = 1500 * time.Millisecond
)

// Message is a [core.Surface] over a [Sink]: an answer as one or more messages of a chat, which are edited while the
// answer grows.
//
// One goroutine, the caller of Show, makes all requests sequentially, in a loop of three steps: wait for a change of the
// answer; wait at the [Gate] for permission to make a request; only then read the newest state of the answer, and send
// that. A request therefore never carries outdated text, and however fast the model writes, an answer needs no more
// requests than the platform allows.
//
// What to request is not remembered from change to change. Each time, [plan] compares the messages that exist with those
// that the answer should have, and returns the first difference. A failed or lost request therefore needs no special
// handling: the difference is still there, and the next comparison finds it. Before a message is created, the intent is
// stored in the run's journal, so that after a crash the next process knows which messages may exist.
type Message struct {
	sink          Sink
	editor        Editor   // nil if the sink can't edit
	deleter       Deleter  // nil if the sink can't delete
	resend        Resender // nil if the sink can't mark repetitions, or is configured not to repeat
	prober        Prober   // nil if the sink can't find out whether the platform works
	window        time.Duration
	gate          Gate
	log           *slog.Logger
	say           func(key string, pairs ...any) string // in the language of the run's author
	run           chat.RunID
	epoch         chat.Epoch
	turn          chat.ResponseID // of the buttons to stop and retry; 0: there are none
	voice         lang.Voice      // of these buttons
	finalPriority Priority        // of requests that show the final state

	parts        []partState // the messages with the text, in order
	files        []partState // the messages with files, below the text
	updates      []partState // messages about important progress, on platforms without edits; see nextUpdate
	extra        []partState // a pointer, and the message that is being replaced; see nextMove
	refusedFiles []string    // names of files with text of the answer that the platform refused: their text goes into messages
	callFiles    int         // the number of files of calls that an earlier process showed
	// resumed is set if an earlier process showed something that this one does not continue. The model may write
	// another text now, or a shorter one, so existing messages are only changed to the final state. Otherwise users
	// would see a text shrink.
	resumed bool
	ended   bool // the answer has ended, and the final state is being shown

	firstVisible time.Time        // when there was visible text for the first time; zero before
	unshownSince time.Time        // the time of the oldest text that is not shown yet; the gate serves the oldest first
	viewedAt     time.Time        // when the view that is being shown was taken
	wanted       []Part           // that view, rendered
	upToDate     bool             // everything in that view that can be shown now is shown
	shownCalls   []answer.Segment // the segments of calls in the view that was shown last
	shownChoices *answer.Choices  // the options in that view
	held         int              // refusals by rate limits that are not reported yet
	failures     int              // of requests, since the last success
	failingSince time.Time        // the time of the first of these failures
	retryAt      time.Time        // no request is made before
	recovery     recoverer        // ends that pause earlier
	outage       outage
	adoption     adoption
	drafts       drafts
	pings        pings
}

// Option configures a [Message].
type Option func(*Message)

// WithJournal makes the message find a beginning that an earlier process may have created; see [Guesser].
func WithJournal(run chat.Run, j Journal) Option {
	return func(m *Message) { m.adoption = newAdoption(m.sink, run, j) }
}

// WithButtons shows a button below an answer to a user's message: to stop it, and then to retry it. It costs no request of its own, except
// if the last words are visible before the end. It does nothing if the sink is no [Buttoner].
func WithButtons(run chat.Run, v lang.Voice) Option {
	return func(m *Message) {
		b, ok := m.sink.(Buttoner)
		if ok && b.HasButtons() && run.Kind.Claims() && run.Kind != chat.RunTask && run.Kind != chat.RunOverflow {
			m.turn, m.voice = run.Response, v
		}
	}
}

// New returns a surface for run in the conversation s. It continues from run.Shown, the messages that an earlier process
// has created or may have created. Show logs the errors of single requests. It returns an error only if the final state
// could not be shown.
func New(s Sink, g Gate, run chat.Run, log *slog.Logger, options ...Option) *Message {
	m := &Message{sink: s, gate: g, log: log.With("room", run.Room, "run", run.ID), run: run.ID, epoch: run.Epoch, finalPriority: PriorityFinal, resumed: len(run.Shown) > 0 && !run.Resumes()}
	if run.Kind.OutOfBand() {
		m.finalPriority = PriorityReply
	}
	m.editor, _ = s.(Editor)
	m.deleter, _ = s.(Deleter)
	m.prober, _ = s.(Prober)
	m.drafts, m.pings = newDrafts(s), newPings(s, run)
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
	m.pings.resumeMove(m)
	for _, o := range options {
		o(m)
	}
	return m
}

// partAt returns the state of part i. The numbers of text, files and updates begin at 0, [chat.FirstFile] and
// [chat.FirstUpdate], so that a number identifies a message in the run's journal whatever it contains.
func (m *Message) partAt(i int) *partState {
	all := &m.parts
	switch {
	case i >= chat.FirstPointer:
		all, i = &m.extra, i-chat.FirstPointer
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
	m.say = lang.Sayer(ctx)
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
			stopTyping() // text must not wait for the permit of a typing indicator
			err = m.advance(ctx, a, v, s.op, note)
		case v.Outcome.Done() && !m.paused():
			return m.reportMissing(v)
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

// reportSeen reports how far a is visible, when v requires no further requests. The core waits for it
// before it replaces the text of an action's callback, so that users can read each one.
func (m *Message) reportSeen(a *answer.Answer, v answer.View) {
	switch {
	case !m.ended && !m.canPreview(time.Now()):
		a.Seen(^answer.Cursor(0)) // nothing is shown before the end, so nothing has to wait
	case m.upToDate:
		a.Seen(v.At)
	}
}

// errNoMore means that the chat accepts nothing any more, so that Show can only end.
var errNoMore = errors.New("nothing more can be shown")

// waitForStart waits until the answer has begun. It returns an error once this process must not show anything any more:
// ctx has ended, or another process has taken over the run.
func waitForStart(ctx context.Context, a *answer.Answer) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return a.Wait(ctx, 0)
}

func (m *Message) paused() bool { return time.Now().Before(m.retryAt) }

// next returns the next request that brings the chat closer to v. ok is false if there is none, or if it is not time for
// it yet: after a failure, or while the text is too short for a first message.
func (m *Message) next(v answer.View) (s step, ok bool) {
	now, have := time.Now(), m.parts
	m.upToDate = false
	if v.Outcome.Done() && !m.ended {
		m.ended = true
		m.failures, m.retryAt = 0, time.Time{} // failed previews must not use up the attempts of the final state
	}
	m.pings.due = v.Outcome.Ping
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
	if !m.ended || m.deleter == nil { // surplus messages stay: more text may come, or they can't be deleted
		have = have[:min(len(have), len(want))]
	}
	m.drafts.allowed = !m.ended && len(files) == 0
	early := !m.ended && (len(files) == 0 && !m.worthPosting(want, now) || m.shrinks(v, want))
	if !early {
		if s, ok = m.pings.nextMove(m, want, files, now); !ok {
			s, ok = m.drafts.plan(have, want, now, m.resend != nil)
		}
	}
	if ok {
		s = m.adoption.step(s)
		s = m.outage.before(s, m.partAt(s.index).lostAt, m.prober)
	}
	if ok && now.Before(s.notBefore) {
		m.retryAt = s.notBefore
		return step{}, false
	}
	if !ok {
		s, ok = m.nextFile(files, v.Outcome.Withdrawn, now)
	}
	if !ok {
		s, ok = m.pings.nextPointer(m, v, now)
	}
	m.upToDate = !ok && (!early || len(want) == 0)
	return s, ok
}

// nextFile returns the next request for the files. It is called once the text is complete, or withdrawn, so that files
// come below it.
func (m *Message) nextFile(want []Part, withdrawn bool, now time.Time) (s step, ok bool) {
	if withdrawn {
		want = nil
	} else {
		want = m.alignFiles(want)
	}
	s, ok = planFiles(m.files, want, m.refusedFiles, now)
	return s, ok && (s.op != Delete || m.deleter != nil)
}

// canPreview reports whether anything is shown before the end of the answer. Once a message was deleted by a user, or it
// is unknown whether it exists, only the final state is shown: growing text would otherwise appear twice.
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

// render converts v to messages. It drops those without a visible character, which a platform would refuse, such as
// markup that has just begun.
func (m *Message) render(v answer.View) (texts, files []Part) {
	texts, files = splitFiles(m.sink.Render(v, m.refusedFiles...))
	if m.includeUncertainFiles(files) {
		texts, files = splitFiles(m.sink.Render(v, m.refusedFiles...))
	}
	texts = slices.DeleteFunc(texts, func(p Part) bool { return visible(p.readable(), 1) == 0 })
	if n := len(texts); n > 0 && texts[n-1].Offer == nil {
		texts[n-1].Offer = button(m.turn, v.Outcome, m.voice)
	}
	return texts, files
}

// button returns the button below the answer of a turn with outcome o, or nil.
func button(turn chat.ResponseID, o answer.Outcome, v lang.Voice) *answer.Choices {
	switch {
	case turn == 0, o.Status == answer.Superseded, o.Status == answer.Completed && o.Rounds == 0: // such as a refusal of a user without access
		return nil
	case o.Done():
		return chat.Button(chat.RetryCommand, turn, v)
	}
	return chat.Button(chat.Stop, turn, v)
}

// worthPosting reports whether want is long enough for a first message. Later changes are always shown.
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

// shrinks reports whether want has less text than is shown. Unfinished markup can do that for a moment: a "[" may
// become a link, whose address is then hidden. Users should not see text disappear, so such a view is skipped. The
// output of actions may become shorter, because callbacks replace each other.
func (m *Message) shrinks(v answer.View, want []Part) bool {
	return len(v.History) == 0 && length(want) < m.length()
}

// length returns the number of characters of the answer that are shown.
func (m *Message) length() (n int) {
	for _, h := range m.parts {
		if h.state == posted || h.state == drafted {
			n += length([]Part{h.sent})
		}
	}
	return n
}

// wait returns when the answer has changed since v, or when next should be asked again: a pause after a failure is over, or
// the text is old enough for a first message.
func (m *Message) wait(ctx context.Context, a *answer.Answer, v answer.View) error {
	until, draft := m.retryAt, !m.paused() && m.upToDate && m.drafts.shown(m.parts)
	switch {
	case m.paused():
	case draft:
		until = m.drafts.renewAt
		defer func() { m.unshownSince = time.Now() }()
	case len(m.parts) > 0 || m.firstVisible.IsZero():
		err := a.Wait(ctx, v.At)
		m.unshownSince = time.Now() // everything older is shown
		return err
	default:
		until = m.firstVisible.Add(firstWait)
	}
	due, cancel := context.WithDeadlineCause(ctx, until, errDue)
	defer cancel()
	due, end := untilClosed(due, m.recovery.ended, errRecovered)
	defer end()
	if draft {
		due, end = untilClosed(due, m.drafts.removed, errDue)
		defer end()
	}
	var err error
	if v.Outcome.Done() {
		<-due.Done()
		err = context.Cause(due)
	} else {
		err = a.Wait(due, v.At)
	}
	if errors.Is(err, errRecovered) {
		m.retryAt, m.outage.probeAt, m.recovery.ended = time.Time{}, time.Time{}, nil
		// The attempt that follows is one more than without the signal, so it is not counted: a platform that fails again at once uses up none.
		m.failures = max(m.failures-1, 1)
		return nil
	}
	if errors.Is(err, errDue) {
		return nil
	}
	return err
}

var (
	errDue       = errors.New("it is time to look again")
	errRecovered = errors.New("the platform works again")
)

// nonce returns the idempotency key for the creation of part i. It depends only on the run and the part, so that another
// process repeats a request of this one with the same key, and no second message appears.
func (m *Message) nonce(i int, again bool) string {
	switch {
	case m.partAt(i).after != "":
		return fmt.Sprintf("%s/%d/after/%s", m.run, i, m.partAt(i).after)
	case i >= chat.FirstPointer:
		return fmt.Sprintf("%s/pointer", m.run)
	case i >= chat.FirstUpdate:
		return fmt.Sprintf("%s/update.%d/%d", m.run, m.epoch, i-chat.FirstUpdate)
	case i >= chat.FirstFile: // differs per process and attempt: after a file was deleted, its key would return the deleted one
		return fmt.Sprintf("%s/files.%d/%d.%d", m.run, m.epoch, i-chat.FirstFile, m.partAt(i).replacements)
	case again:
		return fmt.Sprintf("%s/%d/again", m.run, i)
	}
	return fmt.Sprintf("%s/%d", m.run, i)
}
