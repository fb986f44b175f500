package wire

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]time.Duration{
		"":                              0,
		"12":                            12 * time.Second,
		"0.5":                           500 * time.Millisecond,
		"-3":                            0,
		"NaN":                           0,
		"1e300":                         maxAfter,
		"soon":                          0,
		"Wed, 02 Jan 2030 03:04:35 GMT": 30 * time.Second,
		"Wed, 02 Jan 2030 03:04:00 GMT": 0,
		"Wed, 02 Jan 2040 03:04:00 GMT": maxAfter,
	}
	for header, want := range tests {
		if got := retryAfter(http.Header{"Retry-After": {header}}, now); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}
