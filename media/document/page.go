package document

import (
	"bytes"
	"fmt"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"

	"parley/internal/encoding"
)

// pageText converts an HTML page to Markdown. Scripts and styles are dropped.
func pageText(document []byte) (string, error) {
	toMarkdown := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	text, err := toMarkdown.ConvertReader(bytes.NewReader(encoding.Page(document, "")))
	if err != nil {
		return "", fmt.Errorf("read the HTML page: %w", err)
	}
	return string(text), nil
}
