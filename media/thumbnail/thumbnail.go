// Package thumbnail makes small images of images that users send, for lists of attachments. Unlike package media
// it decodes them, so it bounds their pixels.
package thumbnail

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // their decoders
	"image/jpeg"
	_ "image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

const (
	// Side is the longest side of a thumbnail in pixels.
	Side = 320
	// maxPixels is more than most phones' pictures have. A decoded image takes up to 8 bytes for each, and a small file can claim any
	// number of them.
	maxPixels = 25_000_000
	quality   = 80
)

// ErrTooLarge is the error of an image with too many pixels to be decoded.
var ErrTooLarge = errors.New("the image has too many pixels")

// JPEG returns a thumbnail of a PNG, JPEG, GIF or WebP image, upright and on white, or an error if it can't be decoded.
// It needs up to 200 MB of memory, so callers limit the number of concurrent calls.
func JPEG(data []byte) (small []byte, err error) {
	defer func() {
		if p := recover(); p != nil { // decoders may report damage by a panic
			err = fmt.Errorf("decode an image: %v", p)
		}
	}()
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the header of an image: %w", err)
	case c.Width <= 0 || c.Height <= 0:
		return nil, errors.New("the image has no pixels")
	case c.Width > maxPixels/c.Height:
		return nil, fmt.Errorf("%w: %d × %d", ErrTooLarge, c.Width, c.Height)
	}
	full, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode an image: %w", err)
	}
	scaled := scale(full)
	if format == "jpeg" {
		scaled = upright(scaled, orientation(data))
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, scaled, &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("encode a thumbnail: %w", err)
	}
	return out.Bytes(), nil
}

// scale returns the image on white, since JPEG has no transparency, with its longest side at most Side.
func scale(full image.Image) *image.RGBA {
	from := full.Bounds()
	width, height := from.Dx(), from.Dy()
	if longest := max(width, height); longest > Side {
		width, height = max(1, width*Side/longest), max(1, height*Side/longest)
	}
	small := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(small, small.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(small, small.Bounds(), full, from, draw.Over, nil)
	return small
}

// upright turns and mirrors an image as its Exif orientation says, from 1 to 8: cameras store pictures as the sensor
// saw them. The result has no Exif data, which can contain a place.
func upright(in *image.RGBA, orientation int) *image.RGBA {
	width, height := in.Bounds().Dx(), in.Bounds().Dy()
	if orientation < 2 || orientation > 8 {
		return in
	}
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	if orientation >= 5 {
		out = image.NewRGBA(image.Rect(0, 0, height, width))
	}
	for y := range height {
		for x := range width {
			mirrored, flipped := width-1-x, height-1-y
			at := map[int]image.Point{
				2: {X: mirrored, Y: y}, 3: {X: mirrored, Y: flipped}, 4: {X: x, Y: flipped}, 5: {X: y, Y: x},
				6: {X: flipped, Y: x}, 7: {X: flipped, Y: mirrored}, 8: {X: y, Y: mirrored},
			}[orientation]
			out.SetRGBA(at.X, at.Y, in.RGBAAt(x, y))
		}
	}
	return out
}
