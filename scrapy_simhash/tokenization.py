"""Text to tokens: jieba's words for runs of Han characters, Unicode words for the rest.

Scripts that write no spaces and have no segmenter here (kana, Thai, Lao, Khmer, Burmese) become
overlapping pairs of characters: single characters are shared by every page, whole runs by none.
Numbers, dates, times and versions are one token each (``08:15``, ``1,299.00``, ``2026-11-22``), and
so are URLs and e-mail addresses: in a timetable they are the content.
Character ranges are written out rather than asked of `unicodedata`, so that a newer Python cuts
the same text in the same tokens.
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
# Combining marks are no word characters to `re`, yet Hindi, Tamil, Hebrew or pointed Arabic
# words hold them: whole Indic blocks but the danda, and the marks of the others.
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u200c\u200d"
)
_SPECIAL = re.compile(f"[{_HAN}{_UNSPACED}{MARKS}]")
_IN_NUMBERS = ".,:/-"
_INSIDE_NUMBER = f"(?<=\\d)[{_IN_NUMBERS}](?=\\d)"
_PLAIN_WORD = re.compile(f"[^\\W_]+(?:{_INSIDE_NUMBER}[^\\W_]+)*")
# The same in UTF-8 in a quarter of the time: ASCII that is no word becomes a space.
_ASCII = bytes(range(128))
_ASCII_WORDS = bytes(
    byte if chr(byte).isalnum() or not chr(byte).isascii() else 32 for byte in range(256)
)
# Digits, marks inside numbers, and all others.
_NUMBER_CLASSES = bytes(
    48 if chr(byte) in "0123456789" else 46 if chr(byte) in _IN_NUMBERS else 32
    for byte in range(256)
)
_INSIDE_NUMBER_CLASSES = b"0.0"
_MAX_SEPARATORS = 40
# Lengths are bounded, so that no text makes the search slow.
_LINK = re.compile(
    "(?:https?://|www\\.)[!-;=?-~]{1,2000}(?<![.,;:!?)'])"
    "|(?<![\\w.+-])[\\w.+-]{1,64}@[\\w-]{1,63}(?:\\.[\\w-]{1,63}){1,8}"
)
_TOKEN = re.compile(
    # First what is most common, without a look at each character.
    f"[0-9A-Za-z]+(?:{_INSIDE_NUMBER}[0-9A-Za-z]+)*"
    f"(?![0-9A-Za-z\x80-\U0010ffff]|[{_IN_NUMBERS}]\\d)"
    f"|(?P<han>[{_HAN}]+)|(?P<unspaced>[{_UNSPACED}]+)"
    f"|(?P<word>(?:(?![{_HAN}{_UNSPACED}])(?:[^\\W_]|{_INSIDE_NUMBER})|[{MARKS}])+)"
)
# What jieba looks at by itself, in pieces where it is longer than any sentence.
_JIEBA_CHARACTERS = "\u4e00-\u9fd5a-zA-Z0-9+#&._%\\-"
_JIEBA_RUN = re.compile(f"[{_JIEBA_CHARACTERS}]{{1,1000}}|[^{_JIEBA_CHARACTERS}]+")
_LINE_BREAK = re.compile("[\r\n]")
_TAGGED = re.compile("/[A-Za-z][A-Za-z0-9]*$")
# and/or and km/h make no tagged text.
_PIECES_PER_TAG = 10
_SIMHASH_PACKAGE_WORD = re.compile("[\\w\u4e00-\u9fcc]+")
# Soft hyphen, word joiner, byte order mark: shown as nothing, and inside words.
_SHOWN_AS_NOTHING = "\u00ad\u2060\ufeff"
# Holds every combining mark, and little else that ordinary texts have so many of in a row.
_MANY_MARKS = re.compile("[^\\w\\s\\x00-\u02ff]{31,}")
_MAX_MARKS = 30
_GRAPHEME_JOINER = "\u034f"
# What NFKC makes of characters that almost every Chinese text has, so that it has less to do.
_COMMON_FORMS = tuple(
    (form, unicodedata.normalize("NFKC", form))
    for form in "\uff0c\uff1a\uff1b\uff08\uff09\uff01\uff1f\u3000\u00a0\u2026"
)


def normalize(text: str) -> str:
    """NFKC and case folding: full-width and half-width forms, ligatures and case are one."""
    if text.isascii():
        return text.lower()
    for form, plain in _COMMON_FORMS:
        text = text.replace(form, plain)
    folded = nfkc(text).casefold()
    # Again, for case folding takes a few letters apart.
    folded = nfkc(folded)
    for character in _SHOWN_AS_NOTHING:
        folded = folded.replace(character, "")
    return folded


def nfkc(text: str) -> str:
    """NFKC of a text in the Stream-Safe Text Format (UAX #15).

    NFKC sorts the combining marks behind a letter, in a time that grows with the square of their
    number. No writing system needs more than 30, so a joiner divides longer runs.
    """
    if unicodedata.is_normalized("NFKC", text):  # linear: what it would have to sort is not
        return text
    # The half-width forms of these two marks are letters to `re`.
    text = text.replace("\uff9e", "\u3099").replace("\uff9f", "\u309a")
    return unicodedata.normalize("NFKC", _MANY_MARKS.sub(_divided, text))


def _divided(run: re.Match[str]) -> str:
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
    text = normalize(text)
    if "://" in text or "@" in text or "www." in text:
        return _split_at_links(text, segment_han)
    return _split_words(text, segment_han)


def _split_at_links(text: str, segment_han: Callable[[str], list[str]]) -> list[str]:
    tokens: list[str] = []
    # Neither words nor links contain white space, and the search for links is slow.
    pieces = text.split()
    start = 0
    for number, piece in enumerate(pieces):
        if "://" not in piece and "@" not in piece and "www." not in piece:
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
    """Return what `_PLAIN_WORD` finds."""
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
    """Words; Chinese ones by jieba's dictionary, without its statistical guesses (HMM off).

    With `rjieba` installed (the extra ``fast``), by its equal and faster cut.
    """
    return _split(text, _segment)


def word_tokens(text: str) -> list[str]:
    """Words; each run of Han characters is one."""
    return _split(text, lambda run: [run])


def character_tokens(text: str) -> list[str]:
    """Letters and digits, one by one."""
    return [character for character in normalize(text) if character.isalnum()]


def character_and_pair_tokens(text: str) -> list[str]:
    """Letters and digits, one by one, and each pair of neighbours."""
    characters = character_tokens(text)
    return characters + [one + other for one, other in pairwise(characters)]


def whitespace_tokens(text: str) -> list[str]:
    """Return what is between white space, unchanged."""
    return text.split()


def raw_character_tokens(text: str) -> list[str]:
    """Return every character, unchanged."""
    return list(text)


class TaggedWords(list[str]):
    """The words of a tagged text, with what linyiqun's weights need.

    :param occurrences: the words again, and those occurrences of them that are tagged as noise.
    :param pieces: how many pieces the text has between spaces, without noise.
    """

    def __init__(self, words: Sequence[str], occurrences: Sequence[str], pieces: int) -> None:
        super().__init__(words)
        self.occurrences = occurrences
        self.pieces = pieces


def tagged_tokens(text: str) -> TaggedWords:
    """Return the words of a text that is split by spaces and tagged, ``word/tag``.

    As linyiqun's Java reads them: line breaks separate nothing; a word ends at its first slash;
    pieces without a slash are skipped, and those that contain wn or wd (tags of commas) are noise.
    A text without tags is split and tagged by jieba first.
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
    """Characters of words in lower case, as the PyPI package simhash joins them.

    An empty text is one empty token there.
    """
    return list("".join(_SIMHASH_PACKAGE_WORD.findall(text.lower()))) or [""]


def jieba_keyword_tokens(text: str) -> list[str]:
    """Words of two characters and more, cut twice by jieba with its guesses (HMM on).

    As ``extract_tags("|".join(jieba.cut(text)))`` counts them.
    """
    cut = jieba_tokenizer().lcut
    # jieba's guesses copy all that they guessed so far with each character.
    words = [word for run in _JIEBA_RUN.findall(text) for word in cut(run)]
    return [word for word in cut("|".join(words)) if len(word.strip()) > 1]


class Tokenizer(NamedTuple):
    """A function from text to tokens, and what joins tokens to shingles."""

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
    # Loaded at the first run of Han: other texts need no dictionary.
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
    # One of our own, for the same reason as with jieba's.
    cut_fast = rjieba.Jieba().cut
    return lambda run: cut_fast(run, False)  # noqa: FBT003


def jieba_tokenizer() -> Any:
    """Return a jieba.Tokenizer of our own: load_userdict() changes the module's global one."""
    with _loading:  # one thread loads it, however many meet Chinese at the same time
        return _load_jieba()


@lru_cache(maxsize=1)
def _load_jieba() -> Any:
    """Load the dictionary.

    It takes about a second and is cached by jieba as a marshalled file,
    which is code to whoever can write it: so it lies in a directory that only we can write.
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
    """$XDG_CACHE_HOME/scrapy-simhash (or ~/.cache/…) with rights for its owner alone, or None."""
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
