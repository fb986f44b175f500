package document

import (
	"strings"
	"testing"

	"parley/media/document/documenttest"
)

func TestPDF(t *testing.T) {
	const content = "BT /F1 12 Tf (Buy tea.) Tj ET"
	for name, doc := range map[string][]byte{"plain": documenttest.Page(content, ""), "packed": documenttest.Page(documenttest.Deflated(content), "/Filter /FlateDecode")} {
		if text, err := Text(doc); err != nil || strings.TrimSpace(text) != "Buy tea." {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
