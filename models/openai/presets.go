package openai

import (
	"parley/internal/sections"
	"parley/models"
)

// Presets returns the sections of the providers that speak chat completions and need only a key or an address. How
// their servers differ is in the Quirks of each Open.
func Presets() []sections.Section {
	text := []sections.Ability{sections.Answers, sections.Images}
	also := func(more ...sections.Ability) []sections.Ability { return append(text[:len(text):len(text)], more...) }
	all := also(sections.Transcription, sections.Painting, sections.Speech, sections.Embeddings)
	preset := func(name, title, secret string, values models.Settings, can []sections.Ability) sections.Section {
		return sections.Section{Name: name, Title: title, About: title + ".", Secret: secret, Values: values, Can: can}
	}
	return []sections.Section{
		preset("openrouter", "OpenRouter", "api_key", &OpenRouter{}, also(sections.Embeddings)),
		preset("groq", "Groq", "api_key", &Groq{}, also(sections.Transcription)),
		preset("mistral", "Mistral", "api_key", &Mistral{}, also(sections.Transcription, sections.Embeddings)),
		preset("deepseek", "DeepSeek", "api_key", &DeepSeek{}, []sections.Ability{sections.Answers}),
		preset("xai", "xAI", "api_key", &XAI{}, also(sections.Painting)),
		preset("azure", "Azure OpenAI", "base_url", &Azure{}, all),
		preset("ollama", "Ollama", "base_url", &Ollama{}, also(sections.Embeddings)),
		preset("lmstudio", "LM Studio", "base_url", &LMStudio{}, also(sections.Embeddings)),
		preset("vllm", "vLLM", "base_url", &VLLM{}, also(sections.Transcription, sections.Embeddings)),
		preset("llamacpp", "llama.cpp", "base_url", &LlamaCPP{}, also(sections.Embeddings)),
	}
}

// OpenRouter is the section providers.openrouter.
type OpenRouter struct {
	// The API key.
	APIKey sections.Secret `yaml:"api_key" default:"${env:OPENROUTER_API_KEY:-}"`
	// The server.
	BaseURL string `yaml:"base_url" default:"https://openrouter.ai/api/v1"`
}

// Open implements [models.Settings].
func (c *OpenRouter) Open(o models.Options) models.Model {
	return open(o, c.APIKey, c.BaseURL, "OPENROUTER_API_KEY", "", Quirks{
		Headers: map[string]string{"X-Title": "Parley"}, Reasoning: ReasoningDetails,
	})
}

// Groq is the section providers.groq.
type Groq struct {
	// The API key.
	APIKey sections.Secret `yaml:"api_key" default:"${env:GROQ_API_KEY:-}"`
	// The server.
	BaseURL string `yaml:"base_url" default:"https://api.groq.com/openai/v1"`
}

// Open implements [models.Settings].
func (c *Groq) Open(o models.Options) models.Model {
	return open(o, c.APIKey, c.BaseURL, "GROQ_API_KEY", "", Quirks{MaxCompletionTokens: true})
}

// Mistral is the section providers.mistral.
type Mistral struct {
	// The API key.
	APIKey sections.Secret `yaml:"api_key" default:"${env:MISTRAL_API_KEY:-}"`
	// The server.
	BaseURL string `yaml:"base_url" default:"https://api.mistral.ai/v1"`
}

// Open implements [models.Settings].
func (c *Mistral) Open(o models.Options) models.Model {
	return open(o, c.APIKey, c.BaseURL, "MISTRAL_API_KEY", "", Quirks{ShortIDs: true})
}

// DeepSeek is the section providers.deepseek.
type DeepSeek struct {
	// The API key.
	APIKey sections.Secret `yaml:"api_key" default:"${env:DEEPSEEK_API_KEY:-}"`
	// The server.
	BaseURL string `yaml:"base_url" default:"https://api.deepseek.com/v1"`
}

// Open implements [models.Settings].
func (c *DeepSeek) Open(o models.Options) models.Model {
	return open(o, c.APIKey, c.BaseURL, "DEEPSEEK_API_KEY", "", Quirks{Reasoning: ReasoningContent, ReasoningRequired: true})
}

// XAI is the section providers.xai.
type XAI struct {
	// The API key.
	APIKey sections.Secret `yaml:"api_key" default:"${env:XAI_API_KEY:-}"`
	// The server.
	BaseURL string `yaml:"base_url" default:"https://api.x.ai/v1"`
}

// Open implements [models.Settings].
func (c *XAI) Open(o models.Options) models.Model {
	return open(o, c.APIKey, c.BaseURL, "XAI_API_KEY", "", Quirks{MaxCompletionTokens: true})
}

// Azure is the section providers.azure.
type Azure struct {
	// The key of the resource.
	APIKey sections.Secret `yaml:"api_key" default:"${env:AZURE_OPENAI_API_KEY:-}"`
	// The resource, such as https://NAME.openai.azure.com/openai/v1. Model names are those of your deployments. Empty = off.
	BaseURL string `yaml:"base_url" default:"${env:AZURE_OPENAI_BASE_URL:-}"`
}

// Open implements [models.Settings].
func (c *Azure) Open(o models.Options) models.Model {
	return open(o, c.APIKey, c.BaseURL, "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_BASE_URL", Quirks{
		KeyHeader: "api-key", MaxCompletionTokens: true, Unlisted: true,
	})
}

// Ollama is the section providers.ollama.
type Ollama struct {
	// Only for a server behind one.
	APIKey sections.Secret `yaml:"api_key"`
	// The server, usually http://127.0.0.1:11434/v1. Empty = off.
	BaseURL string `yaml:"base_url" default:"${env:OLLAMA_BASE_URL:-}"`
}

// Open implements [models.Settings].
func (c *Ollama) Open(o models.Options) models.Model {
	return open(o, c.APIKey, c.BaseURL, "", "OLLAMA_BASE_URL", Quirks{})
}

// LMStudio is the section providers.lmstudio.
type LMStudio struct {
	// Only for a server behind one.
	APIKey sections.Secret `yaml:"api_key"`
	// The server, usually http://127.0.0.1:1234/v1. Empty = off.
	BaseURL string `yaml:"base_url" default:"${env:LMSTUDIO_BASE_URL:-}"`
}

// Open implements [models.Settings].
func (c *LMStudio) Open(o models.Options) models.Model {
	return open(o, c.APIKey, c.BaseURL, "", "LMSTUDIO_BASE_URL", Quirks{})
}

// VLLM is the section providers.vllm.
type VLLM struct {
	// The key that the server was started with, if any.
	APIKey sections.Secret `yaml:"api_key" default:"${env:VLLM_API_KEY:-}"`
	// The server, usually http://127.0.0.1:8000/v1. Empty = off.
	BaseURL string `yaml:"base_url" default:"${env:VLLM_BASE_URL:-}"`
}

// Open implements [models.Settings].
func (c *VLLM) Open(o models.Options) models.Model {
	return open(o, c.APIKey, c.BaseURL, "VLLM_API_KEY", "VLLM_BASE_URL", Quirks{})
}

// LlamaCPP is the section providers.llamacpp.
type LlamaCPP struct {
	// The key that the server was started with, if any.
	APIKey sections.Secret `yaml:"api_key"`
	// The server, usually http://127.0.0.1:8080/v1. Empty = off.
	BaseURL string `yaml:"base_url" default:"${env:LLAMACPP_BASE_URL:-}"`
}

// Open implements [models.Settings].
func (c *LlamaCPP) Open(o models.Options) models.Model {
	return open(o, c.APIKey, c.BaseURL, "", "LLAMACPP_BASE_URL", Quirks{})
}

// open opens a model of a preset. keyVariable and urlVariable are the environment variables of its key and address, for
// errors.
func open(o models.Options, key sections.Secret, base, keyVariable, urlVariable string, q Quirks) models.Model {
	return New(Options{
		BaseURL: base, APIKey: key.Reveal(), Model: o.Model, MaxTokens: o.MaxTokens, Parameters: o.Parameters, Dial: o.Dial, Log: o.Log,
		Settings: o.Settings(keyVariable, urlVariable), Quirks: q,
	})
}
