//go:build unix

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"parley/internal/require"
	"parley/models/modelfake"
)

// BenchmarkReaders is what the program itself has for each reader of one answer: the memory of one that waits, and the time of
// the CPU for each delta that it gets.
func BenchmarkReaders(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("SKIPPED: memory is read from /proc")
	}
	program := build(b)
	for name, join := range map[string]func(b *testing.B, base, conversation string) (net.Conn, *bufio.Reader){
		"sse": joinStream, "ws": joinSocket,
	} {
		for what, c := range map[string]struct {
			readers int
			pause   time.Duration // between two deltas
		}{"idle=10000": {10_000, time.Hour}, "streaming=1000": {1_000, 200 * time.Millisecond}} {
			b.Run(name+"/"+what, func(b *testing.B) {
				needFiles(b, uint64(c.readers)+1000)
				for b.Loop() {
					readers(b, program, c.readers, c.pause, join)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// readers starts the program, lets so many readers join one answer, and reports what they cost.
func readers(b *testing.B, program string, n int, pause time.Duration, join func(b *testing.B, base, conversation string) (net.Conn, *bufio.Reader)) {
	dir := b.TempDir()
	base := model(b, func(modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Text("One "), modelfake.Pace(pause), modelfake.Text(strings.Repeat("word ", 2000), modelfake.ByWord)}
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
		_ = process.Process.Signal(syscall.SIGKILL) // its answer would take minutes
		_ = process.Wait()
	}()
	web := visitor{client(b), s.base}
	id, err := web.open()
	require.NoError(b, err)
	web.http.CloseIdleConnections()
	time.Sleep(2 * time.Second)
	before := memory(b, process.Process.Pid)
	var joined, deltas atomic.Int64
	var conns sync.Map
	defer conns.Range(func(c, _ any) bool { return c.(net.Conn).Close() == nil })
	for i := range n {
		c, in := join(b, s.base, id)
		conns.Store(c, true)
		go func() {
			for first := true; ; {
				line, err := in.ReadSlice('\n')
				if bytes.Contains(line, []byte(`"type":"token"`)) {
					if deltas.Add(1); first {
						joined.Add(1)
						first = false
					}
				}
				if err != nil && err != bufio.ErrBufferFull {
					return
				}
			}
		}()
		if i == 0 {
			time.Sleep(time.Second) // the others find the conversation
		}
	}
	for begun := time.Now(); joined.Load() < int64(n); time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			b.Fatalf("%d readers have text", joined.Load())
		}
	}
	time.Sleep(2 * time.Second)
	cpu, had := used(b, process.Process.Pid), deltas.Load()
	time.Sleep(10 * time.Second)
	after := memory(b, process.Process.Pid)
	b.ReportMetric((after["RssAnon"]-before["RssAnon"])*1000/float64(n), "RssAnon-KB/reader")
	if got := deltas.Load() - had; got > 0 {
		b.ReportMetric(float64((used(b, process.Process.Pid)-cpu).Microseconds())/float64(got), "cpu-us/delta")
	}
}

// used is the time of the CPU that a process has used.
func used(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	require.NoError(b, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(b, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// joinStream joins the answer with a request of its own.
func joinStream(b *testing.B, base, conversation string) (net.Conn, *bufio.Reader) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(b, err)
	path, body := ownFormat(conversation)
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, strings.TrimPrefix(base, "http://"), len(body), body)
	require.NoError(b, err)
	return conn, bufio.NewReader(conn)
}

// joinSocket joins the answer over a WebSocket of its own.
func joinSocket(b *testing.B, base, conversation string) (net.Conn, *bufio.Reader) {
	c, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(base, "http")+"/api/socket", nil)
	require.NoError(b, err)
	_, body := ownFormat(conversation)
	require.NoError(b, c.WriteMessage(websocket.TextMessage, []byte(`{"request":"1","type":"send","conversation":"`+conversation+`",`+body[1:])))
	return c.NetConn(), bufio.NewReader(lines{c})
}

// lines reads the messages of a socket as lines.
type lines struct{ *websocket.Conn }

func (l lines) Read(p []byte) (int, error) {
	_, m, err := l.ReadMessage()
	return copy(p, append(m, '\n')), err
}
