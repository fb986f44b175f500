package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/backends/sqlite"
	"parley/backends/sqlite/sqlitetest"
	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/connectors/telegram/telegramfake"
	"parley/core/chat"
	"parley/internal/require"
)

// Updates of different chats are accepted at the same time, those of one in order.
func TestChatsAtTheSameTime(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		const chats = 50
		var mu sync.Mutex
		got := map[chat.RoomID]string{}
		began := time.Now()
		for _, u := range r.strangers(chats) {
			r.Say(u.room, u.who, "1")
			r.Say(u.room, u.who, "2")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- r.bot.Run(ctx, func(_ context.Context, in chat.Inbound) (chat.Accepted, error) {
				time.Sleep(300 * time.Millisecond) // a slow disk
				mu.Lock()
				defer mu.Unlock()
				m := in.(chat.Message)
				got[m.Room] += m.Text
				return chat.Accepted{}, nil
			})
		}()
		for len(r.Unconfirmed()) > 0 {
			wait(100 * time.Millisecond)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		for room, texts := range got {
			if texts != "12" {
				t.Errorf(`%s got %q; want "12"`, room, texts)
			}
		}
		if len(got) != chats {
			t.Errorf("%d chats were heard; want %d", len(got), chats)
		}
		cancel()
		require.NoError(t, <-ended)
	})
}

type stranger struct {
	who  telegramfake.User
	room telegramfake.Chat
}

func (r *botHarness) strangers(n int) (all []stranger) {
	for i := range n {
		u := r.AddUser(fmt.Sprint("Ada ", i), "")
		all = append(all, stranger{u, r.AddPrivate(u)})
	}
	return all
}

// IN-01: no offset confirms an update that is still being stored, however many later ones are.
func TestOffsetStaysBehindASlowChat(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		all := r.strangers(10)
		slow := all[3]
		release := make(chan struct{})
		go func() {
			_ = r.bot.Run(t.Context(), func(_ context.Context, in chat.Inbound) (chat.Accepted, error) {
				if strings.Contains(string(in.(chat.Message).Room), strconv.FormatInt(slow.room.ID, 10)) {
					<-release
				}
				return chat.Accepted{}, nil
			})
		}()
		for range 3 {
			for _, u := range all {
				r.Say(u.room, u.who, "hello")
			}
			wait(10 * time.Second)
			first := r.Unconfirmed()[0]
			if offset, _ := strconv.ParseInt(r.final("getUpdates").Params["offset"], 10, 64); offset > first.ID {
				t.Errorf("%d confirms an update that is not stored, %d", offset, first.ID)
			}
			if n := len(r.Unconfirmed()); n < 7 {
				t.Errorf("%d updates wait; want at least 7", n)
			}
		}
		if n := r.count("getUpdates"); n > 60 {
			t.Errorf("%d polls in 30 s; want at most 60", n)
		}
		close(release)
		wait(10 * time.Second)
		if n := len(r.Unconfirmed()); n != 0 {
			t.Errorf("%d updates are unconfirmed; want none", n)
		}
	})
}

// IN-11: an update on which the handler panics is dropped; the process and the chat go on.
func TestPanicInTheHandler(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		room := r.AddPrivate(ada)
		r.Refuse(func(in chat.Inbound) error {
			if in.(chat.Message).Text == "poison" {
				panic("boom")
			}
			return nil
		})
		r.run(r.bot)
		for _, text := range []string{"before", "poison", "after"} {
			r.Say(room, ada, text)
		}
		wait(time.Minute)
		r.want("before", "after")
		if n := len(r.Unconfirmed()); n != 0 {
			t.Errorf("%d updates are unconfirmed; want none", n)
		}
	})
}

// slowMemo stores in any order what is stored at the same time.
type slowMemo struct {
	connectortest.Memory
	delay atomic.Int64
}

func (m *slowMemo) Keep(ctx context.Context, name, value string) error {
	time.Sleep(time.Duration(m.delay.Add(-int64(time.Second))))
	return m.Memory.Keep(ctx, name, value)
}

// Two groups that move at the same time are both remembered.
func TestGroupsMoveAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memo := &slowMemo{}
		memo.delay.Store(int64(10 * time.Second))
		m := newMoves(1, alone{memo})
		var both sync.WaitGroup
		for old := int64(-1); old >= -2; old-- {
			both.Go(func() {
				if err := m.add(t.Context(), old, old-100); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		both.Wait()
		later := newMoves(1, alone{memo})
		if err := later.load(t.Context()); err != nil || later.now(-1) != -101 || later.now(-2) != -102 {
			t.Errorf("remembered are %v, %v", memo.Stored(), err)
		}
	})
}

// A batch of 100 updates of 100 chats is stored in a handful of transactions.
func TestBatchSharesCommits(t *testing.T) {
	const chats = 100
	var commits, entered atomic.Int64
	all := make(chan struct{}) // closed when all chats are being stored
	store, err := sqlite.Open(t.Context(), sqlitetest.Path(t), sqlite.Options{Trace: func(statement string) {
		if statement == "COMMIT" && commits.Add(1) == 1 && entered.Load() > 0 {
			select {
			case <-all:
			case <-time.After(10 * time.Second): // they never are
			}
		}
	}})
	require.NoError(t, err)
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	bot := New(Config{Token: telegramfake.DefaultToken}, connectortest.Deps(nil))
	p := newPoller(bot, func(ctx context.Context, in chat.Inbound) (chat.Accepted, error) {
		if entered.Add(1) == chats {
			close(all)
		}
		return store.Accept(ctx, in.(chat.Message), chat.JoinRule{})
	})
	p.intake = newIntake(t.Context(), p.log)
	var batch []json.RawMessage
	for n := range chats {
		batch = append(batch, fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":1,"date":1,"text":"hi",`+
			`"from":{"id":%d,"first_name":"Ada"},"chat":{"id":%d,"type":"private"}}}`, 7+n, 1000+n, 1000+n))
	}
	commits.Store(0)
	_, err = p.intake.take(batch, p.handlers())
	for range 30 { // a busy machine needs longer than a poll waits
		p.intake.events.Settle(settleTime)
	}
	if offset := p.intake.close(); err != nil || offset != 107 {
		t.Errorf("the offset is %d, %v", offset, err)
	}
	if n := commits.Load(); n > chats/5 {
		t.Errorf("%d commits for %d updates", n, chats)
	}
}

// unswappable is a state that several gateways share, and that nothing can be stored in.
type unswappable struct{ connectors.SharedState }

func (unswappable) Swap(context.Context, string, string, string) (bool, error) {
	return false, errors.New("the disk is full")
}

// A move that can't be stored among several gateways is not recorded.
func TestMoveThatCantBeStored(t *testing.T) {
	m := newMoves(1, unswappable{&connectortest.Memory{}})
	if err := m.add(t.Context(), -1, -101); err == nil || m.now(-1) != -1 {
		t.Errorf("the group is %d, %v; want an error", m.now(-1), err)
	}
}
