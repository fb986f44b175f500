package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Verify asks Turnstile or hCaptcha whether a person uses a new visitor's browser.
type Verify struct {
	SiteKey string
	Secret  string
	// Client sends the request; nil is the usual one.
	Client *http.Client
}

const (
	verifyTime    = 10 * time.Second
	maxVerdict    = 64 << 10 // bytes
	maxProof      = 2048     // bytes: the most that Turnstile makes
	codeUnproven  = "VERIFICATION_REQUIRED"
	turnstileURL  = "https://challenges.cloudflare.com/turnstile/v0/siteverify"
	hcaptchaURL   = "https://api.hcaptcha.com/siteverify"
	turnstileHost = "https://challenges.cloudflare.com"
	hcaptchaHosts = "https://hcaptcha.com https://*.hcaptcha.com"
)

// hcaptchaKey matches the site keys of hCaptcha, which are UUIDs. Those of Turnstile begin with a digit and an x.
var hcaptchaKey = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-`)

// on reports whether new visitors are verified.
func (v Verify) on() bool { return v.SiteKey != "" && v.Secret != "" }

// service returns the address of the service, and the origins of its scripts and frames.
func (v Verify) service() (address, origins string) {
	if hcaptchaKey.MatchString(v.SiteKey) {
		return hcaptchaURL, hcaptchaHosts
	}
	return turnstileURL, turnstileHost
}

// proven reports whether the service accepts a proof, which it does once. It fails if the service does not answer.
func (v Verify) proven(ctx context.Context, proof string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	form := url.Values{"secret": {v.Secret}, "response": {proof}, "sitekey": {v.SiteKey}}
	service, _ := v.service()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, service, strings.NewReader(form.Encode()))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := v.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(r)
	if err != nil {
		return false, fmt.Errorf("ask %s: %w", r.URL.Host, err)
	}
	defer resp.Body.Close()
	var verdict struct {
		Success bool     `json:"success"`
		Errors  []string `json:"error-codes"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxVerdict)).Decode(&verdict); err != nil {
		return false, fmt.Errorf("%s answered %d, and no verdict", r.URL.Host, resp.StatusCode)
	}
	for _, code := range verdict.Errors {
		if strings.Contains(code, "secret") || code == "internal-error" {
			return false, fmt.Errorf("%s refused the request: %s", r.URL.Host, code)
		}
	}
	return verdict.Success, nil
}

// prove refuses the request for a new visitor's token without a proof that a person asks. Renewals, accounts and API keys need none.
func (d door) prove(rw http.ResponseWriter, r *http.Request) *refusal {
	v := d.web.opts.Verify
	if who := readerOf(r); !v.on() || who.id != "" {
		return nil
	}
	no := refused(http.StatusForbidden, "refused.unproven").unread(r.Body)
	no.code = codeUnproven
	if r.ContentLength == 0 {
		return no
	}
	var body mintRequest
	if wrong := readSmall(rw, r, &body, `{"proof": …}`); wrong != nil {
		return wrong
	}
	no.body = nil
	if body.Proof == "" || len(body.Proof) > maxProof {
		return no
	}
	switch is, err := v.proven(r.Context(), body.Proof); {
	case err != nil:
		return d.web.failures.refuse("verify a visitor", err)
	case !is:
		return no
	}
	return nil
}
