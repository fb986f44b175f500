package discordfake

import (
	"encoding/json"
	"time"
)

// session is one login; it outlives its connections until it is ended. Guarded
// by the server's mutex.
type session struct {
	id            string
	intents       Intents
	shard, shards int
	seq           int
	sent          []dispatched // everything, for replay
	conn          *conn        // nil between connections
	lostAt        time.Time
	ended         bool
}

type dispatched struct {
	seq   int
	frame []byte
}

// push numbers an event, keeps it for replay, and sends it if there is a
// connection.
func (sn *session) push(name string, data json.RawMessage) {
	sn.seq++
	frame := encode(object{"op": opDispatch, "s": sn.seq, "t": name, "d": data})
	sn.sent = append(sn.sent, dispatched{seq: sn.seq, frame: frame})
	if sn.conn != nil {
		sn.conn.out.put(frame)
	}
}

// replay sends again what came after seq.
func (sn *session) replay(seq int) {
	for _, d := range sn.sent {
		if d.seq > seq {
			sn.conn.out.put(d.frame)
		}
	}
}

func (sn *session) end() {
	sn.ended, sn.sent = true, nil
}

// detach parts a session from its connection, which has closed with a code.
func (sn *session) detach(c *conn, code int) {
	if sn.conn != c {
		return // a newer connection has it
	}
	sn.conn, sn.lostAt = nil, time.Now()
	if endsSession(code) {
		sn.end()
	}
}

// endsSession reports whether nothing can be resumed after a close code (DR-15,
// DR-16).
func endsSession(code int) bool {
	switch code {
	case 1000, 1001, 4004, 4007, 4009, 4010, 4011, 4012, 4013, 4014:
		return true
	}
	return false
}

// resumable reports whether a session may be taken up now.
func (sn *session) resumable(window time.Duration, now time.Time) bool {
	if sn == nil || sn.ended {
		return false
	}
	return sn.conn != nil || now.Sub(sn.lostAt) <= window
}

// startLimit is the session_start_limit: so many identifies a day, and so many
// in five seconds (DR-17).
type startLimit struct {
	total  int
	left   int
	opened time.Time
	recent map[int]time.Time // by shard modulo max_concurrency
}

func newStartLimit(total int, now time.Time) startLimit {
	return startLimit{total: total, left: total, opened: now, recent: map[int]time.Time{}}
}

const (
	startWindow       = 24 * time.Hour
	concurrencyWindow = 5 * time.Second
)

func (l *startLimit) state(now time.Time) (left int, resetAfter time.Duration) {
	if now.Sub(l.opened) >= startWindow {
		l.left, l.opened = l.total, now
	}
	return l.left, l.opened.Add(startWindow).Sub(now)
}

// spend takes one identify; exhausted reports that the day's quota is used up, crowded
// that another one of the same key came less than five seconds ago.
func (l *startLimit) spend(shard, maxConcurrent int, now time.Time) (exhausted, crowded bool) {
	if left, _ := l.state(now); left <= 0 {
		return true, false
	}
	l.left--
	key := shard % maxConcurrent
	if last, ok := l.recent[key]; ok && now.Sub(last) < concurrencyWindow {
		return false, true
	}
	l.recent[key] = now
	return false, false
}
