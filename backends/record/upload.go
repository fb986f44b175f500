package record

import "parley/core/chat"

// UploadColumns are what [ScanUpload] reads.
const UploadColumns = `id, room, sender, message, name, type, size, at, attempt, complete, thumbnail, evicted`

// ScanUpload reads [UploadColumns].
func ScanUpload(r Row) (u chat.Upload, err error) {
	err = r.Scan(&u.ID, &u.Room, &u.Sender, &u.Message, &u.Name, &u.Type, &u.Size, TimeInto(&u.At), &u.Attempt, &u.Complete, &u.Thumbnail, &u.Evicted)
	return u, Found(err)
}

// CheckUpload rejects texts that a store can't keep.
func CheckUpload(u chat.Upload) error {
	return CheckText(u.ID, string(u.Room), string(u.Sender), u.Name, u.Type, u.Attempt)
}
