// Package xmlform parses a model's output while it is streamed: text for users, thoughts, and requested actions. Models
// that are asked for tags forget them, close the wrong ones, or write tool calls as plain text. So this is not an XML
// parser: it recognizes a few tags, and everything else is text. The result does not depend on how the stream is cut,
// and the cost is linear in the length.
//
// A [Scanner] reads byte by byte. Its tagReader collects a possible known tag; the rest goes where the
// reader is: to the text (sink), to the thoughts, or to a field that is parsed at its end. Text leaves Write only
// when it is certain that it is text.
//
// Some output only looks like the form: examples in code blocks, tags in the middle of a sentence, forms that the model
// quotes from its input. A wrong guess is harmful in two ways: a quoted action may be carried out, and text of the
// model may vanish. The rules therefore prefer text: calls count only at the top level of the form (or as the whole
// answer, if Options.Permit agrees), a doubtful field becomes text again, and dropped output is counted in Result.Lost.
// The tests in testdata hold recorded outputs of many models.
package xmlform

import (
	"slices"
	"strings"
)

// Options configure a [Scanner]. Its functions are called by the goroutine that writes.
type Options struct {
	// Tags reports whether the model was asked for <response> with <thought>, <actions>, <providers> and <text>.
	Tags bool
	// Known reports whether an action of this name exists. Only calls of existing actions are recognized in plain text;
	// nil recognizes none.
	Known func(name string) bool
	// Permit reports whether calls that the model wrote as plain text, without being asked for the text format, are
	// executed. It is called at the end, and only if they are the whole answer; raw is the model's text. Without calls,
	// raw is the beginning of a truncated call: it is dropped if that is permitted. Otherwise they stay text. Nil
	// permits nothing.
	Permit func(calls []Call, raw string) bool
	// Holds reports whether the text waits for the actions that the model has named before it. It is called when all of
	// these are known, unless some of the text was passed on before. Nil holds nothing.
	Holds func(calls []Call) bool
	// Joins reports whether the text continues an existing one: leading spaces are then part of it.
	Joins bool
}

// Call is an action requested by the model.
type Call struct {
	Name       string
	Parameters string // as written: not validated yet; can be empty
}

// Result is the output of a model in addition to the text for users.
type Result struct {
	Thought   string
	Calls     []Call   // in order; with Options.Tags including REPLY and the like
	Providers []string // requested providers
	Held      string   // the text, if Options.Holds held it
	Finish    bool     // the model reported that it is done
	Rooted    bool     // the requested format was found
	Cut       bool     // the output was truncated within a call
	Odd       int      // number of missing, extra or misplaced tags
	Lost      int      // number of bytes neither in here nor in the text
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

// thinkTags returns the tags around the reasoning that models write before the answer.
func thinkTags() []string { return []string{"think", "thinking", "thought", "reasoning", "reflection"} }

// callTags returns the tags around calls that models write as text.
func callTags() []string {
	return []string{"tool_call", "function_call", functionTag, parameterTag, actionsField, actionTag}
}

// formTags returns the tags of the form.
func formTags() []string {
	return []string{rootTag, thoughtField, actionsField, actionTag, provideField, paramsField, "parameters", textField, finishField}
}

// Scanner parses one answer. Create it with New. It is not safe for concurrent use. It holds the thoughts and the
// fields that are parsed at their end; text is passed on.
type Scanner struct {
	opt    Options
	known  []string
	runes  runes
	tag    tagReader
	text   sink
	result Result

	field    string // the current field; "" outside of all fields
	closer   string // the tag that ends it
	mid      bool   // this line of the field has a character other than space
	closed   bool   // the form is closed, and nothing has followed
	raw      []byte // of a field that is parsed at its end
	json     object // of raw
	nested   bool   // raw is within the parameters of an action
	thoughts []byte
	told     int    // the length of thoughts that Thinking has returned
	depth    int    // of <text> that is a part of the text, and of nested thinking
	back     string // thinking: the field around it
	start    int    // where it begins in thoughts
	turn     int    // where the text after its first closer begins there; -1 if there was none
	inner    inner  // a field that may only be mentioned in this one
	held     []tag  // closers within code or a string: they count if nothing else follows

	lead    []byte // the output before the form
	leading bool
	wrapped int  // signs that are left of a code fence around the form
	again   bool // a scan of output that turned out not to be thought
	mention int  // openers of thoughts within the text, whose closers are text as well

	form     form // whether calls count here
	callText callReader
	thinking thoughtReader

	doubt bool   // the calls of this field don't count
	open  string // its tag, with doubt
}

// inner is a field whose tag is in another field, or in the middle of a line. Only the next closer decides whether it
// is a field or a word of the text, so its content is kept apart until then.
type inner struct {
	field string
	name  string // of its tag
	open  string // its tag
	raw   []byte
}

// thoughtReader reads reasoning in the output of a model. Its state is in the Scanner.
type thoughtReader struct{ s *Scanner }

// callReader reads calls that are written as text. At most one of call, calls and bare is being read at a time.
type callReader struct {
	s     *Scanner
	call  written
	calls whole
	bare  bare
}

// New returns a Scanner for one answer. opt decides which tags are known: with fewer, more is plain text.
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

// Write parses a piece, cut anywhere, and returns the text for users that is certain by now.
func (s *Scanner) Write(piece string) string {
	s.feed(s.runes.whole(piece))
	return s.text.take()
}

// Whole reports whether the output so far is complete according to its format: the outer tag was closed.
func (s *Scanner) Whole() bool { return s.closed }

// Open reports whether the next piece would be text for users, according to the format so far.
func (s *Scanner) Open() bool {
	return s.field == textField && len(s.held) == 0 || s.field == "" && !s.result.Rooted
}

// Thinking returns the thoughts since its last call, and reports whether more of them follow. At the end they can turn
// out to be the answer: see Close.
func (s *Scanner) Thinking() (more string, open bool) {
	more = string(s.thoughts[min(s.told, len(s.thoughts)):])
	s.told = len(s.thoughts)
	return more, s.field == thinkField
}

// Close ends the answer, and returns the remaining text for users. Acts reports whether the model has requested actions
// by native tool calls: then unfinished thoughts stay hidden; otherwise only if there is other text. The Scanner can't
// be used afterwards.
func (s *Scanner) Close(acts bool) (rest string, r Result) {
	s.feed(s.runes.rest())
	if s.tag.holds() {
		s.cutTag()
	}
	// From the inside out: the part that was held back last is decided first, because it may belong to the part around
	// it.
	s.settle(true)
	s.endInner()
	s.callText.endCall()
	s.callText.endWhole(acts)
	s.callText.endBare(acts)
	s.endField(acts)
	s.endLead()
	s.result.Thought = strings.TrimSpace(string(s.thoughts))
	s.result.Held = s.text.release()
	return s.text.take(), s.result
}

func (s *Scanner) feed(piece []byte) {
	for _, b := range piece {
		s.step(b)
	}
}

// step takes a byte: it begins a tag, belongs to one, or is text. Another "<" ends a tag that was being collected,
// which then was none.
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

// plain takes text outside of tags.
func (s *Scanner) plain(text string) {
	for i := range len(text) {
		s.one(text[i])
	}
}

// one takes a byte outside of tags.
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

// put adds a byte to the current field.
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

// maxLead is the maximum length of output before the form, in bytes. A longer one is an answer without the form.
const maxLead = 200

// say adds a byte to the text for users, or to a possible part of it.
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

// release shows the text that was held back as possible talk before the form: there is no form.
func (s *Scanner) release() {
	s.leading = false
	s.text.code = code{}
	s.text.write(string(s.lead))
	s.lead = nil
}

// found takes a known tag. Its receiver depends on the current state: a call, thoughts, a field within a field, and
// only then the form.
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

// step returns how a tag changes the depth.
func step(t tag) int {
	switch {
	case t.close:
		return -1
	case t.alone:
		return 0
	}
	return 1
}

// inForm reports whether a name is a tag of the requested form.
func (s *Scanner) inForm(name string) bool { return s.opt.Tags && slices.Contains(formTags(), name) }

// quoted reports whether tags are examples here.
func (s *Scanner) quoted(t tag) bool {
	switch s.field {
	case "", textField:
		return s.text.code.in() && !(s.leading && t.bol && s.inForm(t.name))
	case actionsField, paramsField:
		return s.json.str
	}
	return false
}

// hold keeps a closer that may still be the end of the field: if only others follow, up to the end or to the next
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

// ends reports whether a closer is one of the field, or of one around it.
func (s *Scanner) ends(t tag) bool {
	switch {
	case s.field == "" || !s.inForm(t.name):
		return false
	case s.field == textField:
		return t.name == textField || t.name == rootTag
	}
	return fieldOf(t.name) == paramsField || fieldOf(t.name) == actionsField || t.name == rootTag
}

// opens reports whether a tag begins a field of the form.
func (s *Scanner) opens(t tag) bool { return !t.close && fieldOf(t.name) != "" }

// settle decides about the closers that are held: they are closers if count is set, and text otherwise.
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

// cutTag takes a possible tag at the end of the output. Within the form, and after a complete call, it was one: it is
// not shown.
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
