package thumbnail

import (
	"bytes"
	"encoding/binary"
)

// orientationTag is the tag of the orientation in a TIFF directory (Exif 2.32, section 4.6.4).
const orientationTag = 0x0112

// orientation returns the Exif orientation of a JPEG, from 1 to 8; 1 if it has none, or if its data is damaged. All
// offsets are checked, as they come from the file.
func orientation(data []byte) int {
	tiff := exif(data)
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == orientationTag {
			if o := int(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}

// exif returns the TIFF structure in the Exif segment of a JPEG, which precedes the image data, or nil.
func exif(data []byte) []byte {
	for at := 2; at+4 <= len(data) && data[at] == 0xff && data[at+1] != 0xda; {
		length := int(binary.BigEndian.Uint16(data[at+2:]))
		end := at + 2 + length
		if length < 2 || end > len(data) {
			return nil
		}
		if tiff, ok := bytes.CutPrefix(data[at+4:end], []byte("Exif\x00\x00")); ok && data[at+1] == 0xe1 {
			return tiff
		}
		at = end
	}
	return nil
}
