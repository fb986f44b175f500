// Package document extracts the text of documents that need a parser: PDF, Word, PowerPoint, OpenDocument text, Excel
// and HTML; of a ZIP archive it lists the files.
//
// Such a document comes from strangers, and a small one can require any amount of memory and time, or exploit a parser.
// So all functions must only be called in the process of package parser, or in tests.
package document

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/ledongthuc/pdf"

	"parley/internal/encoding"
)

// Bounds of one document.
const (
	maxText = 1 << 20 // bytes of its text
	// maxPart limits the unpacked size of one part of an archive, in bytes.
	maxPart = 64 << 20
)

// Text extracts the text of a document, as Markdown if it has headings, lists or tables. Its format is recognized by
// its content. The text is valid UTF-8 of at most 1 MB; the rest is dropped. A panic of a parser is an error.
func Text(document []byte) (text string, err error) {
	defer func() {
		if p := recover(); p != nil { // parsers report damage by a panic
			err = fmt.Errorf("read the document: %v", p)
		}
	}()
	switch {
	case bytes.HasPrefix(document, []byte("%PDF-")):
		text, err = pdfText(document)
	case bytes.HasPrefix(document, []byte("PK")):
		text, err = archiveText(document)
	default:
		text, err = pageText(document)
	}
	return strings.ToValidUTF8(text[:min(len(text), maxText)], ""), err
}

// archiveText reads the formats that are ZIP archives, which the names of their files tell apart.
func archiveText(document []byte) (string, error) {
	z, err := zip.NewReader(bytes.NewReader(document), int64(len(document)))
	if err != nil {
		return "", fmt.Errorf("open the archive: %w", err)
	}
	names := make(map[string]bool, len(z.File))
	for _, f := range z.File {
		names[f.Name] = true
	}
	switch {
	case names["word/document.xml"]:
		return partText(z, "word/document.xml", word)
	case names["ppt/presentation.xml"]:
		return slidesText(z, names)
	case names["xl/workbook.xml"]:
		return sheetsText(document)
	case names["mimetype"] && names["content.xml"]:
		return partText(z, "content.xml", openDocument)
	}
	return listing(z), nil
}

// part opens a file of an archive. Its length is limited, as the archive can claim and contain any.
func part(z *zip.Reader, name string) (io.ReadCloser, error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s in the archive: %w", name, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(f, maxPart), f}, nil
}

// maxPages is the number of pages that are read.
const maxPages = 200

// pdfText reads the text of a PDF, page by page. Scanned pages have none.
func pdfText(document []byte) (string, error) {
	r, err := pdf.NewReader(bytes.NewReader(document), int64(len(document)))
	if err != nil {
		return "", fmt.Errorf("read the PDF: %w", err)
	}
	var b bytes.Buffer
	for n := 1; n <= min(r.NumPage(), maxPages) && b.Len() < maxText; n++ {
		page, err := r.Page(n).GetPlainText(nil)
		if err != nil {
			return "", fmt.Errorf("read page %d of the PDF: %w", n, err)
		}
		b.WriteString(page + "\n")
	}
	return b.String(), nil
}

const maxListed = 500 // files of an archive

// listing lists the files of an archive. They are not read, as they can be anything.
func listing(z *zip.Reader) string {
	var out strings.Builder
	fmt.Fprintf(&out, "ZIP archive. Only its list of files is read.\n")
	var files []*zip.File
	var raw []string
	for _, f := range z.File {
		if !f.FileInfo().IsDir() {
			files, raw = append(files, f), append(raw, f.Name)
		}
	}
	shown := min(len(files), maxListed)
	names, known := encoding.Names(raw[:shown])
	for i, f := range files[:shown] {
		fmt.Fprintf(&out, "- %s (%s)\n", strings.Join(strings.Fields(names[i]), " "), size(f.UncompressedSize64))
	}
	if len(files) > shown {
		fmt.Fprintf(&out, "and %d more files\n", len(files)-shown)
	}
	if !known {
		fmt.Fprintf(&out, "The encoding of some names is unknown.\n")
	}
	return out.String()
}

// size returns a number of bytes as readable text.
func size(n uint64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}
