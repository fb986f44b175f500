package coretest

import (
	"context"

	"parley/core/chat"
	"parley/core/quota"
)

func (s *peopleModel) Spend(_ context.Context, day string, charges ...quota.Charge) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := map[[2]string]quota.Cost{}
	for _, c := range charges {
		key := [2]string{day, c.Bucket}
		sum, ok := sums[key]
		if !ok {
			sum = s.spent[key]
		}
		sum.Messages, sum.Tokens = sum.Messages+c.Messages, sum.Tokens+c.Tokens
		if c.Exceeds(sum) {
			return c.Bucket, nil
		}
		sums[key] = sum
	}
	for key, sum := range sums {
		s.spent[key] = sum
	}
	return "", nil
}

// Count needs the runs, which only the whole store has.
func (s *storeModel) Count(ctx context.Context, day string, run chat.RunID, charges ...quota.Charge) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(run) == nil {
		return "", chat.ErrNotFound
	}
	if s.counted[run] {
		return "", nil
	}
	over, err := s.Spend(ctx, day, charges...)
	s.counted[run] = over == "" && err == nil
	return over, err
}

func (s *peopleModel) Reserve(_ context.Context, day string, least, most int, charges ...quota.Charge) (n int, over string, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = most
	for _, c := range charges {
		if left := c.Max.Tokens - s.spent[[2]string{day, c.Bucket}].Tokens; c.Max.Tokens > 0 && left < n {
			n, over = left, c.Bucket
		}
	}
	if n < least {
		return 0, over, nil
	}
	for _, c := range charges {
		key := [2]string{day, c.Bucket}
		s.spent[key] = quota.Cost{Messages: s.spent[key].Messages, Tokens: s.spent[key].Tokens + n}
	}
	return n, "", nil
}

func (s *peopleModel) Spent(_ context.Context, day, bucket string) (quota.Cost, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent[[2]string{day, bucket}], nil
}

func (s *peopleModel) Warn(_ context.Context, day, bucket string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{day, bucket}
	first := !s.warned[key]
	s.warned[key] = true
	return first, nil
}
