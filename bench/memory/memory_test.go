//go:build unix

// Package memory measures the search for earlier messages in large stores: run `go test ./bench/memory -bench . -benchtime 200x`, which
// takes minutes, because it fills the stores first.
package memory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/backends/sqlite"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/search"
)

const dimensions = 768

// filling is a store with memories.
type filling struct {
	*sqlite.Store
	path   string
	random *rand.Rand
}

func open(b *testing.B) *filling {
	path := filepath.Join(b.TempDir(), "parley.db")
	s, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	must(b, err)
	b.Cleanup(func() { _ = s.Close() })
	return &filling{s, path, rand.New(rand.NewPCG(1, 2))}
}

func must(b *testing.B, err error) {
	b.Helper()
	require.NoError(b, err)
}

// text returns n words, which are as frequent as in a language: the nth is said 1/n as often as the first.
func (f *filling) text(n int) string {
	zipf, text := rand.NewZipf(f.random, 1.1, 2, 20_000), ""
	for range n {
		text += fmt.Sprint("w", zipf.Uint64(), " ")
	}
	return text
}

func (f *filling) vector() []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(f.random.NormFloat64())
	}
	return v
}

func message(room string, n int, text string) chat.Message {
	id := chat.RoomID(room)
	return chat.Message{
		Memory: chat.Memory{ID: chat.MemoryID(fmt.Sprint(room, "/", n)), Room: id, Author: "ada", Name: "Ada", Text: text, At: time.Now()},
		Place:  chat.Room{ID: id, Kind: chat.Group, Connector: "bench"},
	}
}

// fill stores n messages in a room.
func (f *filling) fill(b *testing.B, room string, n int) {
	f.store(b, slices.Repeat([]string{room}, n))
}

// store stores a message in each room, in this order but for those that are stored at the same time.
func (f *filling) store(b *testing.B, rooms []string) {
	var group sync.WaitGroup
	many := make(chan struct{}, 64) // whose writes share transactions
	numbers := map[string]int{}
	for i, room := range rooms {
		text, n := f.text(20), numbers[room]
		numbers[room]++
		if i == len(rooms)-1 {
			group.Wait() // the last one is the newest
		}
		many <- struct{}{}
		group.Go(func() {
			if _, err := f.Accept(b.Context(), message(room, n, text), chat.JoinRule{NoRun: true}); err != nil {
				b.Error(err)
			}
			<-many
		})
	}
	group.Wait()
}

func (f *filling) embed(b *testing.B) {
	for more := true; more; {
		var err error
		more, err = f.IndexWords(b.Context(), 1000, time.Unix(0, 0))
		must(b, err)
	}
	for {
		all, err := f.Unembedded(b.Context(), "m", 1000)
		must(b, err)
		if len(all) == 0 {
			return
		}
		var save []chat.Vector
		for _, u := range all {
			save = append(save, chat.Vector{Ticket: u.Ticket, Vector: f.vector()})
		}
		must(b, f.SaveVectors(b.Context(), "m", save))
	}
}

func (f *filling) megabytes(b *testing.B) (mb float64) {
	for _, end := range []string{"", "-wal"} {
		if info, err := os.Stat(f.path + end); err == nil {
			mb += float64(info.Size()) / 1e6
		}
	}
	return mb
}

// cpu returns the time of the processor that this process has used.
func cpu(b *testing.B) time.Duration {
	var use syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// search measures searches in a room whose newest message is n-1.
func (f *filling) search(b *testing.B, room string, n int) {
	f.measure(b, fmt.Sprint(n, "/meaning"), f.FindVectors, room, n, 6)
	f.measure(b, fmt.Sprint(n, "/words"), f.FindWords, room, n, 6)
	f.measure(b, fmt.Sprint(n, "/20words"), f.FindWords, room, n, 20)
}

// measure measures searches with questions of so many words.
func (f *filling) measure(b *testing.B, name string, find func(context.Context, chat.Search) ([]chat.Passage, error), room string, n, words int) {
	b.Run(name, func(b *testing.B) {
		var took []time.Duration
		var busy time.Duration
		for range b.N {
			// The vector is near one that is there: the passages are read too.
			q := chat.Search{Room: chat.RoomID(room), Before: message(room, n-1, "").ID, Limit: 15, Model: "m", Vector: f.vector(), Words: search.Question(f.text(words))}
			begun, worked := time.Now(), cpu(b)
			_, err := find(b.Context(), q)
			took, busy = append(took, time.Since(begun)), busy+cpu(b)-worked
			must(b, err)
		}
		slices.Sort(took)
		b.ReportMetric(float64(busy.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	})
}

// BenchmarkRooms has 100,000 messages in 1,000 rooms, the largest with 5,000. They come in any order, as in life: the
// messages of a room are far from each other in the file.
func BenchmarkRooms(b *testing.B) {
	f := open(b)
	rooms := slices.Repeat([]string{"large"}, 5000)
	for i := range 999 {
		rooms = append(rooms, slices.Repeat([]string{fmt.Sprint("room", i)}, 95)...)
	}
	f.random.Shuffle(len(rooms), func(i, j int) { rooms[i], rooms[j] = rooms[j], rooms[i] })
	f.store(b, rooms)
	f.embed(b)
	b.Logf("the file has %.0f MB", f.megabytes(b))
	f.search(b, "large", 5000)
	f.search(b, "room7", 95)
}

// BenchmarkOneRoom has 100,000 messages in one room.
func BenchmarkOneRoom(b *testing.B) {
	f := open(b)
	f.fill(b, "room", 100_000)
	f.embed(b)
	f.search(b, "room", 100_000)
}

// BenchmarkFile has 10,000 rooms of 10 messages, and then none.
func BenchmarkFile(b *testing.B) {
	f := open(b)
	for i := range 10_000 {
		f.fill(b, fmt.Sprint("room", i), 10)
	}
	expire := func() float64 {
		for more := true; more; {
			var err error
			more, err = f.Expire(b.Context(), chat.Expiry{})
			must(b, err)
		}
		return f.megabytes(b)
	}
	b.ReportMetric(expire(), "text-MB")
	f.embed(b)
	b.ReportMetric(expire(), "indexed-MB")
	for i := range 10_000 {
		_, err := f.Clear(b.Context(), chat.RoomID(fmt.Sprint("room", i)))
		must(b, err)
	}
	b.ReportMetric(expire(), "deleted-MB")
	for range b.N { // the file is what is measured
	}
}

// BenchmarkAccept stores a message while nothing, words or words and vectors are indexed.
func BenchmarkAccept(b *testing.B) {
	for _, kind := range []string{"off", "words", "meaning"} {
		b.Run(kind, func(b *testing.B) {
			f := open(b)
			f.fill(b, "room", 2000)
			f.embed(b)
			b.ResetTimer()
			for i := range b.N {
				_, err := f.Accept(b.Context(), message("room", 2000+i, f.text(20)), chat.JoinRule{NoRun: true})
				must(b, err)
				if i%50 == 49 && kind != "off" { // as the background does, but not in the time of a message
					b.StopTimer()
					if kind == "meaning" {
						f.embed(b)
					} else {
						_, err := f.IndexWords(b.Context(), 1000, time.Time{})
						must(b, err)
					}
					b.StartTimer()
				}
			}
		})
	}
}
