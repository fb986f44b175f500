package answer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/llm"
	"parley/core/text"
)

// ToolBlock is the visible state of one call: the eleven fields of the protocol.
type ToolBlock struct {
	ID string `json:"id"`
	Tool
	Images []string `json:"images,omitempty"` // the shown images, as data: URLs
}

// BlockOf returns the block of a call that shows files.
func BlockOf(id string, t Tool, files []llm.File) ToolBlock {
	b := ToolBlock{ID: id, Tool: t}
	for _, f := range files {
		if f.Picture() {
			b.Images = append(b.Images, f.DataURL())
		}
	}
	return b
}

// ItFailed is the visible error of a call without an error for users.
const ItFailed = "It failed."

// PastCall is a call's final state, as stored with the answer.
type PastCall struct {
	ID string `json:"id"`
	Tool
	At    int            `json:"at,omitempty"` // the length of the answer's text above it, in bytes
	Files []llm.PastFile `json:"files,omitempty"`
	Took  time.Duration  `json:"took,omitempty"` // the time of its execution; 0 if it was not made, or ended in a version that did not record it
}

const (
	mostCalls     = 100       // stored calls of one answer: the first ones
	maxCallsBytes = maxResult // total size of stored parameters and results, so that they don't crowd out the conversation
	maxGallery    = 24 << 20  // total size of stored files
)

// CallSnapshot builds the stored form of an answer's calls.
type CallSnapshot struct {
	bytes int // size of parameters and results
	size  int // size of files
	Files []llm.File
}

// Keep returns the calls of an answer in their stored form, each with its position, at most mostCalls.
func (k *CallSnapshot) Keep(v View) (all []PastCall) {
	for above, s := range v.Placed() {
		if s.Call != "" && s.Tool.Stage != "" && len(all) < mostCalls {
			all = append(all, PastCall{s.Call, k.tool(s.Tool), above, k.saveFiles(s.Files), s.Tool.Duration})
		}
	}
	return all
}

func (k *CallSnapshot) tool(t Tool) Tool {
	t.ParametersChunk = ""
	for _, s := range []*string{&t.Name, &t.Label, &t.CompactParams, &t.ShortResult, &t.Error, &t.Parameters, &t.Result} {
		*s = text.CutBytes(text.Clean(*s), max(0, maxCallsBytes-k.bytes))
		k.bytes += len(*s)
	}
	return t
}

func (k *CallSnapshot) saveFiles(files []llm.File) (kept []llm.PastFile) {
	for _, b := range files {
		if b.Past != nil {
			kept = append(kept, *b.Past)
			continue
		}
		if k.size+len(b.Data) > maxGallery {
			continue
		}
		kept = append(kept, llm.PastFile{N: len(k.Files), Name: b.Name, Type: b.Type, Size: len(b.Data), Caption: text.Clean(b.Caption)})
		k.Files, k.size = append(k.Files, b), k.size+len(b.Data)
	}
	return kept
}

// PastFiles returns references to the files of a stored call without reading them, so many readers can ask for a
// finished answer cheaply.
func PastFiles(c PastCall) (all []llm.File) {
	for _, f := range c.Files {
		all = append(all, llm.File{Name: f.Name, Type: f.Type, Past: &f})
	}
	return all
}

// Replay writes the output of an earlier holder: the calls at their positions in the text, with their files.
func (a *Answer) Replay(text string, history []string, calls []PastCall, files func(PastCall) []llm.File) {
	a.mu.Lock()
	a.history = callbackHistory{texts: history}
	a.mu.Unlock()
	step, told := 0, 0
	say := func(upTo int) {
		if upTo > told {
			a.Apply(Change{Kind: Text, Step: step, Text: text[told:upTo]})
			step, told = step+1, min(len(text), upTo+len(between))
		}
	}
	for _, c := range calls {
		if parts(text, c.At) {
			say(c.At)
		}
		a.Apply(Change{Kind: ToolStage, Step: step, Call: c.ID, Tool: &Tool{Name: c.Name, Stage: StageStart}})
		a.Apply(Change{Kind: ToolStage, Step: step, Call: c.ID, Tool: &c.Tool, Files: files(c)})
	}
	say(len(text))
}

// parts reports whether text can be split at at: a piece of text ends there.
func parts(text string, at int) bool {
	return at == len(text) || 0 < at && at < len(text) && strings.HasPrefix(text[at:], between)
}

// The history is bounded, however much an action writes. If it exceeds the limits, the first and the newest texts stay,
// with a mark between them.
const (
	mostSaid   = 100      // texts, including the mark
	maxSaid    = 64 << 10 // total size of the texts, in bytes
	maxOneSaid = 2 << 10  // size of one text, in bytes
	firstSaid  = 10       // texts that always stay
)

// callbackHistory collects the outputs of calls, oldest first, trimmed, without immediate repetitions. The zero value
// is empty.
type callbackHistory struct {
	texts []string // append-only once returned
	bytes int
	left  int // number of omitted texts: texts[firstSaid] is then the mark
}

func (s *callbackHistory) add(txt string) {
	txt = strings.TrimSpace(txt)
	if len(txt) > maxOneSaid {
		txt = text.CutBytes(txt, maxOneSaid) + "…"
	}
	if txt == "" || len(s.texts) > 0 && s.texts[len(s.texts)-1] == txt {
		return
	}
	s.texts, s.bytes = append(s.texts, txt), s.bytes+len(txt)
	if len(s.texts) > mostSaid || s.bytes > maxSaid {
		s.shorten()
	}
}

// shorten drops texts that are neither among the first nor in the newer half, so that the amortized cost per text is
// small.
func (s *callbackHistory) shorten() {
	from := firstSaid
	if s.left > 0 {
		from++ // the mark
	}
	kept := slices.Clone(s.texts[:firstSaid])
	for i := from; i < len(s.texts)-1 && (len(s.texts)-i > mostSaid/2 || s.bytes > maxSaid*3/4); i++ {
		s.bytes -= len(s.texts[i])
		s.left++
		from = i + 1
	}
	kept = append(kept, fmt.Sprintf("… %d more …", s.left))
	s.texts = append(kept, s.texts[from:]...)
}

func (s *callbackHistory) list() []string { return slices.Clip(s.texts) }

const maxResult = 64 << 10 // maximum size of a result for the model and the store, in bytes

// LimitResult cuts a result that would leave too little room for the conversation in the prompt.
func LimitResult(s string) string {
	if len(s) <= maxResult {
		return s
	}
	return text.CutBytes(s, maxResult) + "\n[truncated: the result was longer]"
}
