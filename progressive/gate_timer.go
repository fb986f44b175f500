package progressive

import (
	"container/heap"
	"time"
)

// schedule sets when s is examined again: when its first ticket can be admitted, or when s can be removed.
func (g *MemoryGate) schedule(s *scope, now time.Time) {
	wake := time.Time{}
	switch {
	case len(s.queue) > 0:
		if at, ok := s.permitAt(s.queue[0], now); ok {
			wake = maxTime(at, now)
		}
	case s.users == 0:
		if wake = s.idleAt(); !wake.After(now) {
			delete(g.scopes, s.name)
			wake = time.Time{}
			if s.kind != nil {
				s.kind.users--
				g.schedule(s.kind, now)
			}
		}
	}
	g.wakeAt(s, wake)
	g.setTimer(now)
}

// wakeAt puts s into the wake queue, or removes it if wake is zero.
func (g *MemoryGate) wakeAt(s *scope, wake time.Time) {
	s.wake = wake
	switch {
	case wake.IsZero() && s.index >= 0:
		heap.Remove(&g.wakeQueue, s.index)
	case wake.IsZero():
	case s.index >= 0:
		heap.Fix(&g.wakeQueue, s.index)
	default:
		heap.Push(&g.wakeQueue, s)
	}
}

// setTimer sets the only timer of the gate to the earliest wake-up. Timers of thousands of chats would cost more.
func (g *MemoryGate) setTimer(now time.Time) {
	next := time.Time{}
	if len(g.wakeQueue) > 0 {
		next = g.wakeQueue[0].wake
	}
	if next.Equal(g.timerAt) {
		return
	}
	g.timerAt = next
	switch {
	case next.IsZero():
		g.timer.Stop()
	case g.timer == nil:
		g.timer = time.AfterFunc(next.Sub(now), g.tick)
	default:
		g.timer.Reset(next.Sub(now))
	}
}

// tick examines the scopes whose time has come.
func (g *MemoryGate) tick() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.timerAt = time.Time{}
	for len(g.wakeQueue) > 0 && !g.wakeQueue[0].wake.After(now) {
		s := g.wakeQueue[0]
		g.wakeAt(s, time.Time{})
		g.advance(s, now)
	}
	g.setTimer(now)
}

// priorityQueue is a heap for package heap. Each item knows its index, so that it can be removed or moved in logarithmic time.
type priorityQueue[T prioritized[T]] []T

func (p priorityQueue[T]) Len() int { return len(p) }

func (p priorityQueue[T]) Less(i, j int) bool { return p[i].before(p[j]) }

func (p priorityQueue[T]) Swap(i, j int) {
	p[i], p[j] = p[j], p[i]
	*p[i].place(), *p[j].place() = i, j
}

func (p *priorityQueue[T]) Push(x any) {
	item := x.(T)
	*item.place() = len(*p)
	*p = append(*p, item)
}

func (p *priorityQueue[T]) Pop() any {
	n := len(*p) - 1
	item := (*p)[n]
	clear((*p)[n:])
	*p = (*p)[:n]
	*item.place() = -1
	return item
}

type prioritized[T any] interface {
	before(T) bool
	place() *int // its index; -1 after it was removed
}
