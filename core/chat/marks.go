package chat

import "time"

// Expiry says what has expired: what is from before these times.
type Expiry struct {
	Marks time.Time
	Rest  time.Time
}
