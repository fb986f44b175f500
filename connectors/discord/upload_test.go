package discord_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"parley/connectors/discord/discordfake"
	"parley/core/answer"
	"parley/core/llm"
	"parley/progressive"
)

func picture(size int) progressive.Part {
	return progressive.Part{File: &llm.File{Name: "picture-1.png", Type: "image/png", Data: make([]byte, size)}, Plain: "(no picture)"}
}

// DR-07, DR-08, DR-09, DR-13: a file is one message without a text, without mentions; its nonce prevents duplicates.
func TestUpload(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		first, err := s.Post(w.Context(), picture(10<<20), "run/files.1/0")
		again, err2 := s.Post(w.Context(), picture(10<<20), "run/files.1/0")
		if err != nil || err2 != nil || first != again {
			t.Fatalf("%q %v, then %q %v", first, err, again, err2)
		}
		shown := w.fake.Messages(w.channel)
		if len(shown) != 2 || shown[1].Content != "" || len(shown[1].Attachments) != 1 || len(shown[1].Attachments[0].Data) != 10<<20 {
			t.Fatalf("%d messages", len(shown))
		}
		var body struct {
			Allowed *struct{ Parse []string } `json:"allowed_mentions"`
			Flags   int
			Enforce bool `json:"enforce_nonce"`
		}
		log := w.fake.Log()
		if err := json.Unmarshal(log[len(log)-1].Body, &body); err != nil || body.Allowed == nil || body.Allowed.Parse == nil || body.Flags != 4 || !body.Enforce {
			t.Errorf("%+v %v", body, err)
		}
	})
}

// A file that a channel does not take may be said in words, and the sink goes on.
func TestUploadIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		fault discordfake.Fault
		size  int
	}{
		"no right to attach": {discordfake.ErrorCode(403, 50013, "Missing Permissions"), 10},
		"not liked":          {discordfake.ErrorCode(400, 50035, "Invalid Form Body"), 10},
		"too large":          {discordfake.Fault{}, 10<<20 + 1},
	} {
		withBot(t, func(w *botHarness) {
			s := w.askedSink()
			w.fake.Fault(discordfake.Match{Route: discordfake.CreateMessage}, c.fault)
			if _, err := s.Post(w.Context(), picture(c.size), "run/files.1/0"); !errors.Is(err, progressive.ErrUnparsable) {
				t.Errorf("%s: %v", name, err)
			}
			p := picture(c.size)
			p.File = nil
			if _, err := s.Post(w.Context(), p, "run/files.1/0"); err != nil {
				t.Errorf("%s: the words: %v", name, err)
			}
		})
	}
}

// What is too large is said under the text, not sent.
func TestTooLargePicture(t *testing.T) {
	withBot(t, func(w *botHarness) {
		parts := w.askedSink().Render(withPictures(10<<20, 10<<20+1))
		texts := slices.DeleteFunc(slices.Clone(parts), func(p progressive.Part) bool { return p.File != nil })
		if len(parts) != 2 || len(texts) != 1 || !containsWord(texts[0].Text, "too large") {
			t.Errorf("%d parts, of text %+v", len(parts), texts)
		}
	})
}

func withPictures(sizes ...int) answer.View {
	v := answer.View{Segments: []answer.Segment{{Text: "Look:"}}, Outcome: answer.Outcome{Status: answer.Completed}}
	for _, n := range sizes {
		picture := llm.File{Type: "image/png", Data: make([]byte, n)}
		v.Segments = append(v.Segments, answer.Segment{Call: "1", Tool: answer.Tool{Stage: answer.StageEnd}, Files: []llm.File{picture}})
	}
	return v
}
