// Package document extracts the text of documents that are more than text: PDF, Word, PowerPoint, OpenDocument text, Excel and
// HTML; of a ZIP archive it lists the files. Because a small file can require any amount of memory and time, it is read in
// a separate process with limits on both, without the environment: see [Command] and [Serve].
package document

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
)

const (
	maxDocument = 32 << 20 // bytes
	maxText     = 1 << 20  // bytes
	// maxPart limits how much of one part of an archive is unpacked, in bytes.
	maxPart = 64 << 20
)

// Text extracts the text of a document, as Markdown where it has headings, lists or tables. Its format is recognized by
// its content. The text is valid UTF-8 of at most 1 MB; the rest is dropped. It should run in a separate process.
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

// archiveText reads the formats that are ZIP archives.
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

// part returns the content of a file of an archive.
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
