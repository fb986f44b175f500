package modelfake_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"parley/internal/require"
	"parley/models/modelfake"
)

// sound is a form as clients of transcriptions send it: file names and fields in turn.
func sound(file string, data string, fields ...string) (contentType, body string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if file != "" {
		part, _ := w.CreateFormFile("file", file) // of a buffer: never fails
		_, _ = io.WriteString(part, data)
	}
	for i := 0; i < len(fields); i += 2 {
		_ = w.WriteField(fields[i], fields[i+1])
	}
	_ = w.Close()
	return w.FormDataContentType(), b.String()
}

// TestStrictUses: the endpoints beside completions refuse what the real ones refuse.
func TestStrictUses(t *testing.T) {
	type request struct{ endpoint, contentType, body, want string }
	of := func(endpoint, body, want string) request { return request{endpoint, "application/json", body, want} }
	heard := func(want, file, data string, fields ...string) request {
		contentType, body := sound(file, data, fields...)
		return request{modelfake.Transcriptions, contentType, body, want}
	}
	for name, c := range map[string]request{
		"a good sound":       heard("", "a.ogg", "x", "model", "m", "response_format", "json"),
		"no model":           heard("model parameter", "a.ogg", "x"),
		"no file":            heard("'file'", "", "", "model", "m"),
		"an empty file":      heard("too short", "a.ogg", "", "model", "m"),
		"a file of text":     heard("Unrecognized file format", "a.txt", "x", "model", "m"),
		"a field too many":   heard("colour", "a.ogg", "x", "model", "m", "colour", "red"),
		"no form":            of(modelfake.Transcriptions, `{}`, "multipart"),
		"a good prompt":      of(modelfake.Generations, `{"model":"m","prompt":"a fox","response_format":"b64_json","n":1}`, ""),
		"no prompt":          of(modelfake.Generations, `{"model":"m","response_format":"b64_json"}`, "'prompt'"),
		"an address wanted":  of(modelfake.Generations, `{"model":"m","prompt":"a fox"}`, "response_format"),
		"told what it knows": of(modelfake.Generations, `{"model":"gpt-image-1","prompt":"a fox","response_format":"b64_json"}`, "Unknown parameter"),
		"two pictures":       of(modelfake.Generations, `{"model":"m","prompt":"a fox","n":2}`, "'n'"),
		"good texts":         of(modelfake.Embeddings, `{"model":"m","input":["a","b"],"encoding_format":"float"}`, ""),
		"no texts":           of(modelfake.Embeddings, `{"model":"m","input":[]}`, "'input'"),
		"an empty text":      of(modelfake.Embeddings, `{"model":"m","input":["a",""]}`, "empty string"),
		"base64":             of(modelfake.Embeddings, `{"model":"m","input":["a"],"encoding_format":"base64"}`, "encoding_format"),
		"an unknown key":     of(modelfake.Embeddings, `{"model":"m","input":["a"],"colour":1}`, "colour"),
		"no JSON":            of(modelfake.Embeddings, `[]`, "not a JSON object"),
	} {
		t.Run(name, func(t *testing.T) {
			s := onLoopback(t, modelfake.Options{})
			resp := require.Value(s.client.Post(s.base+c.endpoint, c.contentType, strings.NewReader(c.body)))(t)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			bad := s.Rejected()
			if c.want == "" {
				if resp.StatusCode != http.StatusOK || len(bad) > 0 || err != nil {
					t.Errorf("%s %s %v", resp.Status, body, err)
				}
			} else if resp.StatusCode != 400 || len(bad) != 1 || !strings.Contains(bad[0].Rejected, c.want) || !strings.Contains(string(body), c.want) {
				t.Errorf("%s %s", resp.Status, body)
			}
			if len(s.Uses()) != 1 || s.Uses()[0].Status != resp.StatusCode {
				t.Errorf("log: %+v", s.Uses())
			}
		})
	}
}

// TestStrictPictures: an address that is no picture's is refused, also if it says that it is one.
func TestStrictPictures(t *testing.T) {
	with := func(url string) string {
		return messages(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + url + `"}}]}`)
	}
	verdicts{
		"a PNG":        {with("data:image/png;base64,iVBORw0KGgo="), ""},
		"an address":   {with("https://pic.test/1"), ""},
		"another type": {with("data:image/jpeg;base64,iVBORw0KGgo="), "valid image"},
		"a page":       {with("data:text/html;base64,PGh0bWw+"), "image MIME type"},
		"no base64":    {with("data:image/png;base64,%%%"), "valid image"},
		"nothing":      {with("data:image/png;base64,"), "valid image"},
		"a file":       {with("file:///etc/passwd"), "image MIME type"},
	}.hold(t)
}
