package modelfake

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// Script is one answer: its steps in order. Unless the steps say otherwise the answer starts with the role, ends with
// the finish reason "tool_calls" or "stop", and the stream with usage (if asked for) and [DONE]. A request that is no
// stream gets the same answer at once at the end of the script; pauses and faults hold there as well.
// A script may be used many times and concurrently.
type Script []Step

// Step is made by the functions of this package.
type Step func(context.Context, *reply) error

// Call is a tool call.
type Call struct{ ID, Name, Arguments string }

// Echo answers "You said: <the last paragraph of the last user message>", word by word: clients make one message of several
// that follow each other.
func Echo(r Request) Script {
	said := r.LastUser()
	if at := strings.LastIndex(said, "\n\n"); at >= 0 {
		said = said[at+2:]
	}
	return Script{Text("You said: "+said, ByWord)}
}

// Text sends s as content, in one delta or in pieces.
func Text(s string, by ...Pieces) Step {
	return texts(s, by, func(piece *string) delta { return delta{Content: piece} })
}

// Reasoning sends s as reasoning_content, in one delta or in pieces.
func Reasoning(s string, by ...Pieces) Step {
	return texts(s, by, func(piece *string) delta { return delta{Reasoning: piece} })
}

func texts(s string, by []Pieces, in func(piece *string) delta) Step {
	return func(ctx context.Context, r *reply) error {
		for _, piece := range cutBy(by, s) {
			if err := r.piece(ctx, piece, in(&piece)); err != nil {
				return err
			}
		}
		return nil
	}
}

// ToolCall sends a call of a tool, the arguments in one delta or in pieces. Nothing is checked: the name may be empty,
// the id one that was there before, the arguments no JSON or half of it.
func ToolCall(id, name, arguments string, by ...Pieces) Step {
	return Interleaved(func(s string) []string { return cutBy(by, s) }, Call{id, name, arguments})
}

// Interleaved sends parallel tool calls: the openings of all, then a piece of the arguments of each in turn. Only the
// index tells to which call a piece belongs.
func Interleaved(by Pieces, calls ...Call) Step {
	return func(ctx context.Context, r *reply) error {
		first, left, most := r.calls, make([][]string, len(calls)), 0
		for i, c := range calls {
			if err := r.openCall(ctx, c.ID, c.Name, new("")); err != nil {
				return err
			}
			left[i] = by(c.Arguments)
			most = max(most, len(left[i]))
		}
		for turn := range most {
			for i, pieces := range left {
				if turn >= len(pieces) {
					continue
				}
				index, piece := first+i, pieces[turn]
				d := delta{ToolCalls: []wireCall{{Index: &index, Function: wireFunction{Arguments: &piece}}}}
				if err := r.piece(ctx, piece, d); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// NullCall sends a tool call whose arguments are null.
func NullCall(id, name string) Step {
	return func(ctx context.Context, r *reply) error { return r.openCall(ctx, id, name, nil) }
}

// Pace waits d before each of the following pieces of text, reasoning and arguments. 0 is no wait, as at the start.
func Pace(d time.Duration) Step {
	return func(_ context.Context, r *reply) error {
		r.pace = d
		return nil
	}
}

// Pause waits. Before the first output not even the status line has been sent.
func Pause(d time.Duration) Step {
	return func(ctx context.Context, _ *reply) error { return wait(ctx, d) }
}

// Open sends the status line and the role, which else come with the first delta.
func Open() Step { return func(ctx context.Context, r *reply) error { return r.open(ctx) } }

// Finish sends a finish reason other than the usual: "length", "content_filter" …; with "" there is none at all.
func Finish(reason string) Step {
	return func(ctx context.Context, r *reply) error {
		r.finished = true
		if reason == "" {
			return nil
		}
		return r.choice(ctx, json.RawMessage("{}"), &reason)
	}
}

// ReportUsage sets the tokens that are reported and charged at the end, instead of an estimate of 4 runes each. An answer
// that is cancelled before this step is charged by the estimate.
func ReportUsage(prompt, completion int) Step {
	return func(_ context.Context, r *reply) error {
		r.told = &Usage{Prompt: prompt, Completion: completion}
		return nil
	}
}

// Comment sends one comment line, a keep-alive that means nothing.
func Comment() Step {
	return func(_ context.Context, r *reply) error { return r.out.comment("keep-alive") }
}

// NoChoices sends a chunk with "choices": [].
func NoChoices() Step {
	return func(ctx context.Context, r *reply) error { return r.chunk(ctx, []choice{}, nil) }
}

// Delta sends a chunk with this JSON object as its delta.
func Delta(object string) Step {
	if !json.Valid([]byte(object)) {
		panic("modelfake: a delta that is no JSON: " + object)
	}
	return func(ctx context.Context, r *reply) error { return r.choice(ctx, json.RawMessage(object), nil) }
}

// Raw sends one data event as it is; it should be one line. A whole answer becomes it where it is no chunk.
func Raw(data string) Step {
	return func(ctx context.Context, r *reply) error { return r.data(ctx, []byte(data)) }
}

// NoDone leaves out the [DONE] at the end. Together with Finish("") the stream just stops.
func NoDone() Step {
	return func(_ context.Context, r *reply) error {
		r.noDone = true
		return nil
	}
}
