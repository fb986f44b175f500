package example

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"parley/connectors"
	"parley/progressive"
)

// client makes requests. Its errors never contain the token.
type client struct {
	http       *http.Client
	url, token string
}

func newClient(c Config, d connectors.Deps) *client {
	t := &http.Transport{DialContext: d.Dial}
	if d.Dial == nil {
		t.Proxy = http.ProxyFromEnvironment
	}
	return &client{&http.Client{Transport: t, Timeout: 30 * time.Second}, c.URL, c.Token.Reveal()}
}

var errToken = fmt.Errorf("%w: the server rejected the token; check connectors.example.token", progressive.ErrForbidden)

// do makes one request. Its errors are those of [progressive.Sink].
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http.Do(req)
	if broken := (*net.OpError)(nil); errors.As(err, &broken) && broken.Op == "dial" {
		return fmt.Errorf("%w: %w", progressive.ErrUnsent, err)
	} else if err != nil {
		return fmt.Errorf("%w: %w", progressive.ErrAmbiguous, err)
	}
	defer resp.Body.Close()
	if err := judge(resp); err != nil {
		return err
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(out); err != nil {
		return fmt.Errorf("%w: decode the response: %w", progressive.ErrAmbiguous, err)
	}
	return nil
}

// judge classifies a response.
func judge(resp *http.Response) error {
	refused := fmt.Errorf("the server replied %s", resp.Status)
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusUnauthorized:
		return errToken
	case code == http.StatusForbidden:
		return fmt.Errorf("%w: %w", progressive.ErrForbidden, refused)
	case code == http.StatusNotFound:
		return fmt.Errorf("%w: %w", progressive.ErrGone, refused)
	case code == http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return progressive.RetryAfter{After: time.Duration(max(seconds, 1)) * time.Second, Err: refused}
	case code >= http.StatusInternalServerError:
		return fmt.Errorf("%w: %w", progressive.ErrAmbiguous, refused)
	}
	return refused
}
