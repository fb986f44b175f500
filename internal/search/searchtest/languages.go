package searchtest

// Inflected is a fact and a question about it, which has its telling words in other forms: another number, case or ending,
// or a single character.
type Inflected struct{ Language, Fact, Question string }

// Languages returns 40 facts in 18 languages.
func Languages() []Inflected {
	return []Inflected{
		{"English", "The spare keys are in the blue drawer of the kitchen", "Where is the key?"},
		{"English", "Mia's puppies were vaccinated on Tuesday", "Has the puppy been to the vaccination?"},
		{"English", "We are renting boxes for the move from Hartmann", "Who rents us a box?"},
		{"German", "Die Schlüssel für die Garage liegen beim Nachbarn", "Welcher Nachbar hat den Garagenschlüssel?"},
		{"German", "Unsere Katze heißt Minka und frisst nur Fisch", "Was fressen unsere Katzen?"},
		{"German", "Das Fahrrad meines Bruders steht im Keller", "Wo stehen die Fahrräder der Brüder?"},
		{"French", "Les clés de la voiture sont dans le tiroir", "Où est la clé des voitures?"},
		{"French", "Mon fils est allergique aux noisettes", "Une noisette est-elle dangereuse pour lui?"},
		{"French", "Le médecin a prescrit deux comprimés par jour", "Combien de comprimé prescrit par les médecins?"},
		{"Spanish", "Las llaves del coche están en el cajón", "¿Dónde está la llave de los coches?"},
		{"Spanish", "Mi hermana compró dos gatos negros", "¿De qué color es la gata?"},
		{"Spanish", "Las reuniones con el profesor son los lunes", "¿Cuándo es la reunión con los profesores?"},
		{"Italian", "Le chiavi della macchina sono nel cassetto", "Dov'è la chiave delle macchine?"},
		{"Italian", "Mio fratello ha comprato un gatto rosso", "Che colore hanno i gatti?"},
		{"Italian", "I libri di cucina della nonna sono in soffitta", "Dove trovo il libro delle nonne?"},
		{"Portuguese", "As chaves do carro ficam na gaveta", "Onde fica a chave dos carros?"},
		{"Portuguese", "Minha irmã tem dois cachorros pequenos", "O cachorro é pequeno?"},
		{"Dutch", "De sleutels van de fiets hangen in de gang", "Waar is de sleutel van onze fietsen?"},
		{"Dutch", "Onze honden heten Bram en Saar", "Hoe heet de hond?"},
		{"Swedish", "Bilens nycklar ligger i den översta lådan", "I vilken låda ligger de, den översta eller andra lådor?"},
		{"Swedish", "Grannarnas hundar skäller på natten", "När skäller hunden?"},
		{"Polish", "Klucze do mieszkania są u sąsiadki", "U kogo są klucze mieszkań, u sąsiadek?"},
		{"Polish", "Mój kot nazywa się Filemon", "Jak nazywają się twoje koty?"},
		{"Polish", "Babcia kupiła czerwony rower w sklepie", "O jakim rowerze mówiła, o czerwonym?"},
		{"Russian", "Ключи от квартиры лежат у соседки", "У какой соседки ключ от квартир?"},
		{"Russian", "Моя собака боится грозы", "Чего боятся собаки?"},
		{"Russian", "Бабушка подарила мне красный велосипед", "Какого цвета велосипеды подарены бабушкой?"},
		{"Ukrainian", "Ключі від машини лежать у шухляді", "У якій шухлядах ключ від машин?"},
		{"Ukrainian", "Мій брат купив чорного кота", "Якого кольору коти мого брата?"},
		{"Turkish", "Arabanın anahtarı mutfaktaki çekmecede", "Anahtarlar hangi çekmecelerde?"},
		{"Turkish", "Kedimin adı Pamuk", "Kediler nasıl çağrılır?"},
		{"Greek", "Τα κλειδιά του αυτοκινήτου είναι στο συρτάρι", "Πού είναι το κλειδί των αυτοκινήτων;"},
		{"Arabic", "مفتاح السيارة في الدرج", "أين مفتاحي ومفتاح سيارة أخي؟"},
		{"Hindi", "गाड़ी की चाबियाँ दराज में हैं", "गाड़ियों की चाबी कहाँ है?"},
		{"Korean", "고양이는 생선을 좋아해요", "우리 고양이가 좋아하는 것은?"},
		{"Korean", "자동차 열쇠가 서랍에 있어요", "열쇠를 어디에 두었지?"},
		{"Korean", "할머니 집은 부산에 있습니다", "집?"},
		{"Chinese", "我的猫叫小白", "猫?"},
		{"Chinese", "车钥匙放在厨房的抽屉里", "钥匙在哪里"},
		{"Japanese", "車の鍵は台所の引き出しにあります", "鍵?"},
	}
}
