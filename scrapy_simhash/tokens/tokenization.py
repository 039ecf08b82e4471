"""Cut text into tokens. `TOKENIZERS` has the tokenizers by name.

The default, ``jieba``, cuts runs of Han characters into the words of jieba's dictionary, and other
text at spaces and punctuation. Kana, Thai, Lao, Khmer, Burmese and a few other scripts have no
spaces, and this module has no segmenter for them. They become overlapping pairs of characters,
because all pages share single characters, and few share whole runs. A number, date, time, version,
URL or e-mail address is one token (``08:15``, ``1,299.00``, ``2026-11-22``), because numbers are
the content of a timetable. Symbols are tokens, too: see `scrapy_simhash.tokens.grouping`.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import sys
import threading
import unicodedata
from functools import lru_cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from itertools import chain, pairwise
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.hashes import JOINER
from scrapy_simhash.lazy import np
from scrapy_simhash.tokens.characters import HAN, LINK, UNSPACED, WORD, text_of
from scrapy_simhash.tokens.folding import folded, plain
from scrapy_simhash.tokens.grouping import groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

logger = logging.getLogger(__name__)

_loading = threading.Lock()  # so that only one of several threads loads a dictionary

_SPACE = 32
_MINUS = "\u2212"
_SIGNS_OF_LINKS = ("://", "www.", "@")
# A URL or an e-mail address. With bounded lengths, the search takes linear time on any text.
_LINK = re.compile(
    "(?:https?://|www\\.)[!-;=?-~]{1,2000}(?<![.,;:!?)'])"
    "|(?<![\\w.+-])[\\w.+-]{1,64}@[\\w-]{1,63}(?:\\.[\\w-]{1,63}){1,8}"
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


def _split(text: str, segment_han: Callable[[str], list[str]]) -> list[str]:
    """Return the words, numbers, links and symbols of a text in order, normalized.

    :param segment_han: returns the words of a run of Han characters.
    """
    text, (codes, kinds) = folded(f" {text}  ")
    groups = groups_of(text, codes, kinds)
    for place in _links(text):
        groups[place] = LINK
        for at, bracket in ((place.start - 1, "<"), (place.stop, ">")):
            if text[at] == bracket:
                groups[at] = 0
    # Arithmetic takes a tenth of the time of numpy's `where`.
    separators = (groups == 0).astype(codes.dtype)
    spaced = codes - separators * codes + separators * _SPACE
    if _MINUS in text:
        spaced[spaced == ord(_MINUS)] = ord("-")
    found = int(np.bitwise_or.reduce(groups))
    if found == WORD:
        return text_of(spaced).split()
    before, after = groups[:-1], groups[1:]
    starts = (before != after) & (after != 0)
    spaced = np.insert(spaced, np.flatnonzero(starts & (before != 0)) + 1, _SPACE)
    runs = text_of(spaced).split()
    if not found & HAN:  # a bit that `UNSPACED` has, too
        return runs
    tokens: list[str] = []
    for run, kind in zip(runs, after[starts].tolist(), strict=True):
        if kind == HAN:
            tokens += segment_han(run)
        elif kind == UNSPACED and len(run) > 1:
            tokens += map(add, run, run[1:])
        else:
            tokens.append(run)
    return tokens


def _links(text: str) -> list[slice]:
    """Return where the URLs and e-mail addresses of a text are, in order."""
    found = []
    end = 0
    if not any(sign in text for sign in _SIGNS_OF_LINKS):
        return []
    text = text.replace("\n", " ").replace("\t", " ")
    # The search for links is slow, so only words that may contain one are searched.
    for place in sorted(chain.from_iterable(places_of(sign, text) for sign in _SIGNS_OF_LINKS)):
        if place < end:
            continue
        start = text.rfind(" ", end, place) + 1 or end
        end = text.find(" ", place) + 1 or len(text)
        found += [slice(*match.span()) for match in _LINK.finditer(text, start, end)]
    return found


def places_of(part: str, text: str) -> Iterator[int]:
    """Return where a part occurs in a text, in order."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def jieba_tokens(text: str) -> list[str]:
    """Return words and links. jieba cuts runs of Han characters, without guessing words (HMM off).

    `rjieba` (the extra ``fast``) gives the same words in less time.
    """
    return _split(text, _segment)


def word_tokens(text: str) -> list[str]:
    """Return words and links. Each run of Han characters is one word."""
    return _split(text, lambda run: [run])


def character_tokens(text: str) -> list[str]:
    """Return the letters, marks and digits of the normalized text, one by one."""
    return [
        character
        for character in plain(text)
        if character.isalnum() or unicodedata.category(character)[0] == "M"
    ]


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
    tagged = [piece for piece in pieces if "/" in piece]
    noise = {piece for piece in tagged if "wn" in piece or "wd" in piece}
    words = [piece.partition("/")[0] for piece in tagged if piece not in noise]
    distinct_words = set(words)
    occurrences = [word for piece in tagged if (word := piece.partition("/")[0]) in distinct_words]
    return TaggedWords(words, occurrences, len(pieces) - (len(tagged) - len(words)))


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
        rjieba = _load_rjieba()
    except ImportError:
        cut = _load_jieba().lcut
        return lambda run: cut(run, HMM=False)
    # Not rjieba's global tokenizer, for the same reason as in `jieba_tokenizer`.
    cut_fast = rjieba.Jieba().cut
    return lambda run: cut_fast(run, False)  # noqa: FBT003


def _load_rjieba() -> Any:
    """Import and return the compiled module in the package rjieba.

    The package itself makes its global tokenizer when it is imported, which takes as long, and as
    much memory, as ours. :raises ImportError: rjieba is not installed.
    """
    name = "rjieba.rjieba"
    package = None if "rjieba" in sys.modules else find_spec("rjieba")
    if package is not None:
        spec = PathFinder.find_spec(name, package.submodule_search_locations)
        if spec is not None and spec.loader is not None:
            sys.modules[name] = module = module_from_spec(spec)
            spec.loader.exec_module(module)
    return import_module(name)


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
        import tempfile

        with tempfile.TemporaryDirectory(prefix="scrapy-simhash-") as temporary:
            tokenizer.tmp_dir = temporary
            tokenizer.initialize()
    return tokenizer


@lru_cache(maxsize=1)
def _load_tagger() -> Any:
    from scrapy_simhash.tokens.tagging import Tagger

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
