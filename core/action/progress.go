package action

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// quick is the delay before an operation is shown as running.
const quick = 300 * time.Millisecond

// Progress shows the progress of an operation in the output of its call. An operation that completes within 300 ms
// shows only its end. All methods except Choose return immediately. Progress is safe for concurrent use.
type Progress struct {
	call *Call

	mu    sync.Mutex
	text  string
	timer *time.Timer // fires when the first update is shown
	shown bool
	over  bool
}

// NewProgress starts an operation.
func NewProgress(c *Call) *Progress { return &Progress{call: c} }

// Update shows the current step.
func (p *Progress) Update(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.text = text; {
	case p.over:
	case p.shown:
		p.call.Update(text)
	case p.timer == nil:
		p.timer = time.AfterFunc(quick, p.show)
	}
}

// Important shows text even if the operation ends soon, and on platforms that cannot edit messages.
func (p *Progress) Important(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.stop()
		p.shown = true
		p.call.update(answer.Change{Text: text, Important: text})
	}
}

// Choose asks users how to continue, like [Call.Choose]: the question replaces earlier updates immediately, and stays
// until the next one. It fails if the operation has ended.
func (p *Progress) Choose(ctx context.Context, text string, q chat.Question) (chat.Question, error) {
	if !p.open() {
		return q, errors.New("ask: the operation is over")
	}
	return p.call.Choose(ctx, text, q)
}

// open cancels pending updates, and reports whether the operation is still running.
func (p *Progress) open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
	p.shown = true
	return !p.over
}

// Complete ends the operation with its result and files that stay with it, shown as by [Call.Update].
func (p *Progress) Complete(text string, files ...llm.File) { p.end(text, files...) }

// Fail ends the operation with the reason of its failure, a sentence for users.
func (p *Progress) Fail(text string) { p.end("⚠️ " + text) }

func (p *Progress) end(text string, files ...llm.File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.stop()
	p.over = true
	p.call.Update(text, files...)
}

func (p *Progress) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// show is called by the timer.
func (p *Progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shown && !p.over {
		p.shown = true
		p.call.Update(p.text)
	}
}
