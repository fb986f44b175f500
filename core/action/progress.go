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

// quick is how long an operation may take until people are shown that it is under way.
const quick = 300 * time.Millisecond

// Progress tells people how an operation goes, in the place of its call: for authors of actions. One that is over within
// 300 ms shows nothing but its end. All its methods but Choose return at once. Safe for concurrent use.
type Progress struct {
	call *Call

	mu    sync.Mutex
	text  string
	timer *time.Timer // until what was told first is shown
	shown bool
	over  bool
}

// NewProgress begins an operation.
func NewProgress(c *Call) *Progress { return &Progress{call: c} }

// Update says what is being done now.
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

// Important says what people had better know even if it is soon over, and where nothing can be shown in place.
func (p *Progress) Important(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.stop()
		p.shown = true
		p.call.update(answer.Change{Text: text, Important: text})
	}
}

// Choose asks people how to go on, as [Call.Choose] does: at once, in the place of what was told before, and until the next
// update. It fails if the operation is over.
func (p *Progress) Choose(ctx context.Context, text string, q chat.Question) (chat.Question, error) {
	if !p.open() {
		return q, errors.New("ask: the operation is over")
	}
	return p.call.Choose(ctx, text, q)
}

// open has nothing come later that was told before. It says whether the operation goes on.
func (p *Progress) open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
	p.shown = true
	return !p.over
}

// Complete ends the operation with what came of it, and files that stay with that, as [Call.Update] shows them.
func (p *Progress) Complete(text string, files ...llm.File) { p.end(text, files...) }

// Fail ends the operation with why nothing came of it, in a sentence for people.
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

// show is the timer's.
func (p *Progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shown && !p.over {
		p.shown = true
		p.call.Update(p.text)
	}
}
