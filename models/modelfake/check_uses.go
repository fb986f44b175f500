package modelfake

import (
	"encoding/base64"
	"net/http"
	"path"
	"slices"
	"strings"
)

// The keys of the bodies, by the API's reference of November 2026.
const (
	transcriptionKeys = ` chunking_strategy include include[] language model prompt response_format stream temperature
 timestamp_granularities[] `
	generationKeys = ` background model moderation n output_compression output_format partial_images prompt quality response_format
 size stream style user `
	speechKeys    = ` input instructions model response_format speed stream_format voice `
	embeddingKeys = ` dimensions encoding_format input model user `
)

const (
	maxSound = 25 << 20 // bytes
	maxTexts = 2048
)

// soundTypes are the extensions by which the API tells formats.
const soundTypes = ` .flac .m4a .mp3 .mp4 .mpeg .mpga .oga .ogg .wav .webm `

func known(key, keys string) *apiError {
	if !slices.Contains(strings.Fields(keys), key) {
		return bad("Unrecognized request argument supplied: %s", key)
	}
	return nil
}

func (u *Use) checkSound() *apiError {
	switch {
	case len(u.File) > maxSound:
		return refuse(http.StatusRequestEntityTooLarge, "", "Maximum content size limit (%d) exceeded.", maxSound)
	case len(u.File) == 0:
		return bad("Audio file is too short. Minimum audio length is 0.1 seconds.")
	case !slices.Contains(strings.Fields(soundTypes), path.Ext(u.FileName)):
		return bad("Unrecognized file format of %q. Supported formats:%s", u.FileName, soundTypes)
	}
	return nil
}

func checkPrompt(model, prompt, format string, n *int) *apiError {
	switch {
	case prompt == "":
		return bad("Missing required parameter: 'prompt'.")
	case n != nil && *n != 1:
		return bad("Invalid 'n': this server paints exactly one picture.")
	case strings.HasPrefix(model, "gpt-image") && format != "":
		return bad("Unknown parameter: 'response_format'.")
	case !strings.HasPrefix(model, "gpt-image") && format != "b64_json":
		return bad("Invalid 'response_format': this server has no place to keep pictures.")
	}
	return nil
}

func checkTexts(texts []string, format string) *apiError {
	switch {
	case len(texts) == 0 || len(texts) > maxTexts:
		return bad("Invalid 'input': expected 1 to %d texts, got %d.", maxTexts, len(texts))
	case slices.Contains(texts, ""):
		return bad("Invalid 'input': it must not be an empty string.")
	case format != "" && format != "float":
		return bad("Invalid 'encoding_format': this server writes floats.")
	}
	return nil
}

// checkImage refuses addresses that are no picture's. Where one is to be fetched, only its form counts.
func checkImage(i int, url string) *apiError {
	if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		return nil
	}
	head, data, ok := strings.Cut(url, ";base64,")
	kinds := []string{"data:image/png", "data:image/jpeg", "data:image/gif", "data:image/webp"}
	if !ok || !slices.Contains(kinds, head) {
		return bad("Invalid 'image_url.url' in 'messages[%d]': expected a base64-encoded data URL with an image MIME type, or a valid URL.", i)
	}
	if raw, err := base64.StdEncoding.DecodeString(data); err != nil || len(raw) == 0 || http.DetectContentType(raw) != head[len("data:"):] {
		return bad("The image data of 'messages[%d]' does not represent a valid image.", i)
	}
	return nil
}
