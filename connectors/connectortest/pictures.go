package connectortest

import (
	"bytes"
	"image"
	"image/png"
	"time"

	"parley/core/answer"
	"parley/core/llm"
	"parley/progressive"
)

// answerWithPicture is TR-12 and DR-08 for files: the image appears once below the text, whatever happens to its
// request.
func answerWithPicture(r *suiteRun) {
	for _, c := range []struct {
		fault       Fault
		least, most int
	}{
		{Fault{}, 1, 1},
		{Fault{Hold: 7 * time.Second}, 1, 1},
		{Fault{Lost: true}, 1, 1},
		{Fault{Dropped: true}, 0, 1}, // the outcome is unknown, so it is repeated only with a nonce
	} {
		for _, place := range []Room{r.Direct(Ada), r.Group()} {
			s := r.show(place, r.gate())
			s.grow(20, 200*time.Millisecond)
			pass(10 * time.Second)
			if f := c.fault; f != (Fault{}) {
				f.Op, f.File, f.In = progressive.Post, true, place
				r.InjectFault(f)
			}
			data := r.paint()
			s.answer.Apply(answer.Change{Kind: answer.ToolStage, Call: "1", Files: []llm.File{{Type: "image/png", Data: data}}, Tool: &answer.Tool{
				Name: "PAINT", Stage: answer.StageEnd, Success: true,
			}})
			s.answer.End(answer.Outcome{Status: answer.Completed})
			r.must(<-s.ended)
			s.nothingFollows()
			s.wantPicture(data, c.least, c.most)
			r.ClearFaults()
		}
	}
}

// wantPicture checks for the text and then the image, which appears from least to most times.
func (s *showing) wantPicture(data []byte, least, most int) {
	s.r.Helper()
	all := s.r.Messages(s.place)
	n := 0
	for ; len(all) > n && len(all[len(all)-1-n].Files) > 0; n++ {
		f := all[len(all)-1-n].Files
		if len(f) != 1 || f[0].Type != "image/png" || f[0].Name != "picture-1.png" || !bytes.Equal(f[0].Data, data) {
			s.r.Errorf("%s: the picture is %+v", s.place, f)
		}
	}
	if n < least || n > most {
		s.r.Errorf("%s: %d pictures stand below; want %d to %d", s.place, n, least, most)
	}
	if last := all[len(all)-1-n]; !last.ByBot || last.Text == "" {
		s.r.Errorf("%s: above the picture stands %+v", s.place, last)
	}
}

func (r *suiteRun) paint() []byte {
	var b bytes.Buffer
	r.must(png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 30))))
	return b.Bytes()
}
