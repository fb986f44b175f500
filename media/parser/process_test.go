package parser

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/internal/require"
	"parley/media/document/documenttest"
)

// reader is a test binary without the race detector, which needs more addresses than the process that reads may have.
var reader string

// TestMain lets the test binary be the process that reads, and others.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "read":
			if err := Serve(os.Stdin, os.Stdout); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "litter": // leaves a file, and does not end
			litter()
			select {}
		case "parent": // starts a reader that does not end
			own, _ := newFolder()
			orphan := exec.Command(os.Args[0], "orphan")
			orphan.Dir, orphan.Env, orphan.Stdout = own.path, []string{"TMPDIR=" + own.path}, os.Stdout
			_ = orphan.Run()
		case "orphan":
			endWithParent()
			litter()
			fmt.Println("ready")
			select {}
		}
	}
	dir, err := os.MkdirTemp("", "parser")
	if err != nil {
		panic(err)
	}
	reader = filepath.Join(dir, "reader")
	if out, err := exec.Command("go", "test", "-c", "-o", reader, ".").CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func litter() { _ = os.WriteFile(filepath.Join(os.TempDir(), "litter"), make([]byte, 1<<20), 0o600) }

// isolated returns a Process whose temporary folder is this test's, and a function that fails if anything is left there.
func isolated(t *testing.T, args ...string) (*Process, func()) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return Command(reader, args...), func() {
		t.Helper()
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the temporary folder: %v, %v; want none", left, err)
		}
	}
}

// archive is a ZIP archive of one file.
func archive(t *testing.T, name, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJobs(t *testing.T) {
	p, clean := isolated(t, "read")
	if text, err := p.Text(t.Context(), documenttest.Page("BT /F1 12 Tf (Buy tea.) Tj ET", "")); err != nil || strings.TrimSpace(text) != "Buy tea." {
		t.Errorf("%q, %v", text, err)
	}
	title, body, err := p.Page(t.Context(), []byte("<title>\xde\xc1\xca</title><p>tea<p>milk"), "text/html;\ncharset=koi8-r")
	if title != "чай" || body != "tea\nmilk" || err != nil {
		t.Errorf(`%q, %q, %v; want "чай" and "tea\nmilk"`, title, body, err)
	}
	small, err := p.Thumbnail(t.Context(), white(t, 1000, 10))
	if err != nil || !bytes.HasPrefix(small, []byte("\xff\xd8")) {
		t.Errorf("%q, %v", small, err)
	}
	if small, err := p.Thumbnail(t.Context(), []byte("no image")); err == nil {
		t.Errorf("%q", small)
	}
	if text, err := p.run(t.Context(), job{kind: "unknown"}, nil); err == nil {
		t.Errorf("%q", text)
	}
	clean()
}

func white(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewPaletted(image.Rect(0, 0, width, height), []color.Color{color.White})))
	return b.Bytes()
}

// A large document needs more memory than a process begins with.
func TestLargeDocumentGetsMemory(t *testing.T) {
	p, clean := isolated(t, "read")
	const lines = 100_000
	prose := documenttest.Page(documenttest.Deflated("BT /F1 12 Tf "+strings.Repeat("(Buy tea and milk.) Tj ", lines/2)+"ET"), "/Filter /FlateDecode")
	html := []byte("<!DOCTYPE html>" + strings.Repeat("<p>hello", lines))
	for name, doc := range map[string][]byte{"PDF": prose, "HTML": html} {
		if text, err := p.Text(t.Context(), doc); err != nil || len(text) < lines*6 {
			t.Errorf("%s: %d bytes of text, %v", name, len(text), err)
		}
	}
	clean()
}

// Damaged files and malicious files cause an error in good time, and this process is unaffected (SE-04).
func TestHarmfulFilesAreErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes seconds")
	}
	p, clean := isolated(t, "read")
	whole := documenttest.Page("BT (x) Tj ET", "")
	bomb := "BT " + strings.Repeat("("+strings.Repeat("a", 1<<10)+") Tj ", 1<<16) + "ET" // 64 MB
	for name, doc := range map[string][]byte{
		"nothing":             {},
		"no PDF":              []byte("%PDF-hello"),
		"no archive":          []byte("PKhello"),
		"half":                whole[:len(whole)/2],
		"no pages":            documenttest.PDF("<< /Type /Catalog >>"),
		"pages of themselves": documenttest.PDF("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 9 >>"),
		"many pages":          documenttest.PDF("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 999999999999 >>"),
		"a bomb":              documenttest.Page(documenttest.Deflated(bomb), "/Filter /FlateDecode"),
		"a packed letter":     archive(t, "word/document.xml", "<w:t>"+strings.Repeat(" ", 80<<20)+"</w:t>"),
		"a deep page":         []byte("<!DOCTYPE html>" + strings.Repeat("<div><b>", 200_000)),
		"a wide table":        documenttest.Page(documenttest.Deflated("x"), "/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 99999999999 >>"),
	} {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // so that the test is short
		text, err := p.Text(ctx, doc)
		cancel()
		if err == nil && strings.TrimSpace(text) != "" && name != "a bomb" { // the beginning of a bomb's content is harmless
			t.Errorf("%s: %d bytes of text", name, len(text))
		}
		t.Logf("%s: %v after %v", name, err, time.Since(start).Round(time.Millisecond))
	}
	clean()
}

// Attributes of the body in many tags take quadratic time. The call's deadline ends that (SE-22).
func TestSlowPage(t *testing.T) {
	p, clean := isolated(t, "read")
	var page strings.Builder
	for n := 0; page.Len() < 4<<20; n++ {
		fmt.Fprintf(&page, "<body a%d=1>", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if title, body, err := p.Page(ctx, []byte(page.String()), "text/html"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%q, %d bytes, %v", title, len(body), err)
	}
	clean()
}

// Large images are decoded elsewhere, so they take none of this process's memory.
func TestThumbnailsTakeNoMemory(t *testing.T) {
	p, clean := isolated(t, "read")
	big := white(t, 5000, 5000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 2 {
		if small, err := p.Thumbnail(t.Context(), big); err != nil || len(small) == 0 {
			t.Errorf("%d bytes, %v", len(small), err)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
		t.Errorf("it took %d bytes", took)
	}
	clean()
}

// Temporary files are removed, also if the process was killed.
func TestKilledReaderLeavesNothing(t *testing.T) {
	p, clean := isolated(t, "litter")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stopped := errors.New("stopped")
	go func() {
		for ctx.Err() == nil {
			if left, _ := filepath.Glob(filepath.Join(os.TempDir(), folderName+"*", "litter")); len(left) > 0 {
				cancel(stopped)
			}
			runtime.Gosched()
		}
	}()
	if text, err := p.Text(ctx, nil); !errors.Is(err, stopped) {
		t.Errorf("%q, %v", text, err)
	}
	clean()
}

// A reader whose parent was killed ends, and removes its files.
func TestOrphanedReaderEnds(t *testing.T) {
	_, clean := isolated(t)
	parent := exec.Command(reader, "parent")
	out, err := parent.StdoutPipe()
	if err == nil {
		err = parent.Start()
	}
	require.NoError(t, err)
	ready := make([]byte, len("ready\n"))
	_, err = io.ReadFull(out, ready)
	if err = errors.Join(err, parent.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(out); err != nil { // until the orphan has ended
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	clean()
}

// A start removes the folders that killed gateways left, and not those in use.
func TestStartSweeps(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	used := require.Value(newFolder())(t)
	left, err := newFolder()
	if err = errors.Join(err, os.WriteFile(filepath.Join(left.path, "a"), nil, 0o600), left.lock.Close()); err != nil {
		t.Fatal(err)
	}
	Command(reader)
	if _, err := os.Stat(left.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was left: %v", err)
	}
	if _, err := os.Stat(used.path); err != nil {
		t.Errorf("what is in use: %v", err)
	}
	used.remove()
}

// No more processes run at a time than are allowed, and what waits for one ends with its call.
func TestProcessesAreLimited(t *testing.T) {
	p, clean := isolated(t, "read")
	for range together {
		p.places <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := p.Text(ctx, []byte("<html>tea")); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "wait") {
		t.Error(err)
	}
	<-p.places
	if text, err := p.Text(t.Context(), []byte("<html>tea")); text != "tea" || err != nil {
		t.Errorf(`%q, %v; want "tea"`, text, err)
	}
	clean()
}

// The process that reads knows no keys.
func TestNoEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	text, err := Command("/usr/bin/env").Text(t.Context(), nil)
	if err != nil {
		t.Skipf("no env program here: %v", err)
	}
	for line := range strings.Lines(text) {
		if name, value, _ := strings.Cut(line, "="); !isFolder(strings.TrimSpace(value)) {
			t.Errorf("it knows %s", name)
		}
	}
}
