package document

import (
	"archive/zip"
	"bytes"
	"fmt"
	"parley/internal/require"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// archive is a ZIP archive of these files: names and contents by turns.
func archive(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

const letter = `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>
<w:p><w:pPr><w:pStyle w:val="Heading2"/><w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs></w:pPr><w:r><w:t>Shop</w:t></w:r><w:r><w:t xml:space="preserve">ping</w:t></w:r></w:p>
<w:p><w:r><w:t>Tea</w:t><w:tab/><w:t>2 &amp; more</w:t><w:br/><w:t>Milk</w:t></w:r><w:del><w:r><w:delText>Gin</w:delText></w:r></w:del></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>in</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>
<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:r><w:t>box</w:t></w:r></mc:Fallback></mc:AlternateContent>
</w:body></w:document>`

const report = `<?xml version="1.0"?><office:document-content><office:body><office:text>
<text:h text:outline-level="1">Report</text:h>
<text:p>One<text:tab/>two <text:span>three</text:span></text:p>
<table:table><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell><table:table-cell><text:p>y</text:p></table:table-cell></table:table-row></table:table>
</office:text></office:body></office:document-content>`

func workbook(t *testing.T) []byte {
	t.Helper()
	book := excelize.NewFile()
	date := require.Value(book.NewStyle(&excelize.Style{NumFmt: 14}))(t)
	for cell, v := range map[string]any{"A1": "What", "B1": "When", "C1": "Price", "A2": "Tea\nleaves", "B2": 45000, "C2": 2.5, "A4": "Milk"} {
		require.NoError(t, book.SetCellValue("Sheet1", cell, v))
	}
	require.NoError(t, book.SetCellStyle("Sheet1", "B2", "B2", date))
	b := require.Value(book.WriteToBuffer())(t)
	return b.Bytes()
}

func TestFormats(t *testing.T) {
	slide := func(text string) string {
		return "<p:sld><a:p><a:r><a:t>" + text + "</a:t></a:r><a:br/><a:r><a:t>!</a:t></a:r></a:p></p:sld>"
	}
	for name, c := range map[string]struct {
		document []byte
		want     string
	}{
		"Word":         {archive(t, "word/document.xml", letter), "## Shopping\nTea\t2 & more\nMilk\na | b in \nbox\n"},
		"OpenDocument": {archive(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", report), "# Report\nOne\ttwo three\nx | y \n"},
		"PowerPoint": {
			archive(t, "ppt/presentation.xml", "", "ppt/slides/slide1.xml", slide("Hello"), "ppt/slides/slide2.xml", slide("Bye")),
			"## Slide 1\nHello\n!\n\n## Slide 2\nBye\n!\n\n",
		},
		"Excel":   {workbook(t), "## Sheet1\nWhat | When | Price\nTea leaves | 03-15-23 | 2.5\nMilk\n"},
		"archive": {archive(t, "src/", "", "src/a\n.go", "package a", "b.bin", strings.Repeat("x", 3000)), "ZIP archive. Only its list of files is read.\n- src/a .go (9 bytes)\n- b.bin (2 KB)\n"},
		"HTML": {
			[]byte("<!DOCTYPE html><title>t</title><script>steal()</script><nav><a href=/>Home</a></nav><h1>News</h1><p>It <b>rains</b>.</p><ul><li>a<li>b</ul><table><tr><th>k<th>v<tr><td>1<td>2</table><footer>Imprint</footer>"),
			"# News\n\nIt **rains**.\n\n- a\n- b\n\n| k | v |\n|---|---|\n| 1 | 2 |",
		},
	} {
		got, err := Text(c.document)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

// Names in archives of older systems don't state their encoding.
func TestOldNames(t *testing.T) {
	for name, c := range map[string]struct {
		encoding.Encoding
		file, want string
	}{
		"Russian":  {charmap.CodePage866, "Отчёт за год.txt", "Отчёт за год.txt"},
		"Chinese":  {simplifiedchinese.GBK, "会议记录和报告.docx", "会议记录和报告.docx"},
		"Japanese": {japanese.ShiftJIS, "報告書のコピー.txt", "報告書のコピー.txt"},
		"German":   {charmap.CodePage437, "Größe.txt", "Größe.txt"},
	} {
		raw := require.Value(c.NewEncoder().String(c.file))(t)
		got, err := Text(archive(t, raw, "", "plain.txt", ""))
		if err != nil || !strings.Contains(got, c.want) || !strings.Contains(got, "- plain.txt (") || strings.Contains(got, "encoding") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	const garbage = "\x9b\xa3\xbb\xd2\xe7\xf5\x83\x99\x99\x87\xef\xd3\x99\x9f\x81\x8d\xae\xe8\xa8\xf8\xf1\xad\xdf\xd2\xa3\xb6\xf8\xef\xa2\x80"
	got, err := Text(archive(t, garbage, "", "plain.txt", ""))
	if err != nil || !strings.Contains(got, "�") || !strings.Contains(got, "- plain.txt (") || !strings.Contains(got, "The encoding of some names is unknown.") {
		t.Errorf("%q, %v", got, err)
	}
}

// An archive of many files is listed in part.
func TestLongListing(t *testing.T) {
	var files []string
	for i := range maxListed + 3 {
		files = append(files, fmt.Sprint(i), "")
	}
	got, err := Text(archive(t, files...))
	if err != nil || strings.Count(got, "\n- ") != maxListed || !strings.HasSuffix(got, "and 3 more files\n") {
		t.Errorf("%v, %s", err, got)
	}
}

// Whatever the bytes are, reading them ends without a panic and with text that can be stored.
func FuzzText(f *testing.F) {
	f.Add(archive(f, "word/document.xml", letter))
	f.Add(archive(f, "mimetype", "", "content.xml", report))
	f.Add([]byte("<html><table><tr><td>"))
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, document []byte) {
		if bytes.HasPrefix(document, []byte("%PDF-")) {
			t.Skip("its parser needs a process of its own")
		}
		if text, _ := Text(document); len(text) > maxText || strings.ToValidUTF8(text, "") != text {
			t.Errorf("%q", text)
		}
	})
}
