package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// check reports what is well-formed and still wrong.
func (d *decoder) check(c *Config) {
	if strings.TrimSpace(c.Agent.Name) == "" {
		d.reject("agent.name", "is empty", "give the agent a name")
	}
	for i, name := range c.Agent.Names {
		if strings.TrimSpace(name) == "" {
			d.reject(fmt.Sprintf("agent.names[%d]", i), "is empty", "remove it")
		}
	}
	d.checkOverrides(c.Access.Overrides)
	d.checkDay(c.Limits, c.Web.Public)
	d.checkPrompts(c.Agent)
	d.checkModels(c)
	d.checkWeb(c.Web)
	d.checkTokens(c)
	d.checkAddresses(c)
	d.checkAgent(c.Agent)
	d.checkTimes(c)
	d.checkPaces(c.Connectors)
}

// checkOverrides wants each to be for something.
func (d *decoder) checkOverrides(all []Override) {
	for i, o := range all {
		if path := fmt.Sprintf("access.overrides[%d]", i); len(o.Rooms)+len(o.Worlds) == 0 && !d.broken(path) {
			d.reject(path, "applies to no room", "set rooms or worlds")
		}
	}
}

// checkPaces wants every pace to be one at which something is sent.
func (d *decoder) checkPaces(c Connectors) {
	for path, t := range map[string]time.Duration{
		"connectors.discord.limits.edits":          c.Discord.Limits.Edits,
		"connectors.telegram.limits.private_edits": c.Telegram.Limits.PrivateEdits,
		"connectors.telegram.limits.group_edits":   c.Telegram.Limits.GroupEdits,
	} {
		if t < 100*time.Millisecond || t > time.Minute {
			d.reject(path, "is not between 100ms and 1m", "set a duration, such as 1.1s")
		}
	}
	for path, n := range map[string]int{
		"connectors.discord.limits.per_second":        c.Discord.Limits.PerSecond,
		"connectors.telegram.limits.group_per_minute": c.Telegram.Limits.GroupPerMinute,
		"connectors.telegram.limits.per_second":       c.Telegram.Limits.PerSecond,
	} {
		if n < 1 {
			d.reject(path, "is less than 1", "nothing could be sent")
		}
	}
	for path, n := range map[string]int{
		"connectors.discord.max_messages": c.Discord.MaxMessages, "connectors.telegram.max_messages": c.Telegram.MaxMessages,
	} {
		if n < 0 {
			d.reject(path, "is negative", "set 0 for no limit")
		}
	}
}

func (d *decoder) checkModels(c *Config) {
	const path = "models.large."
	if m := c.Models.Large; m.MaxTokens < 0 {
		d.reject(path+"max_tokens", "is negative", "set 0 for the provider's limit")
	} else if t := m.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		d.reject(path+"temperature", "is not between 0 and 2", "set auto for the provider's default")
	}
	if c.Models.Large.Provider == ProviderOpenAI && !c.OpenAIOn() && !d.broken("providers") {
		d.reject(path+"provider", "is a provider that is off", openAISection(*c).howOn())
	}
	for _, s := range c.slots() {
		switch {
		case s.Provider == ProviderDemo:
			d.reject(s.path+".provider", "is a provider without such a model", "write openai, or leave it empty")
		case s.Model != "" && !c.OpenAIOn() && !d.broken("providers"):
			d.reject(s.path+".model", "is a model of a provider that is off", openAISection(*c).howOn())
		}
	}
}

func (d *decoder) checkTokens(c *Config) {
	for _, s := range c.sections() {
		if s.enabled != nil && *s.enabled && !s.given && !d.broken(s.path) {
			d.reject(s.path+".enabled", "has no credentials", s.howOn()+", or write enabled: auto")
		}
	}
	d.checkSecret("providers.openai.api_key", c.Providers.OpenAI.APIKey, nil, "set the key alone, without spaces or line breaks")
	shape := discordToken
	if c.Connectors.Discord.APIURL != "" {
		shape = nil // another server may have tokens of another form
	}
	d.checkSecret("connectors.discord.token", c.Connectors.Discord.Token, shape,
		"copy the whole token from the Bot page at discord.com/developers: three parts separated by dots, without the word Bot in front")
	d.checkSecret("connectors.telegram.token", c.Connectors.Telegram.Token, telegramToken, "copy the whole token from @BotFather: digits, a colon, letters")
}

var discordToken = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)

var telegramToken = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)

// checkSecret keeps out what would break a header or a URL, where the platform's
// client might put it into an error.
func (d *decoder) checkSecret(path string, s Secret, shape *regexp.Regexp, hint string) {
	unfit := func(r rune) bool { return r <= ' ' || r > '~' }
	if s != "" && (strings.ContainsFunc(s.Reveal(), unfit) || shape != nil && !shape.MatchString(s.Reveal())) {
		d.reject(path, "does not look like a token or key", hint)
	}
}

func (d *decoder) checkAddresses(c *Config) {
	for path, address := range map[string]string{
		"providers.openai.base_url":   c.Providers.OpenAI.BaseURL,
		"connectors.discord.api_url":  c.Connectors.Discord.APIURL,
		"connectors.telegram.api_url": c.Connectors.Telegram.APIURL,
	} {
		if address != "" && !plainURL(address) {
			d.reject(path, "is not a plain server URL",
				"use http:// or https://, a host and optionally a path; keys don't belong in the URL")
		}
	}
	if path, _ := strings.CutPrefix(c.Store.Reveal(), "sqlite:"); c.Store.Scheme() != "sqlite" || path == "" {
		d.reject("store", "is not a supported store", "set sqlite: and a file path, such as sqlite:parley.db")
	}
	if !sharedAddress(c.Shared) {
		d.reject("shared", "is not a supported backend", "set inmem: for a single process, or redis://HOST:6379 (rediss:// with TLS)")
	}
}

// plainURL accepts neither passwords nor parameters: such addresses are shown in logs.
func plainURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(address, "#")
}

func sharedAddress(shared DSN) bool {
	if shared == "inmem:" {
		return true
	}
	u, err := url.Parse(shared.Reveal())
	return err == nil && (u.Scheme == "redis" || u.Scheme == "rediss") && u.Hostname() != ""
}

func (d *decoder) checkAgent(a Agent) {
	if a.MaxSteps < 2 || a.MaxSteps > 32 {
		d.reject("agent.max_steps", "is not between 2 and 32", "the default is 6")
	}
	if a.MultiStep && a.Generation != GenerateXML {
		d.reject("agent.multi_step", "needs agent.generation: xml", "set agent.generation to xml, or remove this key")
	}
}

func (d *decoder) checkTimes(c *Config) {
	const longest = time.Hour
	if t := c.Turns.Timeout; t < time.Second || t > longest {
		d.reject("turns.timeout", "is not between 1s and 60m", "an answer may take at most an hour")
	}
	if w := c.Turns.Window; w < 0 || w > time.Minute {
		d.reject("turns.window", "is not between 0s and 1m", "set 0s to answer at once")
	}
	for path, t := range map[string]time.Duration{"turns.first_event": c.Turns.FirstEvent, "turns.idle": c.Turns.Idle} {
		if t <= 0 {
			d.reject(path, "is not longer than zero", "set a duration, such as 90s")
		}
	}
	if t := c.Connectors.Discord.CatchUp; t < 0 || t > 24*time.Hour {
		d.reject("connectors.discord.catch_up", "is not between 0s and 24h", "set the maximum age of missed messages, such as 1h, or 0s for none")
	}
	if c.Shutdown.Grace < 0 {
		d.reject("shutdown.grace", "is negative", "set 0s to stop at once")
	}
}

func (d *decoder) checkWeb(w Web) {
	for i, origin := range w.Origins {
		if exact, ok := exactOrigin(origin); !ok || exact != origin {
			d.reject(fmt.Sprintf("web.origins[%d]", i), "is not an origin as browsers send it",
				"write scheme://host or scheme://host:port in lower case, without a path, a trailing slash or the default port")
		}
	}
	for path, n := range map[string]int{
		"web.limits.messages_per_minute":    w.Limits.MessagesPerMinute,
		"web.limits.conversations_per_hour": w.Limits.ConversationsPerHour,
		"web.limits.open_requests":          w.Limits.OpenRequests,
	} {
		if n < 0 {
			d.reject(path, "is negative", "set 0 for no limit")
		}
	}
	local, wrong := listensLocally(w.Listen)
	if wrong != nil {
		d.reject("web.listen", wrong.what, wrong.hint)
		return
	}
	if !d.broken("web") {
		d.checkExposure(w, local)
	}
}

// checkExposure wants it said three times before strangers can spend the owner's money.
func (d *decoder) checkExposure(w Web, local bool) {
	switch {
	case !local && !w.Public:
		d.reject("web.listen", "can be reached from other machines",
			"listen on 127.0.0.1, or set web.public: true with web.origins and web.limits")
	case w.Public && len(w.Origins) == 0:
		d.reject("web.public", "is open to the public, but has no origins", `set web.origins, such as ["https://chat.example.org"]`)
	case w.Public && (w.Limits.MessagesPerMinute == 0 || w.Limits.ConversationsPerHour == 0 || w.Limits.OpenRequests == 0):
		d.reject("web.public", "is open to the public, but has no limits", "set every value of web.limits above 0")
	}
}

// defect is what is wrong with a value, and what to do about it.
type defect struct{ what, hint string }

// listensLocally reports whether only this machine can reach what listens there.
func listensLocally(listen string) (local bool, wrong *defect) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || strings.ContainsAny(host, " /@?#") {
		return false, &defect{"is not a host and a port", "write them with a colon, such as 127.0.0.1:8080"}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false, &defect{"has a port that is not a number from 0 to 65535", "write one such as 8080; 0 takes any free port"}
	}
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback(), nil
}

// exactOrigin rebuilds an origin the way browsers write it.
func exactOrigin(origin string) (string, bool) {
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.ContainsAny(u.Host, "*, ") {
		return "", false
	}
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if usual == "" {
		return "", false
	}
	host := strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, ":")
	return u.Scheme + "://" + strings.TrimSuffix(host, ":"+usual), isASCII(host)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > '~' })
}
