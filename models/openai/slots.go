package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/textproto"
	"path"
	"slices"
	"strings"

	"parley/core/llm"
	"parley/models/wire"
)

var (
	_ llm.Transcriber    = (*Model)(nil)
	_ llm.ImageGenerator = (*Model)(nil)
	_ llm.Speaker        = (*Model)(nil)
	_ llm.Embedder       = (*Model)(nil)
)

// Transcribe implements [llm.Transcriber].
func (m *Model) Transcribe(ctx context.Context, name, media string, sound []byte) (string, error) {
	media, _, err := mime.ParseMediaType(media)
	if err != nil {
		media = "application/octet-stream"
	}
	return wire.Once(ctx, m.Endpoint, func(model string) (string, error) {
		form, kind, err := m.recording(model, soundName(name, media), media, sound)
		if err != nil {
			return "", fmt.Errorf("transcribe: %w", err)
		}
		var res struct {
			Text string `json:"text"`
		}
		if err := m.Ask(ctx, wire.Call{Path: "audio/transcriptions", Type: kind, Body: form}, &res); err != nil {
			return "", fmt.Errorf("transcribe: %w", err)
		}
		return strings.TrimSpace(res.Text), nil
	})
}

// recording returns the form of a transcription, and its type.
func (m *Model) recording(model, name, media string, sound []byte) (form []byte, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	fields := [][2]string{{"model", model}}
	if m.Sends("response_format") {
		fields = append(fields, [2]string{"response_format", "json"})
	}
	for _, f := range fields {
		err = errors.Join(err, w.WriteField(f[0], f[1]))
	}
	file, failed := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename=%q`, name)}, "Content-Type": {media},
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, "", err
	}
	_, err = file.Write(sound)
	err = errors.Join(err, w.Close())
	return b.Bytes(), w.FormDataContentType(), err
}

// soundName returns a name with the extension that servers recognize the format by. Nothing else of the sender's name
// is passed on.
func soundName(name, media string) string {
	known := []string{".flac", ".m4a", ".mp3", ".mp4", ".mpeg", ".mpga", ".oga", ".ogg", ".wav", ".webm"}
	if ext := strings.ToLower(path.Ext(name)); slices.Contains(known, ext) {
		return "sound" + ext
	}
	ext := map[string]string{
		"audio/mpeg": ".mp3", "audio/mp4": ".m4a", "audio/x-m4a": ".m4a", "audio/aac": ".m4a", "audio/wav": ".wav",
		"audio/x-wav": ".wav", "audio/flac": ".flac", "audio/webm": ".webm", "video/mp4": ".mp4", "video/webm": ".webm",
	}[media]
	return "sound" + cmp.Or(ext, ".ogg") // the format of voice messages
}

// GenerateImage implements [llm.ImageGenerator].
func (m *Model) GenerateImage(ctx context.Context, prompt string) (llm.File, error) {
	return wire.Once(ctx, m.Endpoint, func(model string) (llm.File, error) {
		p := struct {
			Model  string `json:"model"`
			Prompt string `json:"prompt"`
			N      int    `json:"n,omitempty"`
			Format string `json:"response_format,omitempty"`
		}{Model: model, Prompt: prompt}
		if m.Sends("n") {
			p.N = 1
		}
		if m.Sends("response_format") && !strings.Contains(model, "gpt-image") { // gpt-image models always send base64, and refuse the parameter
			p.Format = "b64_json"
		}
		var res struct {
			Data []struct {
				B64JSON string `json:"b64_json"`
			} `json:"data"`
		}
		if err := m.Ask(ctx, wire.Call{Path: "images/generations", Body: p}, &res); err != nil {
			return llm.File{}, fmt.Errorf("generate an image: %w", err)
		}
		if len(res.Data) == 0 || res.Data[0].B64JSON == "" {
			return llm.File{}, errors.New("generate an image: the response has no image")
		}
		data, err := base64.StdEncoding.DecodeString(res.Data[0].B64JSON)
		if err != nil {
			return llm.File{}, fmt.Errorf("generate an image: %w", err)
		}
		return wire.Picture(data)
	})
}

// Speak implements [llm.Speaker]. It asks for Opus, which chats show as voice messages; a server can send another format.
func (m *Model) Speak(ctx context.Context, text, voice string) (llm.File, error) {
	return wire.Once(ctx, m.Endpoint, func(model string) (llm.File, error) {
		p := struct {
			Model  string `json:"model"`
			Input  string `json:"input"`
			Voice  string `json:"voice"`
			Format string `json:"response_format,omitempty"`
		}{Model: model, Input: text, Voice: cmp.Or(voice, "alloy")}
		if m.Sends("response_format") {
			p.Format = "opus"
		}
		var data []byte
		if err := m.Ask(ctx, wire.Call{Path: "audio/speech", Body: p}, &data); err != nil {
			return llm.File{}, fmt.Errorf("speak: %w", err)
		}
		return wire.Speech(data)
	})
}

// Embed implements [llm.Embedder].
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return wire.Embed(ctx, m.Endpoint, texts, m.embedPart)
}

// embedPart makes one request. The vectors can come in any order; their index is that of their text.
func (m *Model) embedPart(ctx context.Context, model string, texts []string) ([][]float32, error) {
	p := struct {
		Model  string   `json:"model"`
		Input  []string `json:"input"`
		Format string   `json:"encoding_format,omitempty"`
	}{Model: model, Input: texts}
	if m.Sends("encoding_format") {
		p.Format = "float"
	}
	type vector struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var res struct {
		Data []vector `json:"data"`
	}
	if err := m.Ask(ctx, wire.Call{Path: "embeddings", Body: p}, &res); err != nil {
		return nil, err
	}
	slices.SortFunc(res.Data, func(a, b vector) int { return cmp.Compare(a.Index, b.Index) })
	vectors := make([][]float32, len(res.Data))
	for i, d := range res.Data {
		vectors[i] = d.Embedding
	}
	return vectors, nil
}
