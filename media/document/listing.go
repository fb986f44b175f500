package document

import (
	"archive/zip"
	"fmt"
	"strings"

	"parley/internal/encoding"
)

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

// size returns a number of bytes for people.
func size(n uint64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}
