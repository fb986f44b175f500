package config

import (
	"errors"
	"strings"
	"testing"
)

// Metrics that other machines can reach have named clients, and traces go to a server.
func TestMonitoring(t *testing.T) {
	for text, c := range map[string]struct{ key, want string }{
		"":                           {},
		"metrics: {listen: ':9464'}": {"metrics.listen", "other machines"},
		"metrics: {listen: '0.0.0.0:9464', clients: ['10.0.0.7/32']}":                                  {},
		"{metrics: {listen: 'localhost:0'}, web: {listen: 'localhost:0'}}":                             {},
		"{metrics: {listen: 'localhost:9464'}, web: {listen: 'localhost:9464'}}":                       {"metrics.listen", "is the address of the web chat"},
		"metrics: {listen: 'localhost:9464'}":                                                          {},
		"metrics: {listen: ':9464', token: 0123456789abcdef}":                                          {"metrics.listen", "nor a login with TLS"},
		"{metrics: {listen: ':9464'}, web: {tls: [a.example], public: true}}":                          {"metrics.listen", "nor a login with TLS"},
		"{metrics: {listen: ':9464', token: 0123456789abcdef}, web: {tls: [a.example], public: true}}": {},
		"metrics: {listen: 'localhost:9464', token: short}":                                            {"metrics.token", "16 characters"},
		"metrics: {listen: '9464'}":                                                                    {"metrics.listen", "not a host and a port"},
		"metrics: {clients: ['0.0.0.0/0']}":                                                            {"metrics.clients", "every address"},
		"traces: {endpoint: 'http://127.0.0.1:4318', sample: 0.1}":                                     {},
		"traces: {endpoint: '127.0.0.1:4318'}":                                                         {"traces.endpoint", "not a plain server URL"},
		"traces: {endpoint: 'https://key@collector.example'}":                                          {"traces.endpoint", "not a plain server URL"},
		"traces: {sample: 1.5}":                                                                        {"traces.sample", "between 0 and 1"},
		"traces: {sample: -1}":                                                                         {"traces.sample", "between 0 and 1"},
		"traces: {sample: .nan}":                                                                       {"traces.sample", ""},
	} {
		_, err := Parse("config.yaml", []byte(text), "", environment(nil), platforms...)
		problems, _ := errors.AsType[Problems](err)
		if (c.key == "") != (err == nil) || c.key != "" && (len(problems) != 1 || problems[0].Key != c.key || !strings.Contains(problems[0].Error(), c.want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
