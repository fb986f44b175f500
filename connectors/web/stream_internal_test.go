package web

import (
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/internal/require"
)

// timed notes when it is written to.
type timed struct {
	*httptest.ResponseRecorder
	begun  time.Time
	frames map[time.Duration]string
}

func (r *timed) Write(p []byte) (int, error) {
	r.frames[time.Since(r.begun)] += string(p)
	return len(p), nil
}

// A frame of text is sent as soon as there is text, but not within 40 ms of the one before, at whatever pace the text
// comes. The end waits for nothing, and a quiet stream is kept alive.
func TestPaceOfFrames(t *testing.T) {
	for name, c := range map[string]struct {
		texts []time.Duration // when text comes; the answer ends with the last
		want  []time.Duration // when something is sent
	}{
		"slow":          {[]time.Duration{50, 100, 150, 150}, []time.Duration{50, 100, 150}},
		"fast":          {[]time.Duration{5, 10, 20, 30, 40, 50, 60, 90, 95}, []time.Duration{5, 45, 85, 95}},
		"fast and slow": {[]time.Duration{5, 10, 20, 100, 110, 300, 500, 505}, []time.Duration{5, 45, 100, 140, 300, 500, 505}},
		"quiet":         {[]time.Duration{5, 20_000, 40_000}, []time.Duration{5, 15_005, 20_000, 35_000, 40_000}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, out := &answer.Answer{}, &timed{httptest.NewRecorder(), time.Now(), map[time.Duration]string{}}
				go func() {
					for _, at := range c.texts {
						time.Sleep(time.Until(out.begun.Add(at * time.Millisecond)))
						a.Apply(answer.Change{Kind: answer.Text, Text: "a"})
					}
					a.End(answer.Outcome{Status: answer.Completed})
				}()
				require.NoError(t, new(Web).copy(t.Context(), newSSE(out, nil), &encoder{}, "run", a))
				var want []time.Duration
				for _, at := range c.want {
					want = append(want, at*time.Millisecond)
				}
				if got := slices.Sorted(maps.Keys(out.frames)); !slices.Equal(got, want) {
					t.Errorf("sent at %v, want %v", got, want)
				}
				if last := out.frames[want[len(want)-1]]; !strings.Contains(last, `"fullText":"`+strings.Repeat("a", len(c.texts))+`"`) {
					t.Errorf("at the end: %s", last)
				}
			})
		})
	}
}
