// Package local connects commands with a running gateway on the same machine. The store can have only one opener, and
// the runtime must notice some changes, so commands ask the gateway to do their work; if none runs, they open the store
// themselves.
//
// A gateway writes its address and a random token to a file next to its store, or in the user's cache, that only its
// user can read. Each [command] is a request and a reply in JSON, and one function that does the work in both cases.
package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"

	"parley/backends"
	"parley/config"
	"parley/connectors/web"
)

// contact is the content of the file.
type contact struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// contactFile returns the name of the file with the address of the gateway on this machine.
func contactFile(cfg config.Config) string { return Beside(cfg, ".local") }

// Beside returns the name of a file that belongs to the store of cfg: next to its file, with another ending. For a
// store without a file it is in the user's cache, named by a hash of the address, which can contain a password; "" if
// there is no cache.
func Beside(cfg config.Config, ending string) string {
	if path := backends.Path(cfg.Store.Reveal()); path != "" {
		return path + ending
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(cfg.Store.Reveal()))
	return filepath.Join(dir, "parley", hex.EncodeToString(sum[:8])+ending)
}

// Announce writes the file of a gateway that listens on addr, and returns the token that requests must bring. It fails
// if the file can't be written.
func Announce(cfg config.Config, addr net.Addr) (token string, err error) {
	c := contact{URL: "http://" + addr.String(), Token: rand.Text()}
	if ap, err := netip.ParseAddrPort(addr.String()); err == nil && ap.Addr().IsUnspecified() {
		c.URL = fmt.Sprintf("http://127.0.0.1:%d", ap.Port())
	}
	data, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	name := contactFile(cfg)
	if name == "" {
		return "", errors.New("find a folder for the address: there is no cache directory")
	}
	if backends.Path(cfg.Store.Reveal()) == "" {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return "", fmt.Errorf("make a folder for the address: %w", err)
		}
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // an earlier file could be readable by others, and would keep its mode
		return "", fmt.Errorf("remove %s: %w", name, err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return c.Token, nil
}

// Withdraw removes the file. A gateway calls it when it ends; after a crash the file stays, and ask handles that. It
// fails if there is no file.
func Withdraw(cfg config.Config) error { return os.Remove(contactFile(cfg)) }

// URL returns the address of the gateway of cfg that was started last on this machine. It can differ from the
// configured one, which may have been in use. It returns false if no gateway was started, or if the last one has shut
// down.
func URL(cfg config.Config) (url string, ok bool) {
	c, err := readContact(cfg)
	return c.URL, err == nil
}

// Token returns the owner's token for the gateway at url, or "" if that is not the gateway of cfg on this
// machine: it goes nowhere else.
func Token(cfg config.Config, url string) string {
	c, err := readContact(cfg)
	if err != nil || c.URL != url {
		return ""
	}
	return c.Token
}

// Running reports whether a gateway of cfg answers on this machine.
func Running(ctx context.Context, cfg config.Config) bool {
	return ask(ctx, cfg, "pair", pairRequest{}, &struct{}{}) == nil
}

func readContact(cfg config.Config) (c contact, err error) {
	data, err := os.ReadFile(contactFile(cfg))
	if err != nil {
		return c, fmt.Errorf("find a running gateway: %w", err)
	}
	if err = json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", contactFile(cfg), err)
	}
	return c, nil
}

var errNotRunning = errors.New("no gateway with this configuration is running")

// ask sends a request to the running gateway, and decodes its reply. It returns errNotRunning if none answers. The
// client has no proxy, so the token stays on this machine.
func ask(ctx context.Context, cfg config.Config, name string, request, reply any) error {
	c, err := readContact(cfg)
	if err != nil {
		return errNotRunning
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+web.LocalPath+name, bytes.NewReader(body))
	if err != nil {
		return errNotRunning
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK { // the file is left from a crash; another program may listen there now
		if err == nil {
			resp.Body.Close()
		}
		return errNotRunning
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(reply); err != nil {
		return fmt.Errorf("read the gateway's response: %w", err)
	}
	return nil
}
