//go:build unix

package bench

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/internal/require"
	"parley/models/modelfake"
)

// BenchmarkMemory is the memory of the program itself for each reader of one answer, and for each answer that is being
// written and has one reader. The answers are a token each second.
func BenchmarkMemory(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("SKIPPED: memory is read from /proc")
	}
	const streams = 1000
	program := build(b)
	for name, c := range map[string]struct {
		conversations int
		ask           func(conversation string) (path, body string)
	}{
		"readers":       {1, ownFormat},
		"answers":       {streams, ownFormat},
		"aisdk-readers": {1, aisdkFormat},
		"aisdk-answers": {streams, aisdkFormat},
	} {
		b.Run(name, func(b *testing.B) {
			needFiles(b, 4*streams)
			for b.Loop() {
				before, after := memoryOf(b, program, streams, c.conversations, c.ask)
				for _, what := range []string{"RssAnon", "VmRSS"} {
					b.ReportMetric((after[what]-before[what])*1000/streams, what+"-KB/stream")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// ownFormat and aisdkFormat return a question in a conversation, which always is the same one.
func ownFormat(conversation string) (path, body string) {
	return "/api/conversations/" + conversation + "/messages/stream", `{"text":"What is new?","clientMessageId":"1"}`
}

func aisdkFormat(conversation string) (path, body string) {
	return "/api/chat", `{"id":"` + conversation + `","message":{"id":"1","role":"user","parts":[{"type":"text","text":"What is new?"}]}}`
}

// memoryOf starts the program and returns what it has idle, and with so many streams of the answers of conversations.
func memoryOf(b *testing.B, program string, streams, conversations int, ask func(string) (path, body string)) (before, after map[string]float64) {
	dir, over := b.TempDir(), make(chan struct{})
	base := model(b, func(modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Pace(time.Second), modelfake.Text(strings.Repeat("word ", 200), modelfake.ByWord)}
	})
	settings := fmt.Sprintf(`providers: {openai: {base_url: %q, api_key: none}}
models: {large: {model: %q}}
web: {limits: {messages_per_minute: 0, conversations_per_hour: 0, open_requests: 0}}
limits: {parallel: 0}
`, base+"/v1", modelfake.DefaultModel)
	require.NoError(b, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(settings), 0o600))
	var s start
	process := launch(b, program, dir, &s)
	defer func() {
		close(over)
		_ = process.Process.Signal(syscall.SIGKILL) // its answers would take minutes
		_ = process.Wait()
	}()
	web := visitor{client(b), s.base}
	ids := make([]string, conversations)
	for i := range ids {
		var err error
		if ids[i], err = web.open(); err != nil {
			b.Fatal(err)
		}
	}
	web.http.CloseIdleConnections()
	time.Sleep(2 * time.Second)
	before = memory(b, process.Process.Pid)
	var reading atomic.Int64
	for i := range streams {
		path, body := ask(ids[i%conversations])
		attach(b, s.base, path, body, over, &reading)
		if i == 0 {
			time.Sleep(time.Second) // the others find the conversation
		}
	}
	for begun := time.Now(); reading.Load() < int64(streams); time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			b.Fatalf("%d streams have text", reading.Load())
		}
	}
	time.Sleep(5 * time.Second)
	return before, memory(b, process.Process.Pid)
}

// attach asks the same question, over a connection of its own, and reads its answer until all is over. It counts itself
// when it has text.
func attach(b *testing.B, base, path, body string, over <-chan struct{}, reading *atomic.Int64) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(b, err)
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, strings.TrimPrefix(base, "http://"), len(body), body)
	require.NoError(b, err)
	go func() {
		<-over
		_ = conn.Close()
	}()
	go func() {
		lines := bufio.NewScanner(conn)
		for counted := false; lines.Scan(); {
			if !counted && (strings.HasPrefix(lines.Text(), string(webMarks.token)) || strings.Contains(lines.Text(), "text-delta")) {
				reading.Add(1)
				counted = true
			}
		}
	}()
}
