package progressive

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// Files returns the files that calls show in v, as parts to place below the text. A file larger than most bytes is
// replaced with a line for users.
func Files(v answer.View, most int, say func(key string, pairs ...any) string) (parts []Part, lines []string) {
	for i, f := range v.Files() {
		f.Name = nameOf(f, i+1)
		switch fits := len(f.Data) <= most; {
		case fits && f.Picture():
			parts = append(parts, Part{File: &f, Plain: say("message.image_refused")})
		case fits:
			parts = append(parts, Part{File: &f, Plain: say("message.file_refused", "file", f.Name)})
		case f.Picture():
			lines = append(lines, say("message.image_large"))
		default:
			lines = append(lines, say("message.file_large", "file", f.Name))
		}
	}
	return parts, lines
}

// nameOf returns the name of the nth file of an answer. Actions may return files without names, which platforms refuse.
func nameOf(f llm.File, n int) string {
	switch {
	case f.Name != "":
		return f.Name
	case f.Picture():
		return fmt.Sprintf("picture-%d.%s", n, strings.Replace(strings.TrimPrefix(f.Type, "image/"), "jpeg", "jpg", 1))
	}
	return fmt.Sprintf("file-%d", n)
}

// splitFiles separates the files from the texts. They are posted as messages of their own, below the text.
func splitFiles(parts []Part) (texts, files []Part) {
	if !slices.ContainsFunc(parts, func(p Part) bool { return p.File != nil }) {
		return parts, nil // while a text grows; it is not copied for each of its requests
	}
	for _, p := range parts {
		if p.File != nil {
			files = append(files, p)
		} else {
			texts = append(texts, p)
		}
	}
	return texts, files
}

// resumeFile sets the state of a file that an earlier process posted. If the answer is written again from the start, its old files are
// deleted. If only the options of a finished answer are removed, they stay.
func (m *Message) resumeFile(h chat.Shown, run chat.Run) {
	p, rewrite := m.partAt(h.Part), run.Verdict == nil && !run.Resumes()
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

// alignFiles inserts an empty part for each file of a call that an earlier process has shown. Their bytes are not stored,
// so they can't be compared or posted again, but their places must stay taken: files of calls come before files with long
// text of the answer.
func (m *Message) alignFiles(files []Part) []Part {
	of := slices.IndexFunc(files, Part.holdsAnswerText)
	if of < 0 {
		of = len(files)
	}
	return slices.Insert(files, of, slices.Repeat([]Part{{}}, max(0, m.callFiles-of))...)
}

// planFiles is [plan] for the files. They differ from texts: they are never marked as repetitions, a create request with an
// unknown outcome is only repeated while its nonce is valid, and if the bytes of some are lost, the existing messages stay
// as they are.
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

// fileStep returns the request that makes h show p. A message with a file can be edited to have another file. Between a
// file and text it is deleted and posted again, because not every platform can edit one into the other.
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
		case h.contentUnknown && (some || p.holdsAnswerText()), h.confirmed && !other: // the text of an answer is the same in every process
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

// sameFileAs reports whether p and o show the same file, or the same line in place of one.
func (p Part) sameFileAs(o Part) bool {
	return sameFile(p.File, o.File) && (p.File != nil || p.Plain == o.Plain)
}

// bytesLost reports whether p stands for a file whose bytes are not stored; see [Message.alignFiles].
func (p Part) bytesLost() bool { return p.File == nil }

// includeUncertainFiles puts the content of files into the text if it can no longer be found out whether the files were
// posted. Text that appears twice is better than missing text. It reports whether there are more such files than
// before, so that the text must be rendered again.
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

// holdsAnswerText reports whether p is a file with text of the answer, rather than one that an action returned.
func (p Part) holdsAnswerText() bool { return p.File != nil && p.Plain == "" }

// markFileRefused notes that the platform refused the file of part i, so that text is shown instead.
func (m *Message) markFileRefused(i int, p Part) {
	if p.holdsAnswerText() {
		m.refusedFiles = append(m.refusedFiles, p.File.Name)
	} else {
		m.partAt(i).refusedFile = p.File
	}
}

// reportMissing logs how many files may be missing in the chat. It returns [core.ErrUnconfirmed] if that applies to
// text that was sent as often as allowed.
func (m *Message) reportMissing(v answer.View) (err error) {
	if v.Outcome.Withdrawn {
		return nil
	}
	texts, files := m.render(v)
	if n := m.missing(m.alignFiles(files)); n > 0 {
		m.log.Error("files of the answer may not have been shown: their process is gone, or the platform did not confirm", "files", n)
	}
	for i := range texts {
		if h := m.partAt(i); h.state == absent || h.state == unknown {
			m.log.Error("part of the answer may not have been shown", "part", i)
			if m.resend != nil {
				err = core.ErrUnconfirmed
			}
		}
	}
	return err
}

// missing returns the number of files of an answer that may be missing in the chat.
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
