package config

import (
	"net/netip"
	"strings"

	"parley/internal/sections"
)

// Metrics are served to Prometheus.
type Metrics struct {
	// The host and port where Prometheus reads /metrics, such as 127.0.0.1:9464. Other addresses than 127.0.0.1 need clients, or a token
	// and web.tls. Empty = off.
	Listen string `yaml:"listen"`
	// The addresses that can read the metrics besides this machine, such as ["10.0.0.7/32"]: a proxy with TLS, or Prometheus in a
	// private network. Empty = all, over TLS with the certificates of web.tls, if there is a token; otherwise none.
	Clients []netip.Prefix `yaml:"clients"`
	// What readers send as "Authorization: Bearer TOKEN", of 16 characters or more. Empty = no login.
	Token Secret `yaml:"token"`
}

// Anywhere reports whether all addresses can read the metrics, over TLS with the token.
func (m Metrics) Anywhere() bool {
	local, _ := listensLocally(m.Listen)
	return !local && len(m.Clients) == 0
}

// Traces are sent to a collector of OpenTelemetry.
type Traces struct {
	// The collector, which accepts OTLP over HTTP, such as http://127.0.0.1:4318. Empty = off.
	Endpoint string `yaml:"endpoint" default:"${env:OTEL_EXPORTER_OTLP_ENDPOINT:-}"`
	// The share of the messages that are traced, from 0 to 1.
	Sample float64 `yaml:"sample" default:"1"`
	// true = traces also hold texts: questions, answers, and parameters and results of tools.
	Content bool `yaml:"content"`
}

// checkObserve checks where metrics and traces go. An address beyond this machine has named clients.
func (d checker) checkObserve(c *Config) {
	if m := c.Metrics; m.Listen != "" {
		_, wrong := listensLocally(m.Listen)
		switch {
		case wrong != nil:
			d.reject("metrics.listen", wrong.message, wrong.hint)
		case m.Listen == c.Web.Listen && !strings.HasSuffix(m.Listen, ":0"): // which is any free port
			d.reject("metrics.listen", "is the address of the web chat", "choose another port, such as 127.0.0.1:9464")
		case m.Anywhere() && (m.Token == "" || len(c.Web.TLS) == 0):
			d.reject("metrics.listen", "can be reached from other machines, and has neither clients nor a login with TLS",
				`listen on 127.0.0.1, set metrics.clients to the addresses of a proxy with TLS or of Prometheus in a private network, such as ["10.0.0.7/32"], or set metrics.token and web.tls`)
		}
	}
	if t := c.Metrics.Token; t != "" && len(t) < 16 {
		d.reject("metrics.token", "is shorter than 16 characters", "make one with: openssl rand -hex 16")
	}
	sections.Reject(d.reject).Secret("metrics.token", c.Metrics.Token, nil, "set the token alone, without spaces or line breaks")
	for _, p := range c.Metrics.Clients {
		if p.Bits() == 0 {
			d.reject("metrics.clients", "allows every address", "name the addresses of a proxy or of Prometheus")
		}
	}
	sections.Reject(d.reject).URL("traces.endpoint", c.Traces.Endpoint)
	if s := c.Traces.Sample; !(s >= 0 && s <= 1) {
		d.reject("traces.sample", "is not between 0 and 1", "0.1 traces every tenth message")
	}
}
