package oauth

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// A Loopback receives the browser of a person who logs in, if it runs on this machine. Others paste the address that
// their browser shows in the end.
type Loopback struct{ listener net.Listener }

// Listen returns a Loopback on a free port, or the error of the listener. Close ends it.
func Listen(ctx context.Context) (*Loopback, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the browser: %w", err)
	}
	return &Loopback{l}, nil
}

// Close stops listening, and returns the error of the listener.
func (b *Loopback) Close() error { return b.listener.Close() }

// Redirect is the address that the browser is sent to.
func (b *Loopback) Redirect() string { return "http://" + b.listener.Addr().String() + callback }

const callback = "/callback"

// Wait returns the address that the browser was sent to from address, or the pasted one. It fails when ctx ends.
func (b *Loopback) Wait(ctx context.Context, address string, pasted <-chan string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("wait for the browser: %w", err)
	}
	landed := make(chan string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callback, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("state") != u.Query().Get("state") { // someone else's
			http.Error(w, "This login is not the one that was begun.", http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, "You can close this window and return to the terminal.\n")
		select {
		case landed <- b.Redirect() + "?" + r.URL.RawQuery:
		default:
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: maxBody}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(b.listener) }()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // so that the browser gets its page
		defer cancel()
		_ = server.Shutdown(ctx)
		<-ended
	}()
	select {
	case got := <-landed:
		return got, nil
	case got := <-pasted:
		return got, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
