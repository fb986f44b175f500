package web

import (
	"errors"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/web/aisdk"
	"parley/connectors/web/deepchat"
	"parley/connectors/web/dialect"
	"parley/core/answer"
)

// counting counts the states that are encoded.
type counting struct {
	*aisdk.Encoder
	times *atomic.Int64
}

func (c counting) Encode(b []byte, s dialect.State) []byte {
	c.times.Add(1)
	return c.Encoder.Encode(b, s)
}

// Two readers of an answer in deep-chat share a stream, one who has a part of it already does not.
func TestDeepChatIsEncodedOnce(t *testing.T) {
	var bs broadcasts
	first := bs.join("r", &listening{encoder: &deepchat.Encoder{}})
	if bs.join("r", &listening{encoder: &deepchat.Encoder{}}) != first || bs.join("r", &listening{encoder: &deepchat.Encoder{}, skips: true}) == first {
		t.Error("the wrong readers share a stream")
	}
}

// A thousand readers of one answer, some of which come later or leave, encode each state once, and all read the same. When all have left,
// nothing is held. An answer that another process continues is one stream too.
func TestStateIsEncodedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bs broadcasts
		var times atomic.Int64
		var readers sync.WaitGroup
		first, second := &answer.Answer{}, &answer.Answer{}
		recorders := make([]*httptest.ResponseRecorder, 1000)
		for i := range recorders {
			recorders[i] = httptest.NewRecorder()
			readers.Go(func() {
				time.Sleep(time.Duration(i%4) * 10 * time.Millisecond)
				b := bs.join("r", &listening{encoder: counting{&aisdk.Encoder{MessageID: "m"}, &times}})
				defer bs.leave(b)
				out, p := newSSE(recorders[i], nil), place{starts: b.begun()}
				err := b.read(t.Context(), out, "r", first, &p)
				if i%100 == 7 {
					return
				}
				for errors.Is(err, answer.ErrLost) {
					p.starts = b.restart(p.starts)
					err = b.read(t.Context(), out, "r", second, &p)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		for range 10 {
			time.Sleep(pace)
			first.Apply(answer.Change{Kind: answer.Text, Text: "word "})
			synctest.Wait()
		}
		time.Sleep(pace)
		second.Apply(answer.Change{Kind: answer.Text, Text: "word word "})
		first.Abandon()
		synctest.Wait()
		time.Sleep(pace)
		second.Apply(answer.Change{Kind: answer.Text, Text: "word word word word word word word word word!"})
		second.End(answer.Outcome{Status: answer.Completed})
		readers.Wait()
		if n := times.Load(); n > 14 {
			t.Errorf("%d states were encoded for 13 changes", n)
		}
		whole := recorders[0].Body.String()
		for i, r := range recorders {
			if got := r.Body.String(); got != whole && i%100 != 7 {
				t.Fatalf("reader %d has\n%s\nwant\n%s", i, got, whole)
			}
		}
		text := ""
		for _, delta := range regexp.MustCompile(`"delta":"([^"]*)"`).FindAllStringSubmatch(whole, -1) {
			text += delta[1]
		}
		if want := strings.Repeat("word ", 10) + "word!"; text != want {
			t.Errorf("the text is %q, want %q", text, want)
		}
		if len(bs.by) != 0 {
			t.Errorf("%d streams are held", len(bs.by))
		}
	})
}
