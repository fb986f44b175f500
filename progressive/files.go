package progressive

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core"
)

// File is what a [Part] shows that is no text.
type File struct {
	Name string
	Type string // as MIME has it
	Data []byte // do not change
}

// refusedFile stands where a platform did not take a file.
const refusedFile = "(A picture could not be shown here.)"

// Files are the pictures of v as parts to come below its text: none before the end. Of those larger than most bytes there
// is a line instead, for people.
func Files(v core.View, most int) (parts []Part, lines []string) {
	if !v.Outcome.Done() {
		return nil, nil
	}
	for i, url := range v.Images() {
		f, ok := decode(url, i+1)
		switch {
		case ok && len(f.Data) <= most:
			parts = append(parts, Part{File: f, Plain: refusedFile})
		case ok:
			lines = append(lines, "(A picture is too large to be shown here.)")
		}
	}
	return parts, lines
}

// decode is the nth picture of an answer.
func decode(url string, n int) (f *File, ok bool) {
	head, data, _ := strings.Cut(url, ";base64,")
	kind, ok := strings.CutPrefix(head, "data:image/")
	if !ok {
		return nil, false
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, false
	}
	return &File{Name: fmt.Sprintf("picture-%d.%s", n, strings.Replace(kind, "jpeg", "jpg", 1)), Type: "image/" + kind, Data: raw}, true
}

// apart takes the files out of parts.
func apart(parts []Part) (texts, files []Part) {
	for _, p := range parts {
		if p.File != nil {
			files = append(files, p)
		} else {
			texts = append(texts, p)
		}
	}
	return texts, files
}

// resumeFile takes over a file from an earlier holder. Those of an answer that is written anew go.
func (m *Message) resumeFile(h core.Shown, run core.Run) {
	p, anew := m.part(h.Part), run.Verdict == nil && run.Duty != core.Carry
	switch {
	case h.Gone, anew && (h.ID == "" || m.deleter == nil):
	case h.ID == "":
		*p = shown{state: unknown}
	default:
		*p = shown{state: there, id: h.ID, stale: anew}
	}
}

// planFiles is the first step that brings the files of an answer below it, each once. It never changes one: what is there
// stays, also if an earlier holder posted it and nobody has its bytes any more. A create whose fate is unknown is repeated
// only while its nonce is good (TR-12).
func planFiles(have []shown, want []Part, refused []string, now time.Time) (s step, ok bool) {
	for i, h := range have {
		if h.stale && h.state == there {
			return step{op: Delete, i: core.FirstFile + i}, true
		}
	}
	for i, p := range want {
		h := shown{}
		if i < len(have) {
			h = have[i]
		}
		if slices.Contains(refused, p.File.Name) {
			if p.words() {
				continue
			}
			p.File = nil
		}
		if h.state == absent || h.state == unknown && now.Before(h.until) {
			return step{Post, core.FirstFile + i, p}, true
		}
	}
	return step{}, false
}

// doubts has the words in the text that stand in a file of which nobody will ever know whether it was posted. It says
// whether there is such a file more than before.
func (m *Message) doubts(files []Part) (more bool) {
	for i, p := range files {
		h := m.part(core.FirstFile + i)
		if p.words() && h.state == unknown && !time.Now().Before(h.until) && !slices.Contains(m.refused, p.File.Name) {
			m.log.Warn("nobody knows whether the file was posted: what it holds goes into the text", "part", core.FirstFile+i)
			m.refused, more = append(m.refused, p.File.Name), true
		}
	}
	return more
}

// words says that p is a file with words of the answer.
func (p Part) words() bool { return p.File != nil && p.Plain == "" }

// reportMissing tells the operator what may not have reached the reader.
func (m *Message) reportMissing(v core.View) {
	if v.Outcome.Withdrawn {
		return
	}
	texts, files := m.render(v)
	if n := m.missing(files); n > 0 {
		m.log.Error("files of the answer may not have been shown: the process that had them is gone, or the platform did not say", "files", n)
	}
	for i := range texts {
		if h := m.part(i); h.state == absent || h.state == unknown {
			m.log.Error("a part of the answer may not have been shown", "part", i)
		}
	}
}

// missing counts the files of an answer that people may not see.
func (m *Message) missing(want []Part) (n int) {
	words := 0 // they come first
	for words < len(want) && want[words].words() {
		words++
	}
	for i := range max(words+m.pictures, len(want)) {
		h := m.part(core.FirstFile + i)
		if i < words && slices.Contains(m.refused, want[i].File.Name) {
			continue
		}
		if h.state == absent || h.state == unknown {
			n++
		}
	}
	return n
}
