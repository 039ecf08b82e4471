"""Cut text into tokens. `TOKENIZERS` has the tokenizers by name.

The default, ``jieba``, cuts runs of Han characters into the words of jieba's dictionary, and other
text at spaces and punctuation. Kana, Thai, Lao, Khmer and Burmese have no spaces, and this module
has no segmenter for them. They become overlapping pairs of characters, because all pages share
single characters, and few share whole runs. A number, date, time, version, URL or e-mail address is
one token (``08:15``, ``1,299.00``, ``2026-11-22``), because numbers are the content of a timetable.

These scripts are fixed ranges of characters. What else is a letter depends on Python's version of
Unicode.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import tempfile
import threading
import unicodedata
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.hashes import JOINER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

logger = logging.getLogger(__name__)

_loading = threading.Lock()  # so that only one of several threads loads a dictionary

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005\u3007"
_UNSPACED = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ecd"  # Thai, Lao
    "\u1000-\u103f\u1050-\u109f\u1780-\u17d3"  # Burmese, Khmer
)
# Combining marks, joiners, and whole Indic blocks without the danda (a full stop). ``\w`` does not
# match marks, but words in Hindi, Tamil, Hebrew or pointed Arabic contain them.
IN_WORDS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u200c\u200d"
)
# `_split_plain_words` cuts a text without these characters, because it is faster.
_NEEDS_TOKEN_SEARCH = re.compile(f"[{_HAN}{_UNSPACED}{IN_WORDS}]")
_NUMBER_SIGNS = ".,:/-"  # between two digits, these separate no tokens
_INSIDE_NUMBER = f"(?<=\\d)[{_NUMBER_SIGNS}](?=\\d)"
_PLAIN_WORD = re.compile(f"[^\\W_]+(?:{_INSIDE_NUMBER}[^\\W_]+)*")
# Tables of `_split_plain_words`. This one turns ASCII other than letters and digits into spaces.
_ASCII_WORDS = bytes(
    byte if chr(byte).isalnum() or not chr(byte).isascii() else 32 for byte in range(256)
)
# This one turns digits into 0, `_NUMBER_SIGNS` into dots and other bytes into spaces. So two digits
# with a sign between them become `_SIGN_IN_NUMBER`.
_NUMBER_CLASSES = bytes(
    48 if chr(byte) in "0123456789" else 46 if chr(byte) in _NUMBER_SIGNS else 32
    for byte in range(256)
)
_SIGN_IN_NUMBER = b"0.0"
_ASCII = bytes(range(128))
# If a text has more different separators beyond ASCII, a search is faster than replacing each.
_MAX_SEPARATORS = 40
# A URL or an e-mail address. With bounded lengths, the search takes linear time on any text.
_LINK = re.compile(
    "(?:https?://|www\\.)[!-;=?-~]{1,2000}(?<![.,;:!?)'])"
    "|(?<![\\w.+-])[\\w.+-]{1,64}@[\\w-]{1,63}(?:\\.[\\w-]{1,63}){1,8}"
)
_TOKEN = re.compile(
    # ASCII words, the most common kind, come first. The last alternative tests each character.
    f"[0-9A-Za-z]+(?:{_INSIDE_NUMBER}[0-9A-Za-z]+)*"
    f"(?![0-9A-Za-z\x80-\U0010ffff]|[{_NUMBER_SIGNS}]\\d)"
    f"|(?P<han>[{_HAN}]+)|(?P<unspaced>[{_UNSPACED}]+)"
    f"|(?P<word>(?:(?![{_HAN}{_UNSPACED}])(?:[^\\W_]|{_INSIDE_NUMBER})|[{IN_WORDS}])+)"
)
# jieba cuts a run of these characters as a whole. Runs over 1,000 characters are divided, because
# jieba's guesses take quadratic time: each character copies the guess so far.
_JIEBA_CHARACTERS = "\u4e00-\u9fd5a-zA-Z0-9+#&._%\\-"
_JIEBA_RUN = re.compile(f"[{_JIEBA_CHARACTERS}]{{1,1000}}|[^{_JIEBA_CHARACTERS}]+")
_LINE_BREAK = re.compile("[\r\n]")
_ENDS_WITH_TAG = re.compile("/[A-Za-z][A-Za-z0-9]*$")
# A text with more pieces per tag does not count as tagged: words such as and/or look like tags.
_MAX_PIECES_PER_TAG = 10
_SIMHASH_PACKAGE_WORD = re.compile("[\\w\u4e00-\u9fcc]+")
# Soft hyphen, word joiner, byte order mark. They may be inside words.
_INVISIBLE = "\u00ad\u2060\ufeff"
_MAX_MARKS = 30
# Matches every run of more than 30 combining marks, and seldom anything else.
_MAYBE_MANY_MARKS = re.compile("[^\\w\\s\\x00-\u02ff]{31,}")
_GRAPHEME_JOINER = "\u034f"
# (character, its NFKC), for characters in almost all Chinese texts. Replacing them first is faster.
_COMMON_FORMS = tuple(
    (form, unicodedata.normalize("NFKC", form))
    for form in "\uff0c\uff1a\uff1b\uff08\uff09\uff01\uff1f\u3000\u00a0\u2026"
)


def normalize(text: str) -> str:
    """Return a text in NFKC, case-folded, and without the characters of `_INVISIBLE`."""
    if text.isascii():
        return text.lower()
    for form, plain in _COMMON_FORMS:
        text = text.replace(form, plain)
    folded = nfkc(text).casefold()
    folded = nfkc(folded)  # because case folding decomposes a few letters
    for character in _INVISIBLE:
        folded = folded.replace(character, "")
    return folded


def nfkc(text: str) -> str:
    """Return a text in NFKC.

    NFKC sorts the combining marks after a letter, in a time that grows with the square of their
    number. No writing system needs more than 30, so joiners divide longer runs (UAX #15), unless
    the text is in NFKC already.
    """
    if unicodedata.is_normalized("NFKC", text):  # linear time: False at the first unsorted mark
        return text
    # `_MAYBE_MANY_MARKS` would take the half-width forms of these two marks for letters.
    text = text.replace("\uff9e", "\u3099").replace("\uff9f", "\u309a")
    return unicodedata.normalize("NFKC", _MAYBE_MANY_MARKS.sub(_divide, text))


def _divide(run: re.Match[str]) -> str:
    """Return a run of characters with joiners, so that at most 30 marks follow each other."""
    parts = []
    marks = 0
    for character in run.group():
        decomposed = unicodedata.normalize("NFKD", character)
        if not unicodedata.combining(decomposed[0]):
            marks = 0
        elif marks + len(decomposed) > _MAX_MARKS:
            parts.append(_GRAPHEME_JOINER)
            marks = 0
        marks += sum(map(bool, map(unicodedata.combining, decomposed)))
        parts.append(character)
    return "".join(parts)


def _split(text: str, segment_han: Callable[[str], list[str]]) -> list[str]:
    """Return the words and links (URLs, e-mail addresses) of a text in order, normalized.

    :param segment_han: returns the words of a run of Han characters.
    """
    text = normalize(text)
    if not _may_have_link(text):
        return _split_words(text, segment_han)
    tokens: list[str] = []
    # The search for links is slow, so only pieces that may contain one are searched.
    for may_have_link, pieces in groupby(text.split(), _may_have_link):
        run = " ".join(pieces)
        end = 0
        for match in _LINK.finditer(run) if may_have_link else ():
            tokens += _split_words(run[end : match.start()], segment_han)
            tokens.append(match.group())
            end = match.end()
        tokens += _split_words(run[end:], segment_han)
    return tokens


def _may_have_link(text: str) -> bool:
    return "://" in text or "@" in text or "www." in text


def _split_words(text: str, segment_han: Callable[[str], list[str]]) -> list[str]:
    if text.isascii() or not _NEEDS_TOKEN_SEARCH.search(text):
        return _split_plain_words(text)
    tokens: list[str] = []
    for match in _TOKEN.finditer(text):
        run = match.group()
        kind = match.lastgroup
        if kind is None:
            tokens.append(run)
        elif kind == "han":
            tokens += segment_han(run)
        elif kind == "unspaced" and len(run) > 1:
            tokens += [run[i : i + 2] for i in range(len(run) - 1)]
        elif run[0].isalnum() or any(map(str.isalnum, run)):  # more than marks
            tokens.append(run)
    return tokens


def _split_plain_words(text: str) -> list[str]:
    """Return the matches of `_PLAIN_WORD` in a text."""
    # Operations on bytes take a quarter of the time of a search, but digits beyond ASCII need one.
    data = text.encode("utf-8", "surrogatepass")
    beyond_ascii = set(data.translate(None, _ASCII).decode("utf-8", "surrogatepass"))
    separators = [character for character in beyond_ascii if not character.isalnum()]
    if len(separators) > _MAX_SEPARATORS or any(map(str.isdecimal, beyond_ascii)):
        return _PLAIN_WORD.findall(text)
    for separator in separators:
        data = data.replace(separator.encode("utf-8", "surrogatepass"), b" ")
    words = bytearray(data.translate(_ASCII_WORDS))
    classes = data.translate(_NUMBER_CLASSES)
    at = classes.find(_SIGN_IN_NUMBER)
    while at >= 0:
        words[at + 1] = data[at + 1]
        at = classes.find(_SIGN_IN_NUMBER, at + 2)
    return words.decode().split()


def jieba_tokens(text: str) -> list[str]:
    """Return words and links. jieba cuts runs of Han characters, without guessing words (HMM off).

    `rjieba` (the extra ``fast``) gives the same words in less time.
    """
    return _split(text, _segment)


def word_tokens(text: str) -> list[str]:
    """Return words and links. Each run of Han characters is one word."""
    return _split(text, lambda run: [run])


def character_tokens(text: str) -> list[str]:
    """Return the letters and digits of the normalized text, one by one."""
    return [character for character in normalize(text) if character.isalnum()]


def character_and_pair_tokens(text: str) -> list[str]:
    """Return the `character_tokens`, then each pair of neighbours among them."""
    characters = character_tokens(text)
    return characters + [first + second for first, second in pairwise(characters)]


class TaggedWords(list[str]):
    """The words of a tagged text in order, without noise (see `tagged_tokens`).

    :param occurrences: all occurrences of these words in the text, in order; also those in noise.
    :param pieces: number of pieces between spaces, except noise. Empty and untagged pieces count.
    """

    def __init__(self, words: Sequence[str], occurrences: Sequence[str], pieces: int) -> None:
        super().__init__(words)
        self.occurrences = occurrences
        self.pieces = pieces


def tagged_tokens(text: str) -> TaggedWords:
    """Return the words of a text that consists of pieces ``word/tag``, separated by spaces.

    The rules are those of linyiqun's Java: line breaks are removed; a word ends at its first slash;
    a piece without a slash has no word; and a piece that contains wn or wd (tags of commas) is
    noise. If fewer than one in ten pieces ends with a tag, jieba cuts and tags the text first.
    """
    pieces = _LINE_BREAK.sub("", text).rstrip(" ").split(" ")
    tags = sum(map(bool, map(_ENDS_WITH_TAG.search, pieces)))
    if tags * _MAX_PIECES_PER_TAG < sum(map(bool, pieces)):
        pairs = _load_tagger().cut(text)
        pieces = [f"{pair.word}/{pair.flag}" for pair in pairs if pair.word.strip()] or [""]
    words, occurrences = [], []
    for piece in pieces:
        word, slash, _ = piece.partition("/")
        if slash:
            occurrences.append(word)
            if "wn" not in piece and "wd" not in piece:
                words.append(word)
    noise = len(occurrences) - len(words)
    distinct_words = set(words)
    occurrences = [word for word in occurrences if word in distinct_words]
    return TaggedWords(words, occurrences, len(pieces) - noise)


def simhash_package_tokens(text: str) -> list[str]:
    """Return letters, digits and underscores in lower case, one by one; [""] if there are none.

    The PyPI package simhash does the same, so its shingles go across words.
    """
    return list("".join(_SIMHASH_PACKAGE_WORD.findall(text.lower()))) or [""]


def jieba_keyword_tokens(text: str) -> list[str]:
    """Return words of two characters or more. jieba cuts the text twice and guesses words (HMM on).

    ``extract_tags("|".join(jieba.cut(text)))`` counts the same words.
    """
    cut = jieba_tokenizer().lcut
    words = [word for run in _JIEBA_RUN.findall(text) for word in cut(run)]
    return [word for word in cut("|".join(words)) if len(word.strip()) > 1]


class Tokenizer(NamedTuple):
    """A function from text to tokens, and the string that joins tokens to shingles."""

    tokens: Callable[[str], list[str]]
    joiner: str = JOINER


TOKENIZERS: Mapping[str, Tokenizer] = {
    "jieba": Tokenizer(jieba_tokens),
    "words": Tokenizer(word_tokens),
    "characters": Tokenizer(character_tokens),
    "characters-and-pairs": Tokenizer(character_and_pair_tokens),
    "whitespace": Tokenizer(str.split),
    "raw-characters": Tokenizer(list),
    "tagged": Tokenizer(tagged_tokens),
    "simhash-package": Tokenizer(simhash_package_tokens, joiner=""),
    "jieba-keywords": Tokenizer(jieba_keyword_tokens),
}


def _segment(run: str) -> list[str]:
    """Return the words of a run of Han characters. The first call loads a dictionary."""
    with _loading:
        segment = _load_segmenter()
    return segment(run)


@lru_cache(maxsize=1)
def _load_segmenter() -> Callable[[str], list[str]]:
    try:
        import rjieba
    except ImportError:
        cut = _load_jieba().lcut
        return lambda run: cut(run, HMM=False)
    # Not rjieba's global tokenizer, for the same reason as in `jieba_tokenizer`.
    cut_fast = rjieba.Jieba().cut
    return lambda run: cut_fast(run, False)  # noqa: FBT003


def jieba_tokenizer() -> Any:
    """Return a jieba.Tokenizer of our own. A user's load_userdict() changes jieba's global one."""
    with _loading:
        return _load_jieba()


@lru_cache(maxsize=1)
def _load_jieba() -> Any:
    """Return a jieba.Tokenizer with its dictionary loaded, which takes about a second.

    jieba reads its cache with `marshal`, which is not safe with forged files. So the cache is in a
    directory that no other user can write to, or else in a temporary one, which is deleted.
    """
    import jieba

    if jieba.default_logger.level == logging.DEBUG:
        jieba.setLogLevel(logging.INFO)  # hides the "Building prefix dict" lines on stderr
    tokenizer = jieba.Tokenizer()
    directory = owner_only_cache_directory()
    if directory is not None:
        tokenizer.tmp_dir = str(directory)
        tokenizer.initialize()
    else:
        with tempfile.TemporaryDirectory(prefix="scrapy-simhash-") as temporary:
            tokenizer.tmp_dir = temporary
            tokenizer.initialize()
    return tokenizer


@lru_cache(maxsize=1)
def _load_tagger() -> Any:
    from scrapy_simhash.tagging import Tagger

    return Tagger(jieba_tokenizer())


def owner_only_cache_directory() -> Path | None:
    """Create and return the cache directory; None if we cannot write to it, or others can."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        directory = Path(base).expanduser() / "scrapy-simhash"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat(follow_symlinks=False)
        is_trusted = (
            stat.S_ISDIR(status.st_mode)
            and status.st_uid == os.getuid()
            and not status.st_mode & 0o022
            and os.access(directory, os.W_OK)
        )
    except (OSError, RuntimeError) as error:
        logger.debug("no cache directory for jieba's dictionary: %s", error)
        return None
    return directory if is_trusted else None
