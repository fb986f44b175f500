package replicas

import (
	"math"
	"os"
	"parley/internal/require"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	fixed = 40               // seeds that are played every time: from 1
	fresh = 10 * time.Second // of seeds that were never played
	given = 100              // seeds from PARLEY_SEEDS_FROM on instead, so that the same start gives the same answer
)

// I1 to I8, I12, I14: whatever the network, the processes and what they share do, what was accepted is answered or excused, once.
func TestSeeds(t *testing.T) {
	for seed := range uint64(fixed) {
		try(t, seed+1)
	}
	begun, n := time.Now(), uint64(0)
	if s := os.Getenv("PARLEY_SEEDS_FROM"); s != "" {
		first := require.Value(strconv.ParseUint(s, 10, 64))(t)
		for ; n < given; n++ {
			try(t, first+n)
		}
	} else {
		for lasts, most := freshFor(t); time.Since(begun) < lasts && n < most; n++ {
			try(t, uint64(begun.UnixMicro())+n)
		}
	}
	t.Logf("%d seeds, %d of them fresh", fixed+n, n)
}

// freshFor returns how long fresh seeds are played, and how many at most.
func freshFor(t *testing.T) (lasts time.Duration, most uint64) {
	s := os.Getenv("PARLEY_SEEDS_FOR")
	if s == "" {
		return fresh, math.MaxUint64
	}
	if most, err := strconv.ParseUint(s, 10, 64); err == nil {
		return math.MaxInt64, most
	}
	lasts = require.Value(time.ParseDuration(s))(t)
	return lasts, math.MaxUint64
}

// A simulation that finds nothing proves nothing: without a guard of the store, some of the first seeds fail.
func TestSeedsFindWhatIsMissing(t *testing.T) {
	for missing, want := range map[string]string{noFencing: "I5", noMarks: "I1", noLeases: "I5", noCompare: "approval"} {
		t.Run(missing, func(t *testing.T) {
			for seed := range uint64(20) {
				wrong, _ := play(t, seed+1, missing)
				if slices.ContainsFunc(wrong, func(s string) bool { return strings.HasPrefix(s, want) }) {
					return
				}
			}
			t.Errorf("20 seeds did not find %s", want)
		})
	}
}

// TestSeed plays the seed PARLEY_SEED, which a failure has named.
func TestSeed(t *testing.T) {
	seed := uint64(1)
	if s := os.Getenv("PARLEY_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	try(t, seed)
}

// try plays a seed, and says how to play it again if something is wrong.
func try(t *testing.T, seed uint64) {
	t.Helper()
	wrong, story := play(t, seed, "")
	if len(wrong) > 0 {
		t.Errorf("seed %d; play it again with\n    PARLEY_SEED=%d go test ./sim/replicas -run 'TestSeed$' -v\n%s\nwhat happened:\n%s",
			seed, seed, strings.Join(wrong, "\n"), strings.Join(story, "\n"))
	}
}
