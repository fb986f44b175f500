package terminal

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

// File is a file of an answer: a terminal shows its name, and at the end its URL.
type File struct {
	Name string `json:"name"` // empty for images
	Type string `json:"type"` // MIME type; empty if unknown
	Size int64  `json:"size"` // bytes; not positive if unknown
	URL  string `json:"url"`
}

// Picture returns the description of an image at a path of the gateway, without loading the image. Frames name only the
// path, so its type and size come from a HEAD request. It fails if the gateway can't be reached or has no such image.
func (c *Client) Picture(ctx context.Context, address string) (File, error) {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	f := File{URL: c.absolute(address)}
	resp, err := c.do(ctx, http.MethodHead, "/"+address, nil)
	if err != nil {
		return f, fmt.Errorf("find an image: %w", err)
	}
	f.Type, f.Size = resp.Header.Get("Content-Type"), resp.ContentLength
	return f, resp.Body.Close()
}

// absolute returns the URL of a path that the gateway has named.
func (c *Client) absolute(address string) string { return c.base + "/" + address }

// files returns the files of an answer that has ended, images first. An image is listed even if its lookup fails.
func (c *Client) files(ctx context.Context, end *Frame) (all []File) {
	for _, address := range end.Images {
		f, err := c.Picture(ctx, address)
		if err != nil {
			f.Type, f.Size = "", 0
		}
		all = append(all, f)
	}
	for _, f := range end.Files {
		f.URL = c.absolute(f.URL)
		all = append(all, f)
	}
	return all
}

// brought returns the files of a call's frame, without their content, which can be large and can't be shown.
func (f Frame) brought() (all []File) {
	for _, data := range f.Images {
		all = append(all, pictureIn(data))
	}
	for _, file := range f.Files {
		file.URL = ""
		all = append(all, file)
	}
	return all
}

// pictureIn returns the description of an image from its data: URL; a path contains none.
func pictureIn(url string) File {
	if !strings.HasPrefix(url, "data:") {
		return File{Type: "image/*"}
	}
	kind, data, _ := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	return File{Type: kind, Size: int64(base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "="))))}
}

// label names the nth file, in one line.
func (f File) label(n int) string {
	kind, picture := strings.CutPrefix(f.Type, "image/")
	switch {
	case f.Name != "":
		return oneLine(f.Name + f.about(""))
	case picture && f.Size > 0:
		return oneLine(fmt.Sprintf("picture-%d.%s%s", n+1, kind, f.about(f.Type+", ")))
	case picture || f.Type == "":
		return fmt.Sprintf("picture-%d", n+1)
	}
	return oneLine(fmt.Sprintf("file-%d%s", n+1, f.about(f.Type+", ")))
}

// about returns more and the size, in parentheses.
func (f File) about(more string) string {
	switch {
	case f.Size <= 0:
		return ""
	case f.Size < 1000:
		return fmt.Sprintf(" (%s%d bytes)", more, f.Size)
	}
	return fmt.Sprintf(" (%s%d kB)", more, (f.Size+500)/1000)
}

// link makes a row a hyperlink, on terminals that support it (OSC 8). Others ignore the sequence. address must be free
// of control characters.
func (l *look) link(row, address string) string {
	if !l.color {
		return row
	}
	return "\x1b]8;;" + address + "\x1b\\" + row + "\x1b]8;;\x1b\\"
}

const fileSign = "▣ "

// files returns a line for each file, with its URL below.
func (l *look) files(all []File) (rows []string) {
	for n, f := range all {
		address := oneLine(f.URL)
		for _, line := range []string{fileSign + f.label(n), address} {
			for _, row := range fold(line, l.width) {
				rows = append(rows, l.link(row, address))
			}
		}
	}
	return rows
}

// names returns a line for each current file of a call.
func (l *look) names(all []File) (rows []string) {
	for n, f := range all {
		rows = append(rows, cut(fileSign+f.label(n), l.width))
	}
	return rows
}
