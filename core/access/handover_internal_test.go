package access

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

// memo stores one text.
type memo string

func (m *memo) Kept(context.Context, string) (string, error) { return string(*m), nil }

func (m *memo) Swap(_ context.Context, _, old, text string) (bool, error) {
	if string(*m) != old {
		return false, nil
	}
	*m = memo(text)
	return true, nil
}

// A reply ends the user's wait, also if it is late; without a wait nothing is stored.
func TestReplyEndsTheWait(t *testing.T) {
	for name, h := range map[string]Handover{
		"waits": {Waits: time.Unix(9, 0)}, "late": {Late: true}, "waits, and is late": {Waits: time.Unix(9, 0), Late: true}, "does not wait": {},
	} {
		h.ID = "h"
		stored := memo(require.Value(json.Marshal(map[chat.RoomID]Handover{"room": h}))(t))
		before := stored
		hs := &Handovers{Pairing: &Pairing{Memo: &stored}}
		err := hs.reply(t.Context(), "room", h, nil)
		now := require.Value(hs.Open(t.Context()))(t)["room"]
		if err != nil || now.Late || !now.Waits.IsZero() || name == "does not wait" && stored != before {
			t.Errorf("%s: after a reply it is %+v, %v; want neither late nor waiting", name, now, err)
		}
	}
}
