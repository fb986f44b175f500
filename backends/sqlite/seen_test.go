package sqlite

import (
	"testing"

	"parley/core/chat"
	"parley/internal/require"
)

// DI-13: a picture that an earlier version has described keeps its words, and counts as one that no model was shown.
func TestPictureOfA661299(t *testing.T) {
	s := openWrittenByA661299(t, `INSERT INTO memories (id, room, turn, role, kind, author, name, text, in_reply_to, at, history, interrupted, failure, content)
		VALUES ('look', 'telegram/1/42', 1, 'heard', '', 'telegram:42', 'Ada', 'Look', '', 1, '', 0, '', '{"files":[{"ref":"a","name":"a.png","description":"a cat"}]}')`)
	m, err := s.Memory(t.Context(), "look")
	if err != nil || len(m.Files) != 1 || m.Files[0] != (chat.Attachment{Ref: "a", Name: "a.png", Description: "a cat"}) {
		t.Fatalf("it is %+v, %v", m, err)
	}
	m.Files[0].Seen = "question"
	require.NoError(t, s.Revise(t.Context(), m.ID, m.Text, m.Files))
	if again, err := s.Memory(t.Context(), "look"); err != nil || again.Files[0] != m.Files[0] {
		t.Errorf("then it is %+v, %v", again, err)
	}
}
