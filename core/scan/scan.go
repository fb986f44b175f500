// Package scan reads what a model writes, while it writes: what is for people, what it thinks, and what it wants done.
// Models are asked for tags and forget them, close the wrong ones, or write calls of tools as text. So this is no XML:
// a few tags are known, and everything else is text. Whatever the pieces, the result is the same; the time it takes
// grows with the text and with nothing else.
package scan

import (
	"slices"
	"strings"
)

// Options say what to look for.
type Options struct {
	// Tags says that the answer was asked for as <response> with <thought>, <actions>, <providers> and <text>.
	Tags bool
	// Known says whether there is an action of this name. A call that was written as text counts only then; nil knows none.
	Known func(name string) bool
	// Permit reports whether calls that the model wrote as text, without being asked for a form, are carried out. It is asked
	// at the end, and only if they are the whole answer; raw is what was written. Without calls, raw is the beginning of one that
	// was cut off: it is dropped if that is permitted. What is not permitted is text. Nil permits nothing.
	Permit func(calls []Call, raw string) bool
	// Joins says that the text goes on with one that is there: the space that it begins with is a part of it.
	Joins bool
}

// Call is an action that the model wants.
type Call struct {
	Name       string
	Parameters string // as it was written: not yet known to be valid; empty if there are none
}

// Result is what a model wrote beside the text for people.
type Result struct {
	Thought   string
	Calls     []Call   // in order; with Options.Tags also REPLY and the like
	Providers []string // that it wants to hear from
	Finish    bool     // it says that all is done
	Rooted    bool     // the form that was asked for was seen
	Cut       bool     // the end came within something that was to be done
	Odd       int      // tags that were missing, left over or at the wrong place
	Lost      int      // bytes that are neither in here nor in the text
}

// The tags with a meaning of their own. Others of the form are fields.
const (
	rootTag      = "response"
	functionTag  = "function"
	parameterTag = "parameter"
	actionTag    = "action"
	thinkField   = "think"
	textField    = "text"
	thoughtField = "thought"
	actionsField = "actions"
	provideField = "providers"
	paramsField  = "params"
	finishField  = "isfinish"
)

// thinkTags are what models think aloud between, before they answer.
func thinkTags() []string { return []string{"think", "thinking", "thought", "reasoning", "reflection"} }

// callTags are what models write calls between, where they should have made them.
func callTags() []string {
	return []string{"tool_call", "function_call", functionTag, parameterTag, actionsField, actionTag}
}

// formTags are those of the form.
func formTags() []string {
	return []string{rootTag, thoughtField, actionsField, actionTag, provideField, paramsField, "parameters", textField, finishField}
}

// Scanner reads one answer. Use New.
type Scanner struct {
	opt    Options
	known  []string
	runes  runes
	tag    tagReader
	text   sink
	result Result

	field    string // where the reader stands; "" is outside of all fields
	closer   string // the tag that ends it
	mid      bool   // something other than space stands on this line of the field
	closed   bool   // the form is, and nothing has followed
	raw      []byte // of a field that is parsed at its end
	json     object // of raw
	nested   bool   // raw is within the parameters of an action
	thoughts []byte
	depth    int    // of <text> that is a part of the text, and of nested thinking
	back     string // thinking: the field around it
	start    int    // where it begins in thoughts
	turn     int    // where what follows its first closer begins there; -1 none has come
	inner    inner  // a field that may only be mentioned in this one
	held     []tag  // closers within code or a string: they count if nothing else follows

	lead    []byte // what stands before the form
	leading bool
	wrapped int  // signs that are left of a code fence around the form
	again   bool // a scan of what turned out not to be thought
	mention int  // openers of thoughts within the text, whose closers are text as well

	form     form // whether calls count here
	callText callReader
	thinking thoughtReader

	doubt bool   // the calls of this field don't count
	open  string // its tag, with doubt
}

// inner is a field whose tag stands within another field, or in the middle of a line.
type inner struct {
	field string
	name  string // of its tag
	open  string // its tag
	raw   []byte
}

// thoughtReader reads what a model thinks aloud.
type thoughtReader struct{ s *Scanner }

// callReader reads calls that are written as text.
type callReader struct {
	s     *Scanner
	call  written
	calls whole
	bare  bare
}

// New makes a Scanner.
func New(opt Options) *Scanner {
	s := &Scanner{opt: opt, text: sink{trim: opt.Tags, joins: opt.Joins}, leading: opt.Tags}
	s.callText.s, s.thinking.s = s, s
	s.known = append(s.known, thinkTags()...)
	if opt.Known != nil {
		s.known = append(s.known, callTags()...)
	}
	if opt.Tags {
		s.known = append(s.known, formTags()...)
	}
	return s
}

// Write takes a piece and returns what is known by now to be for people.
func (s *Scanner) Write(piece string) string {
	s.feed(s.runes.whole(piece))
	return s.text.take()
}

// Whole says that what was written so far is a whole answer, as far as its form tells: that was closed.
func (s *Scanner) Whole() bool { return s.closed }

// Open says that what comes next would be text for people, as far as the form of what was written tells.
func (s *Scanner) Open() bool {
	return s.field == textField && len(s.held) == 0 || s.field == "" && !s.result.Rooted
}

// Close ends the answer, and returns what is for people after all. Acts says that the model has asked for actions in
// another way: then thoughts that never ended stay hidden, and otherwise only where there is another text.
func (s *Scanner) Close(acts bool) (rest string, r Result) {
	s.feed(s.runes.rest())
	if s.tag.holds() {
		s.cutTag()
	}
	s.settle(true)
	s.endInner()
	s.callText.endCall()
	s.callText.endWhole(acts)
	s.callText.endBare(acts)
	s.endField(acts)
	s.endLead()
	s.result.Thought = strings.TrimSpace(string(s.thoughts))
	return s.text.take(), s.result
}

func (s *Scanner) feed(piece []byte) {
	for _, b := range piece {
		s.step(b)
	}
}

func (s *Scanner) step(b byte) {
	switch {
	case b == '<':
		if s.tag.holds() {
			s.plain(s.tag.take())
		}
		s.tag.begin(!s.mid)
	case !s.tag.holds():
		s.one(b)
	default:
		switch s.tag.grow(b, s.known) {
		case never:
			s.plain(s.tag.take())
		case complete:
			s.found(s.tag.tag())
		}
	}
}

// plain takes what is no tag.
func (s *Scanner) plain(text string) {
	for i := range len(text) {
		s.one(text[i])
	}
}

func (s *Scanner) one(b byte) {
	if len(s.held) > 0 {
		if last := &s.held[len(s.held)-1]; isSpace(b) && len(last.raw) < maxTag {
			last.raw += string(b)
			return
		}
		s.settle(s.wrapped > 0 && b == '`')
	}
	if s.callText.call.on() && s.callText.inCall(b) || !s.callText.call.on() && s.callText.afterCall(b) {
		return
	}
	s.put(b)
}

// put adds a byte to where the reader stands.
func (s *Scanner) put(b byte) {
	switch {
	case s.inner.field != "":
		s.inner.raw = append(s.inner.raw, b)
	case s.field == "" || s.field == textField:
		s.say(b)
	case s.field == thinkField || s.field == thoughtField:
		s.thoughts = append(s.thoughts, b)
	default:
		s.raw = append(s.raw, b)
		s.json.feed(b)
	}
	switch {
	case b == '\n':
		s.mid = false
	case !isSpace(b):
		s.mid, s.closed = true, false
	}
}

func (s *Scanner) write(text string) {
	for i := range len(text) {
		s.put(text[i])
	}
}

// maxLead is how much may stand before the form, in bytes. More is an answer without it.
const maxLead = 200

// say adds a byte to what is for people, or might be.
func (s *Scanner) say(b byte) {
	switch {
	case s.leading:
		s.lead = append(s.lead, b)
		s.text.code.feed(b)
		if len(s.lead) > maxLead {
			s.release()
		}
	case s.field == "" && s.wrapped > 0 && b == '`' && !s.text.open:
		s.wrapped--
	case s.callText.inBare(b):
	default:
		s.text.put(b)
	}
}

// release shows what stands before the form: there is none.
func (s *Scanner) release() {
	s.leading = false
	s.text.code = code{}
	s.text.write(string(s.lead))
	s.lead = nil
}

// found takes a tag.
func (s *Scanner) found(t tag) {
	switch {
	case s.callText.call.on():
		s.callText.inCallTag(t)
		return
	case s.callText.bare.on():
		s.write(t.raw)
		return
	}
	if s.field == thinkField {
		s.thinking.foundThinking(t)
		return
	}
	if s.inner.field != "" {
		s.foundInside(t)
		return
	}
	if s.field == "" && s.callText.calls.on() && !s.callText.goesOn(t) {
		s.callText.giveBackCalls()
	}
	if s.quoted(t) {
		s.hold(t)
		return
	}
	talk := s.field == "" || s.field == textField
	switch thinks := slices.Contains(thinkTags(), t.name) && !s.inForm(t.name); {
	case thinks && talk && s.again: // once is enough
		s.result.Odd++
	case thinks && talk && !t.close && !t.alone && !s.text.any && (s.field == textField || len(strings.TrimSpace(string(s.lead))) == 0):
		s.thinking.think(t)
	case thinks && talk && t.close && s.mention == 0: // a stray one
		s.result.Odd++
	case thinks && talk:
		s.mention = max(0, s.mention+step(t))
		s.write(t.raw)
	case talk && s.callText.beginCall(t):
	case thinks || !s.inForm(t.name):
		s.write(t.raw)
	default:
		s.structure(t)
	}
}

func step(t tag) int {
	switch {
	case t.close:
		return -1
	case t.alone:
		return 0
	}
	return 1
}

// inForm says that a name is a tag of the form that was asked for.
func (s *Scanner) inForm(name string) bool { return s.opt.Tags && slices.Contains(formTags(), name) }

// quoted says that tags are examples here.
func (s *Scanner) quoted(t tag) bool {
	switch s.field {
	case "", textField:
		return s.text.code.in() && !(s.leading && t.bol && s.inForm(t.name))
	case actionsField, paramsField:
		return s.json.str
	}
	return false
}

// hold keeps a closer that may be the end of the field all the same: if only others follow, up to the end or to the next
// field. Blocks of code show the form whole, so there only the end counts. Another tag is text here.
func (s *Scanner) hold(t tag) {
	switch {
	case t.close && (len(s.held) > 0 || s.ends(t)):
		s.held = append(s.held, t)
	case len(s.held) > 0 && s.opens(t) && s.text.code.fence == 0:
		s.form = over // or all of this is code within a line
		s.settle(true)
		s.structure(t)
	default:
		s.settle(false)
		s.write(t.raw)
	}
}

// ends says that a closer is one of the field, or of one around it.
func (s *Scanner) ends(t tag) bool {
	switch {
	case s.field == "" || !s.inForm(t.name):
		return false
	case s.field == textField:
		return t.name == textField || t.name == rootTag
	}
	return fieldOf(t.name) == paramsField || fieldOf(t.name) == actionsField || t.name == rootTag
}

// opens says that a tag begins a field of the form.
func (s *Scanner) opens(t tag) bool { return !t.close && fieldOf(t.name) != "" }

// settle decides about the closers that are held.
func (s *Scanner) settle(count bool) {
	held := s.held
	s.held = nil
	for i, t := range held {
		if !count {
			s.write(t.raw)
			continue
		}
		if i == 0 {
			s.text.code, s.json = code{}, object{}
		}
		s.structure(t)
	}
}

// cutTag takes what might have become a tag at the end. Within the form, and after the whole of a call, it was one.
func (s *Scanner) cutTag() {
	raw := s.tag.take()
	if s.callText.call.on() && s.callText.call.json.whole() {
		s.callText.call.tail = raw
		return
	}
	if s.result.Rooted && len(raw) > 1 && s.field != thinkField && !s.callText.call.on() {
		s.result.Odd++
		return
	}
	s.plain(raw)
}
