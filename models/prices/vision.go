package prices

import (
	"path"
	"strings"
)

// vision lists the models that accept images, by patterns of their names. The first pattern that matches counts. A model
// that matches none counts as one that does not.
var vision = []struct { // never changed
	pattern string
	sees    bool
}{
	// Models for something else, and those of a family that do not see.
	{"*embed*", false}, {"*whisper*", false}, {"*tts*", false}, {"*transcribe*", false}, {"*audio*", false}, {"*realtime*", false},
	{"*moderation*", false}, {"gpt-image*", false}, {"dall-e*", false}, {"imagen*", false}, {"veo*", false}, {"sora*", false},
	{"*search-preview*", false}, {"gpt-4-turbo-preview*", false}, {"o1-mini*", false}, {"o1-preview*", false}, {"o3-mini*", false},
	{"gemma-3-1b*", false}, {"gemma3:1b*", false}, {"gemma-3-270m*", false}, {"gemma3:270m*", false}, {"grok-4-code*", false},
	// Named after their abilities.
	{"*-vision*", true}, {"*vision-*", true}, {"*-vl", true}, {"*-vl-*", true}, {"*-vl:*", true}, {"*[0-9]vl*", true}, {"*llava*", true}, {"*multimodal*", true},
	// OpenAI.
	{"gpt-4o*", true}, {"chatgpt-4o*", true}, {"gpt-4.1*", true}, {"gpt-4.5*", true}, {"gpt-4-turbo*", true}, {"gpt-5*", true},
	{"o1", true}, {"o1-*", true}, {"o3", true}, {"o3-*", true}, {"o4-mini*", true}, {"computer-use*", true},
	// Anthropic.
	{"*claude-3*", true}, {"*claude-opus-*", true}, {"*claude-sonnet-*", true}, {"*claude-haiku-*", true},
	// Google.
	{"gemini-*", true}, {"gemma-3-*", true}, {"gemma3", true}, {"gemma3:*", true},
	// Mistral.
	{"pixtral*", true}, {"mistral-small-3.[12]*", true}, {"mistral-small3.[12]*", true}, {"mistral-small-250[36]*", true}, {"mistral-small-latest", true},
	{"mistral-medium-3*", true}, {"mistral-medium-250[58]*", true}, {"mistral-medium-latest", true}, {"mistral-large-2512*", true}, {"mistral-large-latest", true},
	// xAI, Meta and others.
	{"grok-4*", true}, {"llama-4*", true}, {"llama4*", true}, {"minicpm-v*", true}, {"moondream*", true}, {"internvl*", true},
	{"glm-4.[0-9]v*", true}, {"glm-4v*", true},
}

// Sees reports whether a model is known to accept images, by its provider's name for it. The name can begin with that of
// its maker and a slash.
func Sees(model string) bool {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, v := range vision {
		if ok, _ := path.Match(v.pattern, name); ok { // the patterns are well-formed, and names have no slash
			return v.sees
		}
	}
	return false
}
