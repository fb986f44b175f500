package access

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"parley/core/chat"
)

const (
	codeLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789" // 32 characters that are not mistaken for each other
	codeLength  = 8
	codeTime    = time.Hour // the validity of a user's code
	mostTries   = 5         // wrong codes of one person in a codeTime
	mostTriers  = 1000      // persons whose wrong codes are counted
)

func newCode() string {
	var b [codeLength]byte
	_, _ = rand.Read(b[:]) // never fails
	for i := range b {
		b[i] = codeLetters[int(b[i])%len(codeLetters)]
	}
	return string(b[:])
}

// ShownCode returns a code in the form for users.
func ShownCode(code string) string { return code[:codeLength/2] + "-" + code[codeLength/2:] }

// codeIn finds the code in text, with or without /pair before it, or /start, which links and QR codes
// make of it on some platforms; meant reports that the text can't be anything else.
func codeIn(text string) (code string, meant bool) {
	text = strings.ToUpper(strings.Trim(strings.TrimSpace(text), "`*"))
	rest, meant := strings.CutPrefix(strings.TrimPrefix(text, "/START "), "/PAIR")
	code = strings.ReplaceAll(strings.ReplaceAll(rest, "-", ""), " ", "") // this runs for every message: building a Replacer takes 6 KB
	if len(code) != codeLength || strings.Trim(code, codeLetters) != "" {
		return "", meant
	}
	return code, meant || len(rest) == codeLength+1 && rest[codeLength/2] == '-'
}

// tries counts wrong codes.
type tries struct {
	mu sync.Mutex
	by map[chat.EntityID]tried
}

type tried struct {
	n     int
	since time.Time
}

// allow reports whether id may try another code.
func (t *tries) allow(id chat.EntityID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for who, had := range t.by {
		if time.Since(had.since) >= codeTime {
			delete(t.by, who)
		}
	}
	return t.by[id].n < mostTries && len(t.by) < mostTriers
}

func (t *tries) failed(id chat.EntityID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	had, ok := t.by[id]
	if !ok {
		had.since = time.Now()
	}
	had.n++
	if t.by == nil {
		t.by = map[chat.EntityID]tried{}
	}
	t.by[id] = had
}
