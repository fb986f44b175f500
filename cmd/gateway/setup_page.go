package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"parley"
	"parley/internal/local"
)

//go:embed setup_page.html
var setupHTML string

// setupPage sets a gateway up in the browser, as gateway init does in a terminal. It works without JavaScript. The gateway serves it only to
// browsers on its machine; the code is for other users of that machine.
type setupPage struct {
	c      *cli
	code   string
	listen string // address that the files get; "" is the default
	page   *template.Template
	busy   sync.Mutex // one form is tried at a time
}

// newSetupPage returns the page of a gateway that nothing is configured for: it has no configuration file, no model and no platform.
// It returns nil for any other.
func newSetupPage(c *cli, from, listen string, off int) *setupPage {
	if from != fromDefaults || off < len(parley.Platforms())+1 {
		return nil
	}
	return &setupPage{c: c, code: rand.Text(), listen: listen, page: template.Must(template.New("setup").Parse(setupHTML))}
}

// setupView is the content of the page.
type setupView struct {
	Locked, Done         bool
	Problem              string
	Form                 url.Values
	Platforms, Exists    string
	Servers              []string // that run on this machine, one sentence each
	Works                []string // the results of the tries
	Agent, Config, Env   string
	Start                string // the command
	Link, Code, CodeLink string // of the bot
}

// ServeHTTP shows the form, or tries and writes its answers.
func (p *setupPage) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(rw, "The form is too large.", http.StatusRequestEntityTooLarge)
		return
	}
	to := filesFor(p.c.file())
	view := setupView{Form: r.Form, Platforms: botPlatforms(), Exists: to.existing(), Config: to.config, Env: to.env, Start: startOf(to.config)}
	code := r.Form.Get("code")
	switch {
	case subtle.ConstantTimeCompare([]byte(code), []byte(p.code)) != 1:
		view.Locked = true
		if code != "" {
			view.Problem = "This is not the code that the gateway printed when it started."
		}
		p.show(rw, http.StatusForbidden, view)
	case r.Method == http.MethodPost:
		p.save(rw, r, to, view)
	default:
		for i, server := range running(r.Context(), localServers) {
			view.Servers = append(view.Servers, fmt.Sprintf("%s runs at %s.", server.title, server.base))
			if i == 0 && !r.Form.Has("model") {
				view.Form.Set("model", server.base)
			}
		}
		p.show(rw, http.StatusOK, view)
	}
}

// save tries the answers, and writes the files if all of them work.
func (p *setupPage) save(rw http.ResponseWriter, r *http.Request, to setupFiles, view setupView) {
	if !p.busy.TryLock() {
		view.Problem = "Another form is being tried. Wait for its result."
		p.show(rw, http.StatusConflict, view)
		return
	}
	defer p.busy.Unlock()
	s := newSetup(to, func(text string) { view.Works = append(view.Works, text) })
	s.listen = p.listen
	err := s.fill(r.Context(), view.Form)
	if err == nil && view.Exists != "" && view.Form.Get("replace") != "yes" {
		err = fmt.Errorf("nothing was changed: %s exists already; check the box to replace it", view.Exists)
	}
	if err == nil {
		err = to.writable()
	}
	if err == nil {
		err = to.write(s.config(), s.env)
	}
	if err == nil {
		view.Code, err = p.ownerCode(r.Context(), s)
	}
	if err != nil {
		view.Problem = err.Error()
		p.show(rw, http.StatusUnprocessableEntity, view)
		return
	}
	view.Done, view.Agent, view.Link = true, "Parley", s.link
	if s.name != "" {
		view.Agent = s.name
	}
	if s.codeLink != "" && view.Code != "" {
		view.CodeLink = s.codeLink + view.Code
	}
	p.show(rw, http.StatusOK, view)
}

// fill tries the answers of a form, one after the other, up to the first that does not work.
func (s *setup) fill(ctx context.Context, form url.Values) error {
	answer := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	if err := s.addBot(ctx, answer("token"), answer("api-url")); err != nil {
		return err
	}
	if err := s.addModel(ctx, answer("model"), answer("model-name")); err != nil {
		return err
	}
	return s.addCharacter(answer("name"), answer("character"))
}

// ownerCode returns the code that makes its sender the bot's owner: "" without a bot, or if there is an owner.
func (p *setupPage) ownerCode(ctx context.Context, s *setup) (string, error) {
	if s.platform == "" {
		return "", nil
	}
	cfg, _, err := p.c.load()
	if err != nil {
		return "", err
	}
	return local.OwnerCode(ctx, cfg)
}

// show writes the page.
func (p *setupPage) show(rw http.ResponseWriter, status int, view setupView) {
	var out bytes.Buffer
	if err := p.page.Execute(&out, view); err != nil {
		http.Error(rw, "The page can't be shown.", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.WriteHeader(status)
	_, _ = out.WriteTo(rw) // it fails only if the browser has gone
}
