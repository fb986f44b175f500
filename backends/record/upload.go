package record

import "parley/core/chat"

// UploadColumns are the columns that [ScanUpload] reads.
const UploadColumns = `id, room, sender, message, name, type, size, at, attempt, complete, thumbnail, evicted`

// ScanUpload reads [UploadColumns].
func ScanUpload(r Row) (u chat.Upload, err error) {
	err = r.Scan(&u.ID, &u.Room, &u.Sender, &u.Message, &u.Name, &u.Type, &u.Size, TimeInto(&u.At), &u.Attempt, &u.Complete, &u.Thumbnail, &u.Evicted)
	return u, Found(err)
}

// CheckUpload returns an error if u could not be read back as it is.
func CheckUpload(u chat.Upload) error {
	return CheckText(u.ID, string(u.Room), string(u.Sender), u.Name, u.Type, u.Attempt)
}
