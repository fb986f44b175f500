package telegramfake

import (
	"net/url"
	"strconv"
	"strings"
)

// entity is what a closed tag means; not shown if its link leads nowhere or its time is none.
func (p *parser) entity(t tag) (e Entity, shown bool, err error) {
	e = Entity{Offset: t.start, Length: p.units - t.start}
	switch t.name {
	case "b", "strong":
		e.Type = "bold"
	case "i", "em":
		e.Type = "italic"
	case "s", "strike", "del":
		e.Type = "strikethrough"
	case "u", "ins":
		e.Type = "underline"
	case "tg-spoiler", "span":
		e.Type = "spoiler"
	case "pre":
		e.Type = "pre"
	case "code":
		e.Type, e.Language = "code", t.argument
	case "blockquote":
		e.Type = "blockquote"
		if t.argument != "" {
			e.Type = "expandable_blockquote"
		}
	case "tg-emoji":
		if id, err := strconv.ParseInt(t.argument, 10, 64); err != nil || id == 0 {
			return e, false, &ParseError{-1, "Invalid custom emoji identifier specified"}
		}
		e.Type, e.CustomEmojiID = "custom_emoji", t.argument
	case "tg-time":
		e.Type, e.UnixTime, e.DateTimeFormat = "date_time", t.unix, t.argument
		return e, t.unix > 0, nil
	case "a":
		return link(e, t.argument, p.out.String()[t.from:])
	}
	return e, true, nil
}

// link makes e a link to href, or to its own text if there is none.
func link(e Entity, href, text string) (Entity, bool, error) {
	if href == "" {
		href = text
	}
	if id, ok := strings.CutPrefix(strings.ToLower(href), "tg://user?id="); ok {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil && n > 0 {
			e.Type, e.User = "text_mention", &User{ID: n}
			return e, true, nil
		}
	}
	e.Type, e.URL = "text_link", checkedURL(href)
	return e, e.URL != "", nil
}

// checkedURL is how the server keeps an address; empty if it does not take it. No scheme means http.
func checkedURL(raw string) string {
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https":
		if !strings.Contains(u.Hostname(), ".") && !strings.Contains(u.Hostname(), ":") {
			return ""
		}
		u.Host = strings.ToLower(u.Host)
		if u.Path == "" {
			u.Path = "/"
		}
	case "tg", "ton", "tonsite":
	default:
		return ""
	}
	return u.String()
}

// reference reads &lt; &gt; &amp; &quot; &#N; or &#xN; — the semicolon may be missing. Anything else is plain text.
func reference(s string) (r rune, size int) {
	body := s[1:]
	if !strings.HasPrefix(body, "#") {
		n := span(body, letter)
		r = map[string]rune{"lt": '<', "gt": '>', "amp": '&', "quot": '"'}[body[:n]]
		size = 1 + n
	} else {
		digits, base, skip := body[1:], 10, 2
		is := digit
		if strings.HasPrefix(digits, "x") {
			digits, base, skip, is = digits[1:], 16, 3, hexDigit
		}
		n := span(digits, is)
		v, err := strconv.ParseUint(digits[:n], base, 32)
		size = skip + n
		if err != nil || v >= 0x10ffff || size >= 10 {
			return 0, 0
		}
		r = rune(v)
	}
	if r == 0 {
		return 0, 0
	}
	if strings.HasPrefix(s[size:], ";") {
		size++
	}
	return r, size
}

// until reads up to the first byte that stops it, or the end.
func (p *parser) until(stop func(byte) bool) string {
	from := p.at
	for p.peek(p.at) != 0 && !stop(p.in[p.at]) {
		p.at++
	}
	return p.in[from:p.at]
}

func (p *parser) spaces() {
	for p.peek(p.at) != 0 && space(p.in[p.at]) {
		p.at++
	}
}

// span is the length of the prefix of bytes that is holds for.
func span(s string, is func(byte) bool) int {
	n := 0
	for n < len(s) && is(s[n]) {
		n++
	}
	return n
}

func space(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == 0
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func hexDigit(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
