package document

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// reader is a test binary without the race detector, which needs more addresses than the process that reads may have.
var reader string

// TestMain lets the test binary be the process that reads.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "read" {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "pdftext")
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

// document is a PDF of these objects, the first of which is its catalog.
func document(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, xref)
	return b.Bytes()
}

// page is a document of one page with that content.
func page(content, filter string) []byte {
	return document(
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(content), filter, content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	)
}

func deflated(text string) string {
	var b bytes.Buffer
	w, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed) // a known level: never fails
	_, _ = w.Write([]byte(text))                    // into a buffer: never fails
	_ = w.Close()
	return b.String()
}

func TestText(t *testing.T) {
	const content = "BT /F1 12 Tf (Buy tea.) Tj ET"
	read := Command(reader, "read")
	for name, doc := range map[string][]byte{"plain": page(content, ""), "packed": page(deflated(content), "/Filter /FlateDecode")} {
		text, err := read(t.Context(), doc)
		if err != nil || strings.TrimSpace(text) != "Buy tea." {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// A large document needs more memory than a process begins with.
func TestLarge(t *testing.T) {
	read := Command(reader, "read")
	const lines = 100_000
	prose := page(deflated("BT /F1 12 Tf "+strings.Repeat("(Buy tea and milk.) Tj ", lines/2)+"ET"), "/Filter /FlateDecode")
	html := []byte("<!DOCTYPE html>" + strings.Repeat("<p>hello", lines))
	for name, doc := range map[string][]byte{"PDF": prose, "HTML": html} {
		if text, err := read(t.Context(), doc); err != nil || len(text) < lines*6 {
			t.Errorf("%s: %d bytes of text, %v", name, len(text), err)
		}
	}
}

// What is damaged, and what is made to do harm, is an error in good time, and nothing happens to this process (SE-04).
func TestHarm(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes seconds")
	}
	read := Command(reader, "read")
	whole := page("BT (x) Tj ET", "")
	bomb := "BT " + strings.Repeat("("+strings.Repeat("a", 1<<10)+") Tj ", 1<<16) + "ET" // 64 MB
	for name, doc := range map[string][]byte{
		"nothing":             {},
		"no PDF":              []byte("%PDF-hello"),
		"no archive":          []byte("PKhello"),
		"half":                whole[:len(whole)/2],
		"no pages":            document("<< /Type /Catalog >>"),
		"pages of themselves": document("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 9 >>"),
		"many pages":          document("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 999999999999 >>"),
		"a bomb":              page(deflated(bomb), "/Filter /FlateDecode"),
		"a packed letter":     packedBomb(t),
		"a deep page":         []byte("<!DOCTYPE html>" + strings.Repeat("<div><b>", 200_000)),
		"a wide table":        page(deflated("x"), "/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 99999999999 >>"),
	} {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // so that the test is short
		text, err := read(ctx, doc)
		cancel()
		if err == nil && strings.TrimSpace(text) != "" && name != "a bomb" { // the beginning of what is in a bomb is harmless
			t.Errorf("%s: %d bytes of text", name, len(text))
		}
		t.Logf("%s: %v after %v", name, err, time.Since(start).Round(time.Millisecond))
	}
}

// packedBomb is a letter of 80 MB of blanks in few bytes.
func packedBomb(t *testing.T) []byte {
	return archive(t, "word/document.xml", "<w:t>"+strings.Repeat(" ", 80<<20)+"</w:t>")
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Command(reader, "read")(ctx, page("BT ET", "")); err == nil {
		t.Error("it was read")
	}
}

// The process that reads knows no keys.
func TestNoEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	text, err := Command("/usr/bin/env")(t.Context(), nil)
	if err != nil {
		t.Skipf("no env program here: %v", err)
	}
	if text != "" {
		t.Errorf("it knows %q", text)
	}
}
