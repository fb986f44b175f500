package parley

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"

	"parley/connectors/web"
	"parley/connectors/web/certificates"
	"parley/core/chat"
	"parley/core/event"
	"parley/internal/observe"
	"parley/internal/version"
)

// monitoring is the metrics and traces of a gateway. A part that is off in the configuration is not used.
type monitoring struct {
	metrics  *observe.Metrics
	traces   *observe.Traces
	listener net.Listener // for metrics; nil: off
	secure   *certificates.Certificates
}

// addTraces creates the traces of the configuration.
func (g *Gateway) addTraces() {
	c, s := g.cfg.Traces, g.backends.sampler
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // headers can have a key, for this collector only
	client := &http.Client{CheckRedirect: stay, Transport: &http.Transport{DialContext: g.env.Dial, Proxy: http.ProxyFromEnvironment}}
	g.monitoring.traces = &observe.Traces{
		Exporter: observe.NewExporter(c.Endpoint, version.Current().Short(), client, g.env.Log), Sampler: s,
		Agent: g.cfg.Agent.Name, Content: c.Content, Hash: func(r chat.RoomID) string { return web.Hash([]byte(s.Key), string(r)) },
	}
}

// listenMetrics listens on metrics.listen. Its error is a [*listenError].
func (g *Gateway) listenMetrics() (err error) {
	at := g.cfg.Metrics.Listen
	if at == "" {
		return nil
	}
	if g.monitoring.listener, err = g.env.Listen("tcp", at); err != nil {
		return &listenError{at, "choose another address with metrics.listen", err}
	}
	g.backends.closers = append(g.backends.closers, g.monitoring.listener.Close)
	return nil
}

// monitor serves metrics and exports traces until ctx ends.
func (g *Gateway) monitor(ctx context.Context) {
	m := g.monitoring
	var export sync.WaitGroup
	defer export.Wait()
	if g.cfg.Traces.Endpoint != "" {
		export.Go(func() { m.traces.Run(ctx) })
	}
	if m.listener != nil {
		m.metrics.Read(observe.State{
			Fleet: g.backends.store.Replicas, Counts: g.runtime.Counts, Overdue: g.runtime.Overdue, Readers: g.web.Readers, Missed: g.runtime.MissedEvents, Dropped: m.traces.Dropped,
		})
		c := g.cfg.Metrics
		if c.Anywhere() {
			m.listener = tls.NewListener(m.listener, m.secure.TLS())
		}
		m.metrics.Serve(ctx, m.listener, observe.Readers{Clients: c.Clients, Anywhere: c.Anywhere(), Token: c.Token.Reveal()}, g.env.Log)
	}
}

// observers returns the observers of the program, and those of the configuration.
func (g *Gateway) observers() []event.Observer {
	all := slices.Clone(g.env.Observers)
	if g.cfg.Metrics.Listen != "" {
		all = append(all, g.monitoring.metrics)
	}
	if g.cfg.Traces.Endpoint != "" {
		all = append(all, g.monitoring.traces)
	}
	return all
}
