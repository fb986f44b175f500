package document

import (
	"archive/zip"
	"fmt"
	"strings"
)

const maxListed = 500 // files of an archive

// listing lists the files of an archive. They are not read, as they can be anything.
func listing(z *zip.Reader) string {
	var out strings.Builder
	fmt.Fprintf(&out, "ZIP archive. Only its list of files is read.\n")
	shown := 0
	for _, f := range z.File {
		if f.FileInfo().IsDir() {
			continue
		}
		if shown++; shown > maxListed {
			continue
		}
		fmt.Fprintf(&out, "- %s (%s)\n", strings.Join(strings.Fields(f.Name), " "), size(f.UncompressedSize64))
	}
	if shown > maxListed {
		fmt.Fprintf(&out, "and %d more files\n", shown-maxListed)
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
