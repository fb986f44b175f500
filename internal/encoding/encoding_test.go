package encoding

import (
	"bytes"
	"math/rand/v2"
	"parley/internal/require"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// sentences of files, from a few words to prose with numbers and names.
var (
	russian = []string{
		"Магазин открыт с девяти до шести, собак пускать нельзя.", "Купить хлеб и молоко", "ВНИМАНИЕ! Цена: 250 руб. за 1 кг", "Привет",
		"# Список\n- чай «Ассам»\n- сахар (2 шт.)\nСайт: https://shop.example/чай?id=7, тел. +7 495 000-00-00\n",
		"id;имя;город\n1;Иванов;Москва\n2;Щукина;Ёлкино\n",
	}
	ukrainian = []string{"Крамниця відчинена з дев'ятої до шостої, собак не пускаємо. Їжа — лише з собою."}
	chinese   = []string{
		"商店从九点开到六点，不允许带狗进入，除非是导盲犬。", "你好，世界", "产品说明：Version 2.0 支持 JSON 和 XML 文件。", "id,名称,价格\n1,绿茶,25\n2,红茶,30\n",
		"第一章　春天来了，小河边的树都绿了，孩子们跑出来玩。",
	}
	taiwanese = []string{"商店從九點開到六點，不允許帶狗進入，除非是導盲犬。", "你好，世界", "產品說明：Version 2.0 支援 JSON 和 XML 檔案。", "請把這個檔案寄給我，謝謝。"}
	nihongo   = []string{"店は九時から六時まで開いています。犬は入れません。", "お茶を買う", "メニュー：コーヒー 300円、ケーキ 450円", "第一章 春が来た。川のそばの木はみな緑になり、子供たちが遊びに出てきた。", "id,名前,住所\n1,山田太郎,東京都\n"}
	korean1   = []string{"가게는 아홉 시부터 여섯 시까지 엽니다. 개는 들어올 수 없습니다.", "우유와 빵 사기", "제품 설명서: Version 2.0 은 JSON 과 XML 파일을 지원합니다.", "안녕하세요"}
	western   = []string{
		"Der Laden ist von neun bis sechs geöffnet. Straße, Größe, Übung.", "id;name;city\n1;Müller;Köln\n2;Weiß;Düsseldorf\n", "Ça va ? Où êtes-vous allée hier à l’école ?", "café", "10 °C", "Preis: 5 €",
		"¿Dónde está el niño? ¡Mañana!", "“Don’t,” she said – “it’s naïve…”", "Smörgåsbord på en ö i Åre", "Não há pão. Às três não é possível à mão.", "É à Ève", "Æble, øl og ål", "Þetta er íslenska, ég á hús.",
		"§ 5 Abs. 2 – © 2024 Müller® ±3 µm", "Mötley Crüe: ä ö ü ß",
	}
	polish = []string{"Sklep jest otwarty od dziewiątej do szóstej. Psów nie wpuszczamy. Łąka, źdźbło, żaba."}
	greek1 = []string{"Το κατάστημα είναι ανοιχτό από τις εννέα έως τις έξι.", "Καλημέρα κόσμε"}
	ivrit  = []string{"החנות פתוחה מתשע עד שש. אין כניסה לכלבים.", "שלום עולם"}
	arabi  = []string{"المتجر مفتوح من التاسعة حتى السادسة. لا يسمح بدخول الكلاب.", "مرحبا بالعالم"}
	siam   = []string{"ร้านเปิดตั้งแต่เก้าโมงถึงหกโมง ห้ามสุนัขเข้า"}
)

// Sentences are read in each encoding that their language has used, short ones too.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name string
		encoding.Encoding
		texts []string
	}{
		{"windows-1251", charmap.Windows1251, russian}, {"windows-1251, Ukrainian", charmap.Windows1251, ukrainian}, {"KOI8-R", charmap.KOI8R, russian}, {"KOI8-U", charmap.KOI8U, ukrainian},
		{"IBM866", charmap.CodePage866, russian[:2]}, {"ISO-8859-5", charmap.ISO8859_5, russian[1:2]},
		{"GBK", simplifiedchinese.GBK, chinese}, {"GB18030", simplifiedchinese.GB18030, append([]string{"生僻字㐀和表情😀都可以出现在文件里。"}, chinese...)},
		{"Big5", traditionalchinese.Big5, taiwanese}, {"Shift-JIS", japanese.ShiftJIS, nihongo}, {"EUC-JP", japanese.EUCJP, nihongo}, {"EUC-KR", korean.EUCKR, korean1},
		{"windows-1252", charmap.Windows1252, western}, {"windows-1250", charmap.Windows1250, polish}, {"ISO-8859-2", charmap.ISO8859_2, polish},
		{"windows-1253", charmap.Windows1253, greek1}, {"windows-1255", charmap.Windows1255, ivrit}, {"windows-1256", charmap.Windows1256, arabi}, {"windows-874", charmap.Windows874, siam},
	} {
		for _, text := range c.texts {
			data := require.Value(encoding.ReplaceUnsupported(c.NewEncoder()).Bytes([]byte(text)))(t)
			data = bytes.ReplaceAll(data, []byte{encoding.ASCIISub}, []byte("?"))
			want, _ := c.NewDecoder().String(string(data)) // some characters are not in it
			if got, known := Decode(data); got != want || !known {
				t.Errorf("%s: %q is read as %q, %v", c.name, want, got, known)
			}
			if !IsText(data) {
				t.Errorf("%s: %q is no text", c.name, text)
			}
		}
	}
}

func TestUnicode(t *testing.T) {
	for _, texts := range [][]string{russian, ukrainian, chinese, taiwanese, nihongo, korean1, western, polish, greek1, ivrit, arabi, siam, {"Hello, world.\r\n", "a\tb\n", ""}} {
		for _, text := range texts {
			for name, data := range map[string]string{
				"UTF-8": text, "UTF-8 with a mark": "\xef\xbb\xbf" + text, "a cut end": text + "\xf0\x9f\x98",
				"UTF-16LE with a mark": "\xff\xfe" + encoded(t, littleEndian, text), "UTF-16BE with a mark": "\xfe\xff" + encoded(t, bigEndian, text),
				"UTF-16LE": encoded(t, littleEndian, text), "UTF-16BE": encoded(t, bigEndian, text),
			} {
				if strings.HasPrefix(name, "UTF-16") && len(data) < 20 || name == "a cut end" && text == "" {
					continue // too short to tell
				}
				if got, known := Decode([]byte(data)); got != text || !known {
					t.Errorf("%s: %q is read as %q, %v", name, text, got, known)
				}
				if !IsText([]byte(data)) {
					t.Errorf("%s: %q is no text", name, text)
				}
			}
		}
	}
}

func encoded(t *testing.T, e encoding.Encoding, text string) string {
	t.Helper()
	data := require.Value(e.NewEncoder().String(text))(t)
	return data
}

// What makes no sense in any encoding is reported, not shown as garbage.
func TestUnknown(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text, binary := 0, 0
	for range 200 {
		high, any := make([]byte, 200), make([]byte, 200)
		for i := range high {
			high[i], any[i] = byte(0x80+random.IntN(0x80)), byte(random.IntN(256))
		}
		if got, known := Decode(high); known {
			t.Logf("%q", got)
			text++
		}
		if IsText(any) {
			binary++
		}
	}
	if text > 0 || binary > 0 {
		t.Errorf("%d of 200 are read, and %d are text; want none and none", text, binary)
	}
}

func TestStated(t *testing.T) {
	short := encoded(t, charmap.KOI8R, "чай")
	for mediaType, want := range map[string]string{"text/plain; charset=koi8-r": "чай", "text/plain; charset=\"KOI8-R\"": "чай"} {
		if got, known := Stated([]byte(short), mediaType); got != want || !known {
			t.Errorf("%s: %q, %v", mediaType, got, known)
		}
	}
	for _, mediaType := range []string{"text/plain; charset=iso-8859-1", "text/plain; charset=none", "", ";;"} {
		if got, known := Stated([]byte("чай"), mediaType); got != "чай" || !known {
			t.Errorf("%s: %q, %v", mediaType, got, known)
		}
	}
}

func TestPage(t *testing.T) {
	const page = "<title>Магазин</title><p>Открыт с девяти до шести."
	for name, c := range map[string]struct{ page, mediaType string }{
		"UTF-8":                  {page, "text/html"},
		"a wrong statement":      {page, "text/html; charset=iso-8859-1"},
		"stated with it":         {encoded(t, charmap.KOI8R, page), "text/html; charset=koi8-r"},
		"stated in it":           {`<meta charset="windows-1251">` + encoded(t, charmap.Windows1251, page), "text/html"},
		"nowhere stated":         {encoded(t, charmap.Windows1251, page), "text/html"},
		"UTF-16 with a mark":     {"\xff\xfe" + encoded(t, littleEndian, page), "text/html"},
		"UTF-16 without a mark":  {encoded(t, bigEndian, page), ""},
		"an unreadable encoding": {page, "text/html; charset=x-none"},
	} {
		if got := string(Page([]byte(c.page), c.mediaType)); !strings.HasSuffix(got, page) {
			t.Errorf("%s: %q; want it to end with %q", name, got, page)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xff\xfeh"))
	f.Add([]byte("\xcf\xf0\xe8\xe2\xe5\xf2"))
	f.Add([]byte("\x82\xa8\x92\x83"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if text, known := Decode(data); strings.ToValidUTF8(text, "") != text || !known && text != "" {
			t.Errorf("%q, %v", text, known)
		}
		IsText(data)
		Page(data, "")
	})
}
