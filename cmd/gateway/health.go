package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley/internal/daemon"
)

// healthTime limits a health check. It is below the time that containers give theirs.
const healthTime = 4 * time.Second

// healthCmd asks a running gateway whether it is ready, for health checks in images that have no other program.
type healthCmd struct {
	Listen string `placeholder:"HOST:PORT" help:"The address of the gateway (default: web.listen)."`
}

// Run prints that the gateway is ready, or returns an error with the reason why it isn't.
func (h *healthCmd) Run(ctx context.Context, c *cli) error {
	if h.Listen == "" {
		cfg, _, err := c.load()
		if err != nil {
			return err
		}
		h.Listen = cfg.Web.Listen
	}
	address, err := dialable(h.Listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	if err := probe(ctx, address, "/readyz"); err != nil {
		return err
	}
	fmt.Println("ready")
	return nil
}

// probe asks the gateway at an address for a path. It returns an error with the gateway's text if that is not answered with 200.
func probe(ctx context.Context, address, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req) // without a proxy
	if err != nil {
		return fmt.Errorf("no gateway answers at %s: %w", address, errors.Unwrap(err))
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // the status decides; the text is only shown
	if text := strings.TrimSpace(string(body)); res.StatusCode != http.StatusOK {
		return fmt.Errorf("the gateway at %s: %s", address, text)
	}
	return nil
}

// reportState tells the service manager that the gateway is ready, that it works until running ends, and that it stops when
// ctx ends. A gateway works as long as it answers requests, also while its store or a platform is away: a restart would not
// help then. While it stops, the manager's own time limit applies.
func reportState(ctx, running context.Context, manager daemon.Notifier, listen string, log *slog.Logger) {
	if err := manager.Ready(managerStatus(listen, nil)); err != nil {
		log.Warn("the service manager does not learn that the gateway is ready", "err", err)
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		manager.Watch(running, func(limited context.Context) error {
			address, err := dialable(listen)
			if err != nil || ctx.Err() != nil {
				return err
			}
			if err = probe(limited, address, "/healthz"); ctx.Err() != nil {
				return nil
			}
			return err
		}, func(err error) { log.Warn("the service manager does not learn that the gateway works", "err", err) })
	})
	<-ctx.Done()
	if err := manager.Stopping(); err != nil {
		log.Warn("the service manager does not learn that the gateway stops", "err", err)
	}
	watching.Wait()
}

// managerStatus returns the status for people that the service manager shows, after a start or a reload that could fail.
func managerStatus(listen string, reload error) string {
	if reload != nil {
		return "at http://" + listen + ", with the earlier configuration: the changed one is invalid"
	}
	return "at http://" + listen
}

// reportReload logs that the service manager could not be told about a reload.
func reportReload(log *slog.Logger, err error) {
	if err != nil {
		log.Warn("the service manager does not learn about a reload", "err", err)
	}
}

// dialable returns the address at which this machine reaches a listener: one on all interfaces is reached on loopback.
func dialable(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	switch {
	case err != nil:
		return "", fmt.Errorf("%q is no address of the form HOST:PORT", listen)
	case port == "0":
		return "", errors.New("the gateway chooses its port: name it with --listen HOST:PORT")
	case host == "", host == "0.0.0.0":
		host = "127.0.0.1"
	case host == "::":
		host = "::1"
	}
	return net.JoinHostPort(host, port), nil
}
