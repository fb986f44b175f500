package schedule

import (
	"fmt"
	"testing"
	"time"

	"parley/core/chat"
)

// IN-05: twenty turns of a pair in a minute, then a minute of silence.
func TestPairBudget(t *testing.T) {
	b, now := &Bots{}, time.Unix(0, 0)
	turn := func(room chat.RoomID, bot chat.EntityID) bool { b.Person(room); return b.Turn(room, bot, now) }
	for i := range pairTurns {
		if now = now.Add(2 * time.Second); !turn("room", "bot") {
			t.Fatalf("turn %d is refused", i)
		}
	}
	if turn("room", "bot") {
		t.Error("the bot got one turn more than its limit; want it refused")
	}
	if !turn("room", "another") || !turn("elsewhere", "bot") {
		t.Error("another bot or room was refused; want both allowed")
	}
	if now = now.Add(pairCool - time.Second); turn("room", "bot") {
		t.Error("the bot got a turn before its pause was over; want it refused")
	}
	if now = now.Add(time.Second); !turn("room", "bot") {
		t.Error("the bot got no turn after its pause; want one")
	}
	slow := &Bots{}
	for i := range 100 {
		slow.Person("room")
		if now = now.Add(3001 * time.Millisecond); !slow.Turn("room", "bot", now) {
			t.Fatalf("turn %d of a slow one is refused", i)
		}
	}
}

// IN-05: three turns of bots in a row, however slow, from any bots, until a person writes or a minute of silence.
func TestChainOfBots(t *testing.T) {
	b, now := &Bots{}, time.Unix(0, 0)
	turn := func(n int) bool {
		now = now.Add(5 * time.Minute)
		return b.Turn("room", chat.EntityID(fmt.Sprint(n)), now)
	}
	for n := range chainTurns {
		if !turn(n) {
			t.Fatalf("turn %d is refused", n)
		}
	}
	if turn(9) || b.Turn("room", "bot", now.Add(pairCool-1)) {
		t.Error("the bot got a turn more than its limit, or during its pause; want both refused")
	}
	if b.Person("room"); !b.Turn("room", "bot", now) {
		t.Error("a person's word does not count")
	}
	for range chainTurns {
		b.Turn("room", "bot", now)
	}
	if now = now.Add(pairCool); !b.Turn("room", "bot", now) {
		t.Error("the bot got no turn after its pause; want one")
	}
}

// I10: what is remembered of bots is bounded.
func TestBotsAreForgotten(t *testing.T) {
	b := &Bots{}
	for i := range 3 * pairsKept {
		if b.Turn(chat.RoomID(fmt.Sprint(i)), "bot", time.Unix(0, 0)); len(b.pairs) > pairsKept || len(b.chains) > pairsKept {
			t.Fatalf("%d pairs, %d chains after %d turns; want at most %d", len(b.pairs), len(b.chains), i+1, pairsKept)
		}
	}
}
