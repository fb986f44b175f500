package encoding

import (
	"slices"
	"unicode"
)

// script holds properties of texts in a script, to tell them from texts in the wrong encoding.
type script struct {
	tables []*unicode.RangeTable
	// common are the lower-case letters that most texts consist of.
	common map[rune]bool
	// latin means that the letters which are not ASCII stand among those that are.
	latin bool
	// wide means that it has so many letters that most of them are rare, and punctuation of its own.
	wide bool
}

// rare returns the plausibility of a letter that is not common.
func (s script) rare() float64 {
	if s.wide {
		return 0.35
	}
	return 0.1
}

// is reports whether r is a letter of the script.
func (s script) is(r rune) bool { return unicode.In(r, s.tables...) }

func newScript(common string, tables ...*unicode.RangeTable) script {
	s := script{tables: tables, common: map[rune]bool{}, wide: slices.Contains(tables, unicode.Han) || slices.Contains(tables, unicode.Hangul)}
	for _, r := range common {
		s.common[r] = true
	}
	return s
}

func newLatin(common string) script {
	s := newScript(common, unicode.Latin)
	s.latin = true
	return s
}

var ( // never changed
	latin    = newLatin("àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿßœšžªºƒ")
	central  = newLatin("ąćęłńóśźżáčďéěíňřšťúůýžőűöüäăâîșțşţđ")
	cyrillic = newScript("оеаинтсрвлкмд", unicode.Cyrillic)
	greek    = newScript("αοιετνσηρπκςίάόέή", unicode.Greek)
	hebrew   = newScript("יוהלאמתרבשנעםןק", unicode.Hebrew)
	arabic   = newScript("اليمنترودبسعهفةأ", unicode.Arabic)
	thai     = newScript("านรอกเงมยลวดทสตะปคห่้ีิัู", unicode.Thai)
	kana     = newScript("ーあいうえおかがきぎくぐけげこごさざしじすずせそただちってつでてとどなにぬねのはばひびふぶへべほぼまみむめもやゆよらりるれろわをん"+
		"アイウエオカガキギクグケゲコゴサザシジスズセソタダチッツテデトドナニネノハバパヒビピフブプヘベペホボポマミムメモャヤュユョヨラリルレロワンヴ"+
		"日一国人年大十二本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女午百書先名川千水半男電校土木聞食車何"+
		"万毎白天母火右読友左休父雨会同事自社発者地業方新場員立開手力問代明動京目通言理体田主題意不作用度強公持野以思家世多正安院心界教文元重"+
		"近考画海売知道集別物使品計特私始朝運終台広住真有口少町料工建急止送切研究楽起着店病待試銀早験親医仕去味写字答夜音注帰買図室全部表面",
		unicode.Hiragana, unicode.Katakana, unicode.Han)
	hangul = newScript("이다는의에가을를은하고한지사도서로기자어들리나대아인그시라과해정있보수일전부여게주으스장제상것만모면무구동안소성국원조우비었세신관선경음며할문"+
		"발요생행계분체거내실적방법산공운회위식당학민말습니까년월합저네더때된각감강개결교날남노느능단되두드또많먹명물미바반번본불빛색석설않약양업역연오온"+
		"와왔왜외용울웃유육응재잘점종중증직진집쪽차참찾처천첫추출친크키타터테토통트특파판편평표품프피함항했향현호화환후히힘없같열닫올립입홉섯빵", unicode.Hangul)
	simplified = newScript("的一是不了人我在有他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发"+
		"成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部"+
		"正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场"+
		"师书比住员九六七八百千性通目报立活难神数件安表原车白应路期死常提感金何更反合放做系计或司利受光王果及界务制解各任至清物台记边共风接它许觉直服"+
		"毛建南度统色字请交爱让认算论元社结功指非每管连远资带快条院变权展该领传近留保达办运容引允许除外文件名称说明内容价格商店客户产品数据测试", unicode.Han)
	traditional = newScript("的一是不了人我在有他這中大來上個國到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可她裡後小麼心多天而能好都然沒日於起還發"+
		"成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長知樣現分將外但身些與高意進把法此實回二理美點月明其種聲全工己話兒者向情部"+
		"正名定女問力機給等幾很業最間新什打便位因重被走電四第門相次東政海口使教西再平真聽世氣信北少關並內加化由卻代軍產入先山五太水萬市眼體別處總才場"+
		"師書比住員九六七八百千性通目報立活難神數件安表原車白應路期死常提感金何更反合放做系計或司利受光王果及界務制解各任至清物台臺記邊共風接它許覺直服"+
		"毛建南度統色字請交愛讓認算論元社結功指非每管連遠資帶快條院變權展該領傳近留保達辦運容引允許除外文件名稱說明內容價格商店客戶產品數據測試", unicode.Han)
)

// scripts are all scripts, the most common first.
var scripts = []script{latin, cyrillic, simplified, traditional, kana, hangul, greek, hebrew, arabic, thai, central} // never changed
