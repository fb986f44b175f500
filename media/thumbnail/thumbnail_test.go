package thumbnail

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"parley/internal/require"
	"testing"
)

// picture is red on the left and blue on the right.
func picture(width, height int) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.NRGBA{R: 255, A: 255}
			if x >= width/2 {
				c = color.NRGBA{B: 255, A: 255}
			}
			p.Set(x, y, c)
		}
	}
	return p
}

func encoded(t testing.TB, p image.Image, how func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, how(&b))
	return b.Bytes()
}

func asJPEG(t testing.TB, p image.Image) []byte {
	return encoded(t, p, func(b *bytes.Buffer) error { return jpeg.Encode(b, p, nil) })
}

// turned adds an orientation to a JPEG.
func turned(data []byte, orientation byte, order binary.AppendByteOrder) []byte {
	tiff := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2)
	tiff = append(tiff, make([]byte, 12)...)
	tiff = order.AppendUint16(tiff, orientationTag)
	tiff = order.AppendUint16(tiff, 3)
	tiff = order.AppendUint32(tiff, 1)
	tiff = order.AppendUint16(tiff, uint16(orientation))
	tiff = append(tiff, make([]byte, 6)...)
	segment := append([]byte("Exif\x00\x00"), tiff...)
	head := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, 0xe1}, uint16(len(segment)+2))
	return append(append(head, segment...), data[2:]...)
}

// where tells the corner in which red is, beside blue, as the picture is seen.
func where(t *testing.T, small []byte) string {
	t.Helper()
	p, format, err := image.Decode(bytes.NewReader(small))
	if err != nil || format != "jpeg" {
		t.Fatal(format, err)
	}
	b := p.Bounds()
	red := func(x, y int) bool { r, _, blue, _ := p.At(x, y).RGBA(); return r > blue }
	edge := func(a, b bool) string {
		switch {
		case a && !b:
			return "first"
		case b && !a:
			return "last"
		}
		return "both"
	}
	return edge(red(2, b.Dy()/2), red(b.Dx()-3, b.Dy()/2)) + " " + edge(red(b.Dx()/2+1, 2), red(b.Dx()/2+1, b.Dy()-3))
}

func TestJPEG(t *testing.T) {
	wide := picture(1000, 400)
	for name, c := range map[string]struct {
		data          []byte
		width, height int
	}{
		"a JPEG":        {asJPEG(t, wide), 320, 128},
		"a PNG":         {encoded(t, wide, func(b *bytes.Buffer) error { return png.Encode(b, wide) }), 320, 128},
		"a GIF":         {encoded(t, wide, func(b *bytes.Buffer) error { return gif.Encode(b, wide, nil) }), 320, 128},
		"a small one":   {asJPEG(t, picture(40, 30)), 40, 30},
		"a narrow one":  {asJPEG(t, picture(4, 3000)), 1, 320},
		"one turned":    {turned(asJPEG(t, wide), 6, binary.LittleEndian), 128, 320},
		"one that lies": {turned(asJPEG(t, wide), 9, binary.BigEndian), 320, 128},
	} {
		t.Run(name, func(t *testing.T) {
			small := require.Value(JPEG(c.data))(t)
			is, format, err := image.DecodeConfig(bytes.NewReader(small))
			if err != nil || format != "jpeg" || is.Width != c.width || is.Height != c.height {
				t.Errorf("%s of %d × %d, %v", format, is.Width, is.Height, err)
			}
		})
	}
}

// Cameras store pictures as they hold their sensor; people see them upright.
func TestOrientation(t *testing.T) {
	data := asJPEG(t, picture(200, 200))
	for orientation, want := range map[byte]string{1: "first both", 2: "last both", 3: "last both", 4: "first both", 5: "both first", 6: "both first", 7: "both last", 8: "both last"} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			small := require.Value(JPEG(turned(data, orientation, order)))(t)
			got := where(t, small)
			if want[:4] == "both" && got[len(got)-4:] != want[len(want)-4:] || want[:4] != "both" && got[:4] != want[:4] {
				t.Errorf("orientation %d: red is %s, want %s", orientation, got, want)
			}
		}
	}
}

// Transparent pixels are white, as pages show them.
func TestTransparent(t *testing.T) {
	p := image.NewNRGBA(image.Rect(0, 0, 10, 10))
	small := require.Value(JPEG(encoded(t, p, func(b *bytes.Buffer) error { return png.Encode(b, p) })))(t)
	is := require.Value(jpeg.Decode(bytes.NewReader(small)))(t)
	if r, _, _, _ := is.At(5, 5).RGBA(); r < 0xf000 {
		t.Errorf("it is %v", is.At(5, 5))
	}
}

// bomb is the header of a PNG that claims a size.
func bomb(width, height uint32) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	head = append(binary.BigEndian.AppendUint32(head, height), 8, 6, 0, 0, 0)
	b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(head))
}

// SE-11: a few bytes can't claim any amount of memory.
func TestBombs(t *testing.T) {
	for _, size := range [][2]uint32{{5001, 5000}, {1 << 30, 1 << 30}, {1, 1 << 31}} {
		if _, err := JPEG(bomb(size[0], size[1])); err == nil || size[1] == 5000 && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d × %d: %v", size[0], size[1], err)
		}
	}
	for _, data := range [][]byte{nil, []byte("no picture"), bomb(0, 9), bomb(9, 9), asJPEG(t, picture(99, 99))[:300]} {
		if small, err := JPEG(data); err == nil {
			t.Errorf("%d bytes of something become %d", len(data), len(small))
		}
	}
}

func FuzzOrientation(f *testing.F) {
	f.Add(turned(asJPEG(f, picture(2, 2)), 6, binary.LittleEndian))
	f.Add([]byte{0xff, 0xd8, 0xff, 0xe1, 0, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		if o := orientation(data); o < 1 || o > 8 {
			t.Error(o)
		}
	})
}
