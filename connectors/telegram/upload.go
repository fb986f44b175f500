package telegram

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // what a photo may be
	_ "image/png"
	"net/http"

	"parley/progressive"
)

// How large files may be, in bytes, and photos in pixels, as the Bot API's reference says ("Sending files", sendPhoto).
const (
	mostFile  = 50e6
	mostPhoto = 10e6
	mostSides = 10_000 // width and height together
	mostRatio = 20
)

// carrier is the method that sends f, and the name of its field: what is no photo for Telegram is a document.
func carrier(f progressive.File) (method, field string) {
	if c, _, err := image.DecodeConfig(bytes.NewReader(f.Data)); err == nil && len(f.Data) <= mostPhoto &&
		c.Width+c.Height <= mostSides && max(c.Width, c.Height) <= mostRatio*min(c.Width, c.Height) {
		return "sendPhoto", "photo"
	}
	return "sendDocument", "document"
}

// judgeFile makes what is refused for good a file that is not taken: it may be no more than files that are refused here,
// and the words instead find out.
func judgeFile(err error) error {
	r := (*refusal)(nil)
	if !errors.As(err, &r) || r.code >= http.StatusInternalServerError || r.code == http.StatusTooManyRequests {
		return err
	}
	return fmt.Errorf("%w: %w", progressive.ErrUnparsable, r)
}
