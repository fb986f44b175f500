package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/llm"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/models/wire"
)

// uses are what a Model can do beside answering, each with the endpoint it asks.
var uses = map[string]func(context.Context, *Model) error{
	modelfake.Transcriptions: func(ctx context.Context, m *Model) error {
		_, err := m.Transcribe(ctx, "voice.oga", "audio/ogg", []byte("sound"))
		return err
	},
	modelfake.Generations: func(ctx context.Context, m *Model) error { _, err := m.GenerateImage(ctx, "a fox"); return err },
	modelfake.Speech:      func(ctx context.Context, m *Model) error { _, err := m.Speak(ctx, "Hi", ""); return err },
	modelfake.Embeddings:  func(ctx context.Context, m *Model) error { _, err := m.Embed(ctx, []string{"a"}); return err },
}

func fit(t *testing.T, fake *modelfake.Server) {
	t.Helper()
	for _, r := range fake.Rejected() {
		t.Errorf("rejected: %s", r.Rejected)
	}
}

func TestTranscribe(t *testing.T) {
	tests := map[string]struct{ name, mime, want string }{
		"a voice":              {"voice.oga", "audio/ogg", "sound.oga"},
		"no name":              {"", "audio/mpeg", "sound.mp3"},
		"with a parameter":     {"", "audio/mp4; codecs=aac", "sound.m4a"},
		"nothing known":        {"recording", "", "sound.ogg"},
		"SE-05: a path":        {"../../etc/passwd", "audio/wav", "sound.wav"},
		"SE-05: a header":      {"a\"\r\nX-Evil: 1\r\n.mp3", "", "sound.mp3"},
		"capitals":             {"A.MP3", "", "sound.mp3"},
		"an extension of ours": {"a.exe", "audio/flac", "sound.flac"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fake := modelfake.New(modelfake.Options{Key: testKey})
			m := over(t, fake)
			if got, err := m.Transcribe(t.Context(), test.name, test.mime, []byte("sound")); got != modelfake.Heard || err != nil {
				t.Errorf("%q, %v; want %q", got, err, modelfake.Heard)
			}
			if u := fake.Uses()[0]; u.FileName != test.want || string(u.File) != "sound" || u.Model != modelfake.DefaultModel {
				t.Errorf("asked %+v", u)
			}
			fit(t, fake)
		})
	}
}

func TestPaint(t *testing.T) {
	for _, model := range []string{"dall-e-3", "gpt-image-1", "flux"} {
		t.Run(model, func(t *testing.T) {
			fake := modelfake.New(modelfake.Options{Key: testKey})
			m := over(t, fake, func(o *Options) { o.Model = model })
			got, err := m.GenerateImage(t.Context(), "a fox")
			want := llm.File{Name: "picture.png", Type: "image/png", Data: modelfake.Picture(2, 2)}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			if u := fake.Uses()[0]; u.Prompt != "a fox" || u.Model != model {
				t.Errorf("asked %+v", u)
			}
			fit(t, fake)
		})
	}
}

// TestPaintNothing: what is no picture is never handed on as one.
func TestPaintNothing(t *testing.T) {
	for name, said := range map[string]string{"nothing": "", "no base64": "%%%", "a page": "PGh0bWw+PGJvZHk+aGk="} {
		t.Run(name, func(t *testing.T) {
			fake := modelfake.New(modelfake.Options{Key: testKey})
			fake.QueueFor(modelfake.Generations, modelfake.Script{modelfake.Text(said)})
			got, err := over(t, fake).GenerateImage(t.Context(), "a fox")
			if f, ok := errors.AsType[*llm.Failure](err); !ok || f.Kind != llm.ProviderIssue || got.Data != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// TestEmbed: many texts go in batches, and every vector finds its text.
func TestSpeak(t *testing.T) {
	for sound, want := range map[string]string{modelfake.Spoken: "voice.ogg audio/ogg", "ID3 song": "voice.mp3 audio/mpeg", "RIFF": "voice.wav audio/wav", "{}": ""} {
		fake := modelfake.New(modelfake.Options{Key: testKey})
		m := over(t, fake)
		fake.QueueFor(modelfake.Speech, modelfake.Script{modelfake.Text(sound)})
		got, err := m.Speak(t.Context(), "Hello", "nova")
		if (err == nil) != (want != "") || err == nil && got.Name+" "+got.Type != want || err == nil && string(got.Data) != sound {
			t.Errorf("%q: %+v, %v; want %q", sound, got, err, want)
		}
		if u := fake.Uses()[0]; u.Prompt != "Hello" || u.Model != modelfake.DefaultModel {
			t.Errorf("asked %+v", u)
		}
		fit(t, fake)
	}
}

func TestEmbed(t *testing.T) {
	fake := modelfake.New(modelfake.Options{Key: testKey})
	var texts []string
	for i := range 2*wire.EmbedBatch + 3 {
		texts = append(texts, fmt.Sprintf("text %d", i))
	}
	got, err := over(t, fake).Embed(t.Context(), texts)
	if err != nil || len(got) != len(texts) {
		t.Fatalf("%d vectors, %v", len(got), err)
	}
	for i, text := range texts {
		if diff := cmp.Diff(modelfake.Vector(text), got[i]); diff != "" {
			t.Errorf("%s: %s; want none", text, diff)
		}
	}
	if n := len(fake.Uses()); n != 3 {
		t.Errorf("%d requests; want 3", n)
	}
	fit(t, fake)
	if got, err := over(t, fake).Embed(t.Context(), nil); len(got) != 0 || err != nil || len(fake.Uses()) != 3 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
}

// TestEmbedOddly: vectors that can't be compared are a failure.
func TestEmbedOddly(t *testing.T) {
	for name, body := range map[string]string{
		"fewer":   `{"data":[{"index":0,"embedding":[1]}]}`,
		"uneven":  `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`,
		"empty":   `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`,
		"nothing": `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := over(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(body))
			}))
			if got, err := m.Embed(t.Context(), []string{"a", "b"}); err == nil {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestUsesFail covers LM-01 and LM-14: the same sorting of failures as for answers, one attempt each.
func TestUsesFail(t *testing.T) {
	tests := map[string]struct {
		step modelfake.Step
		want llm.Failure
	}{
		"busy":      {modelfake.RateLimit(7 * time.Second), llm.Failure{Kind: llm.RateLimited, Retry: true, After: 7 * time.Second}},
		"no credit": {modelfake.NoQuota(), llm.Failure{Kind: llm.InsufficientCredits}},
		"a proxy":   {modelfake.BadGateway(), llm.Failure{Kind: llm.ProviderIssue, Retry: true}},
		"wrong key": {modelfake.Status(http.StatusUnauthorized, ""), llm.Failure{Kind: llm.NoProvider}},
		"cut":       {modelfake.Cut(), llm.Failure{Kind: llm.ProviderIssue, Retry: true}},
		"not there": {modelfake.Status(http.StatusNotFound, ""), llm.Failure{Kind: llm.NoModel}},
	}
	for endpoint, use := range uses {
		for name, test := range tests {
			t.Run(strings.TrimPrefix(endpoint, "/v1/")+"/"+name, func(t *testing.T) {
				fake := modelfake.New(modelfake.Options{Key: testKey})
				fake.QueueFor(endpoint, modelfake.Script{test.step})
				f, ok := errors.AsType[*llm.Failure](use(t.Context(), over(t, fake)))
				if !ok || f.Kind != test.want.Kind || f.Retry != test.want.Retry || f.After != test.want.After {
					t.Errorf("got %+v", f)
				}
				if n := len(fake.Uses()); n != 1 {
					t.Errorf("%d attempts; want 1", n)
				}
				if strings.Contains(fmt.Sprint(f), testKey) {
					t.Error("SE-02: the error holds the key")
				}
			})
		}
	}
}

// TestUsesCancelled: who cancels has the cause at once.
func TestUsesCancelled(t *testing.T) {
	for endpoint, use := range uses {
		t.Run(strings.TrimPrefix(endpoint, "/v1/"), func(t *testing.T) {
			fake := modelfake.New(modelfake.Options{Key: testKey})
			fake.QueueFor(endpoint, modelfake.Script{modelfake.Stall()})
			inMemory(t, fake, func(t *testing.T, m *Model) {
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := errors.New("the test stops it")
				time.AfterFunc(30*time.Second, func() { cancel(stop) })
				start := time.Now()
				if err := use(ctx, m); err != stop || time.Since(start) != 30*time.Second {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
				synctest.Wait()
			})
		})
	}
}

// TestPictures: what a person shows goes along with what they say.
func TestPictures(t *testing.T) {
	fake := playing(modelfake.Text("A red square."))
	req := llm.Request{Messages: []llm.Message{
		{Role: llm.RoleUser, Text: "hi"}, {Role: llm.RoleAssistant, Text: "hello"},
		{Role: llm.RoleUser, Text: "what is it?", Images: []llm.File{{Name: "x", Type: "image/png", Data: modelfake.Picture(3, 3)}}},
	}}
	require.Value(collect(t.Context(), over(t, fake), req))(t)
	fit(t, fake)
	m := fake.Requests()[0].Messages
	if m[0].Parts != nil || m[2].Content != "what is it?" || len(m[2].Parts) != 2 || !strings.HasPrefix(m[2].Parts[1].ImageURL.URL, "data:image/png;base64,") {
		t.Errorf("asked %+v", m)
	}
}

// TestCheckUses: the check of a slot names the key that mends it.
func TestCheckUses(t *testing.T) {
	fake := modelfake.New(modelfake.Options{Key: testKey, Models: []string{"whisper", "vectors"}})
	slot := func(name string) *Model {
		return over(t, fake, func(o *Options) { o.Model, o.Settings.Model = name, "models.some.model" })
	}
	tests := map[string]struct {
		check func(context.Context) (string, error)
		want  string
	}{
		"listed":     {slot("whisper").CheckListed, "whisper is listed at"},
		"not listed": {slot("wisper").CheckListed, `the model "wisper" does not exist at`},
		"what to do": {slot("wisper").CheckListed, "set models.some.model to whisper, the nearest of its 2 models"},
		"embeds":     {slot("vectors").CheckEmbeds, "vectors of 8 dimensions"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text, err := test.check(t.Context())
			if got := text + fmt.Sprint(err); !strings.Contains(got, test.want) {
				t.Errorf("says %q; want it to contain %q", got, test.want)
			}
		})
	}
}
