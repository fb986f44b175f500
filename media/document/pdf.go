package document

import (
	"bytes"
	"fmt"

	"github.com/ledongthuc/pdf"
)

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
