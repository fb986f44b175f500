// Package trace passes the position in a trace to programs that a run calls, in the form of W3C Trace Context. Ids are
// derived from names instead of drawn: every replica continues the same trace of a run, and nothing has to be stored.
package trace

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Span is a span of a trace that is recorded. The zero Span stands for one that is not.
type Span struct {
	Trace [16]byte
	ID    [8]byte
}

// Sampler chooses the traces to record. Replicas with the same Key and Share choose the same ones. The zero Sampler records nothing.
type Sampler struct {
	Key   string  // secret, so that names can't be found out from ids
	Share float64 // of the traces, from 0 to 1
}

// Root returns the root span of the trace of that name; the zero Span if the trace is not recorded.
func (s Sampler) Root(name string) (root Span) {
	if s.Share <= 0 {
		return Span{}
	}
	sum := hmac.New(sha256.New, []byte(s.Key))
	_, _ = sum.Write([]byte(name)) // never fails
	id := sum.Sum(nil)
	copy(root.Trace[:], id)
	copy(root.ID[:], id[16:])
	if s.Share < 1 && float64(binary.BigEndian.Uint64(id[24:])) >= s.Share*math.MaxUint64 {
		return Span{}
	}
	return root
}

// On reports whether s is recorded.
func (s Span) On() bool { return s != Span{} }

// Child returns the child of s with that name, which no other child has. A child of a Span that is not recorded is not recorded.
func (s Span) Child(name string) Span {
	if !s.On() {
		return s
	}
	sum := sha256.Sum256(append(append(s.Trace[:], s.ID[:]...), name...))
	child := Span{Trace: s.Trace}
	copy(child.ID[:], sum[:])
	return child
}

// At returns the child of s that begins at a time, with a name that no other of that time has.
func (s Span) At(name string, began time.Time) Span {
	return s.Child(name + strconv.FormatInt(began.UnixNano(), 10))
}

// TraceID returns the id of the trace in hexadecimal form; "" for a Span that is not recorded.
func (s Span) TraceID() string {
	if !s.On() {
		return ""
	}
	return hex.EncodeToString(s.Trace[:])
}

// Tell calls set with the header traceparent and its value, for a program that takes part in the span of ctx, unless it is not recorded.
func Tell(ctx context.Context, set func(name, value string)) {
	if s := Of(ctx); s.On() {
		set("traceparent", fmt.Sprintf("00-%x-%x-01", s.Trace, s.ID))
	}
}

type key struct{}

// With returns a context whose calls belong to s.
func With(ctx context.Context, s Span) context.Context {
	if !s.On() {
		return ctx
	}
	return context.WithValue(ctx, key{}, s)
}

// Of returns the span that the calls in ctx belong to.
func Of(ctx context.Context) Span {
	s, _ := ctx.Value(key{}).(Span)
	return s
}
