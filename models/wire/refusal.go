package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxMessage is the maximum length of a server's message that is kept, in bytes.
const maxMessage = 4 << 10

// maxAfter is the longest wait that is taken from a server.
const maxAfter = 24 * time.Hour

// Refusal is an answer of a server that rejects a request, instead of a stream or within it.
type Refusal struct {
	status  int    // of HTTP; 0 if there was none, as within a stream
	code    string // the provider's code, such as insufficient_quota
	kind    string // the provider's class, such as invalid_request_error
	message string
	page    bool          // a web page stands in place of it
	param   string        // the parameter that it names as the reason, such as tools[0].function.parameters
	after   time.Duration // when to try again at the earliest; 0 if the server didn't tell
}

// Error returns the text of the server, which can quote secrets of the request. Only Endpoint.Failure, which redacts
// it, may let it out of the package.
func (r *Refusal) Error() string {
	var parts []string
	if r.status != 0 {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", r.status, http.StatusText(r.status))))
	} else {
		parts = append(parts, "rejected within the stream")
	}
	if r.message != "" {
		parts = append(parts, r.message)
	}
	text := strings.Join(parts, ": ")
	if word := cmp.Or(r.code, r.kind); word != "" && !strings.Contains(text, word) {
		text += " (" + word + ")"
	}
	return text
}

// Empty reports whether r has no message.
func (r *Refusal) Empty() bool { return r.message == "" }

// Gone reports whether the server does not know the thing that the request continues: by its status, or by a code that
// names an interrupt, or a question.
func (r *Refusal) Gone() bool {
	word := strings.ToLower(r.code + " " + r.kind)
	return r.status == http.StatusNotFound || r.status == http.StatusConflict || r.status == http.StatusGone || strings.Contains(word, "interrupt") || strings.Contains(word, "unknown_ask")
}

// Unprocessed reports whether err means that the server has not begun to process a request: it could not be reached, or it
// refused the request because it is busy.
func Unprocessed(err error) bool {
	if _, ok := errors.AsType[unreached](err); ok {
		return true
	}
	r, ok := errors.AsType[*Refusal](err)
	return ok && slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusServiceUnavailable}, r.status)
}

// readRefusal reads the response to a request that was refused. A body that breaks off is used as far as it goes.
func readRefusal(res *http.Response) *Refusal {
	body, _ := io.ReadAll(io.LimitReader(res.Body, MaxRefusal)) // half a message is better than none
	r := ParseRefusal(body)
	r.status = res.StatusCode
	r.after = cmp.Or(retryAfter(res.Header, time.Now()), r.after)
	if to := res.Header.Get("Location"); to != "" && r.message == "" {
		r.message = "the address has moved"
	}
	return r
}

// ParseRefusal reads the error formats of servers: OpenAI's {"error":{…}}, Google's list with one of them,
// Ollama's {"error":"…"}, FastAPI's {"detail":…}, and the web pages of proxies in front of them. It always returns a
// refusal, which may be empty.
func ParseRefusal(body []byte) *Refusal {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		text, page := plain(string(body))
		return &Refusal{message: text, page: page}
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return &Refusal{message: capped(word(v))}
	}
	switch e := fields["error"].(type) {
	case map[string]any:
		fields = e
	case string:
		return &Refusal{message: capped(e), code: word(fields["code"]), kind: word(fields["type"])}
	}
	r := &Refusal{
		code:    word(fields["code"]),
		kind:    cmp.Or(word(fields["type"]), word(fields["status"])),
		message: cmp.Or(word(fields["message"]), word(fields["detail"])),
		param:   capped(word(fields["param"])),
	}
	if meta, ok := fields["metadata"].(map[string]any); ok && meta["raw"] != nil { // OpenRouter: the message of the provider behind it
		r.message += ": " + word(meta["raw"])
	}
	r.message = capped(r.message)
	r.after = retryInfo(fields["details"])
	if status, err := strconv.Atoi(r.code); err == nil {
		r.status, r.code = status, "" // some write the HTTP status here
	}
	return r
}

// retryInfo returns the wait that Google sends among the details of an error: {"@type": "…RetryInfo", "retryDelay":
// "39s"}.
func retryInfo(details any) time.Duration {
	list, _ := details.([]any)
	for _, d := range list {
		if fields, ok := d.(map[string]any); ok {
			if after, err := time.ParseDuration(word(fields["retryDelay"])); err == nil && after > 0 {
				return min(after, maxAfter)
			}
		}
	}
	return 0
}

// word returns a JSON value as text; "" for null.
func word(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	text, _ := json.Marshal(v) // it came from JSON
	return string(text)
}

// plain returns the text of a body that is not JSON, on one line; of a web page its title.
func plain(body string) (text string, page bool) {
	body = strings.ToValidUTF8(body, "")
	lower := strings.ToLower(body)
	if strings.Contains(lower, "<html") || strings.Contains(lower, "<!doctype") {
		_, rest, _ := strings.Cut(body, "<title>")
		title, _, ok := strings.Cut(rest, "</title>")
		if !ok {
			return "a web page instead of JSON", true
		}
		body, page = "a web page instead of JSON: "+title, true
	}
	return capped(strings.Join(strings.Fields(body), " ")), page
}

// capped returns text cut to maxMessage at a character.
func capped(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	end := maxMessage
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// retryAfter returns the time that a server wants no requests for: from retry-after-ms (OpenAI), or retry-after in
// seconds or as a date (RFC 9110, section 10.2.3). It returns 0 if the server doesn't tell.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if after, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return after
	}
	if after, ok := number(h.Get("Retry-After"), time.Second); ok {
		return after
	}
	if date, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return min(max(date.Sub(now), 0), maxAfter)
	}
	return 0
}

// number parses a wait in units. NaN fails the comparison, so it is no number here.
func number(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 0) { // not a number is not ≥ 0 either
		return 0, false
	}
	if n > maxAfter.Seconds()*float64(time.Second/unit) {
		return maxAfter, true
	}
	return time.Duration(n * float64(unit)), true
}
