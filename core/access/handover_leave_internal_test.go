package access

import (
	"testing"
	"time"

	"parley/internal/lang"
	"parley/internal/quiethours"
)

// The sentence about the opening hours has the days of its reader's language. The English ones are those of the configuration.
func TestHoursInEachLanguage(t *testing.T) {
	a := Policy{Hours: []string{"Sun-Mon 09:00-17:00", "Tue 10:00-14:00", "Wed-Thu 10:00-14:00", "Fri-Sat 22:00-02:00"}}
	for _, h := range a.Hours {
		if _, err := quiethours.Within(h, time.Now()); err != nil {
			t.Error(err)
		}
	}
	for tag, want := range map[string]string{
		"en": "Sun-Mon 09:00-17:00, Tue 10:00-14:00, Wed-Thu 10:00-14:00, Fri-Sat 22:00-02:00",
		"de": "So-Mo 09:00-17:00, Di 10:00-14:00, Mi-Do 10:00-14:00, Fr-Sa 22:00-02:00",
		"es": "dom-lun 09:00-17:00, mar 10:00-14:00, mié-jue 10:00-14:00, vie-sáb 22:00-02:00",
		"fr": "dim.-lun. 09:00-17:00, mar. 10:00-14:00, mer.-jeu. 10:00-14:00, ven.-sam. 22:00-02:00",
		"pt": "dom.-seg. 09:00-17:00, ter. 10:00-14:00, qua.-qui. 10:00-14:00, sex.-sáb. 22:00-02:00",
		"ja": "日-月 09:00-17:00, 火 10:00-14:00, 水-木 10:00-14:00, 金-土 22:00-02:00",
		"zh": "周日-周一 09:00-17:00, 周二 10:00-14:00, 周三-周四 10:00-14:00, 周五-周六 22:00-02:00",
		"ar": "الأحد-الاثنين 09:00-17:00, الثلاثاء 10:00-14:00, الأربعاء-الخميس 10:00-14:00, الجمعة-السبت 22:00-02:00",
	} {
		if got := a.hours(lang.In(tag)); got != want {
			t.Errorf("%s: %q; want %q", tag, got, want)
		}
	}
}
