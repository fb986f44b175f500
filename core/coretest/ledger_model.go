package coretest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
)

func (s *peopleModel) Spend(_ context.Context, day string, charges ...quota.Charge) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := map[[2]string]quota.Total{}
	for _, c := range charges {
		key := [2]string{day, c.Bucket}
		sum, ok := sums[key]
		if !ok {
			sum = s.spent[key]
		}
		sum = quota.Total{Bucket: c.Bucket, Cost: sum.Cost.Add(c.Cost), Counts: sum.Counts.Add(c.Counts)}
		if c.Exceeds(sum.Cost) {
			return c.Bucket, nil
		}
		sums[key] = sum
	}
	for key, sum := range sums {
		s.spent[key] = sum
	}
	s.prune(day)
	return "", nil
}

// prune deletes the days that are not kept.
func (s *peopleModel) prune(day string) {
	of, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return
	}
	before := func(days int) string { return of.AddDate(0, 0, -days).Format(time.DateOnly) }
	maps.DeleteFunc(s.spent, func(key [2]string, _ quota.Total) bool {
		return key[0] < before(quota.KeptDays) || key[0] < before(1) && strings.HasPrefix(key[1], quota.AnswerBuckets)
	})
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

func (s *storeModel) Attempt(ctx context.Context, id chat.RunID, epoch chat.Epoch, day string, message ...quota.Charge) (over string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	if r == nil || r.Outcome.Done() || r.Epoch != epoch {
		return "", answer.ErrLost
	}
	if len(message) > 0 && !s.counted[id] {
		if over, err := s.Spend(ctx, day, message...); over != "" || err != nil {
			return over, err
		}
		s.counted[id] = true
	}
	r.Attempts++
	return "", nil
}

func (s *peopleModel) Reserve(_ context.Context, day string, r quota.Reservation, charges ...quota.Charge) (n int, over string, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = r.Most
	for _, c := range charges {
		if left := c.Within(r, s.spent[[2]string{day, c.Bucket}].Cost); left < n {
			n, over = left, c.Bucket
		}
	}
	if n < r.Least {
		return 0, over, nil
	}
	for _, c := range charges {
		key := [2]string{day, c.Bucket}
		sum := s.spent[key]
		s.spent[key] = quota.Total{Bucket: c.Bucket, Cost: sum.Cost.Add(quota.Cost{Tokens: n, USD: r.USD(n)}), Counts: sum.Counts}
	}
	return n, "", nil
}

func (s *peopleModel) Spent(_ context.Context, day, bucket string) (quota.Cost, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent[[2]string{day, bucket}].Cost, nil
}

func (s *peopleModel) Used(_ context.Context, from, to string, buckets ...string) (all []quota.Total, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := map[string]quota.Total{}
	for key, t := range s.spent {
		wanted := slices.ContainsFunc(buckets, func(b string) bool {
			prefix, many := strings.CutSuffix(b, "*")
			return key[1] == b || many && strings.HasPrefix(key[1], prefix)
		})
		if day := key[0]; wanted && from <= day && day <= to {
			sums[key[1]] = both(sums[key[1]], t)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, sums[name])
	}
	return all, nil
}

// both adds the totals of two days. Only the total of a day has a bound.
func both(a, b quota.Total) quota.Total {
	return quota.Total{
		Bucket: b.Bucket,
		Cost:   quota.Cost{Messages: a.Messages + b.Messages, Tokens: a.Tokens + b.Tokens, USD: a.USD + b.USD},
		Counts: quota.Counts{Input: a.Input + b.Input, Cached: a.Cached + b.Cached, Output: a.Output + b.Output, Unpriced: a.Unpriced + b.Unpriced},
	}
}

func (s *peopleModel) Warn(_ context.Context, day, bucket string) (bool, error) {
	if !utf8.ValidString(bucket) {
		return false, errors.New("text is not valid")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{day, bucket}
	first := !s.warned[key]
	s.warned[key] = true
	return first, nil
}
