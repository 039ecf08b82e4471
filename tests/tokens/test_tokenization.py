import logging
import os
import tempfile
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.tokens.folding import plain
from scrapy_simhash.tokens.tokenization import (
    TOKENIZERS,
    _load_jieba,
    jieba_tokenizer,
    jieba_tokens,
    owner_only_cache_directory,
    word_tokens,
)
from tests.crawl.harness import python
from tests.samples import CHINESE

# The tokenizers that normalize. The others leave a text unchanged, as their authors did.
NORMALIZING = {
    name: TOKENIZERS[name].tokens
    for name in ("jieba", "words", "characters", "characters-and-pairs")
}
OF_WORDS = {name: TOKENIZERS[name].tokens for name in ("jieba", "words")}
any_text = st.text(st.characters(), max_size=40)  # lone surrogates are among them
han_text = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=30)


class TestScripts:
    @pytest.mark.parametrize("tokenize", OF_WORDS.values(), ids=OF_WORDS)
    @pytest.mark.parametrize(
        ("text", "tokens"),
        [
            ("The ferry, twice a day.", "the ferry twice a day"),
            ("don't snake_case e-mail 3.14", "don t snake case e mail 3.14"),
            ("Καλημέρα κόσμε, доброе утро", "καλημερα κοσμε доброе утро"),
            ("한국어 문서 비교", "한국어 문서 비교"),
            ("カタカナ", "カタ タカ カナ"),
            ("ひらがな。ー", "ひら らが がな ー"),
            ("ภาษาไทย", "ภา าษ ษา าไ ไท ทย"),
            ("เรือ 12 ๓๔", "เร รื ือ 12 ๓๔"),
            ("မြန်မာ", "မြ ြန န် ်မ မာ"),
            ("हिन्दी में समाचार।", "हिन्दी में समाचार"),
            ("தமிழ் செய்தி", "தமிழ் செய்தி"),
            ("বাংলা ভাষা", "বাংলা ভাষা"),
            ("العَرَبِيَّةُ لُغَةٌ، نعم", "العربية لغة نعم"),
            ("שָׁלוֹם עוֹלָם", "שלום עולם"),
            ("می‌روم", "میروم"),
            ("ދިވެހި ބަސް", "ދިވެހި ބަސް"),
            ("བོད་སྐད།", "བོད སྐད"),
            ("ꦧꦱꦗꦮ", "ꦧꦱ ꦱꦗ ꦗꦮ"),
            ("x̱ y", "x̱ y"),
        ],
    )
    def test_words_of_many_scripts(self, tokenize, text, tokens):
        assert tokenize(text) == [plain(token) for token in tokens.split(" ")]

    def test_chinese_is_cut_into_words(self):
        assert jieba_tokens(CHINESE)[:13] == (
            "每天 清晨 六点 开往 北方 群岛 的 第一班 渡轮 准时 离开 码头 错过".split()
        )

    def test_tokens_end_where_the_script_changes(self):
        assert jieba_tokens("私はバスを待つABC公司x2") == (
            ["私", "はバ", "バス", "スを", "待", "つ", "abc", "公司", "x2"]
        )

    @pytest.mark.parametrize("tokenize", [word_tokens, jieba_tokens])
    @given(text=st.text(st.characters(max_codepoint=127)))
    def test_ascii_is_cut_the_same_beside_other_letters(self, tokenize, text):
        assert tokenize(f"{text} \u00e9") == [*tokenize(text), "e"]

    @given(han_text)
    def test_jieba_words_are_in_the_dictionary_and_lose_no_character(self, text):
        tokens = jieba_tokens(text)
        assert "".join(tokens) == text
        known = jieba_tokenizer().FREQ
        assert all(known.get(token) for token in tokens if len(token) > 1)


class TestNumbersAndLinks:
    @pytest.mark.parametrize("tokenize", OF_WORDS.values(), ids=OF_WORDS)
    @pytest.mark.parametrize("beside", ["", " é", " हिन्दी", " 渡"])
    @pytest.mark.parametrize(
        ("text", "tokens"),
        [
            ("08:15 3.5 1,299.00 2026-11-22 10/12/26", "08:15 3.5 1,299.00 2026-11-22 10/12/26"),
            ("v2.1, 3rd; 4x4/5 1.0b2.3", "v2.1 3rd 4x4/5 1.0b2.3"),
            ("2. 3, 4- :5 6.-7 8..9 a.b c-d 1.a a.1", "2 3 4 5 6 7 8 9 a b c d 1 a a 1"),
            ("£3.50 (12:30) [1/2] 100% -4.5", "£ 3.50 12:30 1/2 100 % - 4.5"),
            ("1\x012 1\x05.2", "1 2 1 2"),
            (
                "See https://a.example/x?y=1&z=%C3#p, or www.b.example/q_r.",
                "see https://a.example/x?y=1&z=%c3#p or www.b.example/q_r",
            ),
            ("(http://a.example/b), <https://c.example>", "http://a.example/b https://c.example"),
            ("https:// www. http://. https://)) x://y", "https www http https x y"),
            (
                "Mail a.b+c@d.example.org, or e_f@g.example!",
                "mail a.b+c@d.example.org or e_f@g.example",
            ),
            ("@who a@b c@ d@e. @", "who a b c d e"),
        ],
    )
    def test_numbers_and_links_are_one_token_each(self, tokenize, beside, text, tokens):
        assert tokenize(text + beside) == [*tokens.split(" "), *plain(beside).split()]

    @pytest.mark.parametrize("tokenize", OF_WORDS.values(), ids=OF_WORDS)
    def test_numbers_of_other_scripts_are_one_token_each(self, tokenize):
        assert tokenize("٣٫٥ ०८:१५ ３．５ kl. 8:15 Uhr") == "3.5 08:15 3.5 kl 8:15 uhr".split()
        assert tokenize("每天08:15出发") == [*tokenize("每天"), "08:15", *tokenize("出发")]
        assert tokenize("वि2.5, हि-2") == ["वि2.5", "हि", "2"]

    @given(st.text("0123.,:/-a é渡ि@", max_size=12))
    def test_number_signs_are_only_between_digits(self, text):
        for token in word_tokens(text):
            if "@" not in token and token != "-":
                inside = token.strip(",:/-").removeprefix(".")
                assert token in (inside, f".{inside}")
                assert token == inside or inside[0].isalpha()
                assert all(
                    one.isdigit() and other.isdigit()
                    for one, mark, other in zip(inside, inside[1:], inside[2:], strict=False)
                    if mark in ".,:/-"
                )


class TestAnyText:
    @pytest.mark.parametrize("tokenize", NORMALIZING.values(), ids=NORMALIZING)
    @given(text=any_text)
    def test_composed_and_decomposed_text_have_equal_tokens(self, tokenize, text):
        forms = {form: unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKD")}
        assert tokenize(forms["NFC"]) == tokenize(forms["NFD"]) == tokenize(forms["NFKD"])

    @pytest.mark.parametrize("tokenize", NORMALIZING.values(), ids=NORMALIZING)
    @given(text=any_text)
    def test_no_text_raises_and_no_letter_is_lost(self, tokenize, text):
        tokens = tokenize(text)
        assert all(tokens)
        assert not any(character.isspace() for token in tokens for character in token)
        letters = {character for character in plain(text) if character.isalnum()}
        assert letters <= set("".join(tokens))

    @pytest.mark.parametrize(
        "text", ["a" * 10**6, "渡" * 10**5, "カ" * 10**5, "x" + "\u0301" * 10**5]
    )
    def test_long_runs_lose_no_character(self, text):
        assert set("".join(jieba_tokens(text))) == set(text)


class TestOthers:
    @pytest.mark.parametrize(
        ("name", "text", "tokens"),
        [
            ("characters", "Ab, c-1 ß 渡轮 ①", ["a", "b", "c", "1", "s", "s", "渡", "轮", "1"]),
            ("characters-and-pairs", "Ab, 渡!", ["a", "b", "渡", "ab", "b渡"]),
            ("characters-and-pairs", "A", ["a"]),
            ("whitespace", " The  ferry,\n渡轮\u3000Ａ ", ["The", "ferry,", "渡轮", "Ａ"]),
            ("raw-characters", "Ab \n\0", ["A", "b", " ", "\n", "\0"]),
            ("tagged", "渡轮/n  离/开/v\n ，/wd 、/wn 。/wj", ["渡轮", "离", "。"]),
            ("simhash-package", "Ab, c_1 İ 渡轮!", list("abc_1i渡轮")),
            ("simhash-package", "", [""]),
            ("simhash-package", "…!?", [""]),
            ("jieba-keywords", "渡轮离开,码头 ferry a", ["渡轮", "离开", "码头", "ferry"]),
        ],
    )
    def test_tokens_of_other_tokenizers(self, name, text, tokens):
        assert TOKENIZERS[name].tokens(text) == tokens


def test_changes_to_the_global_dictionary_of_jieba_do_not_count(tmp_path, cache_home):
    words = tmp_path / "words.txt"
    words.write_text("北方群岛的第一班渡轮 1000000 n\n", encoding="utf-8")
    code = f"""
import jieba
from scrapy_simhash.tokens.tokenization import jieba_tokens
jieba.dt.tmp_dir = {str(cache_home)!r}
text = "开往北方群岛的第一班渡轮错过这班船"
def change():
    jieba.load_userdict({str(words)!r})
    jieba.add_word("错过这班船", 1000000)
    jieba.del_word("开往")
    assert jieba.lcut(text, HMM=False) == ["开", "往", "北方群岛的第一班渡轮", "错过这班船"]
change()
assert jieba_tokens(text) == "开往 北方 群岛 的 第一班 渡轮 错过 这 班船".split()
change()
assert jieba_tokens(text) == "开往 北方 群岛 的 第一班 渡轮 错过 这 班船".split()
"""
    python("-W", "ignore", "-X", "utf8", "-c", code)


class TestCacheDirectory:
    @pytest.fixture
    def home(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        return tmp_path / "xdg" / "scrapy-simhash"

    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
    def test_the_directory_is_private(self, home, umask):
        before = os.umask(umask)
        try:
            assert owner_only_cache_directory() == home
        finally:
            os.umask(before)
        assert home.stat().st_mode & 0o777 == 0o700
        assert owner_only_cache_directory() == home, "and found again"

    @pytest.mark.parametrize("what", ["of another owner", "link", "file", "below a file"])
    def test_what_is_no_directory_of_ones_own_is_refused(self, home, tmp_path, what):
        if what == "below a file":
            home.parent.write_text("a file")
        elif what == "file":
            home.parent.mkdir()
            home.write_text("a file")
        elif what == "link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
            home.parent.mkdir()
            home.symlink_to(tmp_path / "elsewhere")
        elif os.getuid() == 0:
            home.mkdir(parents=True, mode=0o700)
            os.chown(home, 65534, 65534)
        else:
            pytest.skip("only root can give a directory away")
        assert owner_only_cache_directory() is None


class TestLoading:
    @pytest.fixture
    def temporary(self, tmp_path, monkeypatch):
        directory = tmp_path / "temporary"
        directory.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(directory))
        return directory

    def test_the_dictionary_is_cached_only_in_the_private_directory(
        self, tmp_path, temporary, monkeypatch, caplog
    ):
        caplog.set_level(logging.INFO)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        fresh = _load_jieba.__wrapped__()
        assert fresh.lcut("渡轮离开码头", HMM=False) == ["渡轮", "离开", "码头"]
        (cached,) = (tmp_path / "xdg" / "scrapy-simhash").iterdir()
        assert cached.stat().st_size > 10**6
        assert not cached.stat().st_mode & 0o022
        assert list(temporary.iterdir()) == []

    def test_without_a_trusted_directory_nothing_is_cached(self, tmp_path, temporary, monkeypatch):
        home = tmp_path / "xdg" / "scrapy-simhash"
        home.mkdir(parents=True)
        home.chmod(0o777)
        (home / "jieba.cache").write_bytes(b"not ours")
        monkeypatch.setenv("XDG_CACHE_HOME", str(home.parent))
        fresh = _load_jieba.__wrapped__()
        assert fresh.lcut("渡轮离开码头", HMM=False) == ["渡轮", "离开", "码头"]
        assert [path.name for path in home.iterdir()] == ["jieba.cache"]
        assert list(temporary.iterdir()) == []
