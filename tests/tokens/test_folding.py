"""Texts that are written in different ways, and are the same text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.tokens.folding import normalize
from scrapy_simhash.tokens.tokenization import TOKENIZERS, word_tokens

FOLDING = {
    name: TOKENIZERS[name].tokens
    for name in ("jieba", "words", "characters", "characters-and-pairs")
}
WORDS = "steamer пароход ατμόπλοιο ספינה سفينة जहाज़ เรือ ចម្ងាយ 渡轮 フェリー ދޮނި சொல் 기차".split()
INVISIBLE = [
    character
    for character in map(chr, (*range(0x20000), *range(0xE0000, 0xE01F0)))
    if unicodedata.category(character) == "Cf"
    or "VARIATION SELECTOR" in unicodedata.name(character, "")
]
DIGITS = [
    character for character in map(chr, range(0x20000)) if unicodedata.category(character) == "Nd"
]


@pytest.mark.parametrize("tokenize", FOLDING.values(), ids=FOLDING)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ştiinţă şi ţară", "știință și țară"),
        ("s\u0326tiint\u0326a\u0306", "ştiinţă"),
        ("ŢARĂ ŞI", "țară și"),
        ("Ştiinţă şi ţară", "stiinta si tara"),
        ("Zażółć gęślą jaźń", "zazolc gesla jazn"),
        ("Đường về nhà", "duong ve nha"),
        ("İSTANBUL ısı", "istanbul isi"),
        ("Ἀθήνα ΑΘΉΝΑ", "αθηνα αθηνα"),
        ("ещё", "еще"),
        ("كتابي على الكرسي", "کتابی علی الکرسی"),
        ("خانۀ ما", "خانهٔ ما"),
        ("ە ہ ھ", "ه ه ه"),
        ("می\u200cخواهم", "میخواهم"),
        ("ســـلام", "سلام"),
        ("مُدَرِّسَةٌ", "مدرسة"),
        ("ٱلرَّحْمَٰن", "ٱلرحمن"),
        ("שָׁלוֹם", "שלום"),
        ("בְּרֵאשִׁ֖ית", "בראשית"),
        ("ײַ װ", "יי וו"),
        ("۱۲٫۵٪ ٤٥ ४५", "12.5% 45 45"),
        ("നൻ്മ ക്ഷൻ", "നന്‍്മ ക്ഷന്‍"),
        ("হঠাৎ", "হঠাত্\u200d"),
        ("oʻzbek gʼalaba", "o'zbek g'alaba"),
        ("2026\u201111\u201122 5–7 ½", "2026-11-22 5-7 1/2"),
        (f"{'★☆' * 20} cafe\u200d\u0301", f"{'★☆' * 20} café"),
        ("iPad™ Air®", "ipad air"),
        ("葛\U000e0100飾", "葛飾"),
        ("❤\ufe0f", "❤\ufe0e"),
        ("café", "cafe\u0301"),
        ("Ａｂｃ　１２３", "abc 123"),
        ("ｶﾀｶﾅ ｶﾞｽ", "カタカナ ガス"),
        ("ﬁnal oﬃce", "final office"),
        ("STRASSE", "straße"),
        ("ΟΔΟΣ", "οδος"),
        ("ΟΔΟΣ", "οδοσ"),
        ("ταΐζω", "ταΐζω".upper()),
        ("豈見る", "\uf900\ufa0aる"),
        ("第①班", "第1班"),
        ("한국", unicodedata.normalize("NFD", "한국")),
    ],
)
def test_ways_to_write_one_text_have_equal_tokens(tokenize, one, other):
    assert one != other
    assert tokenize(one) == tokenize(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x̱", "x"),
        ("þ", "p"),
        ("мой", "мои"),
        ("مئة", "مية"),
        ("أن", "ان"),
        ("ދަ", "ދި"),
        ("कि", "की"),
        ("ก่า", "ก้า"),
        ("がき", "かき"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e007f", "\U0001f3f4"),
    ],
)
def test_other_letters_stay_other_letters(one, other):
    assert word_tokens(one) != word_tokens(other)
    assert normalize(one) != normalize(other)


@pytest.mark.parametrize(
    ("one", "other"), [("şi", "si"), ("résumé", "resume"), ("mà", "mã"), ("ё", "е")]
)
def test_names_keep_diacritics(one, other):
    assert normalize(one) != normalize(other)


@pytest.mark.parametrize("name", ["Kırmızı çanta", "İzmir", "Diyarbakır'da ısı", "Iğdır"])
def test_turkish_names_in_capitals_stay_the_same_names(name):
    capitals = name.translate({ord("i"): "İ", ord("ı"): "I"}).upper()
    assert normalize(capitals) == normalize(name) == normalize(capitals.lower())


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), st.data())
def test_invisible_characters_do_not_count(words, data):
    text = " ".join(words)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.sampled_from(INVISIBLE)) + text[at:]
    for tokenize in FOLDING.values():
        assert tokenize(text) == tokenize(" ".join(words))


@pytest.mark.parametrize("space", ["\u200b", "\u2060", "\u200c"])
def test_breaks_between_words_do_not_count_in_scripts_without_spaces(space):
    for sentence in (["ថ្ងៃ", "នេះ", "ភ្លៀង"], ["วัน", "นี้", "ฝน", "ตก"], ["ມື້", "ນີ້", "ຝົນ"]):
        assert word_tokens(space.join(sentence)) == word_tokens("".join(sentence))


def test_each_decimal_digit_is_its_value():
    for digit in DIGITS:
        value = unicodedata.decimal(digit)
        assert word_tokens(f"1{digit}.{digit}") == [f"1{value}.{value}"]


MARKED = st.text(
    st.sampled_from([*INVISIBLE[:60], *"aéاَشדּ\u0301\u0651ßİ\u0345\u034fｶﾞ가ᅡ"]), max_size=12
)


@given(st.text(st.characters(), max_size=30) | MARKED)
def test_a_normalized_text_stays_as_it_is(text):
    once = normalize(text)
    assert normalize(once) == once
    assert unicodedata.is_normalized("NFKC", once)
