package chat

import "time"

// Expiry contains the times before which data has expired.
type Expiry struct {
	Marks time.Time
	Rest  time.Time
}
