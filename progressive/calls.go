package progressive

import (
	"slices"
	"unicode/utf8"

	"parley/core/answer"
)

// Progress determines how the agent's actions are shown: each call can have a line of its own.
type Progress string

// The ways to show calls.
const (
	Off     Progress = "off"     // never
	Compact Progress = "compact" // while the answer is being written
	Full    Progress = "full"    // also after the answer is complete
)

// Words returns the words of the configuration.
func (Progress) Words() []string { return []string{string(Off), string(Compact), string(Full)} }

const mostLines = 8 // the number of newest calls that are shown while the answer is being written

// thinkingLine is shown while the model reasons. Its reasoning is never part of a message.
const thinkingLine = "💭 Thinking…"

// Lines returns the visible lines for the calls of v, oldest first, and one while the model reasons.
func (p Progress) Lines(v answer.View) (lines []string) {
	done := v.Outcome.Done()
	if p == Off || p != Full && done {
		return nil
	}
	for _, s := range v.Segments {
		if s.Call != "" && s.Tool.Name != "" && !s.Tool.Hidden {
			lines = append(lines, callLine(s.Tool))
		}
	}
	if v.Thinking {
		lines = append(lines, thinkingLine)
	}
	if !done {
		lines = lines[max(0, len(lines)-mostLines):]
	}
	return lines
}

// callLine describes a call in one line, as everyone in a chat may read it: a symbol for its stage, its label, and the
// action's own words for its parameters and its result.
func callLine(t answer.Tool) string {
	t = t.Public()
	sign, outcome := "⏳", t.ShortResult
	switch {
	case t.Stage == answer.StageRunning:
		sign = "⚙️"
	case t.Stage == answer.StageEnd && t.Success:
		sign = "✅"
	case t.Stage == answer.StageEnd:
		sign, outcome = "❌", t.Error
	}
	l := sign + " " + t.Name
	if t.CompactParams != "" {
		l += ": " + t.CompactParams
	}
	if outcome != "" {
		l += " → " + outcome
	}
	return l
}

// AppendLines adds lines below the last of parts: the newest ones that fit. Once an answer has ended, it adds all of them,
// if necessary in additional messages, because nothing replaces them any more. render returns lines in the platform's
// dialect and as plain text; fits reports whether a message is small enough.
func AppendLines(parts []Part, lines []string, ended bool, render func(lines []string) (text, plain string), fits func(Part) bool) []Part {
	parts = slices.Clone(parts)
	for at := range lines {
		if p := withLines(parts, lines[at:], render); fits(p) {
			return append(parts[:max(0, len(parts)-1)], p)
		} else if ended {
			break
		}
	}
	for ended && len(lines) > 0 {
		n := len(lines)
		for n > 1 && !fits(withLines(nil, lines[:n], render)) {
			n--
		}
		parts, lines = append(parts, withLines(nil, lines[:n], render)), lines[n:]
	}
	return parts
}

// withLines returns the last of parts with lines below its text, or a part with only the lines.
func withLines(parts []Part, lines []string, render func(lines []string) (text, plain string)) (p Part) {
	text, plain := render(lines)
	before := 0
	if len(parts) == 0 {
		p = Part{Text: text, Plain: plain}
	} else {
		p = parts[len(parts)-1]
		before = utf8.RuneCountInString(p.readable())
		if p.Text != "" { // otherwise it is sent without markup
			p.Text += "\n\n" + text
		}
		p.Plain += "\n\n" + plain
	}
	p.StatusRunes = utf8.RuneCountInString(p.readable()) - before
	return p
}
