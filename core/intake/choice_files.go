package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/internal/lang"
)

const aboutForm = "file/" // begins the keys of notices that refuse a value of a form

// leftover accepts the rest of an album whose first files have answered a field of a form: it must not supersede the form. ok is false for others.
func (cs *Choices) leftover(ctx context.Context, m chat.Message, asked []chat.Question) (acc chat.Accepted, ok bool, err error) {
	if m.Group == "" {
		return acc, false, nil
	}
	recent, err := cs.Store.Recent(ctx, m.Room, chat.KindCommand, 0, maxAnswers)
	i := slices.IndexFunc(recent, func(o chat.Memory) bool {
		return o.Author == m.Author && len(o.Files) > 0 && o.Files[0].Group == m.Group
	})
	if err != nil || i < 0 || slices.ContainsFunc(asked, func(q chat.Question) bool { return q.NextField().Name == recent[i].Files[0].Field }) {
		return acc, false, err
	}
	n := chat.Notice{To: chat.Address{Room: m.Room}, Text: "⚠️ " + lang.Say(ctx, "form.files_full"), Key: aboutForm + m.Group}
	if err = cs.Pairing.Tell(ctx, n); err == nil {
		m.Kind, m.InReplyTo, m.At = chat.KindCommand, recent[i].InReplyTo, recent[i].At // see isNewest
		acc, err = cs.Messages.add(ctx, m, admission{known: true}, false)
	}
	return acc, err == nil, err
}

// early accepts m if it comes right after a value of a form, before the run has asked for the next field or could continue: m must not supersede the
// form, and its author is told to send it again. asked are the open questions that m was compared with. ok is false for others, and while a user and a
// person talk there (talks). It fails with the error of the store.
func (cs *Choices) early(ctx context.Context, m chat.Message, asked []chat.Question, talks bool) (acc chat.Accepted, ok bool, err error) {
	if talks || !canAnswer(m) {
		return acc, false, nil
	}
	recent, err := cs.Store.Recent(ctx, m.Room, chat.KindCommand, 0, maxAnswers)
	i := len(recent) - 1
	for i >= 0 && (recent[i].Author != m.Author || recent[i].InReplyTo == "") {
		i--
	}
	if err != nil || i < 0 {
		return acc, false, err
	}
	q, err := cs.Store.QuestionOf(ctx, chat.RunID(recent[i].InReplyTo))
	if err != nil || len(q.Fields) == 0 || (chat.Run{ID: q.Run}).Said() != recent[i].InReplyTo {
		return acc, false, chat.Unless(err, chat.ErrNotFound)
	}
	waits := q.Open(time.Now()) && slices.Contains(q.For, m.Author) && !slices.ContainsFunc(asked, func(o chat.Question) bool { return o.ID == q.ID })
	if q.By == m.Author {
		form, declined, problem := q.Form(lang.Of(ctx))
		supersedes := cs.Messages.Turns.PolicyFor(m.Place.Kind) == schedule.Supersede
		waits = !declined && (problem != "" || answer.NextField(form.Fields) >= 0 || supersedes && slices.ContainsFunc(recent, func(o chat.Memory) bool {
			return o.InReplyTo == recent[i].InReplyTo && time.Since(o.At) < formPause
		}))
	}
	if !waits {
		return acc, false, nil
	}
	asker, err := cs.Store.Run(ctx, q.Run)
	if err != nil || asker.Outcome.Done() || asker.Ending != "" {
		return acc, false, chat.Unless(err, chat.ErrNotFound)
	}
	if acc, err = cs.refuse(ctx, m, lang.Say(ctx, "form.early"), aboutForm, false); err == nil && acc.Refused == "" {
		acc, err = cs.collect(ctx, q, asker, m, nil)
	}
	return acc, err == nil, err
}

// formPause is how long a run may take to continue after the last value of a form.
const formPause = 5 * time.Second

// collect adds files to q, which stays open for more or for another value, and stores m with them. A redelivery adds nothing. It fails with the error of the store.
func (cs *Choices) collect(ctx context.Context, q chat.Question, asker chat.Run, m chat.Message, files []chat.Attachment) (chat.Accepted, error) {
	for _, f := range attachment.Clean(files) {
		if !slices.ContainsFunc(q.Files, func(o chat.Attachment) bool { return o.Ref == f.Ref }) {
			q.Files = append(q.Files, f)
		}
	}
	if len(files) > 0 {
		m.Files, q.Asked = files, time.Now()
		if err := cs.Store.Ask(ctx, q); err != nil {
			return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
		}
	}
	m.Kind, m.InReplyTo, m.At = chat.KindCommand, asker.Said(), q.Asked.Add(-time.Millisecond) // see isNewest
	return cs.Messages.add(ctx, m, admission{known: true}, false)
}

// gather adds the files to q that messages brought for its next field at the same moment as others, which [Choices.collect] of another process has
// replaced. It fails with the error of the store.
func (cs *Choices) gather(ctx context.Context, q chat.Question) (chat.Question, error) {
	field := q.NextField()
	_, most := field.Files()
	if field.Kind != answer.FileField || most == 1 {
		return q, nil
	}
	recent, err := cs.Store.Recent(ctx, q.Room, chat.KindCommand, 0, maxGathered)
	if err != nil {
		return q, fmt.Errorf("read the files of a form: %w", err)
	}
	had := len(q.Files)
	for _, m := range slices.Backward(recent) {
		if m.InReplyTo != (chat.Run{ID: q.Run}).Said() || !slices.Contains(q.For, m.Author) {
			continue
		}
		if _, err := cs.Store.RunOf(ctx, m.ID); err == nil { // the answer to an earlier field, or to an earlier form
			break
		} else if !errors.Is(err, chat.ErrNotFound) {
			return q, fmt.Errorf("read the files of a form: %w", err)
		}
		for _, f := range m.Files {
			known := slices.ContainsFunc(q.Files, func(o chat.Attachment) bool { return o.Ref == f.Ref })
			if f.Field == field.Name && !known && len(chat.Form{Files: q.Files}.FilesOf(f.Field)) < most {
				q.Files = append(slices.Clone(q.Files), f)
			}
		}
		if at := m.At.Add(time.Millisecond); at.After(q.Asked) { // see isNewest
			q.Asked = at
		}
	}
	if len(q.Files) > had {
		err = cs.Store.Ask(ctx, q)
	}
	return q, err
}

const maxGathered = 30 // messages that are searched for files of a field
