package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"parley/core/llm"
	"parley/models/wire"
)

var (
	_ llm.Transcriber    = (*Model)(nil)
	_ llm.ImageGenerator = (*Model)(nil)
	_ llm.Embedder       = (*Model)(nil)
)

// batch is the number of texts in one request for embeddings. OpenAI accepts 2048, smaller servers a few hundred.
const batch = 64

// Transcribe implements [llm.Transcriber].
func (m *Model) Transcribe(ctx context.Context, name, media string, sound []byte) (string, error) {
	media, _, err := mime.ParseMediaType(media)
	if err != nil {
		media = "application/octet-stream"
	}
	return wire.Once(ctx, m.Endpoint, func(model string) (string, error) {
		res, err := m.hear.New(ctx, sdk.AudioTranscriptionNewParams{
			File: sdk.File(bytes.NewReader(sound), soundName(name, media), media), Model: model,
			ResponseFormat: ifSent(m, "response_format", sdk.AudioResponseFormatJSON),
		})
		if err != nil {
			return "", fmt.Errorf("transcribe: %w", err)
		}
		return strings.TrimSpace(res.Text), nil
	})
}

// ifSent returns value if requests have the own parameter of that name, or else nothing.
func ifSent[T any](m *Model, name string, value T) (none T) {
	if m.Sends(name) {
		return value
	}
	return none
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

// Paint implements [llm.ImageGenerator].
func (m *Model) Paint(ctx context.Context, prompt string) (llm.File, error) {
	return wire.Once(ctx, m.Endpoint, func(model string) (llm.File, error) {
		p := sdk.ImageGenerateParams{Prompt: prompt, Model: model}
		if m.Sends("n") {
			p.N = sdk.Int(1)
		}
		if m.Sends("response_format") && !strings.Contains(model, "gpt-image") { // gpt-image models always send base64, and refuse the parameter
			p.ResponseFormat = sdk.ImageGenerateParamsResponseFormatB64JSON
		}
		res, err := m.paint.Generate(ctx, p)
		if err != nil {
			return llm.File{}, fmt.Errorf("generate an image: %w", err)
		}
		if len(res.Data) == 0 || res.Data[0].B64JSON == "" {
			return llm.File{}, errors.New("generate an image: the response has no image")
		}
		data, err := base64.StdEncoding.DecodeString(res.Data[0].B64JSON)
		media := http.DetectContentType(data)
		kind, ok := strings.CutPrefix(media, "image/")
		if err != nil || !ok {
			return llm.File{}, fmt.Errorf("generate an image: the response is not an image but %s", media)
		}
		return llm.File{Name: "picture." + kind, Type: media, Data: data}, nil
	})
}

// Embed implements [llm.Embedder].
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return wire.Once(ctx, m.Endpoint, func(model string) ([][]float32, error) {
		all := make([][]float32, 0, len(texts))
		for part := range slices.Chunk(texts, batch) {
			vectors, err := m.embedPart(ctx, model, part)
			if err != nil {
				return nil, fmt.Errorf("embed: %w", err)
			}
			all = append(all, vectors...)
		}
		for _, v := range all {
			if len(v) == 0 || len(v) != len(all[0]) {
				return nil, errors.New("embed: the vectors differ in length")
			}
		}
		return all, nil
	})
}

// embedPart makes one request. The vectors can come in any order; their index is that of their text.
func (m *Model) embedPart(ctx context.Context, model string, texts []string) ([][]float32, error) {
	res, err := m.embed.New(ctx, sdk.EmbeddingNewParams{
		Input: sdk.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts}, Model: model,
		EncodingFormat: ifSent(m, "encoding_format", sdk.EmbeddingNewParamsEncodingFormatFloat),
	})
	if err != nil {
		return nil, err
	}
	if len(res.Data) != len(texts) {
		return nil, fmt.Errorf("got %d vectors for %d texts", len(res.Data), len(texts))
	}
	slices.SortFunc(res.Data, func(a, b sdk.Embedding) int { return cmp.Compare(a.Index, b.Index) })
	vectors := make([][]float32, len(texts))
	for i, d := range res.Data {
		vectors[i] = make([]float32, len(d.Embedding))
		for j, x := range d.Embedding {
			vectors[i][j] = float32(x)
		}
	}
	return vectors, nil
}
