package trace

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// Replicas derive the same ids, and choose the same share of the traces. Another key, name or time leads to other ids.
func TestIds(t *testing.T) {
	a, again, b := Sampler{"k", 1}, Sampler{"k", 1}, Sampler{"other", 1}
	now := time.Unix(1, 2)
	if a.Root("x") != again.Root("x") || a.Root("x").At("y", now) != again.Root("x").At("y", now) {
		t.Error("the same names have other ids")
	}
	root, seen := a.Root("x"), map[Span]bool{}
	for _, s := range []Span{root, a.Root("y"), b.Root("x"), root.Child("a"), root.Child("b"), root.Child("a").Child("a"), root.At("a", now), root.At("a", now.Add(1))} {
		if seen[s] || !s.On() {
			t.Errorf("%x occurs twice, or is not recorded", s)
		}
		seen[s] = true
	}
	if root.Child("a").TraceID() != root.TraceID() {
		t.Error("a child has another trace")
	}
}

// The share of the traces is about the one that is asked for, and a trace that is not recorded has no header, no id and no children.
func TestShare(t *testing.T) {
	for share, want := range map[float64]int{0: 0, 0.1: 1000, 0.5: 5000, 1: 10000} {
		s, n := Sampler{"k", share}, 0
		for i := range 10000 {
			if s.Root(fmt.Sprint(i)).On() {
				n++
			}
		}
		if n < want*9/10 || n > want*11/10 {
			t.Errorf("a share of %v: %d of 10000", share, n)
		}
	}
	off, h := Span{}, http.Header{}
	Tell(With(t.Context(), off), h.Set)
	if off.Child("a").On() || off.TraceID() != "" || len(h) > 0 || Of(With(t.Context(), off)).On() {
		t.Errorf("a trace that is not recorded: %v", h)
	}
	Tell(With(t.Context(), Sampler{"k", 1}.Root("x")), h.Set)
	if got := h.Get("traceparent"); !regexp.MustCompile("^00-[0-9a-f]{32}-[0-9a-f]{16}-01$").MatchString(got) {
		t.Errorf("the header is %q", got)
	}
}
