package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"parley"
	"parley/config"
)

// setup holds the answers so far. Its methods that ask leave it as it was after an error.
type setup struct {
	listen          string
	platform        string // "" is none
	apiURL          string
	provider, model string // "" is openai, which is the demo without a key and a server
	base            string // address of the provider's server; "" is its own
	name, system    string
	env             map[string]string // secrets, by variable
	link, codeLink  string            // of the bot
	store           string            // "" is the default
	report          func(string)      // is called with each success
	getenv          func(string) (string, bool)
}

// newSetup returns a setup without answers, for the files to.
func newSetup(to setupFiles, report func(string)) *setup {
	s := &setup{env: map[string]string{}, report: report, getenv: os.LookupEnv}
	if getenv, err := config.WithDotEnv(to.env, os.LookupEnv); err == nil {
		s.getenv = getenv
	}
	if to.config == machineConfig {
		s.store = "sqlite:" + machineStore // commands find the service's store from any folder
	}
	return s
}

// config returns the configuration, in at most twelve lines.
func (s *setup) config() string {
	var b strings.Builder
	b.WriteString("# Written by gateway init. docs/getting-started.md lists the keys; a config.yaml with all of them comes with Parley.\n")
	pairs := func(head string, pairs ...string) {
		var all []string
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i+1] != "" {
				all = append(all, pairs[i]+": "+strconv.Quote(pairs[i+1]))
			}
		}
		if len(all) > 0 {
			b.WriteString(fmt.Sprintf(head, strings.Join(all, ", ")) + "\n")
		}
	}
	literal := strings.NewReplacer("${", "$${").Replace
	if s.platform != "" {
		pairs("connectors:\n  "+s.platform+": {%s}", "token", "${env:"+variableOf(s.platform)+"}", "api_url", literal(s.apiURL))
	}
	pairs("providers:\n  "+cmp.Or(s.provider, string(config.ProviderOpenAI))+": {%s}", "base_url", literal(s.base))
	pairs("models:\n  large: {%s}", "provider", s.provider, "model", literal(s.model))
	pairs("agent: {%s}", "name", literal(s.name), "system", literal(s.system))
	pairs("web: {%s}", "listen", literal(s.listen))
	pairs("%s", "store", literal(s.store))
	return b.String()
}

// variableOf returns the environment variable with the secret of a platform or provider.
func variableOf(name string) string {
	for _, s := range append(parley.Platforms(), parley.Providers()...) {
		if s.Name == name {
			return s.Variable()
		}
	}
	return "OPENAI_API_KEY"
}

// addressOf returns the address of a provider's server that the environment or the file with secrets names, or "". The configuration
// gets it: the environment of a later start can differ.
func (s *setup) addressOf(provider string) string {
	variable := "OPENAI_BASE_URL"
	for _, p := range parley.Providers() {
		if p.Name == provider {
			variable = p.Address()
		}
	}
	address, _ := s.getenv(variable)
	return address
}

// parse reads the configuration as it is now, without the environment, so that no other bot, key and server is tried.
func (s *setup) parse() (config.Config, error) {
	return parley.ParseConfig("the answers", []byte(s.config()), ".", func(name string) (string, bool) {
		value, ok := s.env[name]
		return value, ok
	})
}

// try tests a part of the configuration at the real service.
func (s *setup) try(ctx context.Context, part string) error {
	cfg, err := s.parse()
	if err != nil {
		return err
	}
	for _, f := range parley.Check(ctx, cfg, parley.Env{Log: logger(cfg.Log)}, part) {
		if !f.OK {
			return errors.New(f.Text)
		}
		s.report(f.Text)
		if f.Link != "" {
			s.link, s.codeLink = f.Link, f.CodeLink
		}
	}
	return nil
}

// keep makes next the answers, if it works.
func (s *setup) keep(ctx context.Context, next setup, part string) error {
	err := next.try(ctx, part)
	if err == nil {
		*s = next
	}
	return err
}

// with returns a copy of s with another secret.
func (s *setup) with(variable, secret string) setup {
	next := *s
	next.env = map[string]string{variable: secret}
	for name, value := range s.env {
		next.env[name] = cmp.Or(next.env[name], value)
	}
	return next
}

// askWeb checks the address of the web chat.
func (s *setup) askWeb(ctx context.Context, i *initCmd, _ *asker) error {
	next := *s
	next.listen = i.Listen
	return s.keep(ctx, next, "web")
}

// askBot asks for the token, whose form tells the platform.
func (s *setup) askBot(ctx context.Context, i *initCmd, ask *asker) error {
	token, err := ask.or(ctx, i.Token, fmt.Sprintf("Token of your bot on %s (Enter: only the web chat):", botPlatforms()))
	if err != nil {
		return err
	}
	return s.addBot(ctx, token, i.APIURL)
}

// botPlatforms returns the names of the platforms for users.
func botPlatforms() string {
	var titles []string
	for _, p := range parley.Platforms() {
		titles = append(titles, p.Title)
	}
	return strings.Join(titles, " or ")
}

// addBot adds the bot with a token, if it works; "" and none are no bot.
func (s *setup) addBot(ctx context.Context, token, apiURL string) error {
	if token == "" || token == "none" {
		return nil
	}
	for _, p := range parley.Platforms() {
		next := s.with(p.Variable(), token)
		next.platform = p.Name
		if _, err := next.parse(); err == nil { // with the platform's own server, it checks the form
			next.apiURL = apiURL
			return s.keep(ctx, next, "connectors."+p.Name)
		}
	}
	return fmt.Errorf("this is not a token of %s; copy the whole token", botPlatforms())
}

// localServer is a server of models on this machine.
type localServer struct{ title, base string }

// running returns the servers among all that have a model.
func running(ctx context.Context, all []localServer) (found []localServer) {
	for _, server := range all {
		if _, err := firstModel(ctx, server.base); err == nil {
			found = append(found, server)
		}
	}
	return found
}

// The servers that people run on their own machine, where these listen by default.
var localServers = []localServer{
	{"Ollama", "http://127.0.0.1:11434/v1"},
	{"LM Studio", "http://127.0.0.1:1234/v1"},
}

// Providers by the beginning of their keys, longest first, and the models that are chosen for them.
var knownKeys = []struct{ prefix, provider, model string }{
	{"sk-ant-", "anthropic", "claude-haiku-4-5"},
	{"sk-or-", "openrouter", "openrouter/auto"},
	{"gsk_", "groq", "llama-3.3-70b-versatile"},
	{"AIza", "gemini", "gemini-2.5-flash"},
	{"sk-", "", "gpt-4.1-mini"},
}

// askModel asks for a model. Servers on this machine are found and offered.
func (s *setup) askModel(ctx context.Context, i *initCmd, ask *asker) error {
	answer := i.Model
	if answer == "" {
		question, standard := "API key of OpenAI, Anthropic, Gemini, Groq or OpenRouter, or the address of a server (Enter: %s):", "demo"
		for i, server := range running(ctx, localServers) {
			fmt.Printf("%s runs at %s.\n", server.title, server.base)
			if i == 0 {
				standard = server.base
			}
		}
		given, err := ask.line(ctx, fmt.Sprintf(question, standard))
		if err != nil {
			return err
		}
		answer = cmp.Or(given, standard)
	}
	return s.addModel(ctx, answer, i.ModelName)
}

// addModel adds the model that an answer means, if it works; "" and demo are no model.
func (s *setup) addModel(ctx context.Context, answer, name string) error {
	if answer == "" || answer == "demo" {
		return nil
	}
	next, err := s.withModel(ctx, answer, name)
	if err != nil {
		return err
	}
	return s.keep(ctx, next, "models.large")
}

// withModel returns s with the model that an answer means: an address, a key, or a provider and a key.
func (s *setup) withModel(ctx context.Context, answer, model string) (next setup, err error) {
	next = *s
	if strings.HasPrefix(answer, "http://") || strings.HasPrefix(answer, "https://") {
		next.base, next.model = answer, model
		if model == "" {
			next.model, err = firstModel(ctx, answer)
		}
		return next, err
	}
	if provider, key, ok := strings.Cut(answer, " "); ok {
		next = s.with(variableOf(provider), strings.TrimSpace(key))
		next.provider, next.model, next.base = provider, model, s.addressOf(provider)
		return next, nil
	}
	for _, known := range knownKeys {
		if strings.HasPrefix(answer, known.prefix) {
			next = s.with(variableOf(known.provider), answer)
			next.provider, next.model, next.base = known.provider, cmp.Or(model, known.model), s.addressOf(known.provider)
			return next, nil
		}
	}
	return next, errors.New("the provider of this key is unknown; write its name before the key, such as: mistral KEY, or the address of a server with http://")
}

// maxModels is the maximum size of a list of models, in bytes.
const maxModels = 1 << 20

// firstModel returns the first model that a server lists and that can answer.
func firstModel(ctx context.Context, base string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/models", nil)
	if err != nil {
		return "", fmt.Errorf("%s is not an address of a server; it looks like http://127.0.0.1:11434/v1", base)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask %s for its models: %w; check that the server runs", base, err)
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct{ ID string } `json:"data"`
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return "", fmt.Errorf("%s wants a key; set the variable OPENAI_BASE_URL to this address, and give the key instead", base)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxModels)).Decode(&list); err != nil || resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s does not list its models (status %d); check the address, which usually ends with /v1, or name the model", base, resp.StatusCode)
	}
	for _, m := range list.Data {
		if !strings.Contains(m.ID, "embed") {
			return m.ID, nil
		}
	}
	return "", fmt.Errorf("%s has no model; load one there first", base)
}

// askCharacter asks who the agent is.
func (s *setup) askCharacter(ctx context.Context, i *initCmd, ask *asker) error {
	name, system := i.Name, i.Character
	if name == "" && system == "" {
		answer, err := ask.line(ctx, "Name of the agent, and who it is, such as: Ada, a patient teacher (Enter: Parley, a helpful assistant):")
		if err != nil {
			return err
		}
		before, who, _ := strings.Cut(answer, ",")
		if name = strings.TrimSpace(before); who != "" {
			system = "You are " + name + ", " + strings.TrimSpace(who)
		}
	}
	return s.addCharacter(name, system)
}

// addCharacter sets the agent's name and system prompt; "" is the default.
func (s *setup) addCharacter(name, system string) error {
	next := *s
	next.name, next.system = name, system
	_, err := next.parse()
	if err == nil {
		*s = next
	}
	return err
}
