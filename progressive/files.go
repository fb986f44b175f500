package progressive

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// Files returns the files that calls show in v, as parts to place below the text. A file larger than most bytes is
// replaced with a line for users.
func Files(v answer.View, most int) (parts []Part, lines []string) {
	for i, f := range v.Files() {
		f.Name = nameOf(f, i+1)
		if len(f.Data) <= most {
			parts = append(parts, Part{File: &f, Plain: fmt.Sprintf("(%s can't be shown here.)", called(f))})
		} else {
			lines = append(lines, fmt.Sprintf("(%s is too large to show here.)", called(f)))
		}
	}
	return parts, lines
}

// nameOf is the name of the nth file of an answer.
func nameOf(f llm.File, n int) string {
	switch {
	case f.Name != "":
		return f.Name
	case f.Picture():
		return fmt.Sprintf("picture-%d.%s", n, strings.Replace(strings.TrimPrefix(f.Type, "image/"), "jpeg", "jpg", 1))
	}
	return fmt.Sprintf("file-%d", n)
}

// called is what people call a file in a sentence.
func called(f llm.File) string {
	if f.Picture() {
		return "An image"
	}
	return "The file " + f.Name
}

// apart takes the files out of parts.
func splitFiles(parts []Part) (texts, files []Part) {
	for _, p := range parts {
		if p.File != nil {
			files = append(files, p)
		} else {
			texts = append(texts, p)
		}
	}
	return texts, files
}

// resumeFile takes over a file from an earlier holder. Files of an answer that is rewritten are removed; files of an
// answer whose options are removed stay.
func (m *Message) resumeFile(h chat.Shown, run chat.Run) {
	p, rewrite := m.partAt(h.Part), run.Verdict == nil
	switch {
	case run.Kind == chat.RunChoiceResult:
		*p = partState{state: abandoned, id: h.ID}
	case h.Gone, rewrite && (h.ID == "" || m.deleter == nil):
	case h.ID == "":
		*p = partState{state: unknown, intent: h, contentUnknown: h.Sent == ""}
	default:
		*p = partState{state: posted, id: h.ID, stale: rewrite, contentUnknown: true}
	}
}

// complete inserts empty parts into files for those that an earlier holder has shown and whose bytes are lost: files of
// calls come before files with long text of the answer.
func (m *Message) alignFiles(files []Part) []Part {
	of := slices.IndexFunc(files, Part.holdsAnswerText)
	if of < 0 {
		of = len(files)
	}
	return slices.Insert(files, of, slices.Repeat([]Part{{}}, max(0, m.callFiles-of))...)
}

// planFiles returns the first step that brings the files of an answer below it. A create whose fate is unknown is
// repeated only while its nonce is valid, since the platform would accept it as a second message later. If some files
// are lost, the contents of the existing ones are unknown, so they stay.
func planFiles(have []partState, want []Part, refused []string, now time.Time) (s step, ok bool) {
	for i, h := range have {
		if h.stale && h.state == posted {
			return step{op: Delete, index: chat.FirstFile + i}, true
		}
	}
	some := slices.ContainsFunc(want, Part.bytesLost)
	for i, p := range want {
		h := partState{}
		if i < len(have) {
			h = have[i]
		}
		if p.bytesLost() || p.holdsAnswerText() && slices.Contains(refused, p.File.Name) {
			continue
		}
		if sameFile(p.File, h.refusedFile) {
			p.File = nil
		}
		if op, ok := h.fileStep(p, some, now); ok {
			return step{op: op, index: chat.FirstFile + i, part: p}, true
		}
	}
	s, ok = deleteFrom(have, len(want), now)
	s.index += chat.FirstFile
	return s, ok
}

// fileStep is what brings h nearer to showing p. A message changes from one file to another, and never between a file and
// words, which not every platform can.
func (h partState) fileStep(p Part, some bool, now time.Time) (op Op, ok bool) {
	other := !h.contentUnknown && !h.sent.sameFileAs(p)
	switch h.state {
	case absent:
		return Post, true
	case gone:
		return Post, other && h.sent.File != nil
	case unknown:
		return Post, now.Before(h.nonceUntil) || !h.contentUnknown && !h.mayHaveSent(p)
	case posted:
		switch {
		case h.contentUnknown && (some || p.holdsAnswerText()), h.confirmed && !other: // words are the same for every holder
			return 0, false
		case !h.contentUnknown && (h.sent.File == nil) != (p.File == nil):
			return Delete, true
		}
		return Edit, true
	}
	return 0, false
}

// sameFile reports whether f and o have the same content, or are both nil.
func sameFile(f, o *llm.File) bool {
	if f == nil || o == nil {
		return f == o
	}
	return f.Name == o.Name && f.Type == o.Type && bytes.Equal(f.Data, o.Data)
}

// shows reports whether p and o show the same file, or the same text in place of one.
func (p Part) sameFileAs(o Part) bool {
	return sameFile(p.File, o.File) && (p.File != nil || p.Plain == o.Plain)
}

func (p Part) bytesLost() bool { return p.File == nil }

// doubts repeats in the text the words of a file whose fate will never be known. It reports whether there are more such
// files than before.
func (m *Message) includeUncertainFiles(files []Part) (more bool) {
	for i, p := range m.alignFiles(files) {
		h := m.partAt(chat.FirstFile + i)
		if p.holdsAnswerText() && h.state == unknown && !time.Now().Before(h.nonceUntil) && !slices.Contains(m.refusedFiles, p.File.Name) {
			m.log.Warn("it is unknown whether a file was posted; its content goes into the text", "part", chat.FirstFile+i)
			m.refusedFiles, more = append(m.refusedFiles, p.File.Name), true
		}
	}
	return more
}

// words reports whether p is a file with text of the answer.
func (p Part) holdsAnswerText() bool { return p.File != nil && p.Plain == "" }

// refuse remembers that the platform does not take the file of part i.
func (m *Message) markFileRefused(i int, p Part) {
	if p.holdsAnswerText() {
		m.refusedFiles = append(m.refusedFiles, p.File.Name)
	} else {
		m.partAt(i).refusedFile = p.File
	}
}

// reportMissing tells the operator what may not have reached the reader.
func (m *Message) reportMissing(v answer.View) {
	if v.Outcome.Withdrawn {
		return
	}
	texts, files := m.render(v)
	if n := m.missing(m.alignFiles(files)); n > 0 {
		m.log.Error("files of the answer may not have been shown: their process is gone, or the platform did not confirm", "files", n)
	}
	for i := range texts {
		if h := m.partAt(i); h.state == absent || h.state == unknown {
			m.log.Error("part of the answer may not have been shown", "part", i)
		}
	}
}

// missing counts the files of an answer that people may not see.
func (m *Message) missing(want []Part) (n int) {
	for i, p := range want {
		if p.holdsAnswerText() && slices.Contains(m.refusedFiles, p.File.Name) {
			continue
		}
		if h := m.partAt(chat.FirstFile + i); h.state == absent || h.state == unknown {
			n++
		}
	}
	return n
}
