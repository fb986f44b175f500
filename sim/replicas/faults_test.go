package replicas

import (
	"math/rand/v2"
	"time"
)

// disturb lets things happen to the processes for a while.
func (w *simulation) disturb(luck *rand.Rand) {
	for end := w.began.Add(length); ; {
		time.Sleep(time.Duration(luck.Int64N(int64(25 * time.Second))))
		left := time.Until(end)
		if left <= 0 {
			return
		}
		slot := luck.IntN(processes)
		p := w.at(slot)
		lasts := min(time.Second+time.Duration(luck.Int64N(int64(40*time.Second))), left)
		switch luck.IntN(7) {
		case 0, 1:
			to := []port{toStore, toShared, toPlatform}[luck.IntN(3)]
			w.note(p, "is cut off from the %s for %v", to, lasts)
			p.cutOff(to, lasts)
		case 2:
			w.note(p, "is cut off from all for %v", lasts)
			for _, to := range []port{toStore, toShared, toPlatform} {
				p.cutOff(to, lasts)
			}
		case 3:
			w.note(p, "pauses for %v", lasts)
			p.pause(lasts)
		case 4, 5:
			p.arm(1+luck.IntN(12), luck.IntN(2) == 0)
		case 6:
			if luck.IntN(2) == 0 {
				w.note(nil, "what is shared is forgotten")
				w.shared.forget()
				continue
			}
			w.note(p, "is told to stop")
			p.kill()
		}
		time.AfterFunc(lasts+time.Millisecond, func() { w.revive(slot) })
	}
}

// revive starts a process that has ended again.
func (w *simulation) revive(slot int) {
	w.reviving.Lock()
	defer w.reviving.Unlock()
	p := w.at(slot)
	select {
	case <-p.ended:
		w.start(slot)
		w.note(w.at(slot), "begins")
	default:
	}
}

// heal ends all faults, and sees to it that all processes live.
func (w *simulation) heal() {
	w.note(nil, "the faults are over")
	for slot := range w.slots {
		p := w.at(slot)
		p.mu.Lock()
		p.effects, p.cut = 0, map[port]bool{}
		p.mu.Unlock()
		if p.life.Err() != nil {
			<-p.ended
		}
		w.revive(slot)
	}
}

func (p *process) cutOff(to port, d time.Duration) {
	p.mu.Lock()
	p.cut[to] = true
	p.mu.Unlock()
	time.AfterFunc(d, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.cut[to] = false
	})
}

func (p *process) pause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused != nil || p.dead {
		return
	}
	paused := make(chan struct{})
	p.paused = paused
	time.AfterFunc(d, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.paused == paused {
			p.paused = nil
			close(paused)
		}
	})
}

// arm has the process die at its nth effect from now on.
func (p *process) arm(n int, behind bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effects, p.behind = n, behind
}
