package discord

import (
	"context"
	"slices"
	"testing"

	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/internal/require"
)

// bare is an intake without a Discord.
func bare(h connectors.Handler) *intake {
	d := New(Config{}, connectortest.Deps(nil))
	o := connectors.IntakeOptions{PerKey: mostQueued, Total: mostWaiting, Log: d.log}
	return newIntake(d, us, h, &keeper{events: connectors.NewIntake[string](context.Background(), o, session{}), used: newUsed()})
}

// IN-12: updates come in parts. These hand nothing in, and none of them is an error but the last.
func TestUpdatesWithoutAnEdit(t *testing.T) {
	for name, raw := range map[string]string{
		"embeds only":     `{"id":"30","channel_id":"20","embeds":[{"type":"link"}]}`,
		"no author":       `{"id":"30","channel_id":"20","content":"hello"}`,
		"no content":      `{"id":"30","channel_id":"20","author":{"id":"40"}}`,
		"hidden content":  `{"id":"30","channel_id":"20","author":{"id":"40"},"content":""}`,
		"our own":         `{"id":"30","channel_id":"20","author":{"id":"` + us + `"},"content":"hello"}`,
		"a notice":        `{"id":"30","channel_id":"20","author":{"id":"40"},"content":"pinned","type":6}`,
		"not even a JSON": `{`,
	} {
		q := bare(func(_ context.Context, in chat.Inbound) (chat.Accepted, error) {
			t.Errorf("%s: handed in %+v", name, in)
			return chat.Accepted{}, nil
		})
		if err := q.changed("MESSAGE_UPDATE", []byte(raw)); (err != nil) != (raw == "{") {
			t.Errorf("%s: %v", name, err)
		}
		q.close()
	}
}

func FuzzChanged(f *testing.F) {
	f.Add("MESSAGE_UPDATE", []byte(ordinary))
	f.Add("MESSAGE_REACTION_ADD", []byte(`{"user_id":"1","channel_id":"2","message_id":"3","emoji":{"name":"x","id":"4"},"member":{"user":{"id":"1"}}}`))
	f.Add("MESSAGE_DELETE_BULK", []byte(`{"ids":["1","2"],"channel_id":"3"}`))
	f.Add("CHANNEL_DELETE", []byte(`{"id":"1"}`))
	f.Fuzz(func(t *testing.T, kind string, raw []byte) {
		q := bare(func(context.Context, chat.Inbound) (chat.Accepted, error) {
			return chat.Accepted{}, nil
		})
		_ = q.changed(kind, raw)
		q.close()
	})
}

// A server's welcome message announces a new member, unless it is the bot itself or there is no server.
func TestWelcomeMessageAnnouncesMember(t *testing.T) {
	for raw, want := range map[string]chat.EntityID{
		`{"id":"30","channel_id":"20","guild_id":"10","type":7,"author":{"id":"40","username":"ann"}}`:            "discord/40",
		`{"id":"30","channel_id":"20","guild_id":"10","type":7,"author":{"id":"` + us + `","username":"parley"}}`: "",
		`{"id":"30","channel_id":"20","type":7,"author":{"id":"40","username":"ann"}}`:                            "",
	} {
		var got chat.EntityID
		q := bare(func(_ context.Context, in chat.Inbound) (chat.Accepted, error) {
			j := in.(chat.Joined)
			if got = j.Entity.ID; j.World.ID != "discord/10" {
				t.Errorf("%s: %+v", raw, j)
			}
			return chat.Accepted{}, nil
		})
		m := require.Value(parseMessage([]byte(raw)))(t)
		q.take(m)
		q.close()
		if got != want {
			t.Errorf("%s: %s joined, want %q", raw, got, want)
		}
	}
}

// A fetch waits behind the messages that it begins after, and ahead of later ones.
func TestFetchIsQueuedInOrder(t *testing.T) {
	for after, want := range map[uint64][]string{4: {"", "5", "7"}, 5: {"5", "", "7"}, 6: {"5", "", "7"}, 7: {"5", "7", ""}} {
		q := bare(nil)
		begun, held := make(chan struct{}), make(chan struct{})
		q.events.Add("2", queued{Deliver: func(context.Context) error { close(begun); <-held; return nil }})
		<-begun
		q.events.Add("2", queued{ID: "5"})
		q.events.Add("2", queued{ID: "7"})
		q.mu.Lock()
		q.seek(&search{}, target{"2", "1", after})
		q.mu.Unlock()
		var ids []string
		q.events.Rearrange("2", func(waiting []queued) []queued {
			for _, e := range waiting {
				ids = append(ids, e.ID)
			}
			return nil
		})
		close(held)
		q.close()
		if !slices.Equal(ids, want) {
			t.Errorf("after %d: %q; want %q", after, ids, want)
		}
	}
}
