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

// UploadBytes is how many bytes of an upload are stored, as an expression over the table uploads: of one that is not
// complete, those that have arrived.
const UploadBytes = `CASE WHEN complete THEN size ELSE (SELECT CAST(coalesce(sum(length(data)), 0) AS bigint) FROM upload_pieces WHERE upload = uploads.id AND n >= 0) END`

// StoredBytes selects the bytes of all uploads. The sizes are read from an index; only the few uploads that are not
// complete are looked at one by one.
const StoredBytes = `SELECT CAST((SELECT coalesce(sum(size), 0) FROM uploads WHERE NOT evicted) -
	(SELECT coalesce(sum(size - ` + UploadBytes + `), 0) FROM uploads WHERE message = '' AND NOT complete) AS bigint)`

// LargestSender selects the sender with the most stored bytes; of several, the one with the oldest upload.
const LargestSender = `SELECT sender FROM uploads WHERE NOT evicted GROUP BY sender ORDER BY sum(` + UploadBytes + `) DESC, min(at) LIMIT 1`
