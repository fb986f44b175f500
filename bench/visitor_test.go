package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// visitor is a client with an open web chat. It looks only at the kind of each frame, so that it costs little beside
// what is measured.
type visitor struct {
	http *http.Client
	base string // http://host:port
}

// reading is one answer as it came.
type reading struct {
	sent, began, first, done time.Time // the question went; the first byte, the first token, the end came
	tokens                   int       // frames
}

var errNoDone = errors.New("the stream ended without done")

// marks tell tokens and the end from the other lines of a stream.
type marks struct{ token, done []byte }

var webMarks = marks{[]byte(`data: {"type":"token"`), []byte(`data: {"type":"done"`)}

// open starts a conversation.
func (v visitor) open() (id string, err error) {
	resp, err := v.http.Post(v.base+"/api/conversations", "application/json", bytes.NewReader([]byte("{}")))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	var out struct{ Conversation struct{ ID string } }
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return "", err
	}
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is used again
	return out.Conversation.ID, nil
}

// ask sends text and reads the answer to its end.
func (v visitor) ask(conversation, text string) (r reading, err error) {
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return r, err
	}
	r.sent = time.Now()
	resp, err := v.http.Post(v.base+"/api/conversations/"+conversation+"/messages/stream", "application/json", bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		return r, fmt.Errorf("asking %q: %s: %s", text, resp.Status, body)
	}
	return r, r.follow(resp.Body, webMarks)
}

func (r *reading) follow(body io.Reader, m marks) error {
	lines := bufio.NewReader(body)
	if _, err := lines.Peek(1); err != nil {
		return err
	}
	r.began = time.Now()
	for fresh := true; ; {
		line, err := lines.ReadSlice('\n')
		switch {
		case !fresh: // more of a long line
		case bytes.Contains(line, m.token):
			if r.tokens++; r.tokens == 1 {
				r.first = time.Now()
			}
		case bytes.Contains(line, m.done):
			r.done = time.Now()
		}
		switch {
		case err == nil:
			fresh = true
		case errors.Is(err, bufio.ErrBufferFull):
			fresh = false
		case errors.Is(err, io.EOF) && !r.done.IsZero():
			return nil
		case errors.Is(err, io.EOF):
			return errNoDone
		default:
			return err
		}
	}
}
