package gemini

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/core/llm"
	"parley/internal/sound"
	"parley/models/modeltest"
)

// A recording is given with its type, and only what was said comes back.
func TestTranscribe(t *testing.T) {
	server := httptest.NewServer(modeltest.Gemini())
	defer server.Close()
	m := opened(server.URL, "model-a")
	for media, want := range map[string]string{
		"audio/ogg; codecs=opus": "audio/ogg", "audio/mpeg": "audio/mp3", "audio/x-wav": "audio/wav", "audio/x-m4a": "audio/mp4", "": "audio/ogg", "text/html": "audio/ogg", "audio/flac": "audio/flac",
	} {
		if got, err := m.Transcribe(t.Context(), "../a.exe", media, []byte("sound")); err != nil || got != want+" is sound, true" {
			t.Errorf("%q: %q, %v", media, got, err)
		}
	}
	_, err := m.Transcribe(t.Context(), "", "audio/ogg", make([]byte, maxSound+1))
	if f, ok := errors.AsType[*llm.Failure](err); !ok || f.Retry {
		t.Errorf("too much: %v", err)
	}
	server.Close()
	if _, err := m.Transcribe(t.Context(), "", "audio/ogg", nil); err == nil {
		t.Error("Transcribe succeeded without a server; want an error")
	}
}

// Models that answer in images draw. What the filter refuses is an error that says so.
func TestPaint(t *testing.T) {
	server := httptest.NewServer(modeltest.Gemini())
	defer server.Close()
	for _, model := range []string{"gemini-2.5-flash-image", "models/gemini-3-pro-image"} {
		m := opened(server.URL, model)
		got, err := m.GenerateImage(t.Context(), "a fox")
		if err != nil || got.Name != "picture.png" || got.Type != "image/png" || string(got.Data) != modeltest.GeminiPicture {
			t.Errorf("%s: %+v, %v", model, got, err)
		}
		for prompt, want := range map[string]string{modeltest.Forbidden: "generate an image: ", modeltest.Blank: "the response has no image"} {
			_, err := m.GenerateImage(t.Context(), prompt)
			if _, ok := errors.AsType[*llm.Failure](err); !ok || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v", model, prompt, err)
			}
		}
	}
}

// Samples without a header become a file that programs can play.
func TestSpeak(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(raw), `"responseModalities":["AUDIO"]`) || !strings.Contains(string(raw), `"voiceName":"Kore"`) {
			t.Errorf("asked %s", raw)
		}
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"audio/L16;codec=pcm;rate=24000","data":"AAABAAIA"}}]}}]}`)
	}))
	defer server.Close()
	f, err := opened(server.URL, "gemini-2.5-flash-preview-tts").Speak(t.Context(), "Hello", "")
	if err != nil || f.Type != "audio/wav" || len(f.Data) != 44+6 || string(f.Data[:4]) != "RIFF" {
		t.Errorf("%+v, %v", f, err)
	}
	if length, err := sound.Length(append(f.Data[:40:40], append([]byte{0, 0x77, 1, 0}, make([]byte, 96_000)...)...)); err != nil || length != 2*time.Second {
		t.Errorf("two seconds are %v, %v", length, err)
	}
}
