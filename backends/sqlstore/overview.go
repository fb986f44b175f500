package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"parley/backends/record"
	"parley/core/chat"
)

// RunsSince implements [storage.Overview].
func (s *overview) RunsSince(ctx context.Context, since time.Time, state chat.RunState, limit int) ([]chat.Run, error) {
	where := map[chat.RunState]string{chat.OpenRuns: "AND status = ''", chat.FailedRuns: "AND status IN ('failed', 'timeout')"}[state]
	all, err := list(ctx, s.Shared, s.scanChatRun, s.selectRuns+`WHERE r.id IN (SELECT id FROM runs WHERE opened >= $2 `+where+` ORDER BY opened DESC, id DESC LIMIT $3)
		ORDER BY r.opened DESC, r.id DESC`, s.Present(), record.Nanos(since), max(limit, 0))
	return all, s.wrap(err, "listing the runs of all rooms")
}

// PendingApprovals implements [storage.Overview].
func (s *overview) PendingApprovals(ctx context.Context, limit int) ([]chat.Approval, error) {
	all, err := list(ctx, s.Shared, record.ScanApproval, selectApprovals+`WHERE decision = $1 ORDER BY at DESC, id LIMIT $2`, chat.Pending, max(limit, 0))
	return all, s.wrap(err, "listing the pending approvals")
}

// NotesSince implements [storage.Overview].
func (s *overview) NotesSince(ctx context.Context, kind chat.NoteKind, since time.Time, limit int) ([]chat.RoomNote, error) {
	all, err := list(ctx, s.Shared, record.ScanNote, `
		SELECT `+record.NoteColumns+` FROM room_notes WHERE kind = $1 AND at >= $2 ORDER BY at DESC, seq DESC LIMIT $3`, kind, record.Nanos(since), max(limit, 0))
	return all, s.wrap(err, "listing the notes of all rooms")
}

// FindEntities implements [storage.Overview].
func (s *overview) FindEntities(ctx context.Context, part string, limit int) ([]chat.Entity, error) {
	quoted := record.JSON(part) // as in the column names
	where, args := contains("id || ' ' || names", quoted[1:len(quoted)-1])
	all, err := list(ctx, s.Shared, record.ScanEntity, `
		SELECT id, connector, names, bot, details FROM entities WHERE `+where+` ORDER BY met DESC, id LIMIT $5`, append(args, max(limit, 0))...)
	return all, s.wrap(err, "looking for people")
}

// contains returns a condition, with the parameters $1 to $4, that text contains part, regardless of case. Databases often fold the case of
// Latin letters only, so other letters are compared in the forms that names usually have.
func contains(text, part string) (where string, args []any) {
	initial := true
	title := strings.Map(func(r rune) rune {
		first := initial
		if initial = !unicode.IsLetter(r); first {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, part)
	latin := func(r rune) rune {
		if r <= unicode.MaxASCII {
			return unicode.ToLower(r)
		}
		return r
	}
	var all []string
	for i, form := range []string{part, strings.ToLower(part), strings.ToUpper(part), title} {
		all = append(all, fmt.Sprintf("lower(%s) LIKE $%d ESCAPE '!'", text, i+1))
		args = append(args, "%"+strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.Map(latin, form))+"%")
	}
	return "(" + strings.Join(all, " OR ") + ")", args
}
