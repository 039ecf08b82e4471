"""Symbols, marks and signs in texts: what is a token, and what belongs to a word."""

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scrapy_simhash.tokens.folding import plain
from scrapy_simhash.tokens.tokenization import TOKENIZERS, word_tokens

OF_WORDS = {name: TOKENIZERS[name].tokens for name in ("jieba", "words")}
IN_BASIC_PLANES = range(0x20000)
# They separate, are blank, or state a right; or they stand for a character that was lost.
NO_SYMBOLS = set("|~¦©®™℠｜～￤\u2044\u2800\ufffc\ufffd")
words = st.sampled_from("tea 7 ч चाय چای ชา ދަ 3.5 8:15".split())


def characters_of_categories(*categories):
    return [
        character
        for character in map(chr, IN_BASIC_PLANES)
        if unicodedata.category(character) in categories
    ]


SYMBOLS = [one for one in characters_of_categories("Sm", "Sc", "So") if one not in NO_SYMBOLS]
PICTURES = characters_of_categories("So")


@pytest.mark.parametrize("tokenize", OF_WORDS.values(), ids=OF_WORDS)
@pytest.mark.parametrize("beside", ["", " é", " हिन्दी", " 渡"])
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("compare < and >, <= or ==", "compare < and > <= or =="),
        ("a!=b, a != b; n->next := 5 *= 2", "a != b a != b n -> next := 5 *= 2"),
        ("one && two || three & four | five", "one && two || three four five"),
        ("C C# C++ C, F#m; #5 ##", "c c# c ++ c f m 5"),
        (".NET, (.env) end. Next ...so .5 a.b", ".net .env end next so 5 a b"),
        ("D♯ E♭ 7♠ 8 ♥", "d ♯ e ♭ 7 ♠ 8 ♥"),
        ("5€ 5 € $7 -$7 100% 5 ‰", "5 € 5 € $ 7 -$ 7 100 % 5 ‰"),
        ("-5 −5 –5 a-5 5-7 5–7 Cl⁻ - x", "- 5 - 5 - 5 a 5 5-7 5-7 cl - x"),
        ("🇩🇪 🇧🇪 👍🏽 👍🏿 ❤️ ❤", "🇩🇪 🇧🇪 👍🏽 👍🏿 ❤"),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e007f 🏴", "🏴\U000e0067\U000e0062\U000e0065\U000e007f 🏴"),
        ("x ≤ 3, y≥4, ½ ≠ 1", "x ≤ 3 y ≥ 4 1/2 ≠ 1"),
        ("1️⃣ 1", "1⃣ 1"),
        ("★★★☆☆ | © Acme® | ~", "★★★☆☆ acme"),
    ],
)  # fmt: skip
def test_symbols_that_carry_meaning_are_tokens(tokenize, beside, text, tokens):
    assert tokenize(text + beside) == [*tokens.split(), *plain(beside).split()]


@pytest.mark.parametrize("tokenize", OF_WORDS.values(), ids=OF_WORDS)
def test_each_symbol_makes_another_text(tokenize):
    symbols = [one for one in SYMBOLS if unicodedata.normalize("NFKC", one).casefold() == one]
    texts = {tuple(tokenize(f"tea 7{symbol} cake")) for symbol in ["", *symbols]}
    assert len(texts) == 1 + len(symbols) > 5000


@given(st.lists(st.tuples(words, st.sampled_from(SYMBOLS)), min_size=1, max_size=5))
def test_spaces_around_symbols_do_not_count(pairs):
    together = "".join(word + symbol for word, symbol in pairs)
    assume(not any(unicodedata.normalize("NFKC", symbol).isalnum() for _, symbol in pairs))
    symbols = [symbol for _, symbol in pairs]
    # A picture that stands alone and repeats the one before is a bullet.
    assume(len(set(symbols)) == len(symbols))
    apart = " ".join(word + " " + symbol for word, symbol in pairs)
    assert "".join(word_tokens(together)) == "".join(word_tokens(apart))


@given(st.lists(words, min_size=2, max_size=8), st.sampled_from(PICTURES))
def test_bullets_and_separators_of_a_list_count_once(items, bullet):
    assume(word_tokens(bullet) == [bullet])
    plain = word_tokens(" ".join(items))
    assert word_tokens("\n".join(f"{bullet} {item}" for item in items)) == [bullet, *plain]
    assert word_tokens(f" {bullet} ".join(items)) == [
        *word_tokens(items[0]),
        bullet,
        *word_tokens(" ".join(items[1:])),
    ]


@pytest.mark.parametrize(
    ("letters", "name"),
    [("qw", "words"), ("डब", "words"), ("ޑބ", "words"), ("កខ", "words"), ("渡轮", "jieba")],
)
def test_every_mark_belongs_to_its_word(letters, name):
    tokenize = OF_WORDS[name]
    plain = tokenize(letters)
    for mark in characters_of_categories("Mn", "Mc", "Me"):
        marked = f"{letters[0]}{mark}{letters[1]}"
        tokens = tokenize(marked)
        name = unicodedata.name(mark)
        if tokens == plain:  # the folds remove it: see test_folding
            assert name.startswith(("ARABIC", "HEBREW", "SYRIAC", "SAMARITAN")) or any(
                part in name for part in ("VARIATION SELECTOR", "GRAPHEME JOINER")
            ), name
        elif letters[0] not in "ក渡":
            assert len(tokens) == 1, name
