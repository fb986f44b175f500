package chat

// Notice is a message that the agent sends on its own, without a question.
type Notice struct {
	// To is the destination. A room alone is enough if it has messages: then its last address is used, or that of the
	// message that is replied to.
	To   Address
	Text string
	// Image describes a picture that is generated and shown below the text, at the expense of To.BilledTo; can be empty.
	Image string
	// Key is an idempotency key: of several notices in a room with the same key, only the first is sent. Without a key
	// every notice is sent.
	Key string
	// Ask is a question attached to the notice; can be nil.
	Ask *Question
}

// ImageToGenerate is the file name that marks the attachment of a draft whose description is that of an image to be generated. It is stored.
const ImageToGenerate = "an image to generate"

// NoticeID returns the id of the memory that holds the notice with key in room.
func NoticeID(room RoomID, key string) MemoryID { return MemoryID(string(room) + "/notice/" + key) }
