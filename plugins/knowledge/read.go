package knowledge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
)

// reader reads documents again when they change. Only the plugin's work uses it.
type reader struct {
	stamp  string
	texts  map[[sha256.Size]byte]string // of the files that are more than text, as they were read last
	warned map[string]bool
}

// refresh reads the documents if there is something new. The texts of files that need a parser are remembered by their
// content, so that a change of one file does not have all others parsed again. Each warning is logged once.
func (k *knowledge) refresh(ctx context.Context) {
	stamp := k.stamp()
	if stamp == k.reader.stamp {
		return
	}
	texts, was := map[[sha256.Size]byte]string{}, k.reader.texts
	documents, warnings := k.files(func(data []byte) (string, error) {
		sum := sha256.Sum256(data)
		text, known := was[sum]
		if !known {
			var err error
			if text, err = k.extract(ctx, data); err != nil {
				return "", err
			}
		}
		texts[sum] = text
		return text, nil
	})
	// The program ends, so parsers were interrupted. Their results must not replace the library.
	if ctx.Err() != nil {
		return
	}
	warned := map[string]bool{}
	for _, w := range warnings {
		if !k.reader.warned[w] {
			k.Log.Warn("a part of the knowledge can't be used", "what", w)
		}
		warned[w] = true
	}
	k.reader = reader{stamp, texts, warned}
	// Vectors of texts that stay are taken over, so that nothing is embedded again.
	documents = append(documents, k.sites.documents()...)
	old, next := k.library(), newLibrary(documents, k.Log)
	k.now.Store(next.with(old.known()))
	k.Log.Info("knowledge read", "documents", len(documents), "pieces", len(next.pieces))
}

// stamp changes when there is something new to read; "" if nothing can change.
func (k *knowledge) stamp() (stamp string) {
	if k.Read != nil && k.Stamp != nil {
		stamp = k.Stamp()
	}
	if k.sites.version > 0 {
		stamp += fmt.Sprintf("\x00%d", k.sites.version)
	}
	return stamp
}

// files returns the documents without those of sites.
func (k *knowledge) files(extract func(data []byte) (string, error)) ([]Document, []string) {
	if k.Read == nil {
		return k.Documents, nil
	}
	return k.Read(extract)
}

// extract returns the text of a file that is more than text. Its errors are for the log, and contain nothing of the
// file.
func (k *knowledge) extract(ctx context.Context, data []byte) (string, error) {
	if k.Extract == nil {
		return "", errors.New("this program reads plain text only")
	}
	text, err := k.Extract(ctx, data)
	switch {
	case err != nil:
		return "", errors.New("it is damaged or too large to be read")
	case text == "":
		return "", errors.New("it has no text")
	}
	return text, nil
}
