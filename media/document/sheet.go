package document

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/xuri/excelize/v2"
)

const maxRows = 5_000 // of one sheet

// sheetsText returns the text of a workbook: each sheet is a table, with values as they are displayed.
func sheetsText(document []byte) (_ string, err error) {
	book, err := excelize.OpenReader(bytes.NewReader(document), excelize.Options{UnzipSizeLimit: 2 * maxPart, UnzipXMLSizeLimit: maxPart})
	if err != nil {
		return "", fmt.Errorf("open the workbook: %w", err)
	}
	defer book.Close()
	var out strings.Builder
	for _, name := range book.GetSheetList() {
		fmt.Fprintf(&out, "## %s\n", name)
		if err := sheetText(&out, book, name); err != nil {
			return "", fmt.Errorf("read sheet %q: %w", name, err)
		}
		if out.Len() > maxText {
			break
		}
	}
	return out.String(), nil
}

// sheetText writes the rows of a sheet that are not empty.
func sheetText(out *strings.Builder, book *excelize.File, name string) error {
	rows, err := book.Rows(name)
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 0; n < maxRows && out.Len() < maxText && rows.Next(); n++ {
		cells, err := rows.Columns()
		if err != nil {
			return err
		}
		for i, c := range cells {
			cells[i] = strings.Join(strings.Fields(c), " ")
		}
		if line := strings.TrimRight(strings.Join(cells, " | "), " |"); line != "" {
			out.WriteString(line + "\n")
		}
	}
	return rows.Error()
}
