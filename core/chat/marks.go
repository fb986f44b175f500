package chat

import "time"

// Expiry contains the times before which data has expired.
type Expiry struct {
	Marks   time.Time
	Uploads time.Time // that no message names
	Rest    time.Time
}
