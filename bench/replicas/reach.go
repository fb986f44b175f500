package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"parley/models/modelfake"
	"parley/sim"
)

// What people ask where it is measured how long a gateway needs to reach an answer of another one.
const (
	askLong  = "Tell me a long story."
	askTrack = "Play something blue."
	askNews  = "What is new?"
)

// script is what the model answers: a story without an end, a call that asks which track is meant, or a short text.
func script(q modelfake.Request) modelfake.Script {
	switch last := q.LastUser(); {
	case strings.Contains(last, askLong) && !strings.Contains(last, askNews): // a newer message is answered with the earlier one
		return modelfake.Script{modelfake.Text("Once upon a time, "), modelfake.Stall()}
	case strings.Contains(last, askTrack) && q.Messages[len(q.Messages)-1].Role != "tool":
		return modelfake.Script{modelfake.ToolCall("c1", "PLAY_MUSIC", `{"title":"blue"}`)}
	}
	return modelfake.Script{modelfake.Text("There is nothing new under the sun, and so it will remain. "+ending, modelfake.Whole)}
}

// writeTracks makes two tracks between which people choose.
func (w *cluster) writeTracks() error {
	folder := filepath.Join(w.o.dir, "music")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"blue monk.mp3", "blue train.mp3"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("sound"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// reach measures how long a stop, a newer message and a choice at one gateway take to reach an answer that another one
// writes, from the request to the frame that a reader of the other gateway receives. If there are people, they ask
// meanwhile.
func (w *cluster) reach(ctx context.Context, out io.Writer) error {
	asking, end := context.WithCancel(ctx)
	defer end()
	c := w.crowd(asking)
	if err := wait(ctx, w.o.warm, c.failed); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "gateways: %d, people who ask meanwhile: %d, cores: %d, fsync %v, %d times each\n",
		w.o.replicas, w.o.people, runtime.NumCPU(), w.o.fsync, w.o.rounds); err != nil {
		return err
	}
	for _, m := range []struct {
		name string
		once func(ctx context.Context, n int) (time.Duration, error)
	}{{"stop", w.stopElsewhere}, {"newer message", w.messageElsewhere}, {"its answer", w.answerElsewhere}, {"choice", w.chooseElsewhere}} {
		var took []time.Duration
		for n := range w.o.rounds {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			d, err := m.once(ctx, n)
			cancel()
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			took = append(took, d)
		}
		slices.Sort(took)
		ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
		if _, err := fmt.Fprintf(out, "%-14s p50 %6.1f ms, p99 %6.1f ms, longest %6.1f ms\n", m.name,
			ms(took[len(took)/2]), ms(took[len(took)*99/100]), ms(took[len(took)-1])); err != nil {
			return err
		}
	}
	return nil
}

// begin asks at one gateway in a new conversation and reads until is holds. The other gateway is the next one.
func (w *cluster) begin(ctx context.Context, n int, text string, is func(sim.Event, *sim.Stream) bool) (id string, s *sim.Stream, last sim.Event, other *sim.Browser, err error) {
	here := w.pages[n%len(w.pages)]
	other = w.pages[(n+1)%len(w.pages)]
	if id, err = here.Open(ctx); err != nil {
		return id, nil, last, other, err
	}
	if s, err = here.Send(ctx, id, "first", text); err != nil {
		return id, s, last, other, err
	}
	for {
		if last, err = s.Next(); err != nil || is(last, s) {
			return id, s, last, other, err
		}
	}
}

func begun(_ sim.Event, s *sim.Stream) bool { return strings.Contains(s.Text(), "Once upon") }

// ends returns when the answer of s ended.
func ends(s *sim.Stream) (time.Time, error) {
	for {
		e, err := s.Next()
		if err != nil || e.Type == "done" {
			return e.At, err
		}
	}
}

func (w *cluster) stopElsewhere(ctx context.Context, n int) (time.Duration, error) {
	id, s, _, other, err := w.begin(ctx, n, askLong, begun)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	asked := time.Now()
	if err := other.Stop(ctx, id); err != nil {
		return 0, err
	}
	at, err := ends(s)
	return at.Sub(asked), err
}

func (w *cluster) messageElsewhere(ctx context.Context, n int) (time.Duration, error) {
	stopped, _, err := w.newer(ctx, n)
	return stopped, err
}

func (w *cluster) answerElsewhere(ctx context.Context, n int) (time.Duration, error) {
	_, answered, err := w.newer(ctx, n)
	return answered, err
}

// newer asks again at another gateway, and returns after how long the earlier answer stopped, and after how long the
// reader at the other gateway had the whole new one.
func (w *cluster) newer(ctx context.Context, n int) (stopped, answered time.Duration, err error) {
	id, s, _, other, err := w.begin(ctx, n, askLong, begun)
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	asked := time.Now()
	next, err := other.Send(ctx, id, "second", askNews)
	if err != nil {
		return 0, 0, err
	}
	defer next.Close()
	at, err := ends(s)
	if err != nil {
		return 0, 0, err
	}
	done, err := ends(next)
	return at.Sub(asked), done.Sub(asked), err
}

func (w *cluster) chooseElsewhere(ctx context.Context, n int) (time.Duration, error) {
	id, s, last, other, err := w.begin(ctx, n, askTrack, func(e sim.Event, _ *sim.Stream) bool { return e.Choices != nil })
	if err != nil {
		return 0, err
	}
	defer s.Close()
	asked := time.Now()
	there, err := other.Choose(ctx, id, *last.Choices, 1)
	if err != nil {
		return 0, err
	}
	defer there.Close()
	first, err := s.Next()
	if err != nil {
		return 0, err
	}
	if _, err := ends(s); err != nil {
		return 0, err
	}
	if !strings.HasSuffix(s.Text(), ending) {
		return 0, errors.New("the answer did not go on after the choice: " + s.Text())
	}
	return first.At.Sub(asked), nil
}
