package discordfake

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// checkForm checks a request's form before its meaning.
func (s *Server) checkForm(c *call) *apiError {
	if e := contentType(c); e != nil {
		return e
	}
	if s.opts.spec == nil {
		return nil
	}
	err := errors.Join(s.opts.spec.CheckQuery(c.do.route, c.query), s.opts.spec.CheckBody(c.do.route, c.body))
	if err != nil {
		return invalidForm("specification", "SPEC", err.Error())
	}
	return nil
}

func contentType(c *call) *apiError {
	given := c.http.Header.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(given)
	switch {
	case given == "" && len(c.body) == 0:
		return nil
	case err != nil || kind != "application/json" && kind != "multipart/form-data":
		return invalidForm("Content-Type", "CONTENT_TYPE_INVALID", "Expected \"Content-Type\" header to be application/json or multipart/form-data, not "+given)
	case kind == "multipart/form-data":
		return c.unpack(params["boundary"])
	case len(c.body) == 0:
		e := refuse(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
		e.malformed = true
		return e
	}
	return nil
}

// decode reads a JSON body into form, whose fields are all there may be.
func decode(body []byte, form any) *apiError {
	err := strict(body, form)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType):
		return invalidForm(wrongType.Field, "BASE_TYPE_INVALID", "Could not interpret "+wrongType.Value+" as "+wrongType.Type.String())
	case strings.Contains(err.Error(), "unknown field"):
		return invalidForm("body", "UNKNOWN_FIELD", strings.TrimPrefix(err.Error(), "json: "))
	}
	e := refuse(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
	e.malformed = true
	return e
}

// strict reads exactly one JSON value without unknown fields.
func strict(data []byte, form any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(form); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

// onlyQuery refuses query parameters other than the named ones.
func onlyQuery(c *call, names ...string) *apiError {
	allowed := map[string]bool{}
	for _, n := range names {
		allowed[n] = true
	}
	for name := range c.query {
		if !allowed[name] {
			return invalidForm(name, "UNKNOWN_FIELD", "unknown query parameter")
		}
	}
	return nil
}
