"""Cut text into tokens: jieba's words for runs of Han characters, Unicode words for the rest.

Scripts without spaces and without a segmenter here (kana, Thai, Lao, Khmer, Burmese) become
overlapping pairs of characters: all pages share single characters, and none share whole runs.
Numbers, dates, times and versions are one token each (``08:15``, ``1,299.00``, ``2026-11-22``), and
so are URLs and e-mail addresses: in a timetable they are the content.

Character ranges are written out. By `unicodedata`, a newer Python might cut a text differently.
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
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.hashes import JOINER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

logger = logging.getLogger(__name__)

_loading = threading.Lock()

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005\u3007"
_UNSPACED = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ecd"  # Thai, Lao
    "\u1000-\u103f\u1050-\u109f\u1780-\u17d3"  # Burmese, Khmer
)
# `re` does not count combining marks as word characters, but words in Hindi, Tamil, Hebrew or
# pointed Arabic contain them. The ranges are whole Indic blocks without the danda, and marks.
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u200c\u200d"
)
_SPECIAL = re.compile(f"[{_HAN}{_UNSPACED}{MARKS}]")
_IN_NUMBERS = ".,:/-"
_INSIDE_NUMBER = f"(?<=\\d)[{_IN_NUMBERS}](?=\\d)"
_PLAIN_WORD = re.compile(f"[^\\W_]+(?:{_INSIDE_NUMBER}[^\\W_]+)*")
# For `_split_plain_words`: ASCII that is no part of a word becomes a space.
_ASCII = bytes(range(128))
_ASCII_WORDS = bytes(
    byte if chr(byte).isalnum() or not chr(byte).isascii() else 32 for byte in range(256)
)
# Digits become 0, marks that may be inside numbers a dot, and other bytes a space.
_NUMBER_CLASSES = bytes(
    48 if chr(byte) in "0123456789" else 46 if chr(byte) in _IN_NUMBERS else 32
    for byte in range(256)
)
_INSIDE_NUMBER_CLASSES = b"0.0"
_MAX_SEPARATORS = 40
# Bounded lengths keep the search fast on any text.
_LINK = re.compile(
    "(?:https?://|www\\.)[!-;=?-~]{1,2000}(?<![.,;:!?)'])"
    "|(?<![\\w.+-])[\\w.+-]{1,64}@[\\w-]{1,63}(?:\\.[\\w-]{1,63}){1,8}"
)
_TOKEN = re.compile(
    # The most common kind comes first, and tests no single characters.
    f"[0-9A-Za-z]+(?:{_INSIDE_NUMBER}[0-9A-Za-z]+)*"
    f"(?![0-9A-Za-z\x80-\U0010ffff]|[{_IN_NUMBERS}]\\d)"
    f"|(?P<han>[{_HAN}]+)|(?P<unspaced>[{_UNSPACED}]+)"
    f"|(?P<word>(?:(?![{_HAN}{_UNSPACED}])(?:[^\\W_]|{_INSIDE_NUMBER})|[{MARKS}])+)"
)
# A run that jieba cuts at once. Runs longer than any sentence are cut into pieces.
_JIEBA_CHARACTERS = "\u4e00-\u9fd5a-zA-Z0-9+#&._%\\-"
_JIEBA_RUN = re.compile(f"[{_JIEBA_CHARACTERS}]{{1,1000}}|[^{_JIEBA_CHARACTERS}]+")
_LINE_BREAK = re.compile("[\r\n]")
_TAGGED = re.compile("/[A-Za-z][A-Za-z0-9]*$")
# Texts with a few words such as and/or and km/h are not tagged.
_PIECES_PER_TAG = 10
_SIMHASH_PACKAGE_WORD = re.compile("[\\w\u4e00-\u9fcc]+")
# Soft hyphen, word joiner, byte order mark: invisible, and inside words.
_SHOWN_AS_NOTHING = "\u00ad\u2060\ufeff"
# Matches every long run of combining marks, and few other runs of ordinary texts.
_MANY_MARKS = re.compile("[^\\w\\s\\x00-\u02ff]{31,}")
_MAX_MARKS = 30
_GRAPHEME_JOINER = "\u034f"
# The NFKC of characters in almost every Chinese text. Replacing them first saves time.
_COMMON_FORMS = tuple(
    (form, unicodedata.normalize("NFKC", form))
    for form in "\uff0c\uff1a\uff1b\uff08\uff09\uff01\uff1f\u3000\u00a0\u2026"
)


def normalize(text: str) -> str:
    """Return a text in NFKC and case-folded: forms of one character by width or case are equal."""
    if text.isascii():
        return text.lower()
    for form, plain in _COMMON_FORMS:
        text = text.replace(form, plain)
    folded = nfkc(text).casefold()
    # Again, because case folding decomposes a few letters.
    folded = nfkc(folded)
    for character in _SHOWN_AS_NOTHING:
        folded = folded.replace(character, "")
    return folded


def nfkc(text: str) -> str:
    """Return the NFKC of a text in the Stream-Safe Text Format (UAX #15).

    NFKC sorts the combining marks after a letter, in a time that grows with the square of their
    number. No writing system needs more than 30, so a joiner divides longer runs.
    """
    if unicodedata.is_normalized("NFKC", text):  # takes linear time, because it does not sort
        return text
    # `re` takes the half-width forms of these two marks for letters.
    text = text.replace("\uff9e", "\u3099").replace("\uff9f", "\u309a")
    return unicodedata.normalize("NFKC", _MANY_MARKS.sub(_divided, text))


def _divided(run: re.Match[str]) -> str:
    """Return a run of characters with a joiner after every 30 combining marks."""
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
    """Return the normalized words and links of a text.

    :param segment_han: cuts a run of Han characters.
    """
    text = normalize(text)
    if not _may_have_link(text):
        return _split_words(text, segment_han)
    tokens: list[str] = []
    # The search for links is slow, so it sees only pieces that may be one.
    pieces = text.split()
    start = 0
    for number, piece in enumerate(pieces):
        if not _may_have_link(piece):
            continue
        tokens += _split_words(" ".join(pieces[start:number]), segment_han)
        start = number + 1
        end = 0
        for match in _LINK.finditer(piece):
            tokens += _split_words(piece[end : match.start()], segment_han)
            tokens.append(match.group())
            end = match.end()
        tokens += _split_words(piece[end:], segment_han)
    return tokens + _split_words(" ".join(pieces[start:]), segment_han)


def _may_have_link(text: str) -> bool:
    return "://" in text or "@" in text or "www." in text


def _split_words(text: str, segment_han: Callable[[str], list[str]]) -> list[str]:
    if text.isascii() or not _SPECIAL.search(text):
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
        elif run[0].isalnum() or any(map(str.isalnum, run)):  # not marks alone
            tokens.append(run)
    return tokens


def _split_plain_words(text: str) -> list[str]:
    """Return the matches of `_PLAIN_WORD`, mostly by way of bytes, which is four times as fast."""
    data = text.encode("utf-8", "surrogatepass")
    others = set(data.translate(None, _ASCII).decode("utf-8", "surrogatepass"))
    separators = [other for other in others if not other.isalnum()]
    if len(separators) > _MAX_SEPARATORS or any(map(str.isdecimal, others)):
        return _PLAIN_WORD.findall(text)
    for separator in separators:
        data = data.replace(separator.encode("utf-8", "surrogatepass"), b" ")
    words = bytearray(data.translate(_ASCII_WORDS))
    classes = data.translate(_NUMBER_CLASSES)
    at = classes.find(_INSIDE_NUMBER_CLASSES)
    while at >= 0:
        words[at + 1] = data[at + 1]
        at = classes.find(_INSIDE_NUMBER_CLASSES, at + 2)
    return words.decode().split()


def jieba_tokens(text: str) -> list[str]:
    """Return words; Chinese ones by jieba's dictionary, without its guesses (HMM off).

    `rjieba` (the extra ``fast``) gives the same words in less time.
    """
    return _split(text, _segment)


def word_tokens(text: str) -> list[str]:
    """Return words; each run of Han characters is one."""
    return _split(text, lambda run: [run])


def character_tokens(text: str) -> list[str]:
    """Return letters and digits, one by one."""
    return [character for character in normalize(text) if character.isalnum()]


def character_and_pair_tokens(text: str) -> list[str]:
    """Return letters and digits, one by one, and each pair of neighbours."""
    characters = character_tokens(text)
    return characters + [one + other for one, other in pairwise(characters)]


def whitespace_tokens(text: str) -> list[str]:
    """Return the runs of characters between white space, unchanged."""
    return text.split()


def raw_character_tokens(text: str) -> list[str]:
    """Return every character, unchanged."""
    return list(text)


class TaggedWords(list[str]):
    """The words of a tagged text, with the counts that linyiqun's weights need.

    :param occurrences: the words again, with their occurrences that are tagged as noise.
    :param pieces: number of pieces between spaces in the text, without noise.
    """

    def __init__(self, words: Sequence[str], occurrences: Sequence[str], pieces: int) -> None:
        super().__init__(words)
        self.occurrences = occurrences
        self.pieces = pieces


def tagged_tokens(text: str) -> TaggedWords:
    """Return the words of a text of tagged words, ``word/tag``, separated by spaces.

    It follows linyiqun's Java: line breaks separate nothing; a word ends at its first slash; pieces
    without a slash are skipped; and pieces that contain wn or wd (tags of commas) are noise. If a
    text has no tags, jieba cuts and tags it first.
    """
    pieces = _LINE_BREAK.sub("", text).rstrip(" ").split(" ")
    tagged = sum(map(bool, map(_TAGGED.search, pieces)))
    if tagged * _PIECES_PER_TAG < sum(map(bool, pieces)):
        pieces = [f"{word}/{tag}" for word, tag in _jieba_tags(text)] or [""]
    words, occurrences = [], []
    noise = 0
    for piece in pieces:
        word, slash, _ = piece.partition("/")
        if not slash:
            continue
        occurrences.append(word)
        if "wn" in piece or "wd" in piece:
            noise += 1
        else:
            words.append(word)
    counted = set(words)
    occurrences = [word for word in occurrences if word in counted]
    return TaggedWords(words, occurrences, len(pieces) - noise)


def _jieba_tags(text: str) -> list[tuple[str, str]]:
    return [(pair.word, pair.flag) for pair in _load_tagger().cut(text) if pair.word.strip()]


def simhash_package_tokens(text: str) -> list[str]:
    """Return the characters of words in lower case, as the PyPI package simhash joins them.

    An empty text is one empty token there.
    """
    return list("".join(_SIMHASH_PACKAGE_WORD.findall(text.lower()))) or [""]


def jieba_keyword_tokens(text: str) -> list[str]:
    """Return words of two characters and more, cut twice by jieba with its guesses (HMM on).

    These are the words that ``extract_tags("|".join(jieba.cut(text)))`` counts.
    """
    cut = jieba_tokenizer().lcut
    # In runs: jieba's guesses take quadratic time, as each character copies the guess so far.
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
    "whitespace": Tokenizer(whitespace_tokens),
    "raw-characters": Tokenizer(raw_character_tokens),
    "tagged": Tokenizer(tagged_tokens),
    "simhash-package": Tokenizer(simhash_package_tokens, joiner=""),
    "jieba-keywords": Tokenizer(jieba_keyword_tokens),
}


def _segment(run: str) -> list[str]:
    """Return the words of a run of Han characters."""
    # Loaded at the first run: other texts need no dictionary.
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
    # A tokenizer of our own, for the same reason as `jieba_tokenizer`.
    cut_fast = rjieba.Jieba().cut
    return lambda run: cut_fast(run, False)  # noqa: FBT003


def jieba_tokenizer() -> Any:
    """Return a jieba.Tokenizer of our own, because load_userdict() changes the global one."""
    with _loading:  # several threads may need it at the same time, but only one loads it
        return _load_jieba()


@lru_cache(maxsize=1)
def _load_jieba() -> Any:
    """Return a jieba.Tokenizer with its dictionary loaded, which takes about a second.

    jieba caches the dictionary as a marshalled file. Whoever can write this file can run code here,
    so it lies in a directory that only its owner can write.
    """
    import jieba

    if jieba.default_logger.level == logging.DEBUG:
        jieba.setLogLevel(logging.INFO)  # its "Building prefix dict" lines on stderr
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
    """Return $XDG_CACHE_HOME/scrapy-simhash (or ~/.cache/…) if only we can write it, or None."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        directory = Path(base).expanduser() / "scrapy-simhash"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat(follow_symlinks=False)
        trusted = (
            stat.S_ISDIR(status.st_mode)
            and status.st_uid == os.getuid()
            and not status.st_mode & 0o022
            and os.access(directory, os.W_OK)
        )
    except (OSError, RuntimeError) as error:
        logger.debug("no cache directory for jieba's dictionary: %s", error)
        return None
    return directory if trusted else None
