package storagetest

import (
	"context"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
)

func (s *storeModel) Join(_ context.Context, id chat.RunID, epoch chat.Epoch, from chat.RunID, day string, message ...quota.Charge) (joined []chat.MemoryID, over string, err error) {
	r, waits := s.find(id), s.find(from)
	if r == nil || waits == nil || r.Outcome.Done() || r.Epoch != epoch || waits.Room != r.Room || waits.Outcome.Done() || waits.Epoch > 0 || waits.Ending != "" || waits.Ready.After(time.Now()) {
		return nil, "", answer.ErrLost
	}
	if over = s.spend(day, message); over != "" {
		return nil, over, nil
	}
	joined, waits.Inputs, waits.Ending = waits.Inputs, nil, answer.Superseded
	r.Inputs = slices.Concat(r.Inputs, joined)
	for i, m := range s.said {
		if slices.Contains(joined, m.ID) {
			s.said[i].Accepted.Run, s.said[i].Accepted.Response = r.ID, r.Response
		}
	}
	return joined, "", nil
}
