package schedule

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o Outage
		for range 2 {
			if lasted, ended := o.Ended(); ended || lasted != 0 {
				t.Errorf("without a failure it ended after %v", lasted)
			}
			if first, again := o.Failed(), o.Failed(); !first || again {
				t.Errorf("failures in a row are the first: %v, %v", first, again)
			}
			time.Sleep(time.Minute)
			if lasted, ended := o.Ended(); !ended || lasted != time.Minute {
				t.Errorf("it ended after %v, %v", lasted, ended)
			}
		}
	})
}
