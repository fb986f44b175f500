package storagetest

import (
	"context"
	"slices"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

func (s *storeModel) Reopen(_ context.Context, id chat.RunID) error {
	r := s.find(id)
	if r == nil {
		return chat.ErrNotFound
	}
	newer := !r.Kind.OutOfBand() && slices.ContainsFunc(s.runs, func(o *ownedRun) bool { return o.Room == r.Room && o.Response > r.Response && !o.Kind.OutOfBand() })
	if newer || !r.Retryable() {
		return answer.ErrLost
	}
	s.reopen(r)
	return nil
}

func (s *storeModel) reopen(r *ownedRun) {
	if r.Outcome.Done() {
		r.owner = ""
	}
	r.Deaths, r.Blamed, r.risk, r.Attempts, r.Lasting = 0, 0, "", 0, false
	forgetParking(r)
	if r.Verdict != nil {
		r.Text = r.Verdict.Text
	}
	r.Outcome, r.Verdict, r.out = answer.Outcome{}, nil, ""
	r.Epoch++
	delete(s.counted, r.ID)
	s.said = slices.DeleteFunc(s.said, func(m storedMemory) bool {
		return m.Room == r.Room && m.Response == r.Response && m.Run == ""
	})
}

func (s *storeModel) SetAside(_ context.Context, limit int) (all []chat.Run, _ error) {
	runs := slices.Clone(s.runs)
	slices.SortStableFunc(runs, func(a, b *ownedRun) int { return a.Opened.Compare(b.Opened) })
	for _, r := range slices.Backward(runs) {
		if r.Outcome.Done() && r.Outcome.Failure == llm.SetAside && len(all) < limit {
			all = append(all, s.now(r))
		}
	}
	return all, nil
}

func (s *storeModel) RetryRun(_ context.Context, id chat.RunID) error {
	r := s.find(id)
	switch {
	case r == nil || !r.Outcome.Done() || r.Outcome.Failure != llm.SetAside:
		return chat.ErrNotFound
	case r.Acting != "" || r.Acted != "" || len(r.Inputs) == 0 && r.Kind != chat.RunChoiceResult:
		return answer.ErrLost
	case s.busy(r):
		return chat.ErrBusy
	}
	for _, o := range s.runs {
		if o.Room == r.Room {
			r.Retried = max(r.Retried, o.Response)
		}
	}
	s.reopen(r)
	return nil
}

// busy reports whether another run of the room of r is under way.
func (s *storeModel) busy(r *ownedRun) bool {
	return slices.ContainsFunc(s.runs, func(o *ownedRun) bool {
		return o != r && o.Room == r.Room && o.Kind.OutOfBand() == r.Kind.OutOfBand() && o.Epoch > 0 && o.owner != "" && !o.Parked && !o.Outcome.Done()
	})
}
